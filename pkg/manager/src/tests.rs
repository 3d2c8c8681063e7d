//! Options, their validation, and the choice of controllers.

use std::time::Duration;

use crate::flags::Failure;
use crate::options::{Election, Options};
use crate::registry::{Entry, Gate, REGISTRY, Start};
use crate::selection::{choose, unknown};
use crate::validation::aggregate;

/// A table with one controller of each sort.
fn table() -> Vec<Entry> {
    let start: Option<Start> = Some(|_, _| Box::pin(async {}));
    let row = |name, aliases| Entry {
        name,
        aliases,
        folder: None,
        on_by_default: true,
        always_on: false,
        gates: &[],
        cloud: false,
        account: "",
        start,
    };
    vec![
        row("daemonset-controller", &["daemonset"]),
        Entry {
            gates: &[Gate { name: "A", on: true }, Gate { name: "B", on: false }],
            ..row("podgroup-protection-controller", &["gated"])
        },
        row("replicaset-controller", &["replicaset"]),
        Entry { cloud: true, ..row("service-lb-controller", &["service"]) },
        Entry {
            always_on: true,
            start: None,
            ..row("serviceaccount-token-controller", &["serviceaccount-token"])
        },
        Entry { on_by_default: false, ..row("token-cleaner-controller", &["tokencleaner"]) },
        Entry { start: None, ..row("ttl-controller", &["ttl"]) },
    ]
}

fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn aliases(rows: &[&Entry]) -> String {
    rows.iter().map(|row| row.aliases[0]).collect::<Vec<_>>().join(",")
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
        ("gated,service,ttl", "", "a gate is off, a cloud provider, not written"),
    ];
    for (words, expected, name) in rows {
        assert_eq!(aliases(&choose(&list(words), &table()).run), expected, "{name}: {words}");
    }
}

/// controllers.md, Facts: each skip has its reason; the token controller cannot be switched off.
#[test]
fn skipped_controllers_have_one_reason_each() {
    let table = table();
    let choice = choose(&list("*,-daemonset,-serviceaccount-token"), &table);
    assert_eq!(aliases(&choice.run), "replicaset");
    assert_eq!(aliases(&choice.gated), "gated");
    assert_eq!(aliases(&choice.cloud), "service");
    assert_eq!(aliases(&choice.disabled), "daemonset,tokencleaner");
    assert_eq!(aliases(&choice.not_yet), "serviceaccount-token,ttl");
    assert_eq!(aliases(&choose(&[], &table).not_yet), "serviceaccount-token");
}

/// flags.md: `"xx" is not in the list of known controllers`, without the dash, one error each.
#[test]
fn unknown_controllers_are_refused_by_name() {
    let errors = unknown(&list("*,nodes,-pods,-*,replicaset,service,gated,-ttl"), &table());
    let expected = ["nodes", "pods", "*"]
        .map(|name| format!("\"{name}\" is not in the list of known controllers"));
    assert_eq!(errors, expected);
}

/// controllers.md, the table: every name and alias is known, and what becomes of it by default.
#[test]
fn the_registry_is_upstreams() {
    assert_eq!(REGISTRY.len(), 52);
    let all = choose(&list("*,bootstrapsigner,tokencleaner,selinux-warning-controller"), REGISTRY);
    // 43 live ones, and the storage version migrator, which upstream builds and then drops.
    assert_eq!(all.run.len() + all.not_yet.len(), 44);
    assert_eq!((all.gated.len(), all.cloud.len(), all.disabled.len()), (5, 3, 0));
    let off = choose(&list("*"), REGISTRY).disabled;
    assert_eq!(aliases_or_names(&off), "bootstrapsigner,selinux-warning-controller,tokencleaner");
    let always = REGISTRY.iter().filter(|row| row.always_on).map(|row| row.name);
    assert_eq!(always.collect::<Vec<_>>(), ["serviceaccount-token-controller"]);
    for row in REGISTRY {
        assert_eq!(row.start.is_some(), row.folder.is_some(), "{}", row.name);
        assert_eq!(row.account.is_empty(), row.cloud, "{}", row.name);
        // Upstream TestFeatureGatedControllersShouldNotDefineAliases, and its two exceptions.
        let old = ["resourceclaim-controller", "storageversion-garbage-collector-controller"];
        let is_new = !row.gates.is_empty() && !old.contains(&row.name);
        assert!(!is_new || row.aliases.is_empty(), "{}", row.name);
    }
}

fn aliases_or_names(rows: &[&Entry]) -> String {
    let names: Vec<_> = rows.iter().map(|row| row.aliases.first().unwrap_or(&row.name)).collect();
    names.iter().map(|name| **name).collect::<Vec<_>>().join(",")
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

fn parse(args: &[&str]) -> Options {
    Options::parse(args.iter().map(|&arg| arg.to_owned())).unwrap()
}

/// flags.md: defaults of what the program reads.
#[test]
fn options_have_upstreams_defaults() {
    let options = parse(&[]);
    assert_eq!(options.kubeconfig, None);
    assert_eq!(options.master, None);
    assert_eq!(options.controllers, ["*"]);
    assert_eq!(options.concurrent_replicaset_syncs, 5);
    assert_eq!(options.limits(), (20.0, 30));
    assert_eq!(options.verbosity, 0);
    assert_eq!(options.version, None);
    let election = Election {
        leader_elect: true,
        lease_duration: Duration::from_secs(15),
        renew_deadline: Duration::from_secs(10),
        retry_period: Duration::from_secs(2),
        resource_lock: "leases".to_owned(),
        resource_name: "kube-controller-manager".to_owned(),
        resource_namespace: "kube-system".to_owned(),
    };
    assert_eq!(options.election, election);
}

/// flags.md: each flag reaches its field.
#[test]
fn options_are_what_was_given() {
    let options = parse(&["--controllers=a,-a", "--controllers", "-b", "-v", "300", "--version"]);
    assert_eq!(options.controllers, ["a", "-a", "-b"]);
    assert_eq!(options.verbosity, 255);
    assert_eq!(options.version.as_deref(), Some("true"));
    assert_eq!(parse(&["--version=false"]).version, None);
    let options = parse(&["--kubeconfig=k", "--master=m", "--concurrent-replicaset-syncs=-1"]);
    assert_eq!(options.kubeconfig.as_deref(), Some("k".as_ref()));
    assert_eq!(options.master.as_deref(), Some("m"));
    assert_eq!(options.concurrent_replicaset_syncs, -1);
    let options = parse(&["--leader-elect-retry-period=3s", "--leader-elect-resource-name=x"]);
    assert_eq!(options.election.retry_period, Duration::from_secs(3));
    assert_eq!(options.election.resource_name, "x");
    let failure = Options::parse(["--no-such".to_owned()]).unwrap_err();
    assert_eq!(failure, Failure::Bad("unknown flag: --no-such".to_owned()));
}

/// machinery.md, REST client: QPS 0 is client-go's default, a negative one is no limit.
#[test]
fn a_rate_of_zero_is_client_gos_default() {
    assert_eq!(parse(&["--kube-api-qps=0"]).limits(), (5.0, 10));
    assert!(parse(&["--kube-api-qps=-1"]).limits().0 < 0.0);
}

/// Checks what is wrong with each command line, leader election aside.
fn assert_errors(rows: &[(&str, &[&str])]) {
    for (line, expected) in rows {
        let args: Vec<_> = line.split_whitespace().chain(["--leader-elect=false"]).collect();
        assert_eq!(parse(&args).validate(), *expected, "{line}");
    }
}

/// flags.md, Validation; the texts are what upstream's binary says.
#[test]
fn validation_has_upstreams_words() {
    assert_errors(&[
        ("", &[]),
        ("--controllers=xx", &[r#""xx" is not in the list of known controllers"#]),
        ("--leader-elect-resource-lock=x", &[]),
        (
            "--concurrent-cron-job-syncs=0",
            &["concurrent-cron-job-syncs must be greater than 0, but got 0"],
        ),
        ("--concurrent-deployment-syncs=0", &[]),
        (
            "--concurrent-device-taint-eviction-syncs=0 --concurrent-resourceclaim-syncs=-1",
            &[
                "concurrent-device-taint-eviction-syncs must be greater than zero, got 0",
                "concurrent-resourceclaim-syncs must be larger than 0, got -1",
            ],
        ),
        (
            "--max-endpoints-per-slice=0 --concurrent-service-endpoint-syncs=51",
            &[
                "concurrent-service-endpoint-syncs must not be more than 50, but got 51",
                "max-endpoints-per-slice must not be less than 1, but got 0",
            ],
        ),
        (
            "--attach-detach-reconcile-sync-period=999ms",
            &["duration time must be greater than one second as set via command line option \
               reconcile-sync-loop-period"],
        ),
        ("--attach-detach-reconcile-sync-period=1s", &[]),
        ("--secure-port=0", &[]),
        (
            "--secure-port=-1",
            &["--secure-port -1 must be between 0 and 65535, inclusive. 0 for turning off secure \
               port"],
        ),
        (
            "--secure-port=99999",
            &["--secure-port 99999 must be between 1 and 65535, inclusive. It cannot be turned \
                 off with 0"],
        ),
        ("--service-cluster-ip-range=a,b", &[]),
        (
            "--service-cluster-ip-range=a,b,c --cloud-provider=aws --cidr-allocator-type=x",
            &[
                "--service-cluster-ip-range can not contain more than two entries",
                "cloud provider \"aws\" was specified, but built-in cloud providers are disabled. \
                 Please set --cloud-provider=external and migrate to an external cloud provider",
                "built-in cloud providers are disabled. The ipam x is not available",
            ],
        ),
        ("--cloud-provider=external --cluster-signing-cert-file=a", &[]),
        (
            "--cluster-signing-cert-file=a --cluster-signing-kubelet-client-cert-file=b \
             --cluster-signing-kube-apiserver-client-key-file=b",
            &[
                r#""cluster-signing-kube-apiserver-client": cannot specify cert without key"#,
                r#""cluster-signing-kube-apiserver": cannot specify key without cert"#,
                "cannot specify --cluster-signing-{cert,key}-file and other \
                 --cluster-signing-*-file flags at the same time",
            ],
        ),
    ]);
}

/// flags.md, Order of failures: gates, versions and logging come first, and alone.
#[test]
fn the_first_bad_gate_or_version_is_all_that_is_said() {
    assert_errors(&[
        ("--feature-gates=x --controllers=xx", &["missing bool value for x"]),
        (
            "--feature-gates=kube:x=maybe",
            &["invalid value of x=maybe, err: strconv.ParseBool: parsing \"maybe\": invalid \
                 syntax"],
        ),
        ("--feature-gates=foo:x=true", &["component not registered: foo"]),
        ("--emulated-version=kube=1.35 --min-compatibility-version=1.35", &[]),
        ("--emulated-version=x", &[r#"could not parse "x" as version"#]),
        (
            "--logging-format=xx --secure-port=-1",
            &[r#"format: Invalid value: "xx": Unsupported log format"#],
        ),
    ]);
}

/// flags.md: the kind of the lock is checked only with --leader-elect.
#[test]
fn leader_election_is_checked_when_asked_for() {
    let errors = parse(&["--leader-elect-resource-lock=x"]).validate();
    assert_eq!(errors, ["resourceLock value must be \"leases\""]);
    let without = parse(&["--leader-elect-resource-lock=x", "--leader-elect=false"]);
    assert!(without.validate().is_empty());
}

/// flags.md: several errors in brackets, a single one without.
#[test]
fn errors_come_together() {
    assert_eq!(aggregate(&["a".to_owned()]), "a");
    assert_eq!(aggregate(&["a".to_owned(), "b".to_owned()]), "[a, b]");
}
