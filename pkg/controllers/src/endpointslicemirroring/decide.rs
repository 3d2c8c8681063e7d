//! Whether Endpoints have the right slices. As `syncEndpoints` in upstream's
//! `pkg/controller/endpointslicemirroring/endpointslicemirroring_controller.go`.

use std::sync::Arc;

use api::{Endpoints, Kind};
use controller::slices::Author;
use controller::{Action, Event, EventType, ObjectRef, Plan, Step, Write};

use super::mirror::{Mirrored, mirror};
use super::sizes;
use super::snapshot::Snapshot;

pub(super) fn decide(s: &Snapshot, subset_max: usize) -> Plan {
    let endpoints = match s.mirrored() {
        Ok(endpoints) => endpoints,
        Err(why) => return clean_up(s, why),
    };
    let of_endpoints = endpoints.unreadable.as_ref().map(|error| ("endpoints", &s.key, error));
    let of_slice = s
        .slices
        .iter()
        .find_map(|slice| Some(("endpointslice", &slice.meta.key, slice.unreadable.as_ref()?)));
    if let Some((kind, key, error)) = of_endpoints.or(of_slice) {
        let error = format!("cannot read {kind} {key}: {error}");
        return Plan::failed("what cannot be read is left alone", error);
    }
    let mut mirrored = mirror(endpoints, &s.slices, subset_max);
    mirrored.changes.recycle(|slice, draft| slice.family == Some(draft.family));
    let author = author(endpoints);
    let actions = mirrored.changes.actions(&author);
    let why = why(&mirrored);
    let events = events(endpoints, &mirrored, subset_max);
    let steps = [events, actions].into_iter().filter(|actions| !actions.is_empty());
    let steps = steps.map(Step::InOrder).collect();
    Plan { steps, counts: sizes::counts(&mirrored), ..Plan::rest(why) }
}

/// Deletes what was mirrored, if anything was. As `deleteMirroredSlices`.
fn clean_up(s: &Snapshot, why: &'static str) -> Plan {
    if s.slices.is_empty() {
        return Plan::rest(why);
    }
    let delete = |slice: &Arc<api::EndpointSlice>| {
        let object = ObjectRef::new(&api::EndpointSlice::RESOURCE, &slice.meta);
        Action::from(Write::delete(object))
    };
    Plan::one(why, Step::Together(s.slices.iter().map(delete).collect()))
}

fn author(endpoints: &Endpoints) -> Author<'_> {
    Author {
        resource: Endpoints::RESOURCE,
        owner: &endpoints.meta,
        changes: &sizes::CHANGES,
        failed: None,
    }
}

fn events(endpoints: &Endpoints, mirrored: &Mirrored, subset_max: usize) -> Vec<Action> {
    let Mirrored { invalid, skipped, .. } = mirrored;
    let about = Arc::new(ObjectRef::new(&Endpoints::RESOURCE, &endpoints.meta));
    let event = |reason: &'static str, message| {
        let about = Arc::clone(&about);
        Action::Event(Event { about, r#type: EventType::Warning, reason: reason.into(), message })
    };
    let mut events = Vec::new();
    if *invalid > 0 {
        let text =
            format!("Skipped {invalid} invalid IP addresses when mirroring to EndpointSlices");
        events.push(event("InvalidIPAddress", text));
    }
    if skipped > invalid {
        let text = format!(
            "A max of {subset_max} addresses can be mirrored to EndpointSlices per Endpoints \
             subset. {skipped} addresses were skipped"
        );
        events.push(event("TooManyAddressesToMirror", text));
    }
    events
}

fn why(mirrored: &Mirrored) -> String {
    let changes = &mirrored.changes;
    let (create, update) = (changes.create.len(), changes.update.len());
    let slices = if changes.is_empty() {
        "the slices are right".to_owned()
    } else {
        let delete = changes.delete.len();
        format!("slices to create: {create}, to update: {update}, to delete: {delete}")
    };
    match mirrored.skipped {
        0 => slices,
        skipped => format!("{skipped} addresses are not mirrored; {slices}"),
    }
}
