//! The table against what was recorded of upstream 1.36.3, and pflag's syntax. The expected texts
//! were taken from upstream's binary.

use super::{Failure, Flags, GoDuration, SECTIONS, Value, all, command, handles, parse};

/// Name, type, default and section of each flag, tab-separated, sorted by name.
const RECORDED: &str = include_str!("../../testdata/flags.txt");

fn words(line: &str) -> impl Iterator<Item = String> {
    line.split_whitespace().map(str::to_owned)
}

fn good(line: &str) -> Flags {
    parse(words(line)).unwrap_or_else(|failure| panic!("{line}: {failure:?}"))
}

fn bad(line: &str) -> String {
    match parse(words(line)) {
        Err(Failure::Bad(text)) => text,
        other => panic!("{line}: {other:?}"),
    }
}

/// What `flag` is in the dump after `line`.
fn shown(line: &str, flag: &str) -> String {
    let start = format!("FLAG: --{flag}=");
    good(line).dump().find_map(|line| Some(line.strip_prefix(&start)?.to_owned())).unwrap()
}

/// flags.md, the tables: all 150 flags with upstream's types, defaults and sections.
#[test]
fn the_table_is_upstreams() {
    let upstreams = SECTIONS.iter().filter(|section| section.title != "Not in upstream");
    let rows = upstreams.flat_map(|section| {
        let row = |flag: &super::Flag| {
            [flag.name, flag.kind.name(), flag.default, section.title].join("\t")
        };
        section.flags.iter().map(row)
    });
    let mut rows: Vec<_> = rows.collect();
    rows.sort_unstable();
    let mut recorded: Vec<_> = RECORDED.lines().collect();
    recorded.sort_unstable();
    assert_eq!(rows.len(), 150);
    assert_eq!(rows, recorded);
}

/// Start-up dump of a live run: all flags by name, defaults printed as Go prints them.
#[test]
fn the_dump_has_every_flag_and_its_default() {
    let expected = RECORDED.lines().map(|line| {
        let cells: Vec<_> = line.split('\t').collect();
        format!("FLAG: --{}=\"{}\"", cells[0], cells[2])
    });
    let expected: Vec<_> = expected.collect();
    assert_eq!(good("").dump().collect::<Vec<_>>(), expected);
    assert!(expected.is_sorted_by_key(|line| line.split('=').next()));
}

/// flags.md, General behaviour: sections in upstream's order, each sorted; each flag explained.
#[test]
fn the_help_has_upstreams_sections() {
    let Err(Failure::Help(help)) = parse(words("--help")) else { panic!("no help") };
    let headings = help.lines().filter_map(|line| line.strip_suffix(" flags:"));
    let titles: Vec<_> = SECTIONS.iter().map(|section| section.title).collect();
    assert_eq!(headings.collect::<Vec<_>>(), titles);
    assert!(SECTIONS.iter().all(|section| section.flags.is_sorted_by_key(|flag| flag.name)));
    assert!(all().all(|flag| !flag.help.is_empty()));
    for flag in all() {
        let is_listed = help.contains(&format!("--{} ", flag.name))
            || help.contains(&format!("--{}[", flag.name));
        assert_eq!(is_listed, flag.deprecated.is_none(), "--{}", flag.name);
    }
    assert_eq!(parse(words("--kube-api-qps=1 -h")).unwrap_err(), Failure::Help(help));
    command().debug_assert();
}

/// flags.md, General behaviour; the values are what upstream's dump shows for the same words.
#[test]
fn words_are_read_as_pflag_reads_them() {
    let rows = [
        ("--kubeconfig=a=b", "kubeconfig", r#""a=b""#),
        ("--kubeconfig --master", "kubeconfig", r#""--master""#),
        ("--kubeconfig a_b --master=x", "kubeconfig", r#""a_b""#),
        ("--kubeconfig=", "kubeconfig", r#""""#),
        ("--kubeconfig=a --kubeconfig=b", "kubeconfig", r#""b""#),
        ("--leader_elect=F", "leader-elect", r#""false""#),
        ("--leader-elect=0 --leader-elect", "leader-elect", r#""true""#),
        ("--leader-elect=TRUE", "leader-elect", r#""true""#),
        ("-v 4", "v", r#""4""#),
        ("-v4", "v", r#""4""#),
        ("-v=4", "v", r#""4""#),
        ("--v=4", "v", r#""4""#),
        ("--v 4", "v", r#""4""#),
        ("--kube-api-burst -7", "kube-api-burst", r#""-7""#),
        ("--kube-api-burst=0x10", "kube-api-burst", r#""16""#),
        ("--kube-api-burst=010", "kube-api-burst", r#""8""#),
        ("--kube-api-burst=+1", "kube-api-burst", r#""1""#),
        ("--kube-api-qps=0.000001", "kube-api-qps", r#""1e-06""#),
        ("--kube-api-qps=2.50", "kube-api-qps", r#""2.5""#),
        ("--kube-api-qps=-1", "kube-api-qps", r#""-1""#),
        ("--kube-api-qps=1000000", "kube-api-qps", r#""1e+06""#),
        ("--controllers=a,-b --controllers -c", "controllers", r#""[a,-b,-c]""#),
        ("--controllers=\"a,b\",c", "controllers", r#""[\"a,b\",c]""#),
        ("--controllers=\"a\"\"b\",", "controllers", r#""[\"a\"\"b\",]""#),
        ("--controllers=", "controllers", r#""[]""#),
        ("--requestheader-group-headers=", "requestheader-group-headers", r#""[]""#),
        ("--bind-address=::1", "bind-address", r#""::1""#),
        ("--min-resync-period=90m", "min-resync-period", r#""1h30m0s""#),
        ("--tls-curve-preferences=3,4", "tls-curve-preferences", r#""[3,4]""#),
        ("--tls-sni-cert-key=a,b:c --tls-sni-cert-key=d,e", "tls-sni-cert-key", r#""[a,b:c;d,e]""#),
        (
            "--allow-metric-labels=a,b=c --allow-metric-labels=d=e --allow-metric-labels=d=f",
            "allow-metric-labels",
            r#""[\"a,b=c\",d=f]""#,
        ),
        ("--feature-gates=a=true,b=false --feature-gates=c=1", "feature-gates", {
            r#"":a=true,:b=false,:c=1""#
        }),
        ("--feature-gates=kube:a=1,b=0 --feature-gates=foo:c=1,d=0", "feature-gates", {
            r#"":b=0,:d=0,foo:c=1,kube:a=1""#
        }),
        ("--version=v1.36.3-rc.1+a", "version", r#""v1.36.3-rc.1+a""#),
        ("--log-json-info-buffer-size=1Mi", "log-json-info-buffer-size", r#""1Mi""#),
        ("--vmodule=a=1,b=2", "vmodule", r#""a=1,b=2""#),
        ("--version=raw", "version", r#""raw""#),
    ];
    for (line, flag, expected) in rows {
        assert_eq!(shown(line, flag), expected, "{line}");
    }
}

/// flags.md, General behaviour: parse errors; texts of upstream's binary.
#[test]
fn bad_words_are_refused_in_pflags_words() {
    let rows = [
        ("--x", "unknown flag: --x"),
        ("--x=1", "unknown flag: --x"),
        ("--leader_elect_x", "unknown flag: --leader_elect_x"),
        ("--=x", "bad flag syntax: --=x"),
        ("---x", "bad flag syntax: ---x"),
        ("-x", "unknown shorthand flag: 'x' in -x"),
        ("-xv", "unknown shorthand flag: 'x' in -xv"),
        ("-v", "flag needs an argument: 'v' in -v"),
        ("--v", "flag needs an argument: --v"),
        ("--kubeconfig", "flag needs an argument: --kubeconfig"),
        (
            "--leader-elect false x",
            r#""kube-controller-manager" does not take any arguments, got ["false" "x"]"#,
        ),
    ];
    for (line, expected) in rows {
        assert_eq!(bad(line), expected, "{line}");
    }
}

/// The same for values that do not fit the type.
#[test]
fn bad_values_are_refused_in_pflags_words() {
    let rows = [
        ("kube-api-qps", "fast", r#"strconv.ParseFloat: parsing "fast": invalid syntax"#),
        ("kube-api-qps", "1e99", r#"strconv.ParseFloat: parsing "1e99": value out of range"#),
        ("kube-api-burst", "", r#"strconv.ParseInt: parsing "": invalid syntax"#),
        ("kube-api-burst", "+-1", r#"strconv.ParseInt: parsing "+-1": invalid syntax"#),
        (
            "concurrent-gc-syncs",
            "9999999999",
            r#"strconv.ParseInt: parsing "9999999999": value out of range"#,
        ),
        ("tls-curve-preferences", "x", r#"strconv.ParseInt: parsing "x": invalid syntax"#),
        ("leader-elect", "maybe", r#"strconv.ParseBool: parsing "maybe": invalid syntax"#),
        ("version", "3", r#"strconv.ParseBool: parsing "3": invalid syntax"#),
        ("version", "v1", r#"illegal version string "v1""#),
        ("version", "vx", r#"could not parse "vx" as version"#),
        ("version", "v1.36.3.4", r#"illegal version string "v1.36.3.4""#),
        ("version", "v1.036.3", r#"illegal zero-prefixed version component "036" in "v1.036.3""#),
        (
            "version",
            "v1.36.3+a_b",
            r#"could not parse pre-release/metadata (+a_b) in version "v1.36.3+a_b""#,
        ),
        (
            "version",
            "v1.36.3-",
            r#"could not parse pre-release/metadata (-) in version "v1.36.3-""#,
        ),
        (
            "version",
            "v1.36.3-a.01",
            r#"illegal zero-prefixed version component "01" in "v1.36.3-a.01""#,
        ),
        ("bind-address", "x", r#"failed to parse IP: "x""#),
        (
            "version",
            "v1.36.4",
            r#"version "v1.36.4" must match major/minor/patch of default version "v1.36.3""#,
        ),
        ("controllers", "a\"b", r#"parse error on line 1, column 2: bare " in non-quoted-field"#),
        (
            "controllers",
            "\"a",
            r#"parse error on line 1, column 3: extraneous or missing " in quoted-field"#,
        ),
        (
            "vmodule",
            "a=x",
            r#"parsing verbosity in "a=x": strconv.ParseUint: parsing "x": invalid syntax"#,
        ),
        ("vmodule", "a=b=1", r#""a=b=1" does not have the pattern=N format"#),
        ("vmodule", "x", r#""x" does not have the pattern=N format"#),
        ("allow-metric-labels", "x", "x must be formatted as key=value"),
        ("tls-sni-cert-key", "x", "expected comma separated certificate and key file paths"),
        (
            "log-json-info-buffer-size",
            "x",
            "quantities must match the regular expression \
             '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
        ),
        ("log-text-info-buffer-size", "1.5K", "unable to parse quantity's suffix"),
        ("min-resync-period", "3", r#"time: missing unit in duration "3""#),
    ];
    for (flag, value, what) in rows {
        let expected = format!("invalid argument {value:?} for \"--{flag}\" flag: {what}");
        assert_eq!(bad(&format!("--{flag}={value}")), expected);
    }
    assert!(bad("--help=x").starts_with("invalid argument \"x\" for \"-h, --help\" flag: "));
    let expected = "invalid argument \"x\" for \"-v, --v\" flag: strconv.ParseUint: parsing \"x\": \
                    invalid syntax";
    assert_eq!(bad("-vx"), expected);
}

/// Go's time.ParseDuration and Duration.String.
#[test]
fn durations_are_gos() {
    let rows = [
        ("10s", "10s"),
        ("12h", "12h0m0s"),
        ("1h30m", "1h30m0s"),
        ("90s", "1m30s"),
        ("1.5h", "1h30m0s"),
        ("1.5ms", "1.5ms"),
        (".5s", "500ms"),
        ("1m0.25s", "1m0.25s"),
        ("1500us", "1.5ms"),
        ("2µs", "2µs"),
        ("7ns", "7ns"),
        ("0", "0s"),
        ("+1s", "1s"),
        ("-1m", "-1m0s"),
    ];
    for (text, expected) in rows {
        assert_eq!(GoDuration::parse(text).unwrap().to_string(), expected, "{text}");
    }
    let rows = [
        ("", r#"time: invalid duration """#),
        ("x", r#"time: invalid duration "x""#),
        (".s", r#"time: invalid duration ".s""#),
        ("1.2.3s", r#"time: missing unit in duration "1.2.3s""#),
        ("9999999h", r#"time: invalid duration "9999999h""#),
        ("3", r#"time: missing unit in duration "3""#),
        ("1h1x", r#"time: unknown unit "x" in duration "1h1x""#),
    ];
    for (text, expected) in rows {
        assert_eq!(GoDuration::parse(text).unwrap_err(), expected, "{text}");
    }
    assert!(GoDuration::parse("-1s").unwrap().to_std().is_zero());
}

/// flags.md: deprecated flags print a line each, even if they say the default.
#[test]
fn deprecated_flags_say_so() {
    assert!(good("--leader-elect=false").deprecations().is_empty());
    let lines = good("--node_sync_period=0s --allow-untagged-cloud").deprecations();
    let expected = [
        "Flag --allow-untagged-cloud has been deprecated, This flag is deprecated and will be \
         removed in a future release. A cluster-id will be required on cloud instances.",
        "Flag --node-sync-period has been deprecated, This flag is currently no-op and will be \
         deleted.",
    ];
    assert_eq!(lines, expected);
}

/// Values that have no effect yet are named, and only those. A flag set to its default has no
/// effect anyway.
#[test]
fn flags_without_effect_are_named() {
    let line = "--concurrent-gc-syncs=20 --cluster-name=kubernetes --profiling=false \
                --kube-api-qps=1 --feature-gates=A=true \
                --version=v1.36.3+a --cloud-config=/etc/cloud.conf --cloud-provider=external \
                --external-cloud-volume-plugin=x \
                --contention-profiling=true --concurrent-service-syncs=20";
    let expected = ["contention-profiling"];
    assert_eq!(good(line).without_effect(), expected);
}

/// What is read is in the table, with that type; and no name is listed without a handle.
#[test]
fn flags_that_are_read_are_flags() {
    // A handle is `pub(crate) const CONSTANT: Type = Handle::new("name");`.
    let source = include_str!("handles.rs").split(';');
    let handles: Vec<_> = source
        .filter_map(|item| {
            let (constant, name) = item.split_once("Handle::new(\"")?;
            let (_, read) = constant.rsplit_once(": ")?;
            Some((name.strip_suffix("\")")?, read.trim_end_matches([' ', '=', '\n'])))
        })
        .collect();
    let names: Vec<_> = handles.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, handles::NAMES);
    assert!(names.is_sorted() && names.len() > 60);
    for (name, read) in handles {
        let flag = all().find(|flag| flag.name == name).unwrap_or_else(|| panic!("{name}"));
        let kind = match flag.default_value() {
            Value::Bool(_) => "Switch",
            Value::Text(_) => "Text",
            Value::List(_) => "List",
            Value::Duration(_) => "Span",
            Value::Int(_) => "Int",
            Value::Float32(_) => "Float32",
            Value::Float64(_) => "Float64",
        };
        assert_eq!(read, kind, "{name}");
    }
}
