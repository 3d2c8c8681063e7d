//! Whether a Service has the right slices. As `syncService` in upstream's
//! `pkg/controller/endpointslice/endpointslice_controller.go`, and `Reconcile` in its
//! k8s.io/endpointslice.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{EndpointSlice, Kind, Service};
use controller::services::Moments;
use controller::slices::Author;
use controller::{Action, Count, Event, EventType, ObjectRef, Plan, Step, Why};

use super::packing::{Packed, Packing};
use super::snapshot::{Snapshot, State};
use super::topology::{Hinted, Told};
use super::{Verdict, hints, sizes, topology, wanted};

/// Upstream's reason for all that goes wrong.
const FAILED: &str = "FailedToUpdateEndpointSlices";

/// What is to be done for all families of a Service.
#[derive(Default)]
struct Course {
    chains: Vec<Vec<Action>>,
    events: Vec<Action>,
    counts: Vec<Count>,
    /// How many slices come, change and go.
    sizes: [usize; 3],
}

pub(super) fn decide(s: &Snapshot, slice_max: usize) -> (Plan, Option<Verdict>) {
    let state = match s {
        Snapshot::Service(state) => state,
        Snapshot::Zones(overloaded) => {
            let why = format!("the zones changed: {} services to look at", overloaded.len());
            return (Plan::rest(why), None);
        }
    };
    if let Some(why) = left_alone(&state.service) {
        return (Plan::rest(why), None);
    }
    let unreadable = state.slices.iter().find_map(|slice| {
        let error = slice.unreadable.as_ref()?;
        Some(format!("cannot read endpointslice {}: {error}", slice.meta.key))
    });
    if let Some(error) = unreadable {
        return (Plan::failed("one of its slices cannot be read", error), None);
    }
    let (plan, verdict) = reconcile(state, slice_max);
    (plan, Some(verdict))
}

/// Why a Service's slices are somebody else's; none: they are not.
fn left_alone(service: &Service) -> Option<Why> {
    if let Some(error) = &service.unreadable {
        return Some(format!("the Service cannot be read: {error}").into());
    }
    if service.is_external_name {
        return Some("a Service of type ExternalName gets no slices".into());
    }
    if service.selector.is_none() {
        return Some("a Service without a selector has the slices that somebody makes".into());
    }
    None
}

fn reconcile(state: &State, slice_max: usize) -> (Plan, Verdict) {
    let service = &state.service;
    let moments = Arc::new(Moments::new(service, &state.pods));
    let trigger = moments.trigger(state.earlier.as_deref());
    let mut hinted = Hinted::clone(&state.hinted);
    let mut course = Course::default();
    let families = wanted::families(service);
    let (ours, others): (Vec<_>, Vec<_>) = state
        .slices
        .iter()
        .cloned()
        .partition(|slice| slice.family.is_some_and(|family| families.contains(&family)));
    for family in families {
        let packing = Packing { service, family, trigger, slice_max };
        let existing = ours.iter().filter(|slice| slice.family == Some(family)).cloned();
        let existing: Vec<_> = existing.collect();
        let mut packed = packing.all(&existing, wanted::by_ports(state, family));
        if let Some(told) = hint(&mut packed, &packing, state, &mut hinted) {
            course.events.push(event(service, &told, packing.family));
        }
        course.take(service, packed);
    }
    for slice in &others {
        if let Some(family) = slice.family {
            hinted.forget(family);
        }
    }
    let plan = course.plan(state, &others);
    (plan, Verdict { moments, hinted: Arc::new(hinted) })
}

/// Gives the endpoints of a family their hints, and says what is to be told of that.
fn hint(
    packed: &mut Packed,
    packing: &Packing<'_>,
    state: &State,
    hinted: &mut Hinted,
) -> Option<Told> {
    if topology::is_asked_for(&state.service) {
        return topology::add(packed, packing, state.zones.as_ref(), hinted);
    }
    let told = "Topology Aware Hints has been disabled";
    let told = hinted.forget(packing.family).then(|| Told::Disabled(told.to_owned()));
    match hints::distribution(&state.service) {
        Some(how) => hints::distribute(packed, packing, how),
        None => hints::remove(packed, packing),
    }
    told
}

fn event(service: &Service, told: &Told, family: api::Family) -> Action {
    let r#type = match told {
        Told::Enabled => EventType::Normal,
        Told::Disabled(_) => EventType::Warning,
    };
    about(service, r#type, told.reason(), told.message(family))
}

fn about(service: &Service, r#type: EventType, reason: &'static str, message: String) -> Action {
    let about = Arc::new(ObjectRef::new(&Service::RESOURCE, &service.meta));
    Action::Event(Event { about, r#type, reason: reason.into(), message })
}

fn author(service: &Service) -> Author<'_> {
    let start = format!("Error updating Endpoint Slices for Service {}: ", service.meta.key);
    Author {
        resource: Service::RESOURCE,
        owner: &service.meta,
        changes: &sizes::CHANGES,
        failed: Some((FAILED, start)),
    }
}

// === impl Course ===

impl Course {
    /// What changes of the slices of one family. Rather than to delete one and make another, it
    /// becomes another.
    fn take(&mut self, service: &Service, mut packed: Packed) {
        let owner = &service.meta;
        packed.changes.recycle(|slice, _| super::packing::is_owned(slice, owner));
        self.counts.extend(sizes::counts(service, &packed));
        let changes = &packed.changes;
        let sizes = [changes.create.len(), changes.update.len(), changes.delete.len()];
        for (sum, size) in self.sizes.iter_mut().zip(sizes) {
            *sum += size;
        }
        let actions = changes.actions(&author(service));
        if !actions.is_empty() {
            self.chains.push(actions);
        }
    }

    fn plan(mut self, state: &State, others: &[Arc<EndpointSlice>]) -> Plan {
        let service = &state.service;
        let missing: BTreeSet<_> = wanted::missing_nodes(state).into_iter().collect();
        let missing: Vec<_> = missing.into_iter().collect();
        let error = match missing.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(format!("[{}]", several.join(", "))),
        };
        if let Some(error) = &error {
            let key = &service.meta.key;
            let text = format!("Error updating Endpoint Slices for Service {key}: {error}");
            self.events.push(about(service, EventType::Warning, FAILED, text));
        }
        self.sizes[2] += others.len();
        let why = why(self.sizes, error.as_deref());
        // Events fail no step; and what other families have goes last.
        let mut steps = Vec::new();
        if !self.events.is_empty() {
            steps.push(Step::InOrder(self.events));
        }
        if !self.chains.is_empty() {
            steps.push(Step::Chains(self.chains));
        }
        if !others.is_empty() {
            let author = author(service);
            steps.push(Step::Together(others.iter().map(|it| author.delete(it)).collect()));
        }
        Plan { steps, counts: self.counts, error, ..Plan::rest(why) }
    }
}

fn why([create, update, delete]: [usize; 3], error: Option<&str>) -> String {
    let slices = match create + update + delete {
        0 => "the slices are right".to_owned(),
        _ => format!("slices to create: {create}, to update: {update}, to delete: {delete}"),
    };
    error.map_or(slices.clone(), |error| format!("{error}; {slices}"))
}
