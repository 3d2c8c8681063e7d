//! The streams of lines: all to standard error, or info to standard output and the rest to standard
//! error, as upstream's split streams do (k8s.io/component-base/logs/api/v1, text.go).

use std::io::{BufWriter, Write};
use std::sync::{Mutex, PoisonError};

/// The largest buffer, as in upstream.
const BUFFER_BYTES_MAX: usize = 2 << 30;

type Sink = Mutex<Box<dyn Write + Send>>;

/// The streams.
pub(super) struct Output {
    /// None: there is one stream for everything.
    news: Option<Sink>,
    all_else: Sink,
}

/// The stream of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    News,
    Problems,
}

impl Output {
    pub(super) fn one(stream: impl Write + Send + 'static) -> Self {
        Self { news: None, all_else: Mutex::new(Box::new(stream)) }
    }

    /// Two streams. Info lines are buffered up to this many bytes, or until [`Output::flush`]; a
    /// line is never split.
    pub(super) fn split(
        news: impl Write + Send + 'static,
        problems: impl Write + Send + 'static,
        buffer_bytes: usize,
    ) -> Self {
        let news: Box<dyn Write + Send> = match buffer_bytes {
            0 => Box::new(news),
            bytes => Box::new(BufWriter::with_capacity(bytes.min(BUFFER_BYTES_MAX), news)),
        };
        Self { news: Some(Mutex::new(news)), all_else: Mutex::new(Box::new(problems)) }
    }

    /// A failure to write the log cannot be reported.
    pub(super) fn write(&self, stream: Stream, line: &str) {
        let sink = match (stream, &self.news) {
            (Stream::News, Some(news)) => news,
            (Stream::News, None) | (Stream::Problems, _) => &self.all_else,
        };
        let _ = sink.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    }

    /// Flushes the buffer.
    pub(super) fn flush(&self) {
        if let Some(news) = &self.news {
            let _ = news.lock().unwrap_or_else(PoisonError::into_inner).flush();
        }
    }
}
