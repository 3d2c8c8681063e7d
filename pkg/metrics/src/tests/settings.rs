//! The flags, and upstream's errors for bad ones.

use std::path::PathBuf;

use crate::{Flags, Settings};

fn mapping(pairs: &[(&str, &str)]) -> Flags {
    let pairs = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    Flags { allow_list_mapping: Some(pairs.collect()), ..Flags::default() }
}

fn disabled(names: &[&str]) -> Flags {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    Flags { disabled_metrics: names, ..Flags::default() }
}

fn hidden(version: &str) -> Flags {
    Flags { show_hidden_metrics_for_version: version.to_owned(), ..Flags::default() }
}

const KEYS: &str = "must have keys with format `metricName,labelName` where metricName matches \
    \"[a-zA-Z_:][a-zA-Z0-9_:]*\" and labelName matches \"[a-zA-Z_][a-zA-Z0-9_]*\"";

// component-base/metrics/api/v1/config_test.go: TestValidate…; options_test.go: TestValidate
#[test]
fn bad_flags_are_named_in_upstreams_words() {
    let keys = |given: &str| format!("metrics.allowListMapping: Invalid value: {given}: {KEYS}");
    let version = |given: &str| {
        format!(
            "metrics.showHiddenMetricsForVersion: Invalid value: {given:?}: must be omitted or \
             have the value '1.35'; only the previous minor version is allowed"
        )
    };
    let name = |all: &str, bad: &str| {
        format!(
            "metrics.disabledMetrics: Invalid value: {all}: must be fully qualified metric names \
             matching \"^[a-zA-Z_:][a-zA-Z0-9_:]*$\", got {bad:?}"
        )
    };
    for (flags, expected) in [
        (Flags::default(), None),
        (hidden("1.35"), None),
        (hidden("1.34"), Some(version("1.34"))),
        (hidden("1.36"), Some(version("1.36"))),
        (hidden("1.35.0"), Some(version("1.35.0"))),
        (disabled(&["a:b_1", "_c"]), None),
        (disabled(&["a", "1b"]), Some(name(r#"["a","1b"]"#, "1b"))),
        (disabled(&["a-b"]), Some(name(r#"["a-b"]"#, "a-b"))),
        (disabled(&[""]), Some(name(r#"[""]"#, ""))),
        (mapping(&[]), None),
        (mapping(&[("metric1,label1", "v1,v2"), ("a:b,_", "")]), None),
        (mapping(&[("metric1", "v1")]), Some(keys(r#"{"metric1":"v1"}"#))),
        (mapping(&[("m,l,x", "v1")]), Some(keys(r#"{"m,l,x":"v1"}"#))),
        (mapping(&[("m,a:b", "v1")]), Some(keys(r#"{"m,a:b":"v1"}"#))),
        (mapping(&[("m, l", "v1")]), Some(keys(r#"{"m, l":"v1"}"#))),
    ] {
        let errors = flags.settings().err().unwrap_or_default();
        assert_eq!(errors, expected.into_iter().collect::<Vec<_>>(), "{flags:?}");
    }
    let all = Flags { disabled_metrics: vec!["-".to_owned()], ..hidden("2") };
    assert_eq!(all.settings().unwrap_err(), [version("2"), name(r#"["-"]"#, "-")]);
}

/// A file of its own, removed at the end.
struct Manifest(PathBuf);

impl Manifest {
    fn new(name: &str, text: &str) -> Self {
        let file = format!("metrics-{}-{name}.yaml", std::process::id());
        let path = std::env::temp_dir().join(file);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn settings(&self) -> Result<Settings, String> {
        let path = self.0.display().to_string();
        let flags = Flags { allow_list_mapping_manifest: path.clone(), ..Flags::default() };
        let settings = flags.settings();
        settings.map_err(|errors| errors.join("\n").replace(&path, "FILE"))
    }
}

impl Drop for Manifest {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

// component-base/metrics/api/v1/config_test.go: TestValidateAllowListMappingManifest
#[test]
fn the_manifest_says_the_same_as_the_flag() {
    let good = Manifest::new("good", "m,l: a,b\n\"n,code\": 200\n\"n,on\": true\n\"n,x\":\n");
    let flag = mapping(&[("m,l", "a,b"), ("n,code", "200"), ("n,on", "true"), ("n,x", "")]);
    assert_eq!(good.settings(), Ok(flag.settings().unwrap()));
    let empty = Manifest::new("empty", "\n");
    assert_eq!(empty.settings(), Ok(Settings::default()));

    let start = "metrics.allowListMappingManifest: Invalid value: \"FILE\": ";
    let bad = Manifest::new("bad", "m: a\n");
    let inner = "metrics.allowListMappingManifest: Invalid value: {\"m\":\"a\"}";
    let expected = format!("{start}invalid allow list mapping in manifest: [{inner}: {KEYS}]");
    assert_eq!(bad.settings(), Err(expected));
    let nested = Manifest::new("nested", "allowListMapping:\n  m,l: a\n");
    let expected = format!("{start}failed to parse allow list manifest: allowListMapping: ");
    assert!(nested.settings().unwrap_err().starts_with(&expected));
    let missing = Manifest::new("missing", "");
    std::fs::remove_file(&missing.0).unwrap();
    let expected = format!("{start}failed to read allow list manifest: open FILE: ");
    assert!(missing.settings().unwrap_err().starts_with(&expected));
}

#[test]
fn the_flag_and_the_manifest_exclude_each_other() {
    let manifest = Manifest::new("both", "m,l: a\n");
    let path = manifest.0.display().to_string();
    let flags = Flags { allow_list_mapping_manifest: path.clone(), ..mapping(&[("m,l", "b")]) };
    let expected = format!(
        "metrics: Invalid value: {{\"allowListMapping\":{{\"m,l\":\"b\"}},\
         \"allowListMappingManifest\":{path:?}}}: cannot specify both allowListMapping and \
         allowListMappingManifest"
    );
    assert_eq!(flags.settings().unwrap_err(), [expected]);
}
