//! What pods are told of the SELinux labels of their volumes. Events are sent when the sync that
//! decided on them is over, so what counts is what a manager can have known at any time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::fields::{at, has_ended, list, text, uid};
use super::{Oracle, Written};

/// The controller that warns.
pub(super) const ACCOUNT: &str = "selinux-warning-controller";
/// Before what stands for several Events.
const COMBINED: &str = "(combined from similar events): ";

/// All pods that there ever were, and what their claims have meant.
#[derive(Default)]
pub(super) struct Users {
    /// By namespace and name.
    pods: BTreeMap<(String, String), Vec<User>>,
    /// By namespace and name of a claim: the volumes that have named it.
    handles: BTreeMap<(String, String), BTreeSet<String>>,
}

/// A pod.
struct User {
    uid: String,
    claims: Vec<(String, String)>,
    /// Of each container.
    labels: BTreeSet<String>,
    policy: String,
    /// When it ended, or was gone.
    ended: Option<u64>,
    /// By life: up to which revision it had been shown pods when this one was made.
    told: BTreeMap<String, u64>,
}

/// What an Event says of two pods.
struct Told<'a> {
    values: [&'a str; 2],
    /// The other pod; none: it is of another namespace.
    other: Option<&'a str>,
}

// === impl Users ===

impl Users {
    pub(super) fn learn_pod(
        &mut self,
        before: Option<&Value>,
        after: Option<&Value>,
        revision: u64,
        told: impl FnOnce() -> BTreeMap<String, u64>,
    ) {
        let Some(pod) = after.or(before).filter(|pod| !claims_of(pod).is_empty()) else { return };
        let part = |path| text(pod, path).to_owned();
        let name = (part("/metadata/namespace"), part("/metadata/name"));
        let of_name = self.pods.entry(name).or_default();
        if of_name.last().is_none_or(|last| last.uid != uid(pod)) {
            of_name.push(User::of(pod, told()));
        }
        let is_over = after.is_none_or(has_ended);
        if let Some(last) = of_name.last_mut().filter(|_| is_over) {
            last.ended.get_or_insert(revision);
        }
    }

    pub(super) fn learn_volume(&mut self, volume: &Value) {
        let part = |path| text(volume, path).to_owned();
        let claim = (part("/spec/claimRef/namespace"), part("/spec/claimRef/name"));
        self.handles.entry(claim).or_default().insert(part("/spec/csi/volumeHandle"));
    }

    fn share(&self, one: &User, other: &User) -> bool {
        let handles = |user: &User| -> BTreeSet<&String> {
            user.claims.iter().filter_map(|claim| self.handles.get(claim)).flatten().collect()
        };
        handles(one).intersection(&handles(other)).next().is_some()
    }
}

// === impl User ===

impl User {
    fn of(pod: &Value, told: BTreeMap<String, u64>) -> Self {
        let policy = text(pod, "/spec/securityContext/seLinuxChangePolicy");
        let policy = if policy.is_empty() { "MountOption" } else { policy };
        Self {
            uid: uid(pod).to_owned(),
            claims: claims_of(pod),
            labels: labels_of(pod),
            policy: policy.to_owned(),
            ended: None,
            told,
        }
    }

    /// Whether it was known, to this life, to have ended before the other one was made.
    fn was_over(&self, other: &Self, life: &str) -> bool {
        let told = other.told.get(life).copied().unwrap_or(0);
        self.ended.is_some_and(|ended| ended <= told)
    }

    /// Whether it can have this value of a property: without support of the driver it has none.
    fn has(&self, reason: &str, value: &str) -> bool {
        match reason {
            "SELinuxLabelConflict" => value.is_empty() || self.labels.contains(value),
            _ => value == "Recursive" || value == self.policy,
        }
    }
}

fn claims_of(pod: &Value) -> Vec<(String, String)> {
    let namespace = text(pod, "/metadata/namespace");
    let volumes = list(pod, "/spec/volumes").iter();
    let names = volumes.map(|it| text(it, "/persistentVolumeClaim/claimName"));
    let names = names.filter(|name| !name.is_empty());
    names.map(|name| (namespace.to_owned(), name.to_owned())).collect()
}

/// Those of its containers that have any.
fn labels_of(pod: &Value) -> BTreeSet<String> {
    let options = |it: &Value| at(it, "/securityContext/seLinuxOptions").clone();
    let of_pod = options(at(pod, "/spec"));
    let labels = list(pod, "/spec/containers").iter().filter_map(|container| {
        let own = options(container);
        let options = if own.is_null() { &of_pod } else { &own };
        let parts = ["/user", "/role", "/type", "/level"].map(|part| text(options, part));
        let is_bare = parts.iter().all(|part| part.is_empty());
        let label = if is_bare { String::new() } else { parts.join(":") };
        (!options.is_null()).then_some(label)
    });
    labels.collect()
}

/// Whether one of the first three parts is another one, or the level is.
fn conflict(reason: &str, [one, other]: [&str; 2]) -> bool {
    if reason != "SELinuxLabelConflict" {
        return one != other;
    }
    let mut one = one.splitn(4, ':');
    let mut other = other.splitn(4, ':');
    (0..4).any(|at| {
        let (one, other) = (one.next().unwrap_or(""), other.next().unwrap_or(""));
        one != other && (at == 3 || !one.is_empty() && !other.is_empty())
    })
}

// === impl Told ===

impl<'a> Told<'a> {
    fn read(message: &'a str) -> Option<Self> {
        let message = message.strip_prefix(COMBINED).unwrap_or(message);
        let mut parts = message.split('"');
        let (_, value, between) = (parts.next()?, parts.next()?, parts.next()?);
        let rest = between.strip_prefix(" conflicts with ")?;
        let other = match rest.strip_prefix("pod ") {
            Some(rest) => Some(rest.split_once(' ')?.0),
            None => None,
        };
        // What the other one has is not said of a pod in another namespace.
        Some(Self { values: [value, parts.next().unwrap_or("")], other })
    }
}

impl Oracle {
    /// A pod is told of a conflict if both were known to use one volume with such values.
    pub(super) fn warns_wrong(&self, it: &Written<'_>) -> Option<String> {
        if it.account != ACCOUNT {
            return None;
        }
        let (reason, message) = (text(it.got, "/reason"), text(it.got, "/message"));
        let of = |path| text(it.got, path);
        let namespace = of("/involvedObject/namespace");
        let name = (namespace.to_owned(), of("/involvedObject/name").to_owned());
        let known = self.labels.pods.get(&name).into_iter().flatten();
        let mut pods = known.filter(|pod| pod.uid == of("/involvedObject/uid"));
        let wrong = |why: &str| Some(format!("{}/{}: {reason} {message}: {why}", name.0, name.1));
        let Some(pod) = pods.next() else { return wrong("there was no such pod") };
        if reason == "MultipleSELinuxLabels" {
            return (pod.labels.len() < 2).then(|| wrong("it has one label"))?;
        }
        let Some(told) = Told::read(message) else { return wrong("it says something else") };
        if told.other.is_some() && !conflict(reason, told.values) {
            return wrong("these do not conflict");
        }
        if !pod.has(reason, told.values[0]) {
            return wrong("it never had that");
        }
        let is_other = |(of, other): &(&(String, String), &User)| {
            let is_it = match told.other {
                Some(name) => of.0 == namespace && of.1 == name,
                None => of.0 != namespace,
            };
            let can_be = |value| other.has(reason, value);
            let mut values = other.labels.iter().map(String::as_str).chain(["", &other.policy]);
            let has = match told.other {
                Some(_) => can_be(told.values[1]),
                None => values.any(|it| can_be(it) && conflict(reason, [told.values[0], it])),
            };
            is_it && has && other.uid != pod.uid && self.labels.share(pod, other)
        };
        let all = self.labels.pods.iter();
        let all = all.flat_map(|(name, users)| users.iter().map(move |user| (name, user)));
        let mut others = all.filter(is_other).peekable();
        if others.peek().is_none() {
            return wrong("no other pod has used its volume so");
        }
        let over = |other: &User| other.was_over(pod, it.life) || pod.was_over(other, it.life);
        others.all(|(_, other)| over(other)).then(|| wrong("one was over before the other came"))?
    }
}
