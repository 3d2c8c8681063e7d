//! The table against the output of upstream's binary for each release that it can emulate, and the
//! flags against its errors.

use super::{Gates, Minor, Stage, features, table};
use crate::flags::{Failure, parse};
use crate::registry::{DEFAULTS, Entry, REGISTRY};

/// Name, then stage and `+` for on or `-` for off, emulating 1.33, 1.34, 1.35 and 1.36, each with
/// the default of `--min-compatibility-version`; tab-separated.
const RECORDED: &str = include_str!("../../testdata/gates.txt");

fn gates(line: &str) -> Result<Gates, String> {
    let words = line.split_whitespace().map(str::to_owned);
    Gates::from_flags(&parse(words).unwrap_or_else(|failure| panic!("{line}: {failure:?}")))
}

fn good(line: &str) -> Gates {
    gates(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// metrics.md, kubernetes_feature_enabled: 242 gates with name, stage and value, by default and in
/// each older release.
#[test]
fn every_release_has_upstreams_gates() {
    for (column, release) in ["1.33", "1.34", "1.35", "1.36"].iter().enumerate() {
        let expected: Vec<_> = RECORDED
            .lines()
            .filter_map(|line| {
                let cells: Vec<_> = line.split('\t').collect();
                let cell = cells[column + 1];
                (cell != "none").then(|| format!("{} {cell}", cells[0]))
            })
            .collect();
        let gates = good(&format!("--emulated-version={release}"));
        let shown = gates
            .iter()
            .map(|(name, stage, on)| format!("{name} {stage}{}", if on { '+' } else { '-' }));
        assert_eq!(shown.collect::<Vec<_>>(), expected, "{release}");
    }
    assert_eq!(good("").iter().count(), 242);
}

/// A line per gate, sorted; what a gate needs is a gate, and is on wherever the gate itself is.
#[test]
fn the_table_is_sorted_and_whole() {
    let table = table::gates();
    let names: Vec<_> = include_str!("table.txt")
        .lines()
        .map(|line| line.split(':').next().unwrap_or_default())
        .collect();
    assert!(names.is_sorted());
    assert_eq!(names, table.keys().copied().collect::<Vec<_>>());
    for need in table.values().flat_map(|gate| &gate.needs) {
        assert!(table.contains_key(need), "{need}");
    }
    for release in ["1.33", "1.34", "1.35", "1.36"] {
        good(&format!("--emulated-version={release}"));
    }
}

/// The gates that are read are in the table, and exist in a release that can be emulated.
#[test]
fn gates_that_are_asked_are_gates() {
    // A constant is `pub(crate) const CONSTANT: Feature = Feature("name");`.
    let source = include_str!("features.rs").split(';');
    let constants = source.filter_map(|item| {
        let (declared, name) = item.split_once("Feature(\"")?;
        declared.contains("const ").then(|| name.trim_end_matches("\")"))
    });
    assert_eq!(constants.collect::<Vec<_>>(), features::NAMES);
    assert!(features::NAMES.is_sorted());
    let table = table::gates();
    for name in features::NAMES {
        assert!(table.contains_key(name), "{name}");
    }
}

/// Whoever sets a gate learns if that changes nothing: each gate of the table, one at a time. One
/// that was not set, or is on by `AllAlpha`, is not named; nor is one that decides whether a row
/// runs.
#[test]
fn gates_that_are_set_in_vain_are_named() {
    let vain = |line: &str| good(line).without_effect(REGISTRY);
    for (name, gate) in table::gates() {
        let on = gate.at(good("").versions.emulation).unwrap().on;
        let group = ["AllAlpha", "AllBeta"].contains(&name);
        let mut rows = REGISTRY.iter().filter(|row| row.start.is_some());
        let chooses = rows.any(|row| row.gates.contains(&name));
        let is_asked = group || chooses || features::NAMES.contains(&name);
        let expected = if is_asked { vec![] } else { vec![name] };
        assert_eq!(vain(&format!("--feature-gates={name}={on}")), expected, "{name}");
    }
    assert!(vain("").is_empty());
    assert!(vain("--feature-gates=AllAlpha=true").is_empty());
    let line = "--feature-gates=NativeHistograms=true,PodDeletionCost=false,AtomicFIFO=true";
    assert_eq!(vain(line), ["AtomicFIFO", "NativeHistograms"]);
}

/// A row of the registry reads its gates once it is implemented.
#[test]
fn gates_of_written_controllers_are_asked() {
    let gates = good("--feature-gates=GenericWorkload=true");
    let row = Entry { gates: &["GenericWorkload"], ..DEFAULTS };
    assert_eq!(gates.without_effect(std::slice::from_ref(&row)), ["GenericWorkload"]);
    let written = Entry { start: Some(|_, _| unreachable!("nothing starts here")), ..row };
    assert!(gates.without_effect(&[written]).is_empty());
}

/// The errors of upstream's binary with the same flags; where its map order decides between
/// several, all of them here, by name.
#[test]
fn gates_are_refused_in_upstreams_words() {
    let rows = [
        ("Nope=true", "unrecognized feature gate: Nope"),
        (":x=true", "unrecognized feature gate: x"),
        ("=true", "unrecognized feature gate: "),
        (
            "APIServerTracing=false",
            "cannot set feature gate APIServerTracing to false, feature is locked to true",
        ),
        (
            "DRAResourcePoolStatus=true,APIServerTracing=false,Nope=true",
            "[cannot set feature gate APIServerTracing to false, feature is locked to true, \
             unrecognized feature gate: Nope]",
        ),
        (
            "GenericWorkload=x",
            "invalid value of GenericWorkload=x, err: strconv.ParseBool: parsing \"x\": invalid \
             syntax",
        ),
        ("AtomicFIFO", "missing bool value for AtomicFIFO"),
        ("foo:x=true,y=true", "component not registered: foo"),
        ("AtomicFIFO=true:x", "component not registered: AtomicFIFO=true"),
        (
            "kube:AllAlpha=true,AllBeta=true",
            "set kube feature gates with default empty prefix or kube: prefix consistently, do not \
             mix use",
        ),
        (
            "GangScheduling=true",
            "GangScheduling is enabled, but depends on features that are disabled: \
             [GenericWorkload]",
        ),
    ];
    for (setting, expected) in rows {
        let error = gates(&format!("--feature-gates={setting}")).unwrap_err();
        assert_eq!(error, expected, "{setting}");
    }
}

/// The same: features that build on one that is off are all named.
#[test]
fn all_that_build_on_a_gate_are_named() {
    let error = gates("--feature-gates=AllAlpha=true,GenericWorkload=false").unwrap_err();
    for name in ["GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadWithJob"] {
        let expected = format!(
            "{name} is enabled, but depends on features that are disabled: [GenericWorkload]"
        );
        assert!(error.contains(&expected), "{error}");
    }
    // Of several settings the last counts.
    let error = gates("--feature-gates=AtomicFIFO=true,AtomicFIFO=false").unwrap_err();
    assert!(error.starts_with("[StaleControllerConsistencyDaemonSet is enabled, but "), "{error}");
}

/// featuregate.go, `setUnsetAlphaGates`: explicit settings take precedence, in any order.
#[test]
fn all_alpha_and_all_beta_stand_for_what_is_not_set() {
    let alpha = |gates: &Gates| gates.has("HPAScaleToZero");
    let before = good("");
    assert!(!alpha(&before) && before.has("AtomicFIFO"));
    assert!(alpha(&good("--feature-gates=AllAlpha=true")));
    for line in ["AllAlpha=true,HPAScaleToZero=false", "HPAScaleToZero=false,AllAlpha=true"] {
        let line = format!("--feature-gates={line}");
        assert!(!alpha(&good(&line)), "{line}");
    }
    let without = good("--feature-gates=AllBeta=false");
    assert!(!without.has("AtomicFIFO") && !without.has("AllBeta"));
    assert!(without.has("APIServerTracing"), "stable ones stay");
    let both = good("--feature-gates=AllAlpha=true,AllBeta=true");
    assert!(both.iter().all(|(_, stage, on)| on || !["ALPHA", "BETA"].contains(&stage)));
    assert!(alpha(&good("--feature-gates=kube:HPAScaleToZero=true")));
}

/// featuregate.go, `SetFromMap`: gates that will be removed are named when they are set.
#[test]
fn gates_that_will_go_are_remembered() {
    let line = "--feature-gates=LogarithmicScaleDown=true,AllowDNSOnlyNodeCSR=true,AtomicFIFO=true";
    let expected = [
        ("AllowDNSOnlyNodeCSR", true, Stage::Deprecated),
        ("LogarithmicScaleDown", true, Stage::Ga),
    ];
    assert_eq!(good(line).outdated, expected);
    assert!(good("").outdated.is_empty());
}

/// A release's gates and locks are those that count.
#[test]
fn an_emulated_release_has_its_own_gates() {
    let old = good("--emulated-version=1.33 --feature-gates=APIServerTracing=false");
    assert!(!old.has("APIServerTracing"), "locked since 1.34");
    assert!(!old.has("AtomicFIFO"), "new in 1.36");
    let error = gates("--feature-gates=AtomicFIFO=false --emulated-version=1.35").unwrap_err();
    let expected = "cannot set feature gate AtomicFIFO to false, feature is PreAlpha at emulated \
                    version 1.35, min compatibility version 1.34";
    assert_eq!(error, expected);
}

/// Upstream's binary: what the two version flags may say.
#[test]
fn versions_are_refused_in_upstreams_words() {
    let rows = [
        ("1.36.3", "patch version not allowed, got: kube=1.36.3"),
        ("kube=1.35,kube=1.34", "duplicate version flag, kube=1.35 and kube=1.34"),
        ("foo=1.35", "component not registered: foo"),
        ("x", r#"could not parse "x" as version"#),
        ("1", r#"illegal version string "1""#),
        ("kube=", r#"could not parse "" as version"#),
        ("01.35", r#"illegal zero-prefixed version component "01" in "01.35""#),
    ];
    for (version, expected) in rows {
        for flag in ["emulated-version", "min-compatibility-version"] {
            assert_eq!(gates(&format!("--{flag}={version}")).unwrap_err(), expected, "{version}");
        }
    }
}

/// The same for versions out of range, which come with the other errors.
#[test]
fn versions_out_of_range_are_errors() {
    let rows: [(&str, &[&str]); 6] = [
        ("--emulated-version=1.37", &["emulation version 1.37 is not between [1.33, 1.36.0]"]),
        (
            "--emulated-version=1.30",
            &[
                "emulation version 1.30 is not between [1.33, 1.36.0]",
                "minCompatibilityVersion version 1.33 is not between [1.33, 1.30]",
            ],
        ),
        (
            "--emulated-version=1.35 --min-compatibility-version=1.36",
            &["minCompatibilityVersion version 1.36 is not between [1.33, 1.35]"],
        ),
        (
            "--min-compatibility-version=1.32",
            &["minCompatibilityVersion version 1.32 is not between [1.33, 1.36]"],
        ),
        ("--emulated-version=1.33", &[]),
        ("--emulated-version=1.35 --min-compatibility-version=1.35", &[]),
    ];
    for (line, expected) in rows {
        assert_eq!(good(line).versions.errors(), expected, "{line}");
    }
}

/// compatibility/version.go: the oldest compatible release is one before, and 1.33 at least.
#[test]
fn versions_are_what_was_given() {
    let shown = |line: &str| {
        let versions = good(line).versions;
        format!("{} {} {}", versions.binary, versions.emulation, versions.min_compat)
    };
    assert_eq!(shown(""), "1.36.3 1.36 1.35");
    assert_eq!(shown("--emulated-version=v1.34"), "1.36.3 1.34 1.33");
    assert_eq!(shown("--emulated-version=kube=1.33"), "1.36.3 1.33 1.33");
    assert_eq!(shown("--emulated-version=1.36.0"), "1.36.3 1.36 1.35");
    assert_eq!(shown("--emulated-version=1.035"), "1.36.3 1.35 1.34");
    assert_eq!(shown("--min-compatibility-version=1.36 --version=v1.36.3+a"), "1.36.3+a 1.36 1.36");
    assert_eq!(good("--version=raw").versions.git_version(), "v1.36.3");
    assert_eq!(good("").versions.emulation, Minor { major: 1, minor: 36 });
}

/// manager.md, Start-up order: a bad gate ends the start before anything else, without the usage.
#[test]
fn a_bad_gate_is_refused_without_the_usage() {
    let words = ["--version", "--feature-gates=x", "--controllers=nope"].map(str::to_owned);
    let failure = crate::options::Options::parse(words).unwrap_err();
    assert_eq!(failure, Failure::Refused("missing bool value for x".to_owned()));
}
