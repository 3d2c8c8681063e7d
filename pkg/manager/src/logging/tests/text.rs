//! klog's text.

use std::panic;

use super::super::{PLAIN, panics};
use super::*;

/// The lines, each without the header, whose form is checked: klog's is
/// `[IWEF]mmdd hh:mm:ss.uuuuuu threadid file:line] `.
fn messages(text: &str) -> Vec<(char, String)> {
    let mut messages: Vec<(char, String)> = Vec::new();
    for line in text.lines() {
        if let (true, Some((_, last))) = (line.starts_with(['\t', ' ']), messages.last_mut()) {
            last.extend(["\n", line]);
            continue;
        }
        let (letter, rest) = line.split_at(1);
        let pid = format!("{:>7}", std::process::id());
        let start = format!("1115 00:13:20.123456 {pid} text.rs:");
        let rest = rest.strip_prefix(&start).unwrap_or_else(|| panic!("{line}: not {start}"));
        let (number, message) = rest.split_once("] ").unwrap();
        assert!(number.parse::<u32>().is_ok_and(|number| number > 0), "{line}");
        messages.push((letter.chars().next().unwrap(), message.to_owned()));
    }
    messages
}

fn text(log: impl FnOnce()) -> Vec<(char, String)> {
    messages(&logged(Format::Text, all(), log))
}

/// klog's internal/buffer and internal/serialize: the letters, and values by their types.
#[tokio::test(start_paused = true)]
async fn lines_have_klogs_form() {
    let lines = text(|| {
        tracing::info!(version = "v1", count = 3, ready = true, "it \"starts\"");
        tracing::warn!(path = ?Some(1), error = %"no\tway", pause = ?PAUSE, "failed");
        tracing::error!(who = "me", error = %"it is \"over\"", ratio = 0.5, "ended");
        tracing::debug!("a\nb");
        tracing::debug!(target: "manager::other", text = "one\ntwo", rest = -1, "long");
    });
    let expected = [
        ('I', r#""it \"starts\"" version="v1" count=3 ready=true"#),
        ('W', r#""failed" path="Some(1)" err="no\tway" pause="2s""#),
        ('E', r#""ended" err="it is \"over\"" who="me" ratio=0.5"#),
        ('I', r#""a\nb""#),
        ('I', "\"long\" text=<\n\tone\n\ttwo\n > rest=-1"),
    ];
    assert_eq!(lines, expected.map(|(letter, line)| (letter, line.to_owned())));
}

/// FormatKVs: the last one wins, and an equal value stays at its first position.
#[tokio::test(start_paused = true)]
async fn spans_are_in_the_line() {
    let lines = text(|| {
        let empty = tracing::field::Empty;
        let outer = tracing::info_span!("sync", controller = "a", key = empty, task = "t");
        outer.record("key", "shop/web");
        let _outer = outer.enter();
        let inner = tracing::info_span!("step", controller = "a", step = 1);
        let _inner = inner.enter();
        tracing::info!(key = "shop/api", "acted");
        inner.record("step", 2);
        tracing::error!(error = "none", "ended");
    });
    let expected = [
        ('I', r#""acted" controller="a" task="t" step=1 key="shop/api""#),
        ('E', r#""ended" err="none" controller="a" task="t" key="shop/web" step=2"#),
    ];
    assert_eq!(lines, expected.map(|(letter, line)| (letter, line.to_owned())));
}

/// klog's `Infof`, with which upstream dumps its flags.
#[tokio::test(start_paused = true)]
async fn plain_lines_are_not_quoted() {
    let lines = text(|| tracing::info!(target: PLAIN, "FLAG: --v=\"1\""));
    assert_eq!(lines, [('I', "FLAG: --v=\"1\"".to_owned())]);
}

/// `logPanic`: where it happened, with what was being done.
#[tokio::test(start_paused = true)]
async fn a_panic_is_a_line() {
    let registry = metrics::Registry::default();
    panics::register(&registry).unwrap();
    let panics = || {
        let page = registry.page("").body;
        let line = page.lines().find_map(|line| line.strip_prefix("kcm_panics_total "));
        line.and_then(|count| count.parse::<u32>().ok()).unwrap()
    };
    let before = panics();
    let lines = text(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(panics::log));
        let span = tracing::info_span!("sync", key = "shop/web");
        let ended = span.in_scope(|| panic::catch_unwind(|| panic!("no \"way\"")));
        panic::set_hook(before);
        assert!(ended.is_err());
        tracing::info!("goes on");
    });
    // That of another test may be counted too.
    assert!(panics() > before);
    let [(letter, said), (_, next)] = &lines[..] else { panic!("{lines:?}") };
    let start = "\"Observed a panic\" key=\"shop/web\" panic=\"no \\\"way\\\"\" stacktrace=<\n\t";
    assert!(*letter == 'E' && said.starts_with(start), "{letter} {said}");
    // Files and lines are there only if the build has them.
    assert!(said.contains("text::a_panic_is_a_line") && said.ends_with("\n >"), "{said}");
    assert_eq!(next, "\"goes on\"");
}
