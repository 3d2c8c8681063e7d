//! What a watch keeps back, and what comes of it then. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};

use crate::fault::Fault;

/// How long [`Fault::Hold`] keeps an event.
const HOLD_MAX: Duration = Duration::from_secs(20);
/// How often a quiet watch brings a bookmark.
const BOOKMARK_EVERY: Duration = Duration::from_secs(1);

/// An event of a watch, as the wire has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event(pub(crate) Value);

/// The events that a watch holds back.
pub(crate) struct Held {
    fault: Fault,
    bookmarks: bool,
    /// When the watch was opened.
    opened: Duration,
    /// When each came.
    events: VecDeque<(Duration, Event)>,
    /// All events up to this version were delivered.
    told: u64,
    bookmark_at: Duration,
    /// How many events were left out, since others say what they said.
    pub(crate) left_out: u64,
}

/// What the watch delivers next.
#[derive(Debug, PartialEq)]
pub(crate) enum Delivery {
    /// These are delivered now.
    Events(Vec<Event>),
    /// Nothing, until then at the latest.
    Wait(Duration),
    /// The watch ends, and what is held back is never delivered.
    End,
    /// From now on nothing is held back.
    Open,
}

// === impl Event ===

impl Event {
    fn bookmark(version: u64) -> Self {
        let object = json!({"metadata": {"resourceVersion": version.to_string()}});
        Self(json!({"type": "BOOKMARK", "object": object}))
    }

    fn text(&self, path: &str) -> &str {
        self.0.pointer(path).and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn kind(&self) -> &str {
        self.text("/type")
    }

    fn version(&self) -> u64 {
        self.text("/object/metadata/resourceVersion").parse().unwrap_or(0)
    }

    fn key(&self) -> (String, String) {
        let part = |name| self.text(name).to_owned();
        (part("/object/metadata/namespace"), part("/object/metadata/name"))
    }

    /// Whether all that was there at the beginning of the watch has been delivered.
    pub(crate) fn ends_list(&self) -> bool {
        self.text("/object/metadata/annotations/k8s.io~1initial-events-end") == "true"
    }

    fn is_change(&self) -> bool {
        matches!(self.kind(), "ADDED" | "MODIFIED" | "DELETED")
    }

    fn named(mut self, kind: &str) -> Self {
        self.0["type"] = kind.into();
        self
    }
}

// === impl Held ===

impl Held {
    /// For a watch that is opened now, from a version; none: the fault keeps nothing back.
    pub(crate) fn new(fault: Fault, bookmarks: bool, now: Duration, from: u64) -> Option<Self> {
        let keeps =
            matches!(fault, Fault::Merge(_) | Fault::Quiet(_) | Fault::Mute(_) | Fault::Hold(_));
        let (events, bookmark_at) = (VecDeque::new(), now + BOOKMARK_EVERY);
        let (opened, told) = (now, from);
        keeps.then_some(Self { fault, bookmarks, opened, events, told, bookmark_at, left_out: 0 })
    }

    /// Everything up to here was delivered otherwise.
    pub(crate) fn passed(&mut self, event: &Event) {
        self.told = self.told.max(event.version());
    }

    pub(crate) fn take(&mut self, now: Duration, event: Event) {
        self.events.push_back((now, event));
    }

    /// What is to do now. All events up to the version `reached` were taken.
    pub(crate) fn delivery(&mut self, now: Duration, reached: u64) -> Delivery {
        let delivery = match self.fault {
            Fault::Merge(millis) => {
                let due = self.first().map(|first| first + Duration::from_millis(millis));
                match due {
                    Some(due) if due <= now => Delivery::Events(self.merged()),
                    due => Delivery::Wait(due.unwrap_or(Duration::MAX)),
                }
            }
            Fault::Quiet(millis) | Fault::Mute(millis) => {
                let until = self.opened + Duration::from_millis(millis);
                if now >= until { self.loud() } else { self.quiet(now, until, reached) }
            }
            Fault::Hold(most) => self.hold(now, usize::try_from(most).unwrap_or(usize::MAX)),
            _ => Delivery::Open,
        };
        if let Delivery::Events(events) = &delivery {
            let versions = events.iter().map(Event::version);
            self.told = versions.fold(self.told, u64::max);
        }
        delivery
    }

    /// What is delivered when the watch ends of itself, or when the faults stop.
    pub(crate) fn rest(&mut self) -> Vec<Event> {
        match self.fault {
            Fault::Merge(_) => self.merged(),
            _ => self.events.drain(..).map(|(_, event)| event).collect(),
        }
    }

    /// What is delivered when the server's time for the watch is over.
    pub(crate) fn last(&mut self) -> Vec<Event> {
        match self.fault {
            Fault::Quiet(_) | Fault::Mute(_) => Vec::new(),
            _ => self.rest(),
        }
    }

    fn first(&self) -> Option<Duration> {
        self.events.front().map(|(since, _)| *since)
    }

    /// The time of silence is over.
    fn loud(&mut self) -> Delivery {
        match self.fault {
            Fault::Mute(_) => Delivery::End,
            _ if self.events.is_empty() => Delivery::Open,
            _ => Delivery::Events(self.rest()),
        }
    }

    fn quiet(&mut self, now: Duration, until: Duration, reached: u64) -> Delivery {
        if !self.bookmarks {
            return Delivery::Wait(until);
        }
        if now < self.bookmark_at {
            return Delivery::Wait(until.min(self.bookmark_at));
        }
        self.bookmark_at = now + BOOKMARK_EVERY;
        let version = if self.events.is_empty() { self.told.max(reached) } else { self.told };
        Delivery::Events(vec![Event::bookmark(version)])
    }

    fn hold(&mut self, now: Duration, most: usize) -> Delivery {
        let mut told = Vec::new();
        while self.events.len() > most || self.first().is_some_and(|it| it + HOLD_MAX <= now) {
            told.extend(self.events.pop_front().map(|(_, event)| event));
        }
        match self.first() {
            _ if !told.is_empty() => Delivery::Events(told),
            Some(first) => Delivery::Wait(first + HOLD_MAX),
            None => Delivery::Wait(Duration::MAX),
        }
    }

    /// Of each object the last, as a watch that saw nothing of what was between gets it: in the
    /// order of their versions.
    fn merged(&mut self) -> Vec<Event> {
        let events: Vec<_> = self.events.drain(..).map(|(_, event)| event).collect();
        let newest = events.iter().map(Event::version).max().unwrap_or(0);
        // Whether it was there before, and its last event.
        let mut last: BTreeMap<(String, String), (bool, Event)> = BTreeMap::new();
        let (changes, others): (Vec<_>, Vec<_>) = events.into_iter().partition(Event::is_change);
        let came = changes.len();
        for event in changes {
            let was = last.get(&event.key()).map_or(event.kind() != "ADDED", |(was, _)| *was);
            last.insert(event.key(), (was, event));
        }
        let told = last.into_values().filter_map(|(was, event)| match (was, event.kind()) {
            (false, "DELETED") => None,
            (true, "DELETED") => Some(event),
            (false, _) => Some(event.named("ADDED")),
            (true, _) => Some(event.named("MODIFIED")),
        });
        let mut told: Vec<_> = told.collect();
        told.sort_by_key(Event::version);
        let left_out = came - told.len();
        self.left_out += u64::try_from(left_out).unwrap_or(0);
        // The server's own bookmarks say less than this one.
        let marks = others.iter().any(|event| event.kind() == "BOOKMARK");
        if self.bookmarks && (left_out > 0 || marks) {
            told.push(Event::bookmark(newest));
        }
        told.extend(others.into_iter().filter(|event| event.kind() != "BOOKMARK"));
        told
    }
}

#[cfg(test)]
mod held_tests {
    use super::*;

    fn event(text: &str) -> Event {
        let (kind, rest) = text.split_once(' ').unwrap();
        let (name, version) = rest.split_once('@').unwrap();
        let metadata = json!({"name": name, "resourceVersion": version});
        Event(json!({"type": kind, "object": {"metadata": metadata}}))
    }

    fn text(events: &[Event]) -> String {
        let text =
            |event: &Event| format!("{} {}@{}", event.kind(), event.key().1, event.version());
        events.iter().map(text).collect::<Vec<_>>().join(", ")
    }

    fn held(fault: Fault, bookmarks: bool) -> Held {
        Held::new(fault, bookmarks, Duration::ZERO, 1).unwrap()
    }

    fn tell(held: &mut Held, at: u64, reached: u64) -> String {
        match held.delivery(Duration::from_secs(at), reached) {
            Delivery::Events(events) => text(&events),
            Delivery::Wait(until) if until == Duration::MAX => "wait".to_owned(),
            Delivery::Wait(until) => format!("until {}", until.as_secs()),
            delivery => format!("{delivery:?}"),
        }
    }

    /// What a watch shows that missed the events between.
    #[test]
    fn merged_events_say_what_there_is() {
        let rows = [
            ("ADDED a@2, MODIFIED a@3", "ADDED a@3, BOOKMARK @3"),
            ("MODIFIED a@2, MODIFIED a@3", "MODIFIED a@3, BOOKMARK @3"),
            ("ADDED a@2, MODIFIED a@3, DELETED a@4", "BOOKMARK @4"),
            ("MODIFIED a@2, DELETED a@3", "DELETED a@3, BOOKMARK @3"),
            ("DELETED a@2, ADDED a@3", "MODIFIED a@3, BOOKMARK @3"),
            ("DELETED a@2, ADDED a@3, DELETED a@4", "DELETED a@4, BOOKMARK @4"),
            ("ADDED b@2, DELETED a@3, MODIFIED b@4", "DELETED a@3, ADDED b@4, BOOKMARK @4"),
            ("ADDED a@2, ADDED b@3", "ADDED a@2, ADDED b@3"),
            ("ADDED a@2, BOOKMARK @7", "ADDED a@2, BOOKMARK @7"),
            ("MODIFIED a@2, ERROR @0", "MODIFIED a@2, ERROR @0"),
        ];
        for (came, want) in rows {
            for bookmarks in [true, false] {
                let mut held = held(Fault::Merge(2000), bookmarks);
                assert_eq!(tell(&mut held, 1, 1), "wait");
                for one in came.split(", ") {
                    held.take(Duration::from_secs(3), event(one));
                }
                assert_eq!(tell(&mut held, 4, 9), "until 5", "{came}");
                let without = want.split(", ").filter(|it| !it.contains("BOOKMARK"));
                let without = without.collect::<Vec<_>>().join(", ");
                let want = if bookmarks { want } else { &without };
                assert_eq!(tell(&mut held, 5, 9), want, "{came}");
                assert_eq!(tell(&mut held, 6, 9), "wait", "{came}");
            }
        }
    }

    /// A bookmark never says more than was delivered.
    #[test]
    fn a_quiet_watch_brings_bookmarks_and_then_all() {
        let mut quiet = held(Fault::Quiet(5000), true);
        assert_eq!(tell(&mut quiet, 0, 4), "until 1");
        assert_eq!(tell(&mut quiet, 1, 4), "BOOKMARK @4");
        assert_eq!(tell(&mut quiet, 1, 4), "until 2");
        quiet.take(Duration::from_secs(2), event("ADDED a@6"));
        assert_eq!(tell(&mut quiet, 3, 6), "BOOKMARK @4");
        assert_eq!(tell(&mut quiet, 5, 7), "ADDED a@6");
        assert_eq!(tell(&mut quiet, 5, 7), "Open");
        let mut silent = held(Fault::Quiet(5000), false);
        assert_eq!(tell(&mut silent, 3, 4), "until 5");
        assert!(silent.last().is_empty());
    }

    #[test]
    fn a_mute_watch_ends_without_its_events() {
        let mut mute = held(Fault::Mute(5000), true);
        mute.take(Duration::ZERO, event("ADDED a@6"));
        assert_eq!(tell(&mut mute, 1, 6), "BOOKMARK @1");
        assert_eq!(tell(&mut mute, 5, 7), "End");
    }

    #[test]
    fn the_last_events_are_held_until_more_come() {
        let mut hold = held(Fault::Hold(2), true);
        for (at, one) in ["ADDED a@2", "ADDED b@3", "MODIFIED a@4"].iter().enumerate() {
            assert_eq!(tell(&mut hold, 1, 9), ["wait", "until 20", "until 20"][at]);
            hold.take(Duration::from_secs(at.try_into().unwrap()), event(one));
        }
        assert_eq!(tell(&mut hold, 2, 9), "ADDED a@2");
        assert_eq!(tell(&mut hold, 3, 9), "until 21");
        assert_eq!(tell(&mut hold, 21, 9), "ADDED b@3");
        assert_eq!(text(&hold.rest()), "MODIFIED a@4");
    }
}
