//! Families with the version and the features of the program.

use prometheus::{GaugeVec, IntGaugeVec};

use crate::family::Family;
use crate::registry::{Error, Registry};
use crate::version::VERSION;

const BUILD: Family<'_> = Family::beta(
    "kubernetes_build_info",
    "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree \
     state, build date, Go version, and compiler from which Kubernetes was built, and platform on \
     which it is running.",
)
.labels(&[
    "major",
    "minor",
    "git_version",
    "git_commit",
    "git_tree_state",
    "build_date",
    "go_version",
    "compiler",
    "platform",
]);
const COMPATIBLE: Family<'_> = Family::alpha(
    "version_info",
    "Provides the compatibility version info of the component. The component label is the name of \
     the component, usually kube, but is relevant for aggregated-apiservers.",
)
.labels(&["component", "binary", "emulation", "min_compat"]);
const FEATURES: Family<'_> = Family::beta(
    "kubernetes_feature_enabled",
    "This metric records the data about the stage and enablement of a k8s feature.",
)
.labels(&["name", "stage"]);

/// Upstream's value for a build without a date, as all of ours.
const BUILD_DATE: &str = "1970-01-01T00:00:00Z";

/// Shown where upstream has its version of Go.
pub const GO_VERSION: &str = "none";

/// Registers `kubernetes_build_info` and `version_info`: the latter with the release that the
/// program behaves as and the oldest compatible one, such as `1.36` and `1.35`.
///
/// `git_commit` is `GIT_COMMIT` of the build. Dashboards want the label `go_version`; there is no
/// Go, so it says `none`.
pub fn register(registry: &Registry, emulation: &str, min_compat: &str) -> Result<(), Error> {
    let build: IntGaugeVec = registry.family(&BUILD)?;
    let compatible: IntGaugeVec = registry.family(&COMPATIBLE)?;
    let (major, minor) = (VERSION.major.to_string(), VERSION.minor.to_string());
    let (version, tag) = (VERSION.to_string(), format!("v{VERSION}"));
    let commit = option_env!("GIT_COMMIT").unwrap_or("unknown");
    let platform = platform();
    let labels =
        [&major, &minor, &tag, commit, "", BUILD_DATE, GO_VERSION, "rustc", platform.as_str()];
    build.with_label_values(&labels).set(1);
    compatible.with_label_values(&["kube", &version, emulation, min_compat]).set(1);
    Ok(())
}

/// Registers `kubernetes_feature_enabled` and shows `features`: the gate's name; its stage as
/// upstream has it, `ALPHA`, `BETA`, `DEPRECATED` or nothing; whether it is on.
pub fn register_features<'a>(
    registry: &Registry,
    features: impl IntoIterator<Item = (&'a str, &'a str, bool)>,
) -> Result<(), Error> {
    let family: GaugeVec = registry.family(&FEATURES)?;
    for (name, stage, is_on) in features {
        family.with_label_values(&[name, stage]).set(f64::from(u8::from(is_on)));
    }
    Ok(())
}

/// Operating system and processor, as Go names them: `linux/amd64`.
pub fn platform() -> String {
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{}/{arch}", std::env::consts::OS)
}
