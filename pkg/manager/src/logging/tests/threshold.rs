//! Which lines are written.

use std::fs;
use std::path::Path;

use super::super::threshold::{OURS, matches};
use super::*;

/// One line of each sort.
fn everything() {
    tracing::error!("error");
    tracing::info!("info");
    tracing::debug!("debug");
    tracing::debug!(target: client::LOG_ANSWERS, "request");
    tracing::debug!(target: client::LOG_HEADERS, "headers");
    tracing::warn!(target: "hyper::proto", "lib-warn");
    tracing::debug!(target: "hyper::proto", "lib-debug");
    tracing::trace!(target: "hyper::proto", "lib-trace");
    tracing::trace!("trace");
}

/// The first words of the lines that a threshold admits.
fn written(threshold: Threshold) -> String {
    let text = logged(Format::Text, threshold, everything);
    let words: Vec<&str> = text.lines().filter_map(|line| line.split('"').nth(1)).collect();
    words.join(" ")
}

/// The flag -v, as its help has it.
#[tokio::test(start_paused = true)]
async fn the_verbosity_says_what_is_written() {
    let rows = [
        (0, "error info lib-warn"),
        (3, "error info lib-warn"),
        (4, "error info debug lib-warn"),
        (6, "error info debug request lib-warn"),
        (8, "error info debug request headers lib-warn"),
        (9, "error info debug request headers lib-warn lib-debug"),
        (u32::MAX, "error info debug request headers lib-warn lib-debug"),
    ];
    for (verbosity, expected) in rows {
        assert_eq!(written(Threshold::new(verbosity, "")), expected, "-v={verbosity}");
    }
    assert_eq!(written(Threshold::quiet()), "error lib-warn");
}

/// The flag --vmodule, and klog's verbosity_test.go: the first pattern that matches the name of
/// the file counts, without its folder and ending; -v counts too.
#[tokio::test(start_paused = true)]
async fn single_files_say_more() {
    let rows = [
        (0, "threshold=4", "error info debug lib-warn"),
        (0, "thresh*=6,threshold=9", "error info debug request lib-warn"),
        (0, "other=9,t?reshold=4,", "error info debug lib-warn"),
        (4, "threshold=0,t*=6", "error info debug request lib-warn"),
        (6, "threshold=4", "error info debug request lib-warn"),
        (0, "tests/threshold=9,threshold.rs=9,Threshold=9,thres=9", "error info lib-warn"),
        (0, "*=9", "error info debug request headers lib-warn lib-debug"),
    ];
    for (verbosity, modules, expected) in rows {
        let threshold = Threshold::new(verbosity, modules);
        assert_eq!(written(threshold), expected, "-v={verbosity} --vmodule={modules}");
    }
}

/// Rows of Go's path/filepath/match_test.go.
#[test]
fn patterns_match_as_in_go() {
    let rows = [
        ("abc", "abc", true),
        ("*", "abc", true),
        ("*c", "abc", true),
        ("a*", "a", true),
        ("a*b*c*d*e*", "axbxcxdxe", true),
        ("a*b?c*x", "abxbbxdbxebxczzx", true),
        ("a*b?c*x", "abxbbxdbxebxczzy", false),
        ("ab[c]", "abc", true),
        ("ab[b-d]", "abc", true),
        ("ab[e-g]", "abc", false),
        ("ab[^c]", "abc", false),
        ("ab[^e-g]", "abc", true),
        ("a\\*b", "a*b", true),
        ("a\\*b", "ab", false),
        ("a?b", "a☺b", true),
        ("a[^a]b", "a☺b", true),
        ("a???b", "a☺b", false),
        ("[\\]a]", "]", true),
        ("[\\-x]", "-", true),
        ("[x\\-]", "z", false),
        ("[]a]", "]", false),
        ("[-]", "-", false),
        ("[x-]", "x", false),
        ("[a-b-c]", "a", false),
        ("[", "a", false),
        ("[^bc", "a", false),
        ("a[", "a", false),
        ("*x", "xxx", true),
        ("\\", "a", false),
    ];
    for (pattern, name, expected) in rows {
        let chars = |text: &str| text.chars().collect::<Vec<_>>();
        assert_eq!(matches(&chars(pattern), &chars(name)), expected, "{pattern} {name}");
    }
}

/// Lines of our own crates must not be taken for a library's.
#[test]
fn every_crate_that_logs_is_known() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // Parts of the sandbox's program, which shows warnings, and the manager's log.
    let elsewhere = ["sandbox", "script"];
    let mut logging = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
        let name = entry.file_name().into_string().unwrap();
        let logs = manifest.lines().any(|line| line.starts_with("tracing.workspace"));
        if logs && !elsewhere.contains(&name.as_str()) {
            logging.push(name);
        }
    }
    logging.sort();
    assert_eq!(logging, OURS);
}
