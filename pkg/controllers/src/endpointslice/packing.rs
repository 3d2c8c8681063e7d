//! Which endpoint stands in which slice. As `reconcileByPortMapping` in upstream's
//! k8s.io/endpointslice.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Endpoint, EndpointSlice, Family, Labels, Meta, Service, SlicePort, Time};
use controller::slices::{Annotations, Changes, Draft, Extent, Identity, Wanted, is_alike};
use mutant::Mutant;

use super::MANAGER;

/// The labels that say what a slice is for, whatever the Service has under these names.
const RESERVED: [&str; 3] =
    [EndpointSlice::SERVICE_NAME, EndpointSlice::MANAGED_BY, Service::HEADLESS];

/// For which slices endpoints are packed.
pub(super) struct Packing<'a> {
    /// The Service.
    pub(super) service: &'a Service,
    /// The family of all addresses.
    pub(super) family: Family,
    /// When that happened which the slices follow from.
    pub(super) trigger: Option<Time>,
    /// How many endpoints a slice may have.
    pub(super) slice_max: usize,
}

/// What becomes of slices.
#[derive(Default)]
pub(super) struct Packed {
    /// Those that change.
    pub(super) changes: Changes,
    /// Those that do not.
    pub(super) unchanged: Vec<Arc<EndpointSlice>>,
    /// How many endpoints come.
    pub(super) added: usize,
    /// How many go.
    pub(super) removed: usize,
}

/// Whether the Service is an owner of a slice. As `ownedBy`.
pub(super) fn is_owned(slice: &EndpointSlice, service: &Meta) -> bool {
    slice.meta.owners.iter().any(|owner| {
        owner.uid == service.uid && &*owner.kind == "Service" && &*owner.api_version == "v1"
    })
}

// === impl Packing ===

impl Packing<'_> {
    /// Packs all endpoints of the Service: those with the same ports into the slices that there are
    /// for these, first those that change anyway. Never moves an endpoint that has a place.
    pub(super) fn all(
        &self,
        existing: &[Arc<EndpointSlice>],
        wanted: BTreeMap<Vec<SlicePort>, Wanted>,
    ) -> Packed {
        let mut packed = Packed::default();
        let mut by_ports = BTreeMap::<&[SlicePort], Vec<&Arc<EndpointSlice>>>::new();
        for slice in existing {
            if is_owned(slice, &self.service.meta) {
                by_ports.entry(&slice.ports).or_default().push(slice);
            } else {
                packed.changes.delete.push(Arc::clone(slice));
            }
        }
        for (ports, wanted) in wanted {
            let existing = by_ports.remove(ports.as_slice()).unwrap_or_default();
            self.of_ports(&ports, &existing, wanted, &mut packed);
        }
        let unwanted = by_ports.into_values().flatten();
        packed.changes.delete.extend(unwanted.map(Arc::clone));
        let all_go = existing.len() == packed.changes.delete.len();
        if all_go && packed.changes.create.is_empty() {
            self.keep_empty(&mut packed);
        }
        packed
    }

    /// A slice that changes in nothing but what is written into the draft.
    pub(super) fn kept(&self, slice: &Arc<EndpointSlice>) -> Draft {
        Draft {
            existing: Some(Arc::clone(slice)),
            endpoints: slice.endpoints.clone(),
            ..self.draft(slice.ports.clone())
        }
    }

    fn of_ports(
        &self,
        ports: &[SlicePort],
        existing: &[&Arc<EndpointSlice>],
        mut wanted: Wanted,
        packed: &mut Packed,
    ) {
        let (mut changing, mut unchanged) = (Vec::new(), Vec::new());
        for slice in existing {
            let (kept, all_alike) = keep(slice, &mut wanted);
            packed.removed += slice.endpoints.len() - kept.len();
            if all_alike && kept.len() == slice.endpoints.len() {
                if self.has_labels(slice) {
                    unchanged.push(Arc::clone(slice));
                } else {
                    changing.push(self.kept(slice));
                }
            } else if kept.is_empty() {
                packed.changes.delete.push(Arc::clone(slice));
            } else {
                changing.push(Draft { endpoints: kept, ..self.kept(slice) });
            }
        }
        packed.added += wanted.len();
        // The fullest first.
        changing.sort_by_key(|draft| std::cmp::Reverse(draft.endpoints.len()));
        for draft in &mut changing {
            self.fill(draft, &mut wanted);
        }
        while !wanted.is_empty() {
            let at = self.place(&unchanged, wanted.len());
            let mut draft = match at {
                Some(at) => self.kept(&unchanged.remove(at)),
                None => self.draft(ports.to_vec()),
            };
            self.fill(&mut draft, &mut wanted);
            let is_new = draft.existing.is_none();
            if is_new { packed.changes.create.push(draft) } else { changing.push(draft) }
        }
        packed.changes.update.extend(changing);
        packed.unchanged.extend(unchanged);
    }

    fn fill(&self, draft: &mut Draft, wanted: &mut Wanted) {
        while draft.endpoints.len() < self.slice_max
            && let Some((_, endpoint)) = wanted.pop_first()
        {
            draft.endpoints.push(endpoint);
        }
    }

    /// The slice that would be the fullest with so many more endpoints, if they all fit into one.
    /// As `getSliceToFill`.
    fn place(&self, unchanged: &[Arc<EndpointSlice>], more: usize) -> Option<usize> {
        if more >= self.slice_max {
            return None;
        }
        let room = |slice: &EndpointSlice| self.slice_max.checked_sub(more + slice.endpoints.len());
        let rooms = unchanged.iter().enumerate().filter_map(|(at, it)| Some((room(it)?, at)));
        rooms.min().map(|(_, at)| at)
    }

    /// Where all slices would go, one stays, or is made, that is empty.
    fn keep_empty(&self, packed: &mut Packed) {
        if let [slice] = packed.changes.delete.as_slice()
            && slice.endpoints.is_empty()
            && slice.ports.is_empty()
            && is_owned(slice, &self.service.meta)
            && slice.meta.labels == Labels::new(self.labels())
        {
            packed.unchanged.append(&mut packed.changes.delete);
            return;
        }
        packed.changes.create.push(self.draft(Vec::new()));
    }

    fn draft(&self, ports: Vec<SlicePort>) -> Draft {
        Draft {
            existing: None,
            extent: Extent::Contents,
            family: self.family,
            ports,
            endpoints: Vec::new(),
            labels: self.labels(),
            annotations: Annotations::Trigger(self.trigger),
        }
    }

    /// As `setEndpointSliceLabels`.
    fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = unreserved(&self.service.meta.labels);
        let mut set = |key: &str, value: &str| labels.insert(key.to_owned(), value.to_owned());
        if !self.service.has_cluster_ip() {
            set(Service::HEADLESS, "");
        }
        set(EndpointSlice::SERVICE_NAME, &self.service.meta.key.name);
        set(EndpointSlice::MANAGED_BY, MANAGER);
        labels
    }

    /// Whether a slice has the labels of the Service. Those that are reserved do not count.
    fn has_labels(&self, slice: &EndpointSlice) -> bool {
        unreserved(&slice.meta.labels) == unreserved(&self.service.meta.labels)
    }
}

fn unreserved(labels: &Labels) -> BTreeMap<String, String> {
    let labels = labels.iter().filter(|(key, _)| !RESERVED.contains(key));
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// The endpoints of a slice that are wanted, as they should be, and whether they are so already.
/// They are wanted nowhere else then.
fn keep(slice: &EndpointSlice, wanted: &mut Wanted) -> (Vec<Endpoint>, bool) {
    let mut all_alike = true;
    let kept = slice.endpoints.iter().filter_map(|endpoint| {
        let found = match wanted.remove(&Identity::of(endpoint)) {
            None if mutant::is(Mutant::GoneListed) => endpoint.clone(),
            found => found?,
        };
        all_alike &= mutant::is(Mutant::ConditionsIgnored) || is_alike(&found, endpoint);
        Some(found)
    });
    (kept.collect(), all_alike)
}
