//! Quotas: what is used of them is what there is, or was when their controller last looked.

use std::collections::BTreeMap;

use apimachinery::Quantity;
use serde_json::Value;

use super::fields::{at, has_ended, is_ending, list, text};
use super::objects::KINDS;
use super::{Judged, Oracle};

pub(super) const ACCOUNT: &str = "resourcequota-controller";

/// How much an object counts: at least, and at most.
type Amounts = [Quantity; 2];

const NOTHING: Amounts = [Quantity::ZERO; 2];

impl Oracle {
    /// A figure that the controller of quotas changes is one that there was since it last looked.
    pub(super) fn counts_quota(&self, it: &Judged<'_>) -> Option<String> {
        let before = it.before.as_deref().filter(|_| it.account == ACCOUNT)?;
        let [was, is] = [before, it.sent].map(|quota| at(quota, "/status/used"));
        is.as_object()?.iter().find_map(|(name, figure)| {
            // What is not listed keeps its figure.
            let is_kept = was.get(name) == Some(figure);
            let figure = Quantity::from_json(figure).filter(|_| !is_kept)?;
            let all = self.figures(before, name, self.seen(kind_of(name)?));
            let is_right = all.iter().any(|[least, most]| *least <= figure && figure <= *most);
            let known: Vec<_> = all.iter().map(|[least, most]| format!("{least}-{most}")).collect();
            let wrong = || format!("{it}: {name} is {figure}, and was {}", known.join(", "));
            (!is_right).then(wrong)
        })
    }

    /// At the end a quota says what there is.
    pub(super) fn quota_lacks(&self, quota: &Value) -> Option<String> {
        let amounts = |path: &str| -> BTreeMap<String, Quantity> {
            let all = at(quota, path).as_object().into_iter().flatten();
            all.filter_map(|(name, it)| Some((name.clone(), Quantity::from_json(it)?))).collect()
        };
        let (hard, used) = (amounts("/spec/hard"), amounts("/status/used"));
        if hard != amounts("/status/hard") {
            return Some("its status has other limits".to_owned());
        }
        if let Some(more) = used.keys().find(|name| !hard.contains_key(*name)) {
            return Some(format!("says how much there is of {more}, which it does not limit"));
        }
        hard.keys()
            .find_map(|name| {
                let now = *self.figures(quota, name, self.revision).first()?;
                let figure = used.get(name)?;
                (now != [*figure; 2])
                    .then(|| format!("says {figure} of {name}, which is {}", now[0]))
            })
            .or_else(|| {
                let missing = hard.keys().find(|name| !used.contains_key(*name))?;
                Some(format!("does not say how much there is of {missing}"))
            })
    }

    /// What a quota has used of something: now, and in each state since a revision.
    fn figures(&self, quota: &Value, name: &str, since: u64) -> Vec<Amounts> {
        let Some(kind) = kind_of(name) else { return Vec::new() };
        let namespace = text(quota, "/metadata/namespace");
        let all = self.objects.of_kind(kind);
        let here = all.filter(|it| text(it, "/metadata/namespace") == namespace);
        let name_of = |it: &Value| text(it, "/metadata/name").to_owned();
        let mut here: BTreeMap<_, _> = here.map(|it| (name_of(it), it.clone())).collect();
        let sum = |here: &BTreeMap<String, _>| {
            here.values().fold(NOTHING, |[least, most], object| {
                let amounts = counts(quota, name, object);
                [least.plus(amounts[0]), most.plus(amounts[1])]
            })
        };
        let mut figures = vec![sum(&here)];
        for (key, before) in self.objects.before(since) {
            if key.0 == *kind && key.1 == namespace {
                match before {
                    Some(before) => here.insert(key.2.clone(), before.clone()),
                    None => here.remove(&key.2),
                };
                figures.push(sum(&here));
            }
        }
        figures
    }
}

/// The kind of the objects that a name counts.
fn kind_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "pods" | "requests.cpu" => "Pod",
        "services.nodeports" => "Service",
        "requests.storage" => "PersistentVolumeClaim",
        _ => {
            let counted = name.strip_prefix("count/").unwrap_or(name);
            let (plural, group) = counted.split_once('.').unwrap_or((counted, ""));
            &KINDS.iter().find(|it| it.plural == plural && it.group == group)?.kind
        }
    })
}

/// How much of a quota an object uses, under this name.
fn counts(quota: &Value, name: &str, object: &std::sync::Arc<Value>) -> Amounts {
    let one = Quantity::of(1);
    let in_scope = || list(quota, "/spec/scopes").iter().all(|scope| is_in(scope, object));
    let amount = match name {
        "pods" | "count/pods" | "requests.cpu" if !in_scope() => return NOTHING,
        "pods" | "requests.cpu" if has_ended(object) => return NOTHING,
        "requests.cpu" => requests(object),
        "services.nodeports" if text(object, "/spec/type") == "NodePort" => {
            Quantity::of(super::fields::count(list(object, "/spec/ports").len()))
        }
        "services.nodeports" => Quantity::ZERO,
        "requests.storage" => {
            let sizes = ["/spec/resources/requests/storage", "/status/allocatedResources/storage"];
            let sizes = sizes.into_iter().filter_map(|it| Quantity::from_json(at(object, it)));
            sizes.max().unwrap_or_default()
        }
        _ => one,
    };
    // When the grace period of a pod is over is a matter of clocks.
    let is_open = ["pods", "requests.cpu"].contains(&name) && is_ending(object);
    [if is_open { Quantity::ZERO } else { amount }, amount]
}

fn is_in(scope: &Value, pod: &Value) -> bool {
    let has_deadline = !at(pod, "/spec/activeDeadlineSeconds").is_null();
    match scope.as_str() {
        Some("Terminating") => has_deadline,
        Some("NotTerminating") => !has_deadline,
        // Here nothing asks for anything but processors.
        Some("NotBestEffort") => !requests(pod).is_zero(),
        _ => false,
    }
}

fn requests(pod: &Value) -> Quantity {
    let all = list(pod, "/spec/containers").iter();
    let all = all.filter_map(|it| Quantity::from_json(at(it, "/resources/requests/cpu")));
    all.fold(Quantity::ZERO, Quantity::plus)
}
