//! The start of the controllers of claims and volumes.

use std::time::Duration;

use api::{Kind, PersistentVolume, PersistentVolumeClaim, Resource};
use controllers::attachdetach::{self, RETRY, WORKERS};
use controllers::persistentvolume::{Claims, Volumes};
use controllers::{pvprotection, volumeexpand};
use ring::digest::{SHA256, digest};
use workqueue::{ItemBackoff, Limiter, TokenBucket};

use super::Entry;
use crate::flags::handles;
use crate::start::{Context, Running};

/// Without it, a period of zero would be a loop without a pause.
const PERIOD_MIN: Duration = Duration::from_millis(100);

pub(super) fn attach(entry: &Entry, context: &mut Context) -> Running {
    // Upstream's queue has claims, which lead to the volumes of its loop.
    let pause = ItemBackoff::new(RETRY.0, RETRY.1);
    let queue = context.queue_with("pvcs", Limiter::new(pause, TokenBucket::unlimited()));
    let flags = &context.options.flags;
    let is_synced = !flags.switch(handles::DISABLE_ATTACH_DETACH_RECONCILE_SYNC);
    let period = flags.positive(handles::ATTACH_DETACH_RECONCILE_SYNC_PERIOD);
    let options = attachdetach::Options {
        sync_period: is_synced.then_some(period),
        forces_on_timeout: !flags.switch(handles::DISABLE_FORCE_DETACH_ON_TIMEOUT),
        sha256,
    };
    tracing::info!(
        controller = entry.name,
        "FlexVolumes are neither attached nor detached: no driver is executed"
    );
    let controller = attachdetach::Controller(options);
    context.start(entry, None::<Resource>, (queue, WORKERS), controller)
}

pub(super) fn binder(entry: &Entry, context: &mut Context) -> Running {
    tracing::info!(
        controller = entry.name,
        "left out on purpose: making and deleting the folders of hostPath volumes, drivers of \
         FlexVolumes, and the events of recycler pods"
    );
    let flags = &context.options.flags;
    let sync_period = flags.positive(handles::PV_CLAIM_BINDER_SYNC_PERIOD).max(PERIOD_MIN);
    let provisions = flags.switch(handles::ENABLE_DYNAMIC_PROVISIONING);
    let recyclers = context.recyclers.clone().expect("made for this controller before its start");
    let volumes = Volumes { sync_period, recyclers };
    let writer = context.writer(entry);
    // One worker each, as upstream: two could bind one volume to two claims, of which the API
    // server refuses one.
    let work = (context.queue("volumes"), 1);
    let of_volumes = context.start_with(&writer, PersistentVolume::RESOURCE, work, volumes);
    let work = (context.queue("claims"), 1);
    let claims = Claims { sync_period, provisions };
    let own = PersistentVolumeClaim::RESOURCE;
    context.start_with(&writer, own, work, claims).both(of_volumes)
}

pub(super) fn expander(entry: &Entry, context: &mut Context) -> Running {
    let queue = context.queue("volume_expand");
    let own = PersistentVolumeClaim::RESOURCE;
    context.start(entry, own, (queue, 10), volumeexpand::Controller)
}

pub(super) fn protection(entry: &Entry, context: &mut Context) -> Running {
    let queue = context.queue("pvprotection");
    context.start(entry, PersistentVolume::RESOURCE, (queue, 1), pvprotection::Controller)
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    digest(&SHA256, bytes).as_ref().try_into().expect("SHA-256 has 32 bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_sha256() {
        let digest = sha256(b"abc");
        assert_eq!(digest[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert_eq!(digest[28..], [0xf2, 0x00, 0x15, 0xad]);
    }
}
