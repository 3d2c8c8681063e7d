//! The streams of lines.

use super::super::output::Stream;
use super::*;

/// logs/api/v1, text_test.go: info lines are buffered until the buffer is full or flushed, problems
/// never; no line is split.
#[test]
fn streams_are_split_and_buffered() {
    let (news, problems) = (Written::default(), Written::default());
    let output = Output::split(news.clone(), problems.clone(), 10);
    output.write(Stream::News, "I one\n");
    output.write(Stream::Problems, "E bad\n");
    assert_eq!((news.text(), problems.text()), (String::new(), "E bad\n".to_owned()));
    output.write(Stream::News, "I two\n");
    assert_eq!(news.text(), "I one\n");
    output.flush();
    assert_eq!(news.text(), "I one\nI two\n");
    output.write(Stream::News, "I longer than that\n");
    assert_eq!(news.text(), "I one\nI two\nI longer than that\n");
    assert_eq!(problems.text(), "E bad\n");
}

#[test]
fn without_a_buffer_nothing_is_held_back() {
    let (news, problems) = (Written::default(), Written::default());
    let output = Output::split(news.clone(), problems.clone(), 0);
    output.write(Stream::News, "I one\n");
    assert_eq!((news.text(), problems.text()), ("I one\n".to_owned(), String::new()));
    let one = Output::one(problems.clone());
    one.write(Stream::News, "I two\n");
    assert_eq!(problems.text(), "I two\n");
}

/// klog's router takes warnings for problems, zap does not.
#[tokio::test(start_paused = true)]
async fn what_is_news_depends_on_the_format() {
    for (format, warnings_are_news) in [(Format::Text, false), (Format::Json, true)] {
        let (news, problems) = (Written::default(), Written::default());
        let output = Arc::new(Output::split(news.clone(), problems.clone(), 0));
        let (clock, zone) = (Clock::simulated(Time::EPOCH), Zone::east(0));
        let lines = Lines { format, clock, zone, output };
        let subscriber = tracing_subscriber::registry().with(lines);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!("one");
            tracing::warn!("two");
            tracing::error!("three");
        });
        let on = |written: &Written, word: &str| written.text().contains(word);
        assert!(on(&news, "one") && on(&problems, "three"), "{format:?}");
        assert_eq!(on(&news, "two"), warnings_are_news, "{format:?}");
        assert_eq!(on(&problems, "two"), !warnings_are_news, "{format:?}");
    }
}
