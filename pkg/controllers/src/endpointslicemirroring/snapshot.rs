//! What a sync of Endpoints looks at.

use std::sync::Arc;

use api::{EndpointSlice, Endpoints, Key, Service};
use controller::View;
use controller::slices::managed;
use mutant::Mutant;

use super::{MANAGER, is_mirrored};

/// Endpoints, their Service, and the slices that were mirrored of them.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The key of both.
    pub key: Key,
    /// The Endpoints; none: there are none.
    pub endpoints: Option<Arc<Endpoints>>,
    /// The Service; none: there is none.
    pub service: Option<Arc<Service>>,
    /// The slices, by name.
    pub slices: Vec<Arc<EndpointSlice>>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let endpoints = view.of::<Endpoints>().get(key);
    let slices = managed(key, MANAGER, view);
    if endpoints.is_none() && slices.is_empty() {
        return None;
    }
    let service = view.of::<Service>().get(key);
    Some(Snapshot { key: key.clone(), endpoints, service, slices })
}

// === impl Snapshot ===

impl Snapshot {
    /// The Endpoints that are mirrored; or why there are none.
    pub(super) fn mirrored(&self) -> Result<&Arc<Endpoints>, &'static str> {
        let endpoints = self.endpoints.as_ref().ok_or("there are no such Endpoints")?;
        if !is_mirrored(endpoints) {
            return Err("the Endpoints say that they are not mirrored");
        }
        let service = self.service.as_ref().ok_or("there is no such Service")?;
        if service.selector.is_some() && !mutant::is(Mutant::MirroredBeside) {
            return Err("the Service has a selector, and so slices of its own");
        }
        Ok(endpoints)
    }

    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let count = self.slices.iter().map(|slice| slice.endpoints.len()).sum::<usize>();
        let mut facts = vec![
            ("mirrored", self.mirrored().map_or_else(ToOwned::to_owned, |_| "yes".to_owned())),
            ("slices", self.slices.len().to_string()),
            ("endpoints", count.to_string()),
        ];
        if let Some(endpoints) = &self.endpoints {
            let subsets = endpoints.subsets.iter();
            let sizes = subsets.map(|it| it.addresses.len() + it.not_ready_addresses.len());
            facts.push(("addresses", sizes.sum::<usize>().to_string()));
        }
        facts
    }
}
