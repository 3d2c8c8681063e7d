//! What the slices and claims say of each pool. As `calculatePoolStatus` in upstream's
//! `pkg/controller/resourcepoolstatusrequest/controller.go`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use api::{ResourceClaim, ResourcePoolStatusRequest, ResourceSlice, Text};
use controller::View;
use serde_json::{Value, json};

/// The most bytes of an error in the status.
const ERROR_BYTES_MAX: usize = 256;

/// The newest generation of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The driver.
    pub driver: Text,
    /// Its name.
    pub name: Text,
    /// The generation.
    pub generation: i64,
    /// How many slices of it there are.
    pub slices: i64,
    /// How many it has.
    pub slices_wanted: i64,
    /// The node of all slices, if they have the same one.
    pub node: Option<Text>,
    /// How many devices its slices have.
    pub devices: usize,
    /// How many devices of it claims have got.
    pub allocated: usize,
}

/// The pools that a request asks for, by name.
pub(super) fn of(
    request: &ResourcePoolStatusRequest,
    slices: &[Arc<ResourceSlice>],
    view: &View<'_>,
) -> Vec<Pool> {
    let mut pools = BTreeMap::<&Text, Vec<&ResourceSlice>>::new();
    for slice in slices.iter().filter(|slice| slice.driver == request.driver) {
        if request.pool.as_ref().is_none_or(|pool| *pool == slice.pool) {
            pools.entry(&slice.pool).or_default().push(slice);
        }
    }
    let pools = pools.into_values().filter_map(|slices| newest(&slices));
    pools.map(|pool| Pool { allocated: allocated(&pool, view), ..pool }).collect()
}

fn newest(slices: &[&ResourceSlice]) -> Option<Pool> {
    let generation = slices.iter().map(|slice| slice.generation).max()?;
    let slices = slices.iter().filter(|slice| slice.generation == generation);
    let slices: Vec<&ResourceSlice> = slices.copied().collect();
    let first = slices.first()?;
    let on_one_node = slices.iter().all(|slice| slice.node_name == first.node_name);
    let node = first.node_name.as_ref().filter(|node| on_one_node && !node.is_empty());
    Some(Pool {
        driver: first.driver.clone(),
        name: first.pool.clone(),
        generation,
        slices: i64::try_from(slices.len()).unwrap_or(i64::MAX),
        slices_wanted: first.slices,
        node: node.cloned(),
        devices: slices.iter().map(|slice| slice.devices).sum(),
        allocated: 0,
    })
}

fn allocated(pool: &Pool, view: &View<'_>) -> usize {
    let key = ResourceSlice::pool_key(&pool.driver, &pool.name);
    let claims = view.of::<ResourceClaim>().by(ResourceClaim::BY_POOL, &key);
    let devices = claims.iter().flat_map(|claim| claim.allocation.iter().flatten());
    devices.filter(|it| it.driver == pool.driver && it.pool == pool.name).count()
}

impl Pool {
    /// Whether slices are missing.
    pub(super) fn is_incomplete(&self) -> bool {
        self.slices < self.slices_wanted
    }

    /// As `v1alpha3.PoolStatus`. No device counts as unavailable yet, as upstream.
    pub(super) fn status(&self) -> Value {
        let mut status = json!({
            "driver": *self.driver,
            "poolName": *self.name,
            "generation": self.generation,
        });
        if let Some(node) = &self.node {
            status["nodeName"] = (**node).into();
        }
        if self.is_incomplete() {
            status["validationError"] = self.error().into();
            return status;
        }
        for (field, value) in [
            ("resourceSliceCount", json!(self.slices)),
            ("totalDevices", json!(self.devices)),
            ("allocatedDevices", json!(self.allocated)),
            ("availableDevices", json!(self.devices.saturating_sub(self.allocated))),
            ("unavailableDevices", json!(0)),
        ] {
            status[field] = value;
        }
        status
    }

    fn error(&self) -> String {
        let Self { driver, name, generation, slices, slices_wanted, .. } = self;
        let mut text = format!(
            "pool {driver}/{name} is incomplete: observed {slices}/{slices_wanted} slices at \
             generation {generation}"
        );
        // Names of drivers and pools are ASCII.
        text.truncate(ERROR_BYTES_MAX);
        text
    }
}

impl fmt::Display for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, slices, slices_wanted, devices, allocated, .. } = self;
        write!(f, "{name}: {slices} of {slices_wanted} slices, {allocated} of {devices} devices")
    }
}
