//! Options, their validation, and the choice of controllers.

use std::process::ExitCode;
use std::time::Duration;

use api::Key;

use crate::flags::{Failure, handles};
use crate::gates::Gates;
use crate::options::{Election, Options};
use crate::registry::{DEFAULTS, Entry, REGISTRY, Start, User, token_cleaner_backoff};
use crate::selection::{Choice, choose, unknown};
use crate::validation::aggregate;

/// A table with one controller of each sort.
fn table() -> Vec<Entry> {
    let start: Option<Start> = Some(|_, _| unreachable!("nothing is started here"));
    let row = |name, aliases| Entry { name, aliases, start, ..DEFAULTS };
    vec![
        row("daemonset-controller", &["daemonset"]),
        Entry {
            gates: &["AtomicFIFO", "GenericWorkload"],
            ..row("podgroup-protection-controller", &["gated"])
        },
        row("replicaset-controller", &["replicaset"]),
        Entry { cloud: true, ..row("service-lb-controller", &["service"]) },
        Entry {
            always_on: true,
            ..row("serviceaccount-token-controller", &["serviceaccount-token"])
        },
        Entry { on_by_default: false, ..row("token-cleaner-controller", &["tokencleaner"]) },
    ]
}

/// What `--feature-gates` makes of the gates.
fn gates(setting: &str) -> Gates {
    parse(&[&format!("--feature-gates={setting}")]).gates
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
        ("gated,service", "", "a gate is off, a cloud provider"),
    ];
    for (words, expected, name) in rows {
        let table = table();
        let mut run = choose(&list(words), &table, &gates("")).run;
        let all = run.len();
        run.retain(|row| !row.always_on);
        assert_eq!((aliases(&run).as_str(), run.len() + 1), (expected, all), "{name}: {words}");
    }
}

/// controllers.md, Facts: each skip has its reason; the token controller cannot be switched off.
#[test]
fn skipped_controllers_have_one_reason_each() {
    let table = table();
    let choice = choose(&list("*,-daemonset,-serviceaccount-token"), &table, &gates(""));
    assert_eq!(aliases(&choice.run), "replicaset,serviceaccount-token");
    assert_eq!(aliases(&choice.gated), "gated");
    assert_eq!(aliases(&choice.cloud), "service");
    assert_eq!(aliases(&choice.disabled), "daemonset,tokencleaner");
    assert_eq!(aliases(&choose(&[], &table, &gates("")).run), "serviceaccount-token");
}

/// flags.md: `"xx" is not in the list of known controllers`, without the dash, one error each.
#[test]
fn unknown_controllers_are_refused_by_name() {
    let errors =
        unknown(&list("*,nodes,-pods,-*,replicaset,service,gated,-tokencleaner"), &table());
    let expected = ["nodes", "pods", "*"]
        .map(|name| format!("\"{name}\" is not in the list of known controllers"));
    assert_eq!(errors, expected);
}

/// controllers.md, the table: every name and alias is known, and what becomes of it by default.
#[test]
fn the_registry_is_upstreams() {
    assert_eq!(REGISTRY.len(), 52);
    let words = list("*,bootstrapsigner,tokencleaner,selinux-warning-controller");
    let all = choose(&words, REGISTRY, &gates(""));
    // 43 live ones, and the storage version migrator, which upstream builds and then drops.
    assert_eq!(all.run.len(), 44);
    assert_eq!((all.gated.len(), all.cloud.len(), all.disabled.len()), (5, 3, 0));
    let off = choose(&list("*"), REGISTRY, &gates("")).disabled;
    assert_eq!(aliases_or_names(&off), "bootstrapsigner,selinux-warning-controller,tokencleaner");
    let always = REGISTRY.iter().filter(|row| row.always_on).map(|row| row.name);
    assert_eq!(always.collect::<Vec<_>>(), ["serviceaccount-token-controller"]);
    let named = choose(&list("*,tokencleaner,-endpoint"), REGISTRY, &gates(""));
    assert!(
        named.run.iter().any(|row| row.name == "token-cleaner-controller"),
        "off by default, and named"
    );
    assert!(named.run.iter().all(|row| row.name != "endpoints-controller"));
    for row in REGISTRY {
        assert!(row.start.is_some() && row.folder.is_some(), "{}", row.name);
        assert!(!row.account.is_empty(), "{}", row.name);
        // Upstream TestFeatureGatedControllersShouldNotDefineAliases, and its two exceptions.
        let old = ["resourceclaim-controller", "storageversion-garbage-collector-controller"];
        let is_new = !row.gates.is_empty() && !old.contains(&row.name);
        assert!(!is_new || row.aliases.is_empty(), "{}", row.name);
    }
}

/// Decision 0018: over a cloud the rows run that upstream never runs, as the flags say.
#[test]
fn a_cloud_lets_three_more_controllers_run() {
    let cloud = ["cloud-node-lifecycle-controller", "service-lb-controller"];
    let route = "node-route-controller";
    let with_routes = [cloud[0], route, cloud[1]];
    let ranges = "--cluster-cidr=10.0.0.0/8";
    for (line, runs) in [
        (&[][..], &cloud[..]),
        (&["--cloud-provider=external"], &cloud),
        (&["--controllers=*,-service"], &cloud[..1]),
        (&["--controllers=service-lb-controller"], &cloud[1..]),
        (&["--allocate-node-cidrs", ranges], &with_routes),
        (&["--allocate-node-cidrs", ranges, "--configure-cloud-routes=false"], &cloud),
    ] {
        let options = parse(line);
        let choice = Choice::on_cloud(&options);
        let names = choice.run.iter().filter(|row| row.cloud).map(|row| row.name);
        assert_eq!(names.collect::<Vec<_>>(), runs, "{line:?}");
        assert!(choice.cloud.is_empty(), "{line:?}");
        let bare = Choice::of(&options);
        assert!(bare.run.iter().all(|row| !row.cloud), "{line:?}");
        assert_eq!(bare.cloud.len(), 3, "{line:?}");
    }
}

/// service_accounts.go: without a key there is no such controller, with one it has no account.
#[test]
fn the_token_controller_runs_only_with_a_key() {
    let name = "serviceaccount-token-controller";
    let off = "--controllers=-serviceaccount-token";
    for (line, runs) in
        [(&[off][..], false), (&[off, "--service-account-private-key-file=sa.key"], true)]
    {
        let options = parse(line);
        let choice = choose(&options.controllers, REGISTRY, &options.gates).with(&options);
        assert_eq!(choice.run.iter().any(|row| row.name == name), runs, "{line:?}");
        let lacking: Vec<_> = choice.lacking.iter().map(|(row, why)| (row.name, *why)).collect();
        let why = "Controller is disabled because there is no private key";
        assert_eq!(lacking, if runs { vec![] } else { vec![(name, why)] }, "{line:?}");
    }
    let as_root = REGISTRY.iter().filter(|row| row.user == User::Root).map(|row| row.name);
    assert_eq!(as_root.collect::<Vec<_>>(), [name]);
}

/// serviceaccount.md: the clean-up period must be above zero, or the start fails; upstream says so
/// only if the controller runs.
#[test]
fn the_cleaner_needs_a_period() {
    let error = |period: &str| {
        let cleaner = "failed to init the legacy service account token cleaner";
        vec![format!("{cleaner}: invalid CleanUpPeriod: {period}")]
    };
    for (line, expected) in [
        (&["--legacy-service-account-token-clean-up-period=0"][..], error("0s")),
        (&["--legacy-service-account-token-clean-up-period=-1h"], error("-1h0m0s")),
        (&["--legacy-service-account-token-clean-up-period=1ns"], vec![]),
        (
            &[
                "--legacy-service-account-token-clean-up-period=0",
                "--controllers=*,-legacy-service-account-token-cleaner",
            ],
            vec![],
        ),
    ] {
        let errors = parse(line).validate();
        let errors: Vec<_> =
            errors.into_iter().filter(|error| error.contains("CleanUpPeriod")).collect();
        assert_eq!(errors, expected, "{line:?}");
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
    assert_eq!(options.flags.int32(handles::CONCURRENT_REPLICASET_SYNCS), 5);
    assert_eq!(options.limits(), (20.0, 30));
    assert_eq!(options.log.verbosity, 0);
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
    assert_eq!(options.log.verbosity, 300);
    assert_eq!(options.version.as_deref(), Some("true"));
    assert_eq!(parse(&["--version=false"]).version, None);
    let options = parse(&["--kubeconfig=k", "--master=m", "--concurrent-replicaset-syncs=-1"]);
    assert_eq!(options.kubeconfig.as_deref(), Some("k".as_ref()));
    assert_eq!(options.master.as_deref(), Some("m"));
    assert_eq!(options.flags.int32(handles::CONCURRENT_REPLICASET_SYNCS), -1);
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

/// flags.md, Validation; the texts are those of upstream's binary.
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

/// controllers.md, Feature gates: each gate that a controller needs counts, whatever the default.
#[test]
fn gates_decide_which_controllers_run() {
    let run =
        |setting: &str| aliases(&choose(&list("gated,replicaset"), &table(), &gates(setting)).run);
    assert_eq!(run(""), "replicaset,serviceaccount-token");
    assert_eq!(run("GenericWorkload=true"), "gated,replicaset,serviceaccount-token");
    assert_eq!(run("AllAlpha=true"), "gated,replicaset,serviceaccount-token");
    let gated = |line: &[&str]| {
        let options = parse(line);
        let choice = choose(&options.controllers, REGISTRY, &options.gates);
        choice.gated.iter().map(|row| row.name).collect::<Vec<_>>()
    };
    let off = [
        "kube-apiserver-serving-clustertrustbundle-publisher-controller",
        "podcertificaterequest-cleaner-controller",
        "podgroup-protection-controller",
        "resourcepoolstatusrequest-controller",
        "storageversion-garbage-collector-controller",
    ];
    let with = gated(&[]);
    assert!(with.iter().all(|name| off.contains(name)), "{with:?}");
    let less = gated(&["--feature-gates=GenericWorkload=true"]);
    assert!(with.contains(&off[2]) && !less.contains(&off[2]), "{less:?}");
}

/// flags.md, Order of failures: versions out of range come with the others, logging alone before.
#[test]
fn logging_is_checked_before_all_else() {
    assert_errors(&[
        ("--emulated-version=kube=1.35 --min-compatibility-version=1.35", &[]),
        (
            "--emulated-version=1.30 --min-compatibility-version=1.20 --secure-port=-1",
            &[
                "emulation version 1.30 is not between [1.33, 1.36.0]",
                "minCompatibilityVersion version 1.20 is not between [1.33, 1.30]",
                "--secure-port -1 must be between 0 and 65535, inclusive. 0 for turning off secure \
                 port",
            ],
        ),
        (
            "--logging-format=xx --secure-port=-1 --vmodule=a=1",
            &[
                r#"format: Invalid value: "xx": Unsupported log format"#,
                "vmodule: Forbidden: Only supported for text log format",
            ],
        ),
        (
            "--logging-format= --vmodule=a=1",
            &[r#"format: Invalid value: "": Unsupported log format"#],
        ),
        (
            "--log-flush-frequency=-1s",
            &[r#"flushFrequency: Invalid value: "-1s": Must be greater than zero"#],
        ),
        (
            "--logging-format=json --feature-gates=LoggingBetaOptions=false",
            &["format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature"],
        ),
        (
            "--log-text-split-stream --log-json-info-buffer-size=1m",
            &[
                "options.text.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled",
                "options.json.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled",
            ],
        ),
        ("--log-text-info-buffer-size=0Ki --vmodule=a=1", &[]),
        ("--log-text-split-stream --feature-gates=LoggingAlphaOptions=true", &[]),
    ]);
}

/// Upstream's binary with the same flags: metrics.
#[test]
fn metrics_flags_are_checked() {
    let keys = "must have keys with format `metricName,labelName` where metricName matches \
                \"[a-zA-Z_:][a-zA-Z0-9_:]*\" and labelName matches \"[a-zA-Z_][a-zA-Z0-9_]*\"";
    let mapping = |value: &str| format!("metrics.allowListMapping: Invalid value: {value}: {keys}");
    assert_errors(&[
        ("--show-hidden-metrics-for-version=1.35 --disabled-metrics=", &[]),
        (
            "--show-hidden-metrics-for-version=1.36",
            &["metrics.showHiddenMetricsForVersion: Invalid value: \"1.36\": must be omitted or \
               have the value '1.35'; only the previous minor version is allowed"],
        ),
        (
            "--disabled-metrics=apiserver_x,,b",
            &["metrics.disabledMetrics: Invalid value: [\"apiserver_x\",\"\",\"b\"]: must be \
               fully qualified metric names matching \"^[a-zA-Z_:][a-zA-Z0-9_:]*$\", got \"\""],
        ),
        ("--allow-metric-labels=a,b=c,d --allow-metric-labels=a:1,b_2=", &[]),
        ("--allow-metric-labels=a=c", &[&mapping(r#"{"a":"c"}"#)]),
        ("--allow-metric-labels=a,b,c=d", &[&mapping(r#"{"a,b,c":"d"}"#)]),
        ("--allow-metric-labels=a,b:c=d", &[&mapping(r#"{"a,b:c":"d"}"#)]),
        (
            "--allow-metric-labels=b,a=c --allow-metric-labels=z=y",
            &[&mapping(r#"{"b,a":"c","z":"y"}"#)],
        ),
        (
            "--allow-metric-labels-manifest=/no/such/file",
            &["metrics.allowListMappingManifest: Invalid value: \"/no/such/file\": failed to \
               read allow list manifest: open /no/such/file: No such file or directory (os error \
               2)"],
        ),
    ]);
    let path = std::env::temp_dir().join(format!("allowed-labels-{}", std::process::id()));
    let manifest = |text: &str, more: &[&str]| {
        std::fs::write(&path, text).unwrap();
        let flag = format!("--allow-metric-labels-manifest={}", path.display());
        let errors = parse(&[&[flag.as_str()], more].concat()).validate().join("\n");
        std::fs::remove_file(&path).unwrap();
        errors.replace(&path.display().to_string(), "M")
    };
    assert_eq!(manifest("a,b: c\n", &[]), "");
    assert_eq!(manifest("", &[]), "");
    let field = "metrics.allowListMappingManifest: Invalid value";
    let expected = format!(
        "{field}: \"M\": invalid allow list mapping in manifest: [{field}: {{\"a\":\"c\"}}: {keys}]"
    );
    assert_eq!(manifest("a: c\n", &[]), expected);
    let error = manifest("a,b: [c]\n", &[]);
    let expected = format!("{field}: \"M\": failed to parse allow list manifest: ");
    assert!(error.starts_with(&expected), "{error}");
    let expected = "metrics: Invalid value: {\"allowListMapping\":{\"a,b\":\"c\"},\
                    \"allowListMappingManifest\":\"M\"}: cannot specify both allowListMapping and \
                    allowListMappingManifest";
    assert_eq!(manifest("a,b: c\n", &["--allow-metric-labels=a,b=c"]), expected);
}

/// The same: the secure port. What it is opened with counts only if all else is good.
#[test]
fn serving_flags_are_checked() {
    assert_errors(&[
        ("--tls-min-version=x", &["unknown tls version \"x\""]),
        ("--tls-min-version=x --secure-port=0", &[]),
        ("--tls-min-version=VersionTLS10", &[]),
        (
            "--tls-min-version=x --concurrent-job-syncs=0",
            &["concurrent-job-syncs must be greater than 0, but got 0"],
        ),
        ("--tls-cipher-suites=x", &["Cipher suite x not supported or doesn't exist"]),
        (
            "--tls-cipher-suites=TLS_AES_128_GCM_SHA256,TLS_RSA_WITH_RC4_128_SHA",
            &["error configuring http2: http2: TLSConfig.CipherSuites is missing an \
               HTTP/2-required AES_128_GCM_SHA256 cipher (need at least one of \
               TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)"],
        ),
        ("--tls-cipher-suites=TLS_RSA_WITH_AES_128_GCM_SHA256 --disable-http2-serving", &[]),
        ("--tls-cipher-suites=TLS_RSA_WITH_AES_128_GCM_SHA256 --tls-min-version=VersionTLS13", &[]),
        ("--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", &[]),
        ("--tls-curve-preferences=29,4588", &[]),
        (
            "--tls-curve-preferences=1",
            &["curve preference 1 is not supported by the current Go version"],
        ),
        ("--tls-curve-preferences=0", &["curve preference 0 is out of range (must be 1-65535)"]),
        ("--tls-curve-preferences=29,29 --tls-min-version=x", &["duplicate curve preference 29"]),
        (
            "--tls-sni-cert-key=a,",
            &["failed to load SNI cert and key: missing filename for serving cert"],
        ),
        ("--tls-cert-file=/x --tls-cipher-suites=x", &["missing filename for serving cert"]),
        (
            "--requestheader-username-headers=a, --requestheader-allowed-names=a,",
            &[
                "empty value in \"requestheader-username-headers\"",
                "empty value in \"requestheader-allowed-names\"",
            ],
        ),
        ("--requestheader-uid-headers=x-remote-uid", &[]),
        (
            "--requestheader-uid-headers=a,",
            &[
                "empty value in \"requestheader-uid-headers\"",
                "--requestheader-uid-headers is set without specifying the standard X-Remote-Uid \
                 header - API aggregation will not work",
            ],
        ),
        (
            "--requestheader-uid-headers=a, --feature-gates=RemoteRequestHeaderUID=false",
            &["--requestheader-uid-headers requires the \"RemoteRequestHeaderUID\" feature to be \
               enabled"],
        ),
        ("--authorization-always-allow-paths=a*b --secure-port=0", &[]),
        (
            "--authorization-always-allow-paths=a*b --concurrent-job-syncs=0",
            &["concurrent-job-syncs must be greater than 0, but got 0"],
        ),
        ("--authorization-always-allow-paths=/a/*,a*b", &["only trailing * allowed in \"a*b\""]),
    ]);
}

/// flags.md, Secure serving, Authentication, Authorization: defaults and each flag's field.
#[test]
fn what_the_server_needs_is_read() {
    let options = parse(&[]);
    let serving = options.serving.unwrap();
    assert_eq!(serving.bind.to_string(), "0.0.0.0");
    assert_eq!(serving.port, 10257);
    assert_eq!(serving.min_version, "VersionTLS12");
    assert!(serving.http2 && serving.http2_max_streams == 0);
    assert_eq!(serving.certificate, https::CertificateSource::SelfSigned);
    assert_eq!(options.guard.always_allow_paths, ["/healthz", "/readyz", "/livez"]);
    assert_eq!(options.guard.token_ttl, Duration::from_secs(10));
    assert_eq!(options.guard.request_header.username_headers, ["x-remote-user"]);
    assert!(options.profiling);
    assert_eq!(options.controller_shutdown_timeout, Duration::from_secs(10));
    assert_eq!(options.resync_period_min, Duration::from_hours(12));
    assert_eq!(options.metrics.settings(), Ok(metrics::Settings::default()));
    assert!(parse(&["--secure-port=0"]).serving.is_none());
    let options = parse(&[
        "--bind-address=",
        "--tls-sni-cert-key=a.crt, a.key: *.a.b,c",
        "--tls-sni-cert-key=d,e",
        "--tls-curve-preferences=29,23",
        "--http2-max-streams-per-connection=7",
        "--disable-http2-serving",
        "--permit-port-sharing",
        "--client-ca-file=ca",
        "--authorization-webhook-cache-unauthorized-ttl=3s",
        "--allow-metric-labels=m,l=a,b",
        "--show-hidden-metrics-for-version=1.35",
    ]);
    let serving = options.serving.unwrap();
    assert!(serving.bind.is_unspecified());
    assert_eq!(serving.sni[0].key, std::path::Path::new("a.key"));
    assert_eq!(serving.sni[0].names, ["*.a.b", "c"]);
    assert!(serving.sni[1].names.is_empty());
    assert_eq!((&serving.curves[..], serving.http2_max_streams), (&[29, 23][..], 7));
    assert!(!serving.http2 && serving.share_port);
    assert_eq!(options.guard.client_ca_file.as_deref(), Some("ca".as_ref()));
    assert_eq!(options.guard.unauthorized_ttl, Duration::from_secs(3));
    assert_eq!(options.guard.authorized_ttl, Duration::from_secs(10));
    assert_eq!(options.metrics.allow_list_mapping.as_ref().unwrap()["m,l"], "a,b");
    assert_eq!(options.metrics.show_hidden_metrics_for_version, "1.35");
}

#[test]
fn a_shadow_takes_no_lease_and_makes_no_tokens() {
    let words = ["--shadow", "--leader-elect=true", "--use-service-account-credentials"];
    let Ok(options) = Options::parse(words.map(str::to_owned)) else { panic!() };
    assert!(!options.election.leader_elect && !options.use_service_account_credentials);
    assert_eq!(options.shadow, Some(Duration::from_secs(30)));
    let words = ["--shadow", "--shadow-grace-period=0s"];
    let Ok(options) = Options::parse(words.map(str::to_owned)) else { panic!() };
    assert_eq!(options.validate(), ["shadow-grace-period must be greater than zero"]);
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
    assert_eq!(aggregate(&["a".to_owned(), "b".to_owned(), "a".to_owned()]), "[a, b]");
}

/// A process that has lost the lease ends at once, whatever else runs in it.
#[test]
fn the_end_waits_for_nothing_that_hangs() {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    let (release, released) = std::sync::mpsc::channel::<()>();
    let code = crate::to_the_end(tokio, async {
        let (begin, begun) = tokio::sync::oneshot::channel();
        tokio::task::spawn_blocking(move || {
            begin.send(()).ok();
            released.recv_timeout(Duration::from_secs(20)).ok();
        });
        begun.await.unwrap();
        ExitCode::FAILURE
    });
    assert!(release.send(()).is_ok(), "it waited until the other side was dropped");
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::FAILURE));
}

/// `ComponentGlobalsRegistry.AddMetrics`: the release that is behaved as, not that of the binary.
#[tokio::test]
async fn metrics_tell_the_emulated_version() {
    let options = parse(&["--emulated-version=1.35"]);
    let page = crate::serve::Shown::new(&options).unwrap().registry.page("").body;
    let line = "version_info{binary=\"1.36.3\",component=\"kube\",emulation=\"1.35\",\
                min_compat=\"1.34\"} 1";
    assert!(page.lines().any(|other| other == line), "{page}");
}

/// One Secret that cannot be written must not make all others wait for the next day.
#[test]
fn a_failed_pass_of_the_token_cleaner_is_tried_again_soon() {
    let (mut backoff, key) = (token_cleaner_backoff(), Key::parse("secrets"));
    let waits: Vec<_> = (0..10).map(|_| backoff.delay(&key).as_secs()).collect();
    assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600]);
}
