//! The start of the controller of admission policies.

use api::{Kind, ValidatingAdmissionPolicy};
use controllers::validatingadmissionpolicystatus;

use super::Entry;
use crate::flags::handles;
use crate::start::{Context, Running};

pub(super) fn status(entry: &Entry, context: &mut Context) -> Running {
    let queue = context.queue("validatingadmissionpolicy-status");
    let workers = handles::CONCURRENT_VALIDATING_ADMISSION_POLICY_STATUS_SYNCS;
    let work = (queue, context.workers(workers));
    let controller = validatingadmissionpolicystatus::Controller;
    context.start(entry, ValidatingAdmissionPolicy::RESOURCE, work, controller)
}
