//! Flags and the choice of controllers.

use clap::Parser;

use crate::options::Options;
use crate::registry::{Entry, REGISTRY};
use crate::selection::select;

/// A table with one controller that is off by default.
fn table() -> Vec<Entry> {
    let row = |name, aliases, on_by_default| Entry {
        name,
        aliases,
        folder: "",
        on_by_default,
        account: "",
        start: |_, _| Box::pin(async {}),
    };
    vec![
        row("daemonset-controller", &["daemonset"], true),
        row("replicaset-controller", &["replicaset"], true),
        row("token-cleaner-controller", &["tokencleaner"], false),
    ]
}

fn selected(list: &str) -> String {
    let list: Vec<_> = list.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    match select(&list, &table()) {
        Ok(rows) => rows.iter().map(|row| row.aliases[0]).collect::<Vec<_>>().join(","),
        Err(error) => error,
    }
}

/// manager.md, Building and starting controllers; upstream TestIsControllerEnabled.
#[test]
fn controllers_are_selected_as_upstream_does() {
    let rows = [
        ("*", "daemonset,replicaset", "all that are on by default"),
        ("", "", "an empty list"),
        ("replicaset", "replicaset", "an alias"),
        ("replicaset-controller", "replicaset", "a canonical name"),
        ("*,-replicaset", "daemonset", "all but one"),
        ("-replicaset,*", "daemonset", "the order of * does not matter"),
        ("*,tokencleaner", "daemonset,replicaset,tokencleaner", "off by default, named"),
        ("replicaset,-replicaset", "replicaset", "the first match wins: on"),
        ("-replicaset,replicaset", "", "the first match wins: off"),
        ("-replicaset-controller,replicaset", "", "an alias is the name that it stands for"),
        ("-tokencleaner", "", "only off"),
    ];
    for (list, expected, name) in rows {
        assert_eq!(selected(list), expected, "{name}: {list}");
    }
}

/// flags.md: `"xx" is not in the list of known controllers`; all of them are named.
#[test]
fn unknown_controllers_are_refused_by_name() {
    let error = selected("*,nodes,-pods,replicaset");
    assert!(
        error.starts_with(
            "--controllers: \"nodes\" is not in the list of known controllers, \
             \"pods\" is not in the list of known controllers (known: daemonset-controller, "
        ),
        "{error}"
    );
}

fn parse(args: &[&str]) -> Options {
    Options::try_parse_from([&["kube-controller-manager"], args].concat()).unwrap()
}

/// flags.md: types and defaults of the flags that exist, and pflag's ways to write them.
#[test]
fn flags_have_upstreams_defaults_and_syntax() {
    let options = parse(&[]);
    assert_eq!(options.controllers, ["*"]);
    assert_eq!(options.concurrent_replicaset_syncs, 5);
    assert_eq!(options.limits(), (20.0, 30));
    assert!(options.leader_elect);
    let options = parse(&["--controllers=replicaset,-replicaset", "--controllers", "-replicaset"]);
    assert_eq!(options.controllers, ["replicaset", "-replicaset", "-replicaset"]);
    assert!(!parse(&["--leader-elect=false"]).leader_elect);
    assert!(parse(&["--leader-elect"]).leader_elect);
    assert_eq!(parse(&["-v", "4"]).verbosity, 4);
    assert_eq!(parse(&["--v=4"]).verbosity, 4);
    assert_eq!(parse(&["--version"]).version.as_deref(), Some("true"));
}

/// machinery.md, REST client: QPS 0 is client-go's default, a negative one is no limit.
#[test]
fn a_rate_of_zero_is_client_gos_default() {
    assert_eq!(parse(&["--kube-api-qps=0"]).limits(), (5.0, 10));
    assert!(parse(&["--kube-api-qps=-1"]).limits().0 < 0.0);
}

/// Issue: unknown names are refused, and what is not there yet says so.
#[test]
fn validation_names_the_flags() {
    let errors = parse(&["--controllers=nodes"]).validate();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].starts_with("--leader-elect: "), "{errors:?}");
    assert!(errors[1].starts_with("--controllers: "), "{errors:?}");
    assert!(parse(&["--leader-elect=false"]).validate().is_empty());
}

/// design.md, section 6: one row per controller, sorted, no name twice.
#[test]
fn the_registry_is_sorted_and_unambiguous() {
    let names: Vec<_> =
        REGISTRY.iter().flat_map(|row| [&[row.name], row.aliases].concat()).collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), names.len());
    assert!(REGISTRY.is_sorted_by_key(|row| row.name));
}
