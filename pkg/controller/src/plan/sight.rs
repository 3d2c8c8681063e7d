//! Which parts of a plan a user may see: the debug pages must not show what the API server would
//! not show.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Key, Resource};
use serde_json::Value;

use super::{Plan, Step};
use crate::{Action, Content, Verb, Write};

/// Stands for a hidden body, before the reason.
const HIDDEN: char = '…';
const SECRET: &str = "bodies of Secrets are never shown";
const NOT_ASKED: &str = "nobody was asked whether it may be shown";

/// Objects that a user must be allowed to `get` to see what a plan writes to them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// Their kind.
    pub resource: Resource,
    /// The object; without a name, all of the kind in its namespace: a created object may get its
    /// name from the API server.
    pub key: Key,
}

/// The objects whose bodies a user may see. Those of Secrets are hidden from all users.
#[derive(Clone, Debug)]
pub enum Sight {
    /// All objects.
    All,
    /// These objects; an error is the reason why the body is hidden.
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
    /// The objects that a user must be allowed to `get` to see all of this plan. Secrets are not
    /// among them.
    pub fn subjects(&self) -> BTreeSet<Subject> {
        let subjects = self.all_actions().filter_map(Subject::of);
        subjects.filter(|subject| !subject.is_secret()).collect()
    }

    /// This plan with `…` and the reason in place of each hidden body. Only for showing.
    #[must_use]
    pub fn as_seen(mut self, sight: &Sight) -> Self {
        // Equal bodies stay shared.
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
