//! The table against a recording of upstream's `/configz`, and files good and bad.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_yaml::Value as Yaml;

use super::table::{FIELDS, Source};
use super::{GROUP, configz};
use crate::flags::{Failure, Flags, all, parse};
use crate::options::Options;

const HEAD: &str = "apiVersion: kubecontrollermanager.config.k8s.io/v1alpha1\n\
                    kind: KubeControllerManagerConfiguration\n";

/// A temporary file.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("config-{name}-{}", std::process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn flags(words: &[&str]) -> Flags {
    parse(words.iter().map(|&word| word.to_owned())).unwrap()
}

/// What a file with the text `text` and the words `words` make of the flags.
fn with_file(name: &str, text: &str, words: &[&str]) -> Result<Flags, Failure> {
    let file = Temporary::new(name, text);
    let config = format!("--config={}", file.0.display());
    let words = words.iter().map(|&word| word.to_owned()).chain([config]);
    parse(words)
}

/// The error after the name of the file.
fn refused(name: &str, text: &str) -> String {
    match with_file(name, text, &[]).map(|_| "it was accepted") {
        Err(Failure::Refused(error)) => {
            let (file, what) = error.split_once(": ").unwrap();
            assert!(file.starts_with("--config /") && file.contains(name), "{error}");
            what.to_owned()
        }
        other => panic!("{text}: {other:?}"),
    }
}

fn repository(file: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(file)).unwrap()
}

/// manager.md, HTTP endpoints: `/configz` of a live run, byte for byte.
#[test]
fn configz_is_upstreams() {
    let flags = flags(&[
        "--allocate-node-cidrs",
        "--authentication-kubeconfig=kcm.conf",
        "--authorization-kubeconfig=kcm.conf",
        "--bind-address=127.0.0.1",
        "--client-ca-file=ca.crt",
        "--cluster-cidr=10.244.0.0/16",
        "--cluster-signing-cert-file=ca.crt",
        "--cluster-signing-key-file=ca.key",
        "--controllers=*,bootstrapsigner,tokencleaner,selinux-warning-controller",
        "--kubeconfig=kcm.conf",
        "--root-ca-file=ca.crt",
        "--secure-port=20257",
        "--service-account-private-key-file=sa.key",
        "--use-service-account-credentials",
        "-v=2",
    ]);
    let recorded = include_str!("../../testdata/configz.json");
    let served = format!("{{{GROUP:?}:{}}}", configz(&flags));
    assert_eq!(served, recorded.trim_end());
}

/// Go's encoding/json: what is not plain is escaped; whole floats have no point.
#[test]
fn configz_is_encoded_as_go_does() {
    let json = configz(&flags(&[
        "--cluster-name=a<b>&\"\u{2028}é",
        "--kube-api-qps=2.5",
        "--service-cluster-ip-range=10.0.0.0/16,fd00::/108",
        "--controllers=-replicaset,x",
        "--node-eviction-rate=NaN",
    ]));
    let parts = [
        r#""ClusterName":"a\u003cb\u003e\u0026\"\u2028é""#,
        r#""qps":2.5,"#,
        r#""ServiceCIDR":"10.0.0.0/16","SecondaryServiceCIDR":"fd00::/108""#,
        r#""Controllers":["-replicaset-controller","x"]"#,
        r#""NodeEvictionRate":null"#,
    ];
    for part in parts {
        assert!(json.contains(part), "{part}: {json}");
    }
    serde_json::from_str::<serde_json::Value>(&json).unwrap();
}

/// Each flag of the table is a flag, no field is there twice, and fixed values are JSON.
#[test]
fn the_table_fits_the_flags() {
    let mut paths: Vec<_> = FIELDS.iter().map(|field| field.path).collect();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!(paths.len(), FIELDS.len());
    let mut used = Vec::new();
    for field in FIELDS {
        match field.source {
            Source::Flag(name) => {
                assert!(all().any(|flag| flag.name == name), "{name}");
                assert!(!used.contains(&name), "{name}");
                used.push(name);
            }
            Source::Part(name, _) => assert!(all().any(|flag| flag.name == name), "{name}"),
            Source::Fixed(json) => assert!(serde_json::from_str::<Yaml>(json).is_ok(), "{json}"),
        }
    }
}

/// The example has every field, each with its default.
#[test]
fn the_example_is_complete_and_has_all_defaults() {
    let text = repository("config/kube-controller-manager.yaml");
    let flags_with = with_file("example", &text, &[]).unwrap();
    let shown =
        |flags: &Flags| flags.shown().filter(|(name, _)| *name != "config").collect::<Vec<_>>();
    assert_eq!(shown(&flags_with), shown(&flags(&[])));
    let yaml: Yaml = serde_yaml::from_str(&text).unwrap();
    for field in FIELDS {
        let value = field.path.split('.').try_fold(&yaml, |yaml, name| yaml.get(name));
        assert!(value.is_some(), "{} is missing", field.path);
    }
}

/// The other examples are good, too.
#[test]
fn the_other_examples_are_good() {
    let ha = repository("config/ha.yaml");
    let file = Temporary::new("ha", &ha);
    let options = Options::parse([format!("--config={}", file.0.display())]).unwrap();
    assert!(options.validate().is_empty());
    assert!(options.election.leader_elect && options.use_service_account_credentials);

    let kubeadm = repository("config/kubeadm.flags");
    let words = kubeadm.lines().filter(|line| line.starts_with("--")).map(str::to_owned);
    let options = Options::parse(words).unwrap();
    assert_eq!(options.validate(), Vec::<String>::new());
    assert_eq!(options.controllers, ["*", "bootstrapsigner", "tokencleaner"]);
    let file = "/etc/kubernetes/controller-manager.conf";
    assert_eq!(options.authorization_kubeconfig.as_deref(), Some(file.as_ref()));
}

/// A field is as good as its flag; a flag that is given counts more.
#[test]
fn the_file_is_between_flags_and_defaults() {
    let text = format!(
        "{HEAD}Generic:\n  MinResyncPeriod: 90m\n  Controllers: [replicaset, \"-job\"]\n  \
         ClientConnection: {{qps: 7, burst: 9}}\n  LeaderElection: {{leaderElect: false}}\n\
         HPAController: {{HorizontalPodAutoscalerTolerance: 0.25}}\n\
         NodeIPAMController: {{ServiceCIDR: a/1, SecondaryServiceCIDR: b/2}}\n"
    );
    let flags = with_file("order", &text, &["--kube-api-burst=30", "--concurrent-gc-syncs=3"]);
    let flags = flags.unwrap();
    let shown = |name: &str| flags.shown().find(|(known, _)| *known == name).unwrap().1;
    assert_eq!(shown("min-resync-period"), "1h30m0s");
    assert_eq!(shown("controllers"), "[replicaset,-job]");
    assert_eq!(shown("kube-api-qps"), "7");
    assert_eq!(shown("kube-api-burst"), "30", "the flag has its default, but was given");
    assert_eq!(shown("leader-elect"), "false");
    assert_eq!(shown("horizontal-pod-autoscaler-tolerance"), "0.25");
    assert_eq!(shown("service-cluster-ip-range"), "a/1,b/2");
    assert_eq!(shown("concurrent-gc-syncs"), "3");
    assert!(shown("config").ends_with(&format!("config-order-{}", std::process::id())));
    assert!(configz(&flags).contains(r#""qps":7,"burst":30"#));
}

/// What upstream lacks is not shown unless it is used.
#[test]
fn the_flag_is_not_in_the_dump_without_a_file() {
    assert!(flags(&[]).shown().all(|(name, _)| name != "config"));
    let Err(Failure::Refused(error)) = parse(["--config=".to_owned()]) else { panic!() };
    assert!(error.starts_with("--config : "), "{error}");
}

/// What is validated with flags is validated with files.
#[test]
fn a_file_is_validated_as_flags_are() {
    let text = format!("{HEAD}JobController: {{ConcurrentJobSyncs: 0}}\n");
    let file = Temporary::new("validated", &text);
    let options = Options::parse([format!("--config={}", file.0.display())]).unwrap();
    assert_eq!(options.validate(), ["concurrent-job-syncs must be greater than 0, but got 0"]);
}

/// Each mistake is named with the file and the field.
#[test]
fn bad_fields_are_refused_by_their_path() {
    let rows = [
        ("Job: {}", r#"unknown field "Job""#),
        ("Generic: {Foo: 1}", r#"unknown field "Generic.Foo""#),
        ("Generic.Port: 0", r#"unknown field "Generic.Port""#),
        ("generic: {}", r#"unknown field "generic""#),
        ("Generic: 3", "Generic: must be a mapping with fields"),
        ("Generic: {1: 2}", "Generic: 1 is no name of a field"),
        (
            "Generic: {MinResyncPeriod: 5}",
            r#"Generic.MinResyncPeriod: must be a duration as text, such as "5m0s", but is 5"#,
        ),
        (
            "Generic: {MinResyncPeriod: 5x}",
            r#"Generic.MinResyncPeriod: time: unknown unit "x" in duration "5x""#,
        ),
        (
            "Generic: {LeaderElection: {leaderElect: \"true\"}}",
            r#"Generic.LeaderElection.leaderElect: must be true or false, but is "true""#,
        ),
        (
            "Generic: {ClientConnection: {burst: 9999999999}}",
            "Generic.ClientConnection.burst: strconv.ParseInt: parsing \"9999999999\": value out \
             of range",
        ),
        (
            "JobController: {ConcurrentJobSyncs: 1.5}",
            "JobController.ConcurrentJobSyncs: must be a whole number, but is 1.5",
        ),
        (
            "JobController: {ConcurrentJobSyncs: }",
            "JobController.ConcurrentJobSyncs: must be a whole number, but is nothing",
        ),
        (
            "Generic: {ClientConnection: {qps: fast}}",
            r#"Generic.ClientConnection.qps: must be a number, but is "fast""#,
        ),
        ("Generic: {Controllers: \"*\"}", {
            r#"Generic.Controllers: must be a list of texts, but is "*""#
        }),
        ("Generic: {Controllers: [1]}", "Generic.Controllers: must be a text, but is 1"),
        (
            "KubeCloudShared: {ClusterName: [a]}",
            "KubeCloudShared.ClusterName: must be a text, but is a list",
        ),
        ("Generic: {Port: 1}", "Generic.Port: cannot be set, it is always 0"),
        ("DeprecatedController: {a: 1}", "DeprecatedController: cannot be set, it is always {}"),
        (
            "NodeIPAMController: {ServiceCIDR: \"a,b\"}",
            "NodeIPAMController.ServiceCIDR: must be one CIDR",
        ),
        (
            "NodeIPAMController: {SecondaryServiceCIDR: a}",
            "NodeIPAMController.SecondaryServiceCIDR: needs NodeIPAMController.ServiceCIDR",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(refused("fields", &format!("{HEAD}{text}\n")), expected, "{text}");
    }
}

/// The same for files that are no config at all.
#[test]
fn bad_files_are_refused() {
    let version = r#"apiVersion must be "kubecontrollermanager.config.k8s.io/v1alpha1""#;
    let rows = [
        ("", "the file is empty".to_owned()),
        ("# nothing\n", "the file is empty".to_owned()),
        ("- a\n", "the file must hold a KubeControllerManagerConfiguration".to_owned()),
        ("apiVersion: v1\nkind: Pod\n", format!("{version}, but is \"v1\"")),
        ("kind: KubeControllerManagerConfiguration\n", {
            "apiVersion is missing, it must be \
             \"kubecontrollermanager.config.k8s.io/v1alpha1\""
                .to_owned()
        }),
    ];
    for (text, expected) in rows {
        assert_eq!(refused("files", text), expected, "{text}");
    }
    let rows = [
        (format!("{HEAD}Generic: {{}}\nGeneric: {{}}\n"), "duplicate entry with key \"Generic\""),
        (format!("{HEAD}Generic:\n  Port: 0\n  Port: 0\n"), "line 4 column 3"),
        (format!("{HEAD}Generic: [\n"), "line 4"),
        (format!("{HEAD}---\n{HEAD}"), "more than one document"),
        (format!("{HEAD}#{}", "x".repeat(1 << 20)), "the file is larger than 1048576 bytes"),
    ];
    for (text, expected) in rows {
        let error = refused("syntax", &text);
        assert!(error.contains(expected), "{error}");
    }
    let Err(Failure::Refused(error)) = parse(["--config=/no/such/file".to_owned()]) else {
        panic!()
    };
    assert_eq!(error, "--config /no/such/file: No such file or directory (os error 2)");
}

/// A few lines that stand for billions of values are refused, not built.
#[test]
fn aliases_cannot_blow_up() {
    let mut text = format!("{HEAD}a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(", ");
        writeln!(text, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    let error = refused("bomb", &text);
    assert!(error.contains("repetition limit exceeded"), "{error}");
    let deep = format!("{HEAD}Generic: {}{}\n", "[".repeat(10_000), "]".repeat(10_000));
    assert!(refused("deep", &deep).contains("recursion limit exceeded"));
}
