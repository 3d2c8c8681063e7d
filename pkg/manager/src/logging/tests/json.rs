//! zap's JSON.

use super::*;

fn lines(log: impl FnOnce()) -> Vec<String> {
    let text = logged(Format::Json, all(), log);
    let caller = "\"caller\":\"manager/logging/tests/json.rs:";
    let start = format!("{{\"ts\":1700000000123.456,{caller}");
    let rest = |line: &str| {
        let rest = line.strip_prefix(&start).unwrap_or_else(|| panic!("{line}: not {start}"));
        rest.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned()
    };
    text.lines().map(rest).collect()
}

/// component-base/logs/json: the keys, their order, and the time in milliseconds. Errors have no
/// verbosity, and what went wrong comes last.
#[tokio::test(start_paused = true)]
async fn lines_have_upstreams_keys() {
    let lines = lines(|| {
        tracing::info!(version = "v1", count = 3, ready = true, "it \"starts\"");
        let span = tracing::info_span!("sync", controller = "a", key = tracing::field::Empty);
        span.record("key", "shop/web\n");
        let _in = span.enter();
        tracing::warn!(error = %"no\tway", controller = "b", "failed");
        tracing::debug!(pause = ?PAUSE, "waits");
        tracing::error!(error = "none", task = "t", "ended");
    });
    let expected = [
        r#"","msg":"it \"starts\"","v":0,"version":"v1","count":3,"ready":true}"#,
        concat!(
            r#"","msg":"failed","key":"shop/web\n","v":0,"level":"warn","err":"no\tway","#,
            r#""controller":"b"}"#
        ),
        r#"","msg":"waits","controller":"a","key":"shop/web\n","v":4,"pause":"2s"}"#,
        r#"","msg":"ended","controller":"a","key":"shop/web\n","task":"t","err":"none"}"#,
    ];
    assert_eq!(lines, expected);
}
