//! The start of controllers of certificates that need more than a queue.

use std::sync::Arc;

use api::{CertificateSigningRequest, Kind, PodCertificateRequest, ServingTrustBundle};
use controllers::{
    clustertrustbundlepublisher, csrcleaner, csrsigning, podcertificaterequestcleaner,
};
use ring::digest::{SHA256, digest};
use workqueue::{ItemBackoff, Limiter, TokenBucket};

use super::Entry;
use super::limiters::certificate_limiter;
use crate::flags::handles;
use crate::signing;
use crate::start::{Context, Running};

pub(super) fn cleaner(entry: &Entry, context: &mut Context) -> Running {
    // Upstream has no queue.
    let pause = ItemBackoff::new(csrcleaner::RETRY_MIN, csrcleaner::PERIOD);
    let queue = context.unnamed_queue(Limiter::new(pause, TokenBucket::unlimited()));
    let own = CertificateSigningRequest::RESOURCE;
    context.start(entry, own, (queue, 1), csrcleaner::Controller)
}

pub(super) fn cleaner_of_pods(entry: &Entry, context: &mut Context) -> Running {
    // Upstream has no queue.
    let (min, max) =
        (podcertificaterequestcleaner::RETRY_MIN, podcertificaterequestcleaner::PERIOD);
    let limiter = Limiter::new(ItemBackoff::new(min, max), TokenBucket::unlimited());
    let queue = context.unnamed_queue(limiter);
    let controller = podcertificaterequestcleaner::Controller;
    context.start(entry, PodCertificateRequest::RESOURCE, (queue, 1), controller)
}

pub(super) fn signing(entry: &Entry, context: &mut Context) -> Running {
    let queue = context.queue_with("certificate", certificate_limiter());
    let files = context.signing.clone();
    let duration_max = context.options.flags.positive(handles::CLUSTER_SIGNING_DURATION);
    let authorities = files.iter().map(|(profile, it)| (*profile, Arc::clone(it) as _));
    let authorities = authorities.collect();
    // As upstream's four controllers have together.
    let workers = 5 * files.len();
    let controller = csrsigning::Controller { authorities, duration_max };
    let own = CertificateSigningRequest::RESOURCE;
    let running = context.start(entry, own, (queue, workers), controller);
    running.beside(signing::follow(files, context.clock()))
}

pub(super) fn trust_bundle(entry: &Entry, context: &mut Context) -> Running {
    let queue = context.queue("ca_cert_publisher_cluster_trust_bundles");
    let authority = &context.root_ca;
    let hash = digest(&SHA256, authority.as_bytes());
    let hash = hash.as_ref().try_into().expect("SHA-256 has 32 bytes");
    let controller = clustertrustbundlepublisher::Controller::new(authority, hash);
    context.start(entry, ServingTrustBundle::RESOURCE, (queue, 1), controller)
}
