//! The attacher of the driver `hollow.sandbox`, as kubernetes-csi/external-attacher.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Resource, Time};
use serde_json::{Value, json};

use crate::alarms::Alarms;
use crate::fields::{at, flag, key, text, texts};
use crate::kinds::{ATTACHMENTS, target};
use crate::{Change, Part, Reaction, Request, Sender};

/// The driver whose attachments it serves.
pub(crate) const DRIVER: &str = "hollow.sandbox";
/// What holds an attachment until its volume is detached.
const FINALIZER: &str = "external-attacher/hollow-sandbox";
/// How long it takes to attach a volume, or to detach it.
const TAKES: Duration = Duration::from_secs(1);

/// Says a while after an attachment was asked for that it is attached, and lets it go a while after
/// its deletion.
#[derive(Default)]
pub struct Attacher {
    attachments: BTreeMap<Key, Arc<Value>>,
    alarms: Alarms<Key>,
}

impl Part for Attacher {
    fn watches(&self) -> &'static [Resource] {
        static WATCHED: [Resource; 1] = [ATTACHMENTS];
        &WATCHED
    }

    fn step(&mut self, now: Time, changes: &[Change]) -> Reaction {
        let mut reaction = Reaction::default();
        let mut touched: BTreeSet<Key> = BTreeSet::new();
        for change in changes.iter().filter(|it| text(&it.object, "/spec/attacher") == DRIVER) {
            let key = key(&change.object);
            if change.gone {
                self.attachments.remove(&key);
            } else {
                self.attachments.insert(key.clone(), Arc::clone(&change.object));
            }
            touched.insert(key);
        }
        for key in touched {
            let attachment = self.attachments.get(&key);
            let is_held = attachment.is_some_and(|it| is_held(it));
            if attachment.is_some_and(|it| !is_held && !is_ending(it)) {
                // What it holds it must let go later: the first thing is to hold it.
                let requests = attachment.map(|it| hold(&key, it));
                reaction.send(&Sender::Operator, requests);
                self.alarms.set(&key, Some(now + TAKES));
            } else if !attachment.is_some_and(|it| is_due(it)) {
                self.alarms.set(&key, None);
            } else if !self.alarms.has(&key) {
                self.alarms.set(&key, Some(now + TAKES));
            }
        }
        for key in self.alarms.due(now) {
            let Some(attachment) = self.attachments.get(&key).filter(|it| is_due(it)) else {
                continue;
            };
            reaction.send(&Sender::Operator, [tend(&key, attachment)]);
            self.alarms.set(&key, Some(now + TAKES));
        }
        reaction.again = self.alarms.next();
        reaction
    }
}

/// Whether there is something to do for it.
fn is_due(attachment: &Value) -> bool {
    if is_ending(attachment) {
        return is_held(attachment);
    }
    !is_held(attachment) || !flag(attachment, "/status/attached") || has_failed(attachment)
}

/// The next thing to do.
fn tend(key: &Key, attachment: &Value) -> Request {
    if is_ending(attachment) {
        return finalizers(key, attachment, |all| all.retain(|it| it != FINALIZER));
    }
    if !is_held(attachment) {
        return hold(key, attachment);
    }
    let status = json!({ "status": { "attached": true, "attachError": null } });
    Request::Patch(target(&ATTACHMENTS, key, "status"), status)
}

fn hold(key: &Key, attachment: &Value) -> Request {
    finalizers(key, attachment, |all| all.push(FINALIZER.to_owned()))
}

fn finalizers(key: &Key, attachment: &Value, change: impl FnOnce(&mut Vec<String>)) -> Request {
    let mut all = texts(attachment, "/metadata/finalizers");
    change(&mut all);
    let mut attachment = attachment.clone();
    attachment["metadata"]["finalizers"] = json!(all);
    Request::Update(target(&ATTACHMENTS, key, ""), attachment)
}

fn is_held(attachment: &Value) -> bool {
    texts(attachment, "/metadata/finalizers").iter().any(|it| it == FINALIZER)
}

fn is_ending(attachment: &Value) -> bool {
    at(attachment, "/metadata/deletionTimestamp").is_some()
}

fn has_failed(attachment: &Value) -> bool {
    at(attachment, "/status/attachError").is_some()
}
