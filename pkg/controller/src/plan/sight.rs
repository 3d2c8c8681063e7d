//! What of a plan somebody may see: the debug pages have rules of their own, and must not show what
//! the API server would not.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Key, Resource};
use serde_json::Value;

use super::{Plan, Step};
use crate::{Action, Content, Verb, Write};

/// What stands for a body that is not shown, before the reason.
const HIDDEN: char = '…';
const SECRET: &str = "bodies of Secrets are never shown";
const NOT_ASKED: &str = "nobody was asked whether it may be shown";

/// Objects that one has to be allowed to `get` to see what a plan writes to them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// Their kind.
    pub resource: Resource,
    /// The object; if it has no name, all of the kind in its namespace: what is made gets its name
    /// from the API server.
    pub key: Key,
}

/// Whose bodies somebody may see. Those of Secrets are hidden from everybody.
#[derive(Clone, Debug)]
pub enum Sight {
    /// Those of all objects.
    All,
    /// Those of these objects; an error is the reason why not.
    Of(BTreeMap<Subject, Result<(), String>>),
}

// === impl Subject ===

impl Subject {
    fn is_secret(&self) -> bool {
        self.resource.group.is_empty() && self.resource.plural == "secrets"
    }

    /// None: the action has no body.
    fn of(action: &Action) -> Option<Self> {
        let Write { object, verb, .. } = action.write()?;
        let key = match verb {
            Verb::Create(body) => {
                let body: Value = serde_json::from_str(body).unwrap_or_default();
                let name = body["metadata"]["name"].as_str().unwrap_or_default();
                Key::new(&object.key.namespace, name)
            }
            Verb::Patch(_) | Verb::Update(_) => object.key.clone(),
            Verb::Delete(_) | Verb::DeleteAll => return None,
        };
        Some(Self { resource: object.resource.clone(), key })
    }
}

// === impl Sight ===

impl Sight {
    /// None: the body is shown.
    fn reason(&self, subject: &Subject) -> Option<&str> {
        if subject.is_secret() {
            return Some(SECRET);
        }
        match self {
            Self::All => None,
            Self::Of(answers) => match answers.get(subject) {
                Some(Ok(())) => None,
                Some(Err(reason)) => Some(reason),
                None => Some(NOT_ASKED),
            },
        }
    }
}

// === impl Plan ===

impl Plan {
    /// The objects that one has to be allowed to `get` to see all of this plan. Secrets are not
    /// among them.
    pub fn subjects(&self) -> BTreeSet<Subject> {
        let subjects = self.all_actions().filter_map(Subject::of);
        subjects.filter(|subject| !subject.is_secret()).collect()
    }

    /// This plan with `…` and the reason in place of each body that is not seen. It is for showing
    /// alone.
    #[must_use]
    pub fn as_seen(mut self, sight: &Sight) -> Self {
        // What was the same body stays the same one.
        let mut made = BTreeMap::new();
        for step in &mut self.steps {
            let lists = match step {
                Step::InOrder(actions) | Step::Together(actions) | Step::SlowStart(actions) => {
                    std::slice::from_mut(actions)
                }
                Step::Chains(chains) => chains,
                Step::Fetch(_) => continue,
            };
            for action in lists.iter_mut().flatten() {
                hide(action, sight, &mut made);
            }
        }
        self
    }

    pub(super) fn all_actions(&self) -> impl Iterator<Item = &Action> {
        let lists = self.steps.iter().flat_map(|step| match step {
            Step::InOrder(actions) | Step::Together(actions) | Step::SlowStart(actions) => {
                std::slice::from_ref(actions)
            }
            Step::Chains(chains) => chains,
            Step::Fetch(_) => &[],
        });
        lists.flatten()
    }
}

fn hide(action: &mut Action, sight: &Sight, made: &mut BTreeMap<Subject, Arc<str>>) {
    let Some(subject) = Subject::of(action) else { return };
    let Some(reason) = sight.reason(&subject) else { return };
    let hidden = format!("{HIDDEN} ({reason})");
    let Action::Write(write) = action else { return };
    match &mut write.verb {
        Verb::Create(body) => {
            *body = Arc::clone(made.entry(subject).or_insert_with(|| hidden.into()));
        }
        Verb::Patch(patch) => {
            patch.otherwise = None;
            patch.body = hidden;
        }
        Verb::Update(update) => match &mut update.content {
            Content::Edited { edits, .. } => {
                for edit in edits {
                    edit.value = Value::from(hidden.clone());
                }
            }
            Content::Other(body) => *body = hidden.into(),
        },
        Verb::Delete(_) | Verb::DeleteAll => {}
    }
}
