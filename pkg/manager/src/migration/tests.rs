//! Upstream's TestLeaderMigratorFilterFunc, TestLeaderMigrationOptions and config_test.go of
//! k8s.io/controller-manager/pkg/leadermigration.

use super::{BUILT_IN, LEASE, Migration, Side};
use crate::options::Options;

fn options(words: &[&str]) -> Options {
    Options::parse(words.iter().map(|word| (*word).to_owned())).unwrap()
}

fn read(text: &str) -> Result<Migration, String> {
    Migration::read(text).map_err(|error| format!("{error:#}"))
}

/// A configuration of v1 for these controllers and components.
fn of(leaders: &[(&str, &str)]) -> Migration {
    let leaders = leaders
        .iter()
        .map(|(name, component)| format!("- name: {name}\n  component: \"{component}\"\n"));
    let leaders: String = leaders.collect();
    read(&format!(
        "apiVersion: controllermanager.config.k8s.io/v1\nkind: LeaderMigrationConfiguration\n\
         leaderName: test-leader-migration\ncontrollerLeaders:\n{leaders}"
    ))
    .unwrap()
}

/// TestLeaderMigratorFilterFunc.
#[test]
fn controllers_run_where_the_configuration_says() {
    for (component, side) in [
        ("kube-controller-manager", Side::Migrated),
        ("cloud-controller-manager", Side::Foreign),
        ("*", Side::Migrated),
    ] {
        let migration = of(&BUILT_IN.map(|name| (name, component)));
        for name in BUILT_IN {
            assert_eq!(migration.side(name), side, "{name} of {component}");
        }
        assert_eq!(migration.side("deployment-controller"), Side::Main);
    }
    let everything = of(&[("serviceaccount-token-controller", "cloud-controller-manager")]);
    assert_eq!(everything.side("serviceaccount-token-controller"), Side::Main, "others need it");
}

/// TestLeaderMigrationOptions: off, without a file; without an election, as upstream's `Enabled`.
#[test]
fn the_flags_say_whether_anything_migrates() {
    let of = |words: &[&str]| Migration::of(&options(words)).unwrap();
    assert_eq!(of(&[]), None);
    assert_eq!(of(&["--leader-migration-config=/absent"]), None, "off, nothing is read");
    assert_eq!(of(&["--enable-leader-migration", "--leader-elect=false"]), None);
    let built_in = of(&["--enable-leader-migration"]).unwrap();
    assert_eq!(built_in.lease, LEASE);
    assert_eq!(built_in.side("cloud-node-lifecycle-controller"), Side::Migrated);
    assert_eq!(built_in.side("node-ipam-controller"), Side::Main);
    let shadow = of(&["--enable-leader-migration", "--shadow"]).unwrap();
    assert_eq!(shadow, built_in, "a shadow does as the manager in charge");
    for election in ["--leader-elect=true", "--leader-elect=false"] {
        let absent = "--leader-migration-config=/absent";
        let absent = options(&["--enable-leader-migration", absent, election]);
        let error = format!("{:#}", Migration::of(&absent).unwrap_err());
        assert!(error.starts_with("--leader-migration-config /absent: "), "{error}");
    }
}

/// TestReadLeaderMigrationConfiguration and TestValidateLeaderMigrationConfiguration: all versions,
/// strictly.
#[test]
fn configurations_are_read_strictly() {
    let text = |version: &str, more: &str| {
        format!(
            "apiVersion: controllermanager.config.k8s.io/{version}\n\
             kind: LeaderMigrationConfiguration\n{more}"
        )
    };
    for version in ["v1alpha1", "v1beta1"] {
        let good = text(version, "leaderName: a\nresourceLock: leases\ncontrollerLeaders: []\n");
        assert_eq!(read(&good).unwrap().lease, "a");
    }
    assert_eq!(read(&text("v1", "leaderName: a\n")).unwrap().lease, "a");
    for (version, more, error) in [
        ("v2", "leaderName: a\n", "apiVersion must be"),
        ("v1", "", "leaderName must be set"),
        ("v1", "leaderName: a\nresourceLock: leases\n", "unknown field \"resourceLock\""),
        ("v1beta1", "leaderName: a\n", "resourceLock: only \"leases\" is left, not \"\""),
        ("v1beta1", "leaderName: a\nresourceLock: endpoints\n", "resourceLock: only"),
        ("v1", "leaderName: a\nmore: b\n", "unknown field \"more\""),
        ("v1", "leaderName: 1\n", "leaderName must be a text"),
        ("v1", "leaderName: a\ncontrollerLeaders: b\n", "controllerLeaders must be a list"),
        (
            "v1",
            "leaderName: a\ncontrollerLeaders: [{name: x}]\n",
            "controllerLeaders[0]: component must be set",
        ),
        (
            "v1",
            "leaderName: a\ncontrollerLeaders: [{component: x}]\n",
            "controllerLeaders[0]: name must be set",
        ),
        (
            "v1",
            "leaderName: a\ncontrollerLeaders: [{name: x, component: y, z: 1}]\n",
            "controllerLeaders[0]: unknown field \"z\"",
        ),
    ] {
        let found = read(&text(version, more)).unwrap_err();
        assert!(found.starts_with(error), "{found}, expected: {error}");
    }
    assert!(read("[]").is_err() && read("kind: Pod").is_err());
}
