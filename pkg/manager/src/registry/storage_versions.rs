//! The start of controllers of storage versions.

use std::sync::Arc;

use api::{Kind, StorageVersion, StorageVersionMigration};
use controller::Shared;
use controllers::storageversiongc;
use controllers::storageversionmigrator::{Checkpoint, Memory, Migrator, Runner};

use super::Entry;
use crate::start::{Context, Running};

pub(super) fn collector(entry: &Entry, context: &mut Context) -> Running {
    // A Lease enqueues the StorageVersions that name it; the series is for dashboards.
    context.queue("storage_version_garbage_collector_leases");
    let queue = context.queue("storage_version_garbage_collector_storageversions");
    let controller = storageversiongc::Controller;
    context.start(entry, StorageVersion::RESOURCE, (queue, 1), controller)
}

pub(super) fn migrator(entry: &Entry, context: &mut Context) -> Running {
    let memory = Arc::new(Shared::<Memory>::default());
    let (writer, own) = (context.writer(entry), StorageVersionMigration::RESOURCE);
    // Two of upstream's queues have one name.
    let name = "resource-version-controller";
    let work = (context.queue("storage-version-migrator-controller"), 5);
    let migrator = context.start_sharing(&writer, own.clone(), work, (Migrator, &memory));
    let work = (context.queue(name), 1);
    let checkpoint = context.start_sharing(&writer, own, work, (Checkpoint, &memory));
    let work = (context.queue(name), 1);
    // Its keys are kinds.
    let runner = context.start_sharing(&writer, None, work, (Runner, &memory));
    migrator.both(checkpoint).both(runner)
}
