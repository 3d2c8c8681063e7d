//! The start of the controllers of claims and volumes.

use std::time::Duration;

use api::{Kind, PersistentVolume, PersistentVolumeClaim};
use controllers::persistentvolume::{Claims, Volumes};
use controllers::{pvprotection, volumeexpand};

use super::Entry;
use crate::flags::handles;
use crate::start::{Context, Running};

/// Without it, a period of zero would be a loop without a pause.
const PERIOD_MIN: Duration = Duration::from_millis(100);

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
