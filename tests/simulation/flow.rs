//! A watch on its way to a manager, with the faults of the plan.

use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, StreamBody};
use serde_json::json;
use tower::BoxError;

use crate::fault::Fault;
use crate::held::{Delivery, Event, Held};
use crate::life::{About, Life, broken, status};
use crate::oracle::Stream;
use crate::wire::Line;

/// How often a watch with a fault looks whether that is over.
const LOOK: Duration = Duration::from_secs(1);
/// No watch of a server that is behind lasts longer.
const BEHIND_MAX: Duration = Duration::from_mins(1);

/// A watch on its way to the manager.
pub(crate) struct Flow {
    body: sandbox::Body,
    fault: Option<Fault>,
    /// How many events went by.
    events: u64,
    life: Life,
    line: Line,
    stream: Stream,
    /// Its last event was delivered, or more are left out.
    cut: bool,
    ended: bool,
    /// It still delivers what was there when it began.
    listing: bool,
    held: Option<Held>,
    /// When it breaks, since its server is behind.
    breaks_at: Option<Duration>,
}

/// What a watch brings next.
enum Came {
    Chunk(Bytes),
    /// It has ended.
    Nothing,
    /// Time has passed.
    Time,
}

// === impl Flow ===

impl Flow {
    pub(crate) fn new(
        life: &Life,
        about: &About,
        body: sandbox::Body,
        fault: Option<Fault>,
    ) -> Self {
        let now = life.site.now();
        let bookmarks = about.parameter("allowWatchBookmarks") == Some("true");
        let from = about.parameter("resourceVersion").and_then(|it| it.parse().ok()).unwrap_or(0);
        let behind = match fault {
            Some(Fault::Older(seconds) | Fault::Lying(seconds)) => Some(seconds),
            _ => None,
        };
        let breaks_at = behind.map(|seconds| now + Duration::from_secs(seconds).min(BEHIND_MAX));
        Self {
            body,
            fault,
            events: 0,
            life: life.clone(),
            line: life.wire.line(),
            stream: about.stream(),
            cut: false,
            ended: false,
            // Without bookmarks nothing marks the end of the list.
            listing: bookmarks && about.parameter("sendInitialEvents") == Some("true"),
            held: fault.and_then(|fault| Held::new(fault, bookmarks, now, from)),
            breaks_at,
        }
    }

    /// The fault that it still has.
    fn fault(&self) -> Option<Fault> {
        self.fault.filter(|_| self.life.site.log().faulty)
    }

    pub(crate) fn body(self) -> UnsyncBoxBody<Bytes, BoxError> {
        let frames = stream::unfold(self, |mut flow| async move {
            let line = flow.line.clone();
            let chunk = line.carry(flow.next()).await.unwrap_or_else(|lost| Some(Err(lost)))?;
            if let Ok(lines) = &chunk {
                flow.show(lines);
            }
            let chunk = chunk.map(|lines| flow.life.site.with_odd_bytes(lines));
            Some((chunk.map(http_body::Frame::data), flow))
        });
        StreamBody::new(frames).boxed_unsync()
    }

    /// The manager is shown these.
    fn show(&mut self, lines: &[u8]) {
        let now = self.life.site.now();
        let mut log = self.life.site.log();
        log.oracle.knowledge.brought(&mut self.stream, lines, now);
    }

    /// The next events, some at a time.
    async fn next(&mut self) -> Option<Result<Bytes, BoxError>> {
        while self.held.is_some() && !self.ended {
            if let Some(chunk) = self.keep().await {
                return Some(Ok(chunk));
            }
        }
        if self.ended {
            return None;
        }
        // Once events were left out it must end, even if the faults have stopped since.
        let max = self.fault().and_then(Fault::events).unwrap_or(u64::MAX);
        if self.cut || self.events >= max {
            return self.end(self.fault);
        }
        let mut chunk = loop {
            match self.come(self.breaks_at).await {
                Came::Chunk(chunk) => break chunk,
                Came::Nothing => return None,
                // The server has not reached the version of its next event.
                Came::Time if self.is_over() => {
                    self.ended = true;
                    return Some(Err(broken("the connection broke")));
                }
                Came::Time => {}
            }
        };
        if self.fault.is_none() {
            return Some(Ok(chunk));
        }
        let lag = self.fault().map(Fault::lag).unwrap_or_default();
        if !lag.is_zero() {
            self.life.site.runtime.clock.sleep(lag).await;
        }
        // It may come to its last event within this chunk.
        let max = self.fault().and_then(Fault::events).unwrap_or(u64::MAX);
        let ends = chunk.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
        let ends: Vec<_> = ends.collect();
        let room = usize::try_from(max.saturating_sub(self.events)).unwrap_or(usize::MAX);
        if ends.len() >= room {
            let last = room.checked_sub(1).and_then(|at| ends.get(at));
            chunk.truncate(last.map_or(0, |at| at + 1));
            self.cut = true;
        }
        self.events += u64::try_from(ends.len().min(room)).unwrap_or(0);
        Some(Ok(chunk))
    }

    /// Whether the connection to a server that is behind breaks now.
    fn is_over(&self) -> bool {
        let now = self.life.site.now();
        self.breaks_at.is_some_and(|at| at <= now) || !self.life.site.log().faulty
    }

    /// What comes; if it is delayed, until then at most. No time: until it comes.
    async fn come(&mut self, until: Option<Duration>) -> Came {
        let now = self.life.site.now();
        let clock = self.life.site.runtime.clock.clone();
        let time = async {
            match until {
                Some(until) => clock.sleep(until.saturating_sub(now).min(LOOK)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            frame = self.body.frame() => match frame {
                Some(Ok(frame)) => Came::Chunk(frame.into_data().unwrap_or_default()),
                Some(Err(never)) => match never {},
                None => Came::Nothing,
            },
            () = time => Came::Time,
        }
    }

    /// Holds events back; some bytes: they are delivered now.
    async fn keep(&mut self) -> Option<Bytes> {
        let is_wrong = self.fault().is_some();
        let (now, reached) = (self.life.site.now(), self.life.site.cluster.server().revision());
        let held = self.held.as_mut()?;
        if !is_wrong {
            let rest = held.rest();
            self.close();
            return lines(&rest);
        }
        // What has come by now is taken first: a bookmark says that nothing else has come.
        let until = match self.come(Some(now)).await {
            Came::Time => match self.held.as_mut()?.delivery(now, reached) {
                Delivery::Events(events) => {
                    self.count(&events);
                    return lines(&events);
                }
                Delivery::Wait(until) => until,
                Delivery::End => {
                    self.note("mute ended", 1);
                    self.ended = true;
                    return None;
                }
                Delivery::Open => {
                    self.close();
                    return None;
                }
            },
            came => return self.take(came),
        };
        let came = self.come(Some(until)).await;
        self.take(came)
    }

    /// Takes what has come; some bytes: they are delivered at once.
    fn take(&mut self, came: Came) -> Option<Bytes> {
        let now = self.life.site.now();
        let held = self.held.as_mut()?;
        let chunk = match came {
            Came::Chunk(chunk) => chunk,
            Came::Nothing => {
                let last = held.last();
                self.ended = true;
                return lines(&last);
            }
            Came::Time => return None,
        };
        let mut told = Vec::new();
        for line in chunk.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let event = Event(serde_json::from_slice(line).unwrap_or_default());
            if self.listing {
                held.passed(&event);
                self.listing = !event.ends_list();
                told.push(event);
            } else {
                held.take(now, event);
            }
        }
        lines(&told)
    }

    /// Nothing is kept back any more.
    fn close(&mut self) {
        let left_out = self.held.take().map_or(0, |held| held.left_out);
        self.note("events left out", left_out);
    }

    /// Counts what really happened.
    fn count(&mut self, events: &[Event]) {
        let marks = events.iter().filter(|event| event.kind() == "BOOKMARK").count();
        let events = u64::try_from(events.len() - marks).unwrap_or(0);
        let name = match self.fault {
            Some(Fault::Merge(_)) => "merged events",
            Some(Fault::Hold(_)) => "held events",
            _ => "quiet events",
        };
        self.note(name, events);
        self.note("bookmarks added", u64::try_from(marks).unwrap_or(0));
        let left_out = self.held.as_mut().map(|held| std::mem::take(&mut held.left_out));
        self.note("events left out", left_out.unwrap_or(0));
    }

    fn note(&self, what: &'static str, count: u64) {
        if count > 0 {
            *self.life.site.log().faults.entry(what).or_default() += count;
        }
    }

    fn end(&mut self, fault: Option<Fault>) -> Option<Result<Bytes, BoxError>> {
        self.ended = true;
        match fault {
            Some(Fault::Gone(_)) => {
                let status = status(410, "Expired");
                let event = json!({"type": "ERROR", "object": status});
                Some(Ok(format!("{event}\n").into()))
            }
            Some(Fault::Break(_)) => Some(Err(broken("the connection broke"))),
            _ => None,
        }
    }
}

/// As they are on the wire; none: there are none.
fn lines(events: &[Event]) -> Option<Bytes> {
    let lines: Vec<_> = events.iter().map(|Event(event)| event.to_string()).collect();
    (!lines.is_empty()).then(|| (lines.join("\n") + "\n").into())
}

#[cfg(test)]
mod flow_tests {
    use anyhow::ensure;

    use super::*;
    use crate::case::Case;
    use crate::fault::Point;
    use crate::run::run;

    /// All watches of a rollout go wrong, and nothing comes of it.
    #[test]
    fn rollouts_get_along_with_any_watch() -> anyhow::Result<()> {
        let rows = [
            (Fault::Merge(2000), ["merged events", "events left out"]),
            (Fault::Quiet(20_000), ["quiet events", "bookmarks added"]),
            (Fault::Mute(20_000), ["mute ended", "bookmarks added"]),
            (Fault::Hold(3), ["held events", "hold"]),
            (Fault::Older(5), ["older watches", "older silent watches"]),
        ];
        for (fault, happens) in rows {
            let mut case = Case::parse(include_str!("stories/deployment-controller.txt"))?;
            // Those that are behind need others that end before.
            let behind = matches!(fault, Fault::Older(_));
            let fault = |number| if behind && number < 60 { Fault::End(2) } else { fault };
            case.plan.extend((0..400).map(|number| (Point::Watch(number), fault(number))));
            let outcome = run(&case)?;
            let broken = outcome.broken.as_ref().map(ToString::to_string);
            ensure!(broken.is_none(), "{:?}: {broken:?}", fault(399));
            let counts = &outcome.stats.faults;
            for what in happens {
                ensure!(counts.contains_key(what), "{:?}: no {what}: {counts:?}", fault(399));
            }
        }
        Ok(())
    }
}
