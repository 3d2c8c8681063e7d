//! THE table of flags: all flags of upstream, by section; and the given values.
//!
//! Names, types, defaults and sections are upstream's, the help is ours. A flag without an effect
//! yet is accepted, so that command lines need no change, and [`Flags::without_effect`] names it.

mod controllers;
mod duration;
pub(crate) mod handles;
mod process;
mod syntax;
#[cfg(test)]
mod tests;
mod value;
mod version;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use duration::GoDuration;
pub use syntax::{Failure, command, parse};
pub(crate) use value::boolean;
pub use value::{Kind, Value};
pub(crate) use version::generic as generic_version;

/// A part of the help.
pub struct Section {
    /// Upstream's title: the name of its flag set.
    pub title: &'static str,
    /// The flags, sorted by name.
    pub flags: &'static [Flag],
}

/// A flag.
#[derive(Debug, PartialEq, Eq)]
pub struct Flag {
    /// Without the dashes.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// As it prints.
    pub default: &'static str,
    /// For the help.
    pub help: &'static str,
    /// It is accepted, hidden from the help, and this warning is printed.
    pub deprecated: Option<&'static str>,
    /// Whether it has no effect in upstream either, and so counts as effective here.
    moot: bool,
}

/// All sections, in the order of the help.
pub static SECTIONS: &[&Section] = &[
    &process::DEBUGGING,
    &process::LEADER_MIGRATION,
    &process::GENERIC,
    &controllers::SERVICE_LB_CONTROLLER,
    &process::SECURE_SERVING,
    &process::AUTHENTICATION,
    &process::AUTHORIZATION,
    &controllers::PERSISTENTVOLUME_ATTACH_DETACH_CONTROLLER,
    &controllers::CERTIFICATESIGNINGREQUEST_SIGNING_CONTROLLER,
    &controllers::DEPLOYMENT_CONTROLLER,
    &controllers::DEVICE_TAINT_EVICTION_CONTROLLER,
    &controllers::RESOURCECLAIM_CONTROLLER,
    &controllers::STATEFULSET_CONTROLLER,
    &controllers::DAEMONSET_CONTROLLER,
    &controllers::ENDPOINTS_CONTROLLER,
    &controllers::ENDPOINTSLICE_CONTROLLER,
    &controllers::ENDPOINTSLICE_MIRRORING_CONTROLLER,
    &controllers::EPHEMERAL_VOLUME_CONTROLLER,
    &controllers::GARBAGE_COLLECTOR_CONTROLLER,
    &controllers::HORIZONTAL_POD_AUTOSCALER_CONTROLLER,
    &controllers::JOB_CONTROLLER,
    &controllers::CRONJOB_CONTROLLER,
    &controllers::LEGACY_SERVICEACCOUNT_TOKEN_CLEANER_CONTROLLER,
    &controllers::NAMESPACE_CONTROLLER,
    &controllers::NODE_IPAM_CONTROLLER,
    &controllers::NODE_LIFECYCLE_CONTROLLER,
    &controllers::PERSISTENTVOLUME_BINDER_CONTROLLER,
    &controllers::POD_GARBAGE_COLLECTOR_CONTROLLER,
    &controllers::REPLICASET_CONTROLLER,
    &controllers::REPLICATIONCONTROLLER_CONTROLLER,
    &controllers::RESOURCEQUOTA_CONTROLLER,
    &controllers::SERVICEACCOUNT_CONTROLLER,
    &controllers::TTL_AFTER_FINISHED_CONTROLLER,
    &controllers::VALIDATINGADMISSIONPOLICY_STATUS_CONTROLLER,
    &process::METRICS,
    &process::LOGS,
    &process::MISC,
    &process::GLOBAL,
    &process::NOT_IN_UPSTREAM,
];

impl Flag {
    const fn new(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self { name, kind, default, help, deprecated: None, moot: false }
    }

    /// Without built-in cloud providers, these have no effect in upstream either.
    const fn deprecated(mut self, text: &'static str) -> Self {
        self.deprecated = Some(text);
        self.moot()
    }

    const fn moot(mut self) -> Self {
        self.moot = true;
        self
    }

    /// Whether it has the same effect as in upstream.
    pub fn works(&self) -> bool {
        self.moot || handles::NAMES.contains(&self.name)
    }

    fn default_value(&self) -> Value {
        self.kind.parse_default(self.default).expect("the table's defaults can be parsed")
    }
}

/// All flags, in the order of the help.
pub fn all() -> impl Iterator<Item = &'static Flag> {
    SECTIONS.iter().flat_map(|section| section.flags)
}

/// The values of all flags.
///
/// A name that is not in the table, or a wrong type, is a bug in this crate and panics.
#[derive(Clone, Debug)]
pub struct Flags {
    values: BTreeMap<&'static str, (&'static Flag, Value)>,
    given: BTreeSet<&'static str>,
}

impl Flags {
    /// A switch.
    pub(crate) fn switch(&self, flag: handles::Switch) -> bool {
        self.value(flag.name()).switch()
    }

    /// A text, or a value that is kept as text.
    pub(crate) fn text(&self, flag: handles::Text) -> &str {
        self.value(flag.name()).text()
    }

    /// All values of a repeatable flag.
    pub(crate) fn list(&self, flag: handles::List) -> &[String] {
        self.value(flag.name()).list()
    }

    /// A whole number.
    pub(crate) fn int(&self, flag: handles::Int) -> i64 {
        self.value(flag.name()).int()
    }

    /// A whole number of 32 bits.
    pub(crate) fn int32(&self, flag: handles::Int) -> i32 {
        i32::try_from(self.int(flag)).expect("int32 flags take 32 bits")
    }

    /// A number of single precision.
    pub(crate) fn float32(&self, flag: handles::Float32) -> f32 {
        self.value(flag.name()).float32()
    }

    /// A number of double precision.
    pub(crate) fn float64(&self, flag: handles::Float64) -> f64 {
        self.value(flag.name()).float64()
    }

    /// A duration, or nothing if a negative one was given.
    pub(crate) fn positive(&self, flag: handles::Span) -> Duration {
        self.value(flag.name()).duration().to_std()
    }

    /// The type of the flag `name`.
    pub(crate) fn kind(&self, name: &str) -> Kind {
        self.values.get(name).map_or_else(|| unknown(name), |(flag, _)| flag.kind)
    }

    /// The value of a flag of any type, for code that shows all flags or validates one: code with
    /// an effect reads it by its handle.
    pub(crate) fn value(&self, name: &str) -> &Value {
        self.values.get(name).map_or_else(|| unknown(name), |(_, value)| value)
    }

    /// Sets the flag `name`, unless it was given.
    pub(crate) fn set_default(&mut self, name: &str, value: Value) {
        if !self.given.contains(name) {
            match self.values.get_mut(name) {
                Some((_, old)) => *old = value,
                None => unknown(name),
            }
        }
    }

    /// A line for each deprecated flag that was given, as pflag prints it.
    pub fn deprecations(&self) -> Vec<String> {
        let given = self.values.values().filter(|(flag, _)| self.given.contains(flag.name));
        let text = |(flag, _): &(&Flag, _)| {
            let text = flag.deprecated?;
            Some(format!("Flag --{} has been deprecated, {text}", flag.name))
        };
        given.filter_map(text).collect()
    }

    /// The flags with a value other than their default that have no effect yet, by name. A flag set
    /// to its default misleads nobody.
    pub fn without_effect(&self) -> Vec<&'static str> {
        let flags = self.values.values();
        let idle = flags.filter(|(flag, value)| !flag.works() && *value != flag.default_value());
        idle.map(|(flag, _)| flag.name).collect()
    }

    /// All flags with their values as upstream prints them, sorted by name, as in `/flagz`. A flag
    /// that upstream lacks is included only if it was given.
    pub fn shown(&self) -> impl Iterator<Item = (&'static str, String)> {
        let is_ours = |flag: &Flag| process::NOT_IN_UPSTREAM.flags.iter().any(|f| f == flag);
        let flags = self.values.values();
        let flags = flags.filter(move |(flag, _)| !is_ours(flag) || self.given.contains(flag.name));
        flags.map(|(flag, value)| (flag.name, flag.kind.show(value)))
    }

    /// The same as the lines of upstream's start-up dump.
    pub fn dump(&self) -> impl Iterator<Item = String> {
        self.shown().map(|(name, value)| format!("FLAG: --{name}={value:?}"))
    }
}

fn unknown<T>(name: &str) -> T {
    unreachable!("--{name} is no flag")
}
