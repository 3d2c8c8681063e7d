//! Leader migration: controllers that move between control planes' components under a second Lease.
//! As k8s.io/controller-manager/pkg/leadermigration and KEP 2436.
//!
//! The controllers that the configuration names for this component run only while this process
//! holds that Lease, too; those that it names for others do not run here; all others run as ever.
//! The second Lease is contended for once the main one is held, and the loss of either ends the
//! process.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde_yaml::{Mapping, Value};

use crate::config;
use crate::election::COMPONENT;
use crate::flags::handles;
use crate::options::Options;

const GROUP: &str = "controllermanager.config.k8s.io";
const KIND: &str = "LeaderMigrationConfiguration";
/// The built-in configuration.
const LEASE: &str = "cloud-provider-extraction-migration";
const BUILT_IN: [&str; 3] =
    ["route-controller", "service-controller", "cloud-node-lifecycle-controller"];
/// Runs under the main Lease, whatever the configuration says: others need its tokens.
const ALWAYS_MAIN: &str = "serviceaccount-token-controller";

/// Which controllers migrate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Migration {
    /// The name of the second Lease.
    pub(crate) lease: String,
    /// The controllers that are named, and whether they are this component's.
    leaders: BTreeMap<String, bool>,
}

/// Where a controller runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// Under the main Lease.
    Main,
    /// Under the second Lease, too.
    Migrated,
    /// In another component.
    Foreign,
}

impl Migration {
    /// What the flags say; none: nothing migrates. Without an election there is nothing to migrate
    /// by, as in upstream, which does not say so.
    pub(crate) fn of(options: &Options) -> anyhow::Result<Option<Self>> {
        if !options.flags.switch(handles::ENABLE_LEADER_MIGRATION) {
            return Ok(None);
        }
        let path = options.flags.text(handles::LEADER_MIGRATION_CONFIG);
        let migration = if path.is_empty() {
            Self {
                lease: LEASE.to_owned(),
                leaders: BUILT_IN.map(|it| (it.to_owned(), true)).into(),
            }
        } else {
            let text = config::read_text(Path::new(path)).map_err(anyhow::Error::msg);
            let read = text.and_then(|text| Self::read(&text));
            read.with_context(|| format!("--leader-migration-config {path}"))?
        };
        // A shadow takes no Lease, and does as the manager in charge.
        if !options.flags.switch(handles::LEADER_ELECT) {
            tracing::warn!("--enable-leader-migration has no effect without leader election");
            return Ok(None);
        }
        Ok(Some(migration))
    }

    /// Reads a configuration of any version, which may have no other fields.
    fn read(text: &str) -> anyhow::Result<Self> {
        let mut root: Mapping = serde_yaml::from_str(text)?;
        let version = take(&mut root, "apiVersion")?;
        let version = version.strip_prefix(GROUP).and_then(|version| version.strip_prefix('/'));
        let has_lock = match version {
            Some("v1alpha1" | "v1beta1") => true,
            Some("v1") => false,
            _ => bail!("apiVersion must be {GROUP}/v1, v1beta1 or v1alpha1"),
        };
        ensure!(take(&mut root, "kind")? == KIND, "kind must be {KIND}");
        let lease = take(&mut root, "leaderName")?;
        ensure!(!lease.is_empty(), "leaderName must be set");
        if has_lock {
            let lock = take(&mut root, "resourceLock")?;
            ensure!(lock == "leases", "resourceLock: only \"leases\" is left, not {lock:?}");
        }
        let mut leaders = BTreeMap::new();
        let list = match root.remove("controllerLeaders") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Sequence(list)) => list,
            Some(_) => bail!("controllerLeaders must be a list"),
        };
        for (at, leader) in list.into_iter().enumerate() {
            let (name, is_ours) =
                self::leader(leader).with_context(|| format!("controllerLeaders[{at}]"))?;
            leaders.insert(name, is_ours);
        }
        nothing_else(&root)?;
        Ok(Self { lease, leaders })
    }

    /// Where a controller of this canonical name runs.
    pub(crate) fn side(&self, name: &str) -> Side {
        match self.leaders.get(name).filter(|_| name != ALWAYS_MAIN) {
            Some(true) => Side::Migrated,
            Some(false) => Side::Foreign,
            None => Side::Main,
        }
    }
}

/// The name of a controller, and whether it is this component's.
fn leader(leader: Value) -> anyhow::Result<(String, bool)> {
    let Value::Mapping(mut leader) = leader else { bail!("must be a mapping") };
    let (name, component) = (take(&mut leader, "name")?, take(&mut leader, "component")?);
    ensure!(!name.is_empty(), "name must be set");
    ensure!(!component.is_empty(), "component must be set");
    nothing_else(&leader)?;
    Ok((name, component == COMPONENT || component == "*"))
}

/// The text of a field; empty if it is not there.
fn take(mapping: &mut Mapping, field: &str) -> anyhow::Result<String> {
    match mapping.remove(field) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text),
        Some(_) => bail!("{field} must be a text"),
    }
}

fn nothing_else(mapping: &Mapping) -> anyhow::Result<()> {
    let Some(field) = mapping.keys().next() else { return Ok(()) };
    bail!("unknown field {:?}", field.as_str().unwrap_or("that is no text"))
}
