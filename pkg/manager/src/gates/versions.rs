//! `--emulated-version` and `--min-compatibility-version` (k8s.io/component-base/compatibility).

use std::fmt::{self, Display, Formatter};

use super::COMPONENT;
use crate::flags::{Flags, generic_version, handles};
use crate::options::KUBERNETES_VERSION;

/// The release of this binary, without its patch number.
const BINARY: Minor = Minor { major: 1, minor: 36 };
/// The oldest release that it can emulate and be compatible with.
const FLOOR: Minor = Minor { major: 1, minor: 33 };

/// A release without its patch number: `1.36`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minor {
    /// The number before the dot.
    pub major: u64,
    /// The number after it.
    pub minor: u64,
}

/// The release of this binary, and the emulated one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The version that this binary reports, as `--version` may set it: `1.36.3`, `1.36.3+suffix`.
    pub binary: String,
    /// The release whose defaults count.
    pub emulation: Minor,
    /// The oldest release that the other components may have.
    pub min_compat: Minor,
}

impl Minor {
    /// Reads `major.minor`, as [`generic_version`] does.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let numbers = generic_version(text)?;
        Ok(Self { major: numbers[0], minor: numbers[1] })
    }

    fn previous(self) -> Self {
        Self { minor: self.minor.saturating_sub(1), ..self }
    }
}

impl Display for Minor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Versions {
    /// The versions of the flags. The error is about their syntax.
    pub(super) fn from_flags(flags: &Flags) -> Result<Self, String> {
        let emulation = version(flags.list(handles::EMULATED_VERSION))?.unwrap_or(BINARY);
        let min_compat = version(flags.list(handles::MIN_COMPATIBILITY_VERSION))?;
        let min_compat = min_compat.unwrap_or_else(|| emulation.previous().max(FLOOR));
        let reported = Some(flags.text(handles::VERSION)).filter(|text| text.starts_with('v'));
        let binary = reported.unwrap_or(KUBERNETES_VERSION).trim_start_matches('v').to_owned();
        Ok(Self { binary, emulation, min_compat })
    }

    /// The binary's version without what follows its three numbers: `1.36.3`.
    pub(crate) fn binary_release(&self) -> &str {
        self.binary.split(['+', '-']).next().unwrap_or(&self.binary)
    }

    /// The binary's version with a `v` before it.
    pub fn git_version(&self) -> String {
        format!("v{}", self.binary)
    }

    /// Errors for versions out of range, with upstream's texts (`effectiveVersion.Validate`).
    pub fn errors(&self) -> Vec<String> {
        let Self { emulation, min_compat, .. } = self;
        let mut errors = Vec::new();
        if !(FLOOR..=BINARY).contains(emulation) {
            errors.push(format!(
                "emulation version {emulation} is not between [{FLOOR}, {BINARY}.0]"
            ));
        }
        if *min_compat > *emulation || *min_compat < FLOOR {
            errors.push(format!(
                "minCompatibilityVersion version {min_compat} is not between [{FLOOR}, \
                 {emulation}]"
            ));
        }
        errors
    }
}

/// The version that a list of `[component=]major.minor` gives.
fn version(list: &[String]) -> Result<Option<Minor>, String> {
    let mut known: Option<Minor> = None;
    let mut strange = None;
    for word in list {
        let (component, text) = word.split_once('=').unwrap_or((COMPONENT, word));
        let (component, text) = (component.trim(), text.trim());
        let numbers = generic_version(text)?;
        if numbers.get(2).is_some_and(|patch| *patch != 0) {
            let numbers: Vec<_> = numbers.iter().map(u64::to_string).collect();
            let version = numbers.join(".");
            return Err(format!("patch version not allowed, got: {component}={version}"));
        }
        let version = Minor { major: numbers[0], minor: numbers[1] };
        if component != COMPONENT {
            strange = strange.or(Some(component));
        } else if let Some(first) = known.replace(version) {
            let twice = format!("{COMPONENT}={first} and {COMPONENT}={version}");
            return Err(format!("duplicate version flag, {twice}"));
        }
    }
    match strange {
        Some(component) => Err(format!("component not registered: {component}")),
        None => Ok(known),
    }
}
