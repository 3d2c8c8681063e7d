//! What is said of objects, as data.

use api::{Resource, Time};
use serde::Serialize;

/// An object, as it is named in a report. Prints as kubectl names it: `deployment.apps/web`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Subject {
    /// Such as `Deployment`.
    pub kind: String,
    /// Empty for the core group.
    pub group: String,
    /// Empty for objects outside namespaces.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Nothing waits for it.
    Note,
    /// It takes its time, and goes on by itself.
    Waiting,
    /// It does not go on until somebody changes something.
    Stuck,
}

/// How an object is, all in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// As it should be.
    Settled,
    /// On its way there.
    InProgress,
    /// On its way, and not moving.
    Stuck,
}

/// Something that was found out about an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// The object.
    pub subject: Subject,
    /// How many steps it is away from the object of the question.
    pub depth: usize,
    /// How bad it is.
    pub severity: Severity,
    /// What is the case: a sentence without its subject and its full stop.
    pub cause: String,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// What must happen before it goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
    /// What happens next, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// How many other objects of the same owner have the same finding.
    pub others: usize,
}

/// What a controller would do now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The controller, by upstream's name.
    pub controller: &'static str,
    /// The object that it would do it for.
    pub subject: Subject,
    /// What it sees, in short.
    pub summary: Vec<Line>,
    /// The live reads for the plan, and their results.
    pub live_reads: Vec<String>,
    /// The plan, an action a line, as the debug pages of the manager show it.
    pub plan: Vec<String>,
    /// Why there is no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A name and a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The name.
    pub name: String,
    /// The value.
    pub value: String,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unseen {
    /// `get` or `list`.
    pub verb: &'static str,
    /// As RBAC names it: `pods`, `replicasets.apps`.
    pub resource: String,
    /// Empty: all namespaces, or none.
    pub namespace: String,
    /// Of a single object.
    pub name: String,
    /// Whether RBAC does not allow it; otherwise reading failed.
    pub forbidden: bool,
    /// The API server's words, or the error.
    pub why: String,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The object of the question.
    pub subject: Subject,
    /// When it was read.
    pub at: Time,
    /// How it is.
    pub state: State,
    /// The cause in one sentence.
    pub cause: String,
    /// Along the chain, from the object on.
    pub findings: Vec<Finding>,
    /// What the controllers of the object would do.
    pub decisions: Vec<Decision>,
    /// What could not be read.
    pub unseen: Vec<Unseen>,
}

// === impl Subject ===

impl Subject {
    /// An object of this kind.
    pub fn new(resource: &Resource, namespace: &str, name: &str) -> Self {
        Self {
            kind: resource.kind.clone().into_owned(),
            group: resource.group.clone().into_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = self.kind.to_lowercase();
        match self.group.as_str() {
            "" => write!(f, "{kind}/{}", self.name),
            group => write!(f, "{kind}.{group}/{}", self.name),
        }
    }
}

// === impl Finding ===

impl Finding {
    /// The cause with its subject, as a sentence without its full stop.
    pub fn sentence(&self) -> String {
        match self.others {
            0 => format!("{} {}", self.subject, self.cause),
            more => format!("{} (and {more} more like it) {}", self.subject, self.cause),
        }
    }
}

// === impl Severity ===

impl From<Severity> for State {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Note => Self::Settled,
            Severity::Waiting => Self::InProgress,
            Severity::Stuck => Self::Stuck,
        }
    }
}

// === impl State ===

impl State {
    /// The exit code of `kubectl why`.
    pub const fn code(self) -> u8 {
        match self {
            Self::Settled => 0,
            Self::InProgress => 1,
            Self::Stuck => 2,
        }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Settled => "is settled",
            Self::InProgress => "is in progress",
            Self::Stuck => "is stuck",
        }
    }
}

// === impl Report ===

impl Report {
    /// The report on what was found: the cause is the worst finding, and of several that are as bad
    /// the one that is furthest along the chain, and of those the first.
    pub fn new(subject: Subject, at: Time, findings: Vec<Finding>) -> Self {
        let worst = findings.iter().rev().max_by_key(|it| (it.severity, it.depth));
        let state = worst.map_or(State::Settled, |it| it.severity.into());
        let cause = match worst {
            Some(it) if it.severity != Severity::Note && it.subject == subject => {
                format!("{subject} {}: it {}", state.words(), it.cause)
            }
            Some(it) if it.severity != Severity::Note => {
                format!("{subject} {}: {}", state.words(), it.sentence())
            }
            Some(_) | None => match findings.first() {
                Some(first) => format!("{subject} is settled: it {}", first.cause),
                None => format!("{subject} is settled: nothing waits for anything"),
            },
        };
        let cause = format!("{}.", cause.trim_end_matches('.'));
        Self { subject, at, state, cause, findings, decisions: Vec::new(), unseen: Vec::new() }
    }
}
