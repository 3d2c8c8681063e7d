//! Lines of JSON, as programs read them.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use api::Time;
use runtime::Clock;
use serde_json::{Value, json};
use tracing_subscriber::layer::SubscriberExt;

use super::json::JsonLines;

/// What was written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines that `log` logs.
fn lines(log: impl FnOnce()) -> Vec<String> {
    let written = Written::default();
    let (writer, clock) = (written.clone(), Clock::simulated(Time::from_unix(1_700_000_000, 0)));
    let lines = JsonLines::new(move || writer.clone(), clock);
    tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), log);
    let text = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// component-base/logs/json: the keys, their order, and the time in milliseconds.
#[tokio::test(start_paused = true)]
async fn lines_have_upstreams_keys() {
    let lines = lines(|| tracing::info!(version = "v1", count = 3, ready = true, "it \"starts\""));
    let [line] = &lines[..] else { panic!("{lines:?}") };
    let start = "{\"ts\":1700000000000.000,\"caller\":\"manager/logging/tests.rs:";
    assert!(line.starts_with(start), "{line}");
    let rest = ",\"msg\":\"it \\\"starts\\\"\",\"v\":0,\"level\":\"info\",\"version\":\"v1\",\
                \"count\":3,\"ready\":true}";
    assert!(line.ends_with(rest), "{line}");
}

#[tokio::test(start_paused = true)]
async fn errors_levels_and_spans_are_in_the_line() {
    let lines = lines(|| {
        let span = tracing::info_span!("sync", controller = "a", key = tracing::field::Empty);
        span.record("key", "shop/web\n");
        let _in = span.enter();
        tracing::warn!(error = %"no\tway", controller = "b", "failed");
        tracing::debug!(wait = ?std::time::Duration::from_secs(2), "waits");
    });
    let lines: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let show = |line: &Value, keys: &[&str]| -> Vec<Value> {
        keys.iter().map(|key| line[*key].clone()).collect()
    };
    let keys = ["msg", "level", "v", "err", "controller", "key"];
    let first = [json!("failed"), json!("warn"), json!(0), json!("no\tway")];
    assert_eq!(show(&lines[0], &keys)[..4], first);
    assert_eq!(show(&lines[0], &keys)[4..], [json!("b"), json!("shop/web\n")]);
    let keys = ["msg", "level", "v", "wait", "controller"];
    let second = [json!("waits"), json!("debug"), json!(4), json!("2s"), json!("a")];
    assert_eq!(show(&lines[1], &keys), second);
    assert_eq!(lines.len(), 2);
}
