//! What the server says of itself: its version, its health, its paths.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Page, discovery};
use crate::server::State;

/// What `?verbose` lists. There is one thing that can be asked whether it is well: the process.
const CHECKS: [&str; 1] = ["ping"];
/// The release that the sandbox is like.
const VERSION: &str = "v1.36.3";

/// `/version`. The members that name a build are those of none.
pub(super) fn version() -> Page {
    Page::json(&json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": VERSION,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": format!("{}/{}", std::env::consts::OS, platform()),
    }))
}

/// As Go names it.
fn platform() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// `/healthz`, `/livez`, `/readyz` (apiserver's handleRootHealth).
pub(super) fn health(path: &str, query: &str) -> Page {
    let said = query.split('&').map(|it| it.split_once('=').unwrap_or((it, "")));
    let excluded = said.clone().filter(|(name, _)| *name == "exclude");
    let excluded: BTreeSet<_> = excluded.map(|(_, check)| check).collect();
    let verbose = said.clone().any(|(name, _)| name == "verbose");
    if !verbose {
        return Page::text("ok".to_owned());
    }
    let mut lines: Vec<_> = CHECKS
        .iter()
        .map(|check| {
            let without = if excluded.contains(check) { " excluded:" } else { "" };
            format!("[+]{check}{without} ok\n")
        })
        .collect();
    let unknown = excluded.iter().filter(|it| !CHECKS.contains(it));
    let unknown: Vec<_> = unknown.map(|it| format!("{it:?}")).collect();
    if !unknown.is_empty() {
        let warning = "warn: some health checks cannot be excluded: no matches for";
        lines.push(format!("{warning} {}\n", unknown.join(",")));
    }
    lines.push(format!("{} check passed\n", path.trim_start_matches('/')));
    Page::text(lines.concat())
}

/// Whether a path is that of a single check.
pub(super) fn is_check(path: &str) -> bool {
    let check = ["/healthz/", "/livez/", "/readyz/"].iter().find_map(|it| path.strip_prefix(it));
    check.is_some_and(|check| CHECKS.contains(&check))
}

/// `/`: the paths.
pub(super) fn index(state: &State) -> Page {
    let mut paths: BTreeSet<String> =
        ["/api", "/apis", "/healthz", "/livez", "/openapi/v3", "/readyz", "/version"]
            .map(str::to_owned)
            .into();
    for root in ["/healthz", "/livez", "/readyz"] {
        paths.extend(CHECKS.iter().map(|check| format!("{root}/{check}")));
    }
    for group in discovery::groups(&state.registry) {
        if !group.name.is_empty() {
            paths.insert(format!("/apis/{}", group.name));
        }
        paths.extend(group.versions.iter().map(|version| group.path(version)));
    }
    Page::json(&json!({"paths": paths}))
}
