//! Faults and their times: as data that is drawn from a seed, written to a file and read again.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::dice::Dice;

/// What becomes of a request, or of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The connection is refused: nothing is done.
    Refuse,
    /// It is done, and the connection breaks before the response.
    Lost,
    /// 409, and nothing is done.
    Conflict,
    /// 429 with `Retry-After: 1`.
    TooMany,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
    /// It is done, and the response says 500, 502, 503 or 504: which, its moment says.
    Timeout,
    /// It is done, and the body of the response is no JSON.
    Garbage,
    /// It is lost on its way: nothing is done, and the connection breaks.
    Drop,
    /// It comes later, by this many milliseconds.
    Delay(u64),
    /// The manager ends before it is sent.
    CrashBefore,
    /// The manager ends when it is done.
    CrashAfter,
    /// A watch ends after this many events.
    End(u64),
    /// A watch breaks after this many events.
    Break(u64),
    /// A watch says 410 after this many events.
    Gone(u64),
    /// Each event of a watch comes later, by this many milliseconds.
    Lag(u64),
    /// The manager stops when it is done, for this many milliseconds, as by SIGSTOP.
    Stop(u64),
    /// The same, and its machine is suspended meanwhile.
    Suspend(u64),
    /// The manager is asked to end when it is done, as by SIGTERM.
    Quit,
    /// The manager is off the network from before it on, for this many milliseconds.
    Cut(u64),
    /// Before it the wall clock of the manager is set to this many seconds before what it was at
    /// the start.
    Behind(u64),
    /// The same, after what it was.
    Ahead(u64),
    /// A server that is this many seconds stale serves a list or a watch.
    Older(u64),
    /// The same, and it responds as if it had what is asked for.
    Lying(u64),
    /// The events of a watch come together after so many milliseconds, of each object the last.
    Merge(u64),
    /// A watch brings nothing but bookmarks for this many milliseconds; the events come then.
    Quiet(u64),
    /// A watch brings nothing but bookmarks for this many milliseconds, and ends.
    Mute(u64),
    /// A watch keeps so many events back until more come.
    Hold(u64),
    /// 403, and nothing is done: admission refuses it.
    Forbidden,
    /// 422, the same.
    Invalid,
    /// It is done, and admission has given what is new one more label.
    Rewritten,
    /// Discovery says nothing of a group, as a server does that has just started, or that another
    /// one is ahead of.
    Lacks(&'static str),
    /// Discovery says that all versions of a group are stale, and until it does so no more, what
    /// is asked of the group gets 503: its server is down.
    Stale(&'static str),
    /// Discovery has the versions of a group in another order: another one is preferred.
    Flips(&'static str),
    /// Discovery is right, and until it is asked again, what is asked of a group gets 500: the
    /// webhook that converts its objects is down.
    Unconverted(&'static str),
}

/// Which request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Point {
    /// The n-th that is no watch, from 0.
    Request(u64),
    /// The n-th watch.
    Watch(u64),
    /// The n-th watch of a resource, such as `pods`.
    WatchOf(String, u64),
    /// The n-th list of all objects of a kind, which is a request, too.
    List(u64),
    /// The n-th write of an account, but for events and leases.
    Write(String, u64),
    /// The n-th request of an election that is no watch.
    Lease(u64),
    /// The n-th request for the list of groups.
    Discovery(u64),
    /// All writes of a verb and a resource from the n-th on, such as `create-pods`, from any client
    /// that sends them.
    From(String, u64),
}

/// A fault and its time.
pub(crate) type Plan = BTreeMap<Point, Fault>;

/// Each that a write can meet.
pub(crate) const OF_WRITES: [Fault; 12] = [
    Fault::Refuse,
    Fault::Lost,
    Fault::Conflict,
    Fault::TooMany,
    Fault::Internal,
    Fault::Unavailable,
    Fault::Timeout,
    Fault::Garbage,
    Fault::Delay(2000),
    Fault::Drop,
    Fault::CrashBefore,
    Fault::CrashAfter,
];

/// Those that have a figure.
const FIGURED: [fn(u64) -> Fault; 16] = [
    Fault::Delay,
    Fault::End,
    Fault::Break,
    Fault::Gone,
    Fault::Lag,
    Fault::Stop,
    Fault::Suspend,
    Fault::Cut,
    Fault::Behind,
    Fault::Ahead,
    Fault::Older,
    Fault::Lying,
    Fault::Merge,
    Fault::Quiet,
    Fault::Mute,
    Fault::Hold,
];

/// Each that admission may do for ever.
const ADMISSION: [Fault; 3] = [Fault::Forbidden, Fault::Invalid, Fault::Rewritten];
/// Writes that admission may refuse.
const ADMITTED: [&str; 16] = [
    "create-pods",
    "delete-pods",
    "patch-pods",
    "create-replicasets",
    "update-replicasets",
    "patch-replicasets",
    "delete-replicasets",
    "update-replicasets/status",
    "update-deployments",
    "create-controllerrevisions",
    "create-configmaps",
    "patch-configmaps",
    "delete-configmaps",
    "create-serviceaccounts",
    "update-namespaces/finalize",
    "delete-jobs",
];
/// How many of them go well before that, at most.
const ADMITTED_MAX: u64 = 20;

/// The groups that discovery may be wrong about. One has two versions.
pub(crate) const GROUPS: [&str; 4] =
    ["sim.example.com", "apps", "batch", "rbac.authorization.k8s.io"];
/// Those that name a group.
const NAMED: [fn(&'static str) -> Fault; 4] =
    [Fault::Lacks, Fault::Stale, Fault::Flips, Fault::Unconverted];

/// How many requests and watches of a run may go wrong: those after them do not.
const REQUESTS: u64 = 1500;
const WATCHES: u64 = 400;
const LISTS: u64 = 400;
/// How many seconds a server is behind.
const BEHIND: [u64; 4] = [2, 5, 30, 120];
const LEASES: u64 = 200;
const DISCOVERIES: u64 = 40;
/// How many events a watch brings before it ends.
const EVENTS: u64 = 20;

/// A plan of a run. Some runs have few faults, and some have many.
pub(crate) fn draw(dice: &Dice, managers: usize) -> Plan {
    let mut plan = Plan::new();
    let (often, watches) = (dice.pick(&[0.0, 0.01, 0.05, 0.15]), dice.pick(&[0.0, 0.1, 0.4]));
    // A server that knows no streaming lists, and one that is behind for long.
    let (unknown, older) = (dice.pick(&[0.0, 0.0, 0.3, 0.9]), dice.pick(&[0.0, 0.0, 0.3, 0.9]));
    for number in 0..REQUESTS {
        if dice.chance(often) {
            plan.insert(Point::Request(number), request(dice, managers));
        }
    }
    // An outage: many in a row, all of a kind.
    for _ in 0..dice.pick(&[0, 0, 1, 3]) {
        let (begin, length, fault) = (dice.below(REQUESTS), 5 + dice.below(40), refusal(dice));
        plan.extend((begin..begin + length).map(|number| (Point::Request(number), fault)));
    }
    // Sometimes all of them go wrong in the same way.
    let alike = dice.chance(0.2).then(|| watch(dice, EVENTS));
    for number in 0..WATCHES {
        if let Some(alike) = alike.filter(|_| dice.chance(0.8)) {
            plan.insert(Point::Watch(number), alike);
        } else if dice.chance(watches) {
            plan.insert(Point::Watch(number), watch(dice, EVENTS));
        } else if watches > 0.0 && dice.chance(unknown) {
            plan.insert(Point::Watch(number), Fault::Internal);
        }
    }
    let behind = dice.pick(&BEHIND);
    for number in 0..LISTS {
        if dice.chance(older) {
            let lies = dice.chance(0.2);
            let fault = if lies { Fault::Lying(behind) } else { Fault::Older(behind) };
            plan.insert(Point::List(number), fault);
        }
    }
    if managers > 1 {
        plan.extend(election(dice));
    }
    plan
}

/// Renewals that fail, or get no response, while all else works.
fn election(dice: &Dice) -> Vec<(Point, Fault)> {
    let mut faults = Vec::new();
    for _ in 0..dice.pick(&[0, 1, 3, 8]) {
        let (begin, length) = (dice.below(LEASES), 1 + dice.below(12));
        let silent = [Fault::Lost, Fault::Timeout, Fault::Conflict, Fault::Garbage];
        let late = dice.pick(&[300, 2000, 4000, 9000, 20_000]);
        let kinds = [&[refusal(dice), Fault::Delay(late), Fault::Delay(late)], &silent[..]];
        let fault = dice.pick(&kinds.concat());
        faults.extend((begin..begin + length).map(|number| (Point::Lease(number), fault)));
    }
    faults
}

/// Discovery that is wrong about a group for a while, now and then.
pub(crate) fn discovery(dice: &Dice) -> Plan {
    let mut plan = Plan::new();
    for _ in 0..dice.pick(&[0, 0, 0, 1, 2, 4]) {
        plan.extend(wrong_discovery(dice, DISCOVERIES));
    }
    plan
}

/// Discovery that is wrong about a group for a while, which begins before so many questions.
pub(crate) fn wrong_discovery(dice: &Dice, most: u64) -> Plan {
    let begin = dice.below(most);
    let length = dice.pick(&[1, 1, 2, 5, 20]);
    let group = dice.pick(&[GROUPS[0], GROUPS[0], GROUPS[0], dice.pick(&GROUPS)]);
    let fault = match dice.pick(&NAMED)(group) {
        // Built-in kinds are not converted.
        Fault::Unconverted(_) => Fault::Unconverted(GROUPS[0]),
        fault => fault,
    };
    (begin..begin + length).map(|number| (Point::Discovery(number), fault)).collect()
}

/// Admission that refuses some writes, or rewrites them, as long as there are faults.
pub(crate) fn admission(dice: &Dice) -> Plan {
    let mut plan = Plan::new();
    for _ in 0..dice.pick(&[0, 0, 0, 0, 1, 2]) {
        let write = dice.pick(&ADMITTED);
        let is_new = write.starts_with("create-");
        let fault = dice.pick(if is_new { &ADMISSION[..] } else { &ADMISSION[..2] });
        plan.insert(Point::From(write.to_owned(), dice.below(ADMITTED_MAX)), fault);
    }
    plan
}

fn refusal(dice: &Dice) -> Fault {
    dice.pick(&[Fault::Refuse, Fault::TooMany, Fault::Internal, Fault::Unavailable])
}

fn request(dice: &Dice, managers: usize) -> Fault {
    // A crash costs everything that follows: a few are enough.
    if dice.chance(0.1) {
        return dice.pick(&[Fault::CrashBefore, Fault::CrashAfter, Fault::Quit]);
    }
    if dice.chance(if managers > 1 { 0.15 } else { 0.05 }) {
        let long = dice.pick(&[500, 9_000, 14_000, 20_000, 40_000]);
        let seconds = dice.pick(&[1, 60, 3600]);
        let rare = [Fault::Stop(long), Fault::Suspend(long), Fault::Cut(long)];
        let clock = [Fault::Behind(seconds), Fault::Ahead(seconds)];
        return dice.pick(&[&rare[..], &clock].concat());
    }
    match dice.pick(&OF_WRITES[..9]) {
        Fault::Delay(_) => Fault::Delay(dice.pick(&[5, 100, 1500, 20_000])),
        other => other,
    }
}

/// What may become of a watch that brings so many events first, at most.
pub(crate) fn watch(dice: &Dice, most: u64) -> Fault {
    let events = dice.below(most);
    let long = dice.pick(&[10, 300, 2000, 20_000]);
    let behind = dice.pick(&BEHIND);
    match dice.below(12) {
        0 => Fault::End(events),
        1 => Fault::Break(events),
        2 => Fault::Gone(events),
        3 => Fault::Lag(long),
        4 => Fault::Merge(long),
        5 => Fault::Quiet(long),
        6 => Fault::Mute(dice.pick(&[300, 2000, 20_000, 60_000])),
        7 => Fault::Hold(1 + dice.below(5)),
        8 => Fault::Older(behind),
        9 => Fault::Lying(behind),
        10 => dice.pick(&[Fault::Internal, Fault::Timeout, Fault::Garbage]),
        _ => dice.pick(&[Fault::Refuse, Fault::TooMany, Fault::Unavailable]),
    }
}

// === impl Fault ===

impl Fault {
    /// Without its figures.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Lost => "lost",
            Self::Conflict => "409",
            Self::TooMany => "429",
            Self::Internal => "500",
            Self::Unavailable => "503",
            Self::Timeout => "504-done",
            Self::Garbage => "garbage",
            Self::Drop => "drop",
            Self::Delay(_) => "delay",
            Self::CrashBefore => "crash-before",
            Self::CrashAfter => "crash-after",
            Self::End(_) => "end",
            Self::Break(_) => "break",
            Self::Gone(_) => "410",
            Self::Lag(_) => "lag",
            Self::Stop(_) => "stop",
            Self::Suspend(_) => "suspend",
            Self::Quit => "quit",
            Self::Cut(_) => "cut",
            Self::Behind(_) => "behind",
            Self::Ahead(_) => "ahead",
            Self::Older(_) => "older",
            Self::Lying(_) => "lying",
            Self::Merge(_) => "merge",
            Self::Quiet(_) => "quiet",
            Self::Mute(_) => "mute",
            Self::Hold(_) => "hold",
            Self::Forbidden => "403",
            Self::Invalid => "422",
            Self::Rewritten => "rewritten",
            Self::Lacks(_) => "lacks",
            Self::Stale(_) => "stale",
            Self::Flips(_) => "flips",
            Self::Unconverted(_) => "unconverted",
        }
    }

    fn figure(self) -> Option<u64> {
        match self {
            Self::Delay(n)
            | Self::Stop(n)
            | Self::Suspend(n)
            | Self::Cut(n)
            | Self::Behind(n)
            | Self::Ahead(n)
            | Self::End(n)
            | Self::Break(n)
            | Self::Gone(n)
            | Self::Lag(n)
            | Self::Older(n)
            | Self::Lying(n)
            | Self::Merge(n)
            | Self::Quiet(n)
            | Self::Mute(n)
            | Self::Hold(n) => Some(n),
            _ => None,
        }
    }

    /// The group that it is about.
    pub(crate) fn group(self) -> Option<&'static str> {
        match self {
            Self::Lacks(group)
            | Self::Stale(group)
            | Self::Flips(group)
            | Self::Unconverted(group) => Some(group),
            _ => None,
        }
    }

    /// For how long it keeps a manager from what it does, in milliseconds.
    pub(crate) fn lasts(self) -> u64 {
        match self {
            Self::Delay(n) | Self::Stop(n) | Self::Suspend(n) | Self::Cut(n) => n,
            _ => 0,
        }
    }

    /// How long events are delayed.
    pub(crate) fn lag(self) -> Duration {
        match self {
            Self::Lag(millis) => Duration::from_millis(millis),
            _ => Duration::ZERO,
        }
    }

    /// After how many events a watch ends.
    pub(crate) fn events(self) -> Option<u64> {
        match self {
            Self::End(events) | Self::Break(events) | Self::Gone(events) => Some(events),
            _ => None,
        }
    }
}

/// As it is read: `delay 100`, `stale apps`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(group) = self.group() {
            return write!(f, "{} {group}", self.name());
        }
        match self.figure() {
            Some(figure) => write!(f, "{} {figure}", self.name()),
            None => f.write_str(self.name()),
        }
    }
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, figure) = text.split_once(' ').unwrap_or((text, "0"));
        if let Some(group) = GROUPS.into_iter().find(|group| *group == figure) {
            let mut named = NAMED.into_iter().map(|make| make(group));
            return named
                .find(|it| it.name() == name)
                .ok_or_else(|| format!("{text:?} is no fault"));
        }
        let figure = figure.parse().map_err(|error| format!("{text:?}: {error}"))?;
        let figured = FIGURED.into_iter().map(|make| make(figure));
        let mut known = figured.chain(OF_WRITES).chain(ADMISSION).chain([Self::Quit]);
        known.find(|it| it.name() == name).ok_or_else(|| format!("{text:?} is no fault"))
    }
}

// === impl Point ===

/// As it is read: `watch 7`.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(number) => write!(f, "request {number}"),
            Self::Watch(number) => write!(f, "watch {number}"),
            Self::WatchOf(resource, number) => write!(f, "watch-of-{resource} {number}"),
            Self::List(number) => write!(f, "list {number}"),
            Self::Write(account, number) => write!(f, "write-of-{account} {number}"),
            Self::Lease(number) => write!(f, "lease {number}"),
            Self::Discovery(number) => write!(f, "discovery {number}"),
            Self::From(write, number) => write!(f, "from-{write} {number}"),
        }
    }
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let odd = || format!("{text:?} is no point such as `request 7`");
        let (kind, number) = text.split_once(' ').ok_or_else(odd)?;
        let number = number.parse().map_err(|_| odd())?;
        if let Some(account) = kind.strip_prefix("write-of-") {
            return Ok(Self::Write(account.to_owned(), number));
        }
        if let Some(write) = kind.strip_prefix("from-") {
            return Ok(Self::From(write.to_owned(), number));
        }
        if let Some(resource) = kind.strip_prefix("watch-of-") {
            return Ok(Self::WatchOf(resource.to_owned(), number));
        }
        match kind {
            "request" => Ok(Self::Request(number)),
            "watch" => Ok(Self::Watch(number)),
            "list" => Ok(Self::List(number)),
            "lease" => Ok(Self::Lease(number)),
            "discovery" => Ok(Self::Discovery(number)),
            _ => Err(odd()),
        }
    }
}
