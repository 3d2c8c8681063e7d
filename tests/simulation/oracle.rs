//! What must hold, whatever goes wrong: after each write of the manager, and at the end.
//!
//! Caches may be late, and what was decided on them is no fault: so a figure of a spec counts for
//! as long as a cache of this run may be late (`fault::lateness`) after it was changed, and what
//! others do to the pods of an owner is an excuse for what its controller does to them for
//! [`LATE`].
//!
//! - `accounts`: which account writes what.
//! - `certificates`: which requests are approved.
//! - `workloads`: how many pods there are, how many are available, and which are deleted.
//! - `jobs`: which Jobs go, and when.
//! - `tries`: requests that do not come through.
//! - `order`: what must be over before something else begins.
//! - `ownership`: adoption and the garbage collector.
//! - `costs`: deletions after a corruption.
//! - `volumes`: claims that pods use.
//! - `ending`: what is there at the end.

#[path = "oracle/accounts.rs"]
mod accounts;
#[path = "oracle/certificates.rs"]
mod certificates;
#[path = "oracle/costs.rs"]
mod costs;
#[path = "oracle/ending.rs"]
mod ending;
#[path = "oracle/fields.rs"]
mod fields;
#[path = "oracle/jobs.rs"]
mod jobs;
#[path = "oracle/objects.rs"]
mod objects;
#[path = "oracle/order.rs"]
mod order;
#[path = "oracle/ownership.rs"]
mod ownership;
#[path = "oracle/tries.rs"]
mod tries;
#[path = "oracle/volumes.rs"]
mod volumes;
#[path = "oracle/workloads.rs"]
mod workloads;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sandbox::Server;
use serde_json::Value;

pub(crate) use ending::TERMINATED_MAX;
use fields::{at, controller, controlling, is_ending, is_live, is_ready, number, text, uid};
use objects::{KINDS, Key, Objects, key_of, kind_of};
pub(crate) use tries::Tried;
use workloads::Limits;

use crate::fault::{self, Plan};

/// For how long something that others did may show.
const LATE: Duration = Duration::from_mins(3);
/// The accounts that keep as many pods as a set asks for.
const SETS: [&str; 2] = ["replicaset-controller", "replication-controller"];
/// Objects with this label are nobody's business.
pub(crate) const FOREIGN: &str = "foreign";

/// A promise that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Which.
    pub(crate) rule: &'static str,
    /// How.
    pub(crate) text: String,
}

/// A write of the manager.
pub(crate) struct Written<'a> {
    pub(crate) account: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) code: u16,
    pub(crate) sent: &'a Value,
    /// What the server answered, whether or not the manager is told.
    pub(crate) got: &'a Value,
    /// How long it was on its way.
    pub(crate) travels: Duration,
    pub(crate) at: Duration,
}

/// What a path is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Target {
    plural: String,
    namespace: String,
    name: String,
    /// The subresource.
    sub: String,
}

/// Watches a run.
#[derive(Default)]
pub(crate) struct Oracle {
    revision: u64,
    objects: Objects,
    /// How late a cache may be.
    late: Duration,
    /// Whether some kind may never be seen.
    blind: bool,
    /// By uid: what a spec allowed.
    limits: BTreeMap<String, Limits>,
    /// By uid of an object: when it last had a controller.
    owned: BTreeMap<String, Duration>,
    /// By uid of an object: when it was first seen.
    born: BTreeMap<String, Duration>,
    /// By uid of an object: when others than the manager last changed it.
    touched: BTreeMap<String, Duration>,
    /// By uid of an owner: when others than the manager last changed something that it controls, or
    /// where its pods may be.
    shaken: BTreeMap<String, Duration>,
    /// Whether somebody has ever set the clock of a manager.
    wrong_clocks: bool,
    /// By the name of a node: when it went.
    gone_nodes: BTreeMap<String, Duration>,
    /// When labels or taints of a node changed, or a node came or went.
    nodes_changed: Duration,
    /// By name: when a role last aggregated others.
    sums: BTreeMap<String, Duration>,
    /// What the manager is writing to right now.
    writing: Option<Key>,
    /// By uid of a pod: since when it is ready, or not.
    ready_since: BTreeMap<String, (bool, Duration)>,
    /// Whether something was controlled by what there cannot be when people did something.
    had_odd: bool,
    /// By uid of a DaemonSet: nodes that lost their last ready pod by its controller.
    emptied: BTreeMap<String, BTreeMap<String, Duration>>,
    /// By uid of a DaemonSet: what its template says of nodes.
    places: BTreeMap<String, [Value; 2]>,
    /// Pods that were deleted though there was a better choice, as it seems.
    victims: Vec<workloads::Victim>,
    /// By how much the present write makes a ReplicaSet larger.
    raised: i64,
    /// Deployments that were complete and have since seen nothing but the manager and what people
    /// may do to them: by uid, how many must be available.
    promised: BTreeMap<String, i64>,
    /// Until when harm may show that somebody did.
    harmed: Duration,
    /// When an account last saw an owner alive: by account and uid.
    rechecked: BTreeMap<(String, String), Duration>,
    /// By uid of a Job: whether its time was up when the manager last read it, and when that was.
    jobs_read: BTreeMap<String, (bool, Duration)>,
    /// When kubelets could last get certificates; none: never, or they still can.
    joined: Option<Duration>,
    /// By uid of a pod: since when it is on a node.
    bound: BTreeMap<String, Duration>,
    costs: costs::Costs,
    order: order::Order,
    tries: tries::Tries,
    pub(crate) broken: Vec<Broken>,
}

/// Whether what others did then may still show.
fn is_late(then: Duration, now: Duration) -> bool {
    then + LATE >= now
}

// === impl Target ===

impl Target {
    fn of(path: &str) -> Self {
        let path = path.split('?').next().unwrap_or_default();
        let mut parts: Vec<_> = path.split('/').filter(|it| !it.is_empty()).collect();
        // `api/v1`, or `apis`, the group and the version.
        parts.drain(..parts.len().min(if parts.first() == Some(&"apis") { 3 } else { 2 }));
        let mut target = Self::default();
        let is_inside = parts.first() == Some(&"namespaces")
            && parts.len() > 2
            && !["finalize", "status"].contains(&parts[2]);
        if is_inside {
            parts[1].clone_into(&mut target.namespace);
            parts.drain(..2);
        }
        let part = |at: usize| parts.get(at).copied().unwrap_or_default().to_owned();
        Self { plural: part(0), name: part(1), sub: part(2), ..target }
    }

    fn verb(&self, method: &str) -> &'static str {
        match method {
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" if self.name.is_empty() => "deletecollection",
            "DELETE" => "delete",
            _ => "get",
        }
    }

    fn key(&self) -> Option<Key> {
        let kind = kind_of(&self.plural)?.to_owned();
        (!self.name.is_empty()).then(|| (kind, self.namespace.clone(), self.name.clone()))
    }
}

// === impl Oracle ===

impl Oracle {
    /// For a run in which this goes wrong.
    pub(crate) fn new(plan: &Plan) -> Self {
        let (late, blind) = (fault::lateness(plan), fault::blinds(plan));
        Self { late, blind, ..Self::default() }
    }

    /// Whether what was so until then may still be believed.
    fn may_believe(&self, then: Duration, now: Duration) -> bool {
        then + self.late >= now
    }

    /// Since when what was so may still be believed.
    fn believed(&self, now: Duration) -> Duration {
        now.saturating_sub(self.late)
    }

    /// Takes in what has changed.
    pub(crate) fn look(&mut self, server: &Server, now: Duration) {
        let Ok((changes, revision)) = server.changes_since(self.revision, &KINDS) else {
            self.revision = 0;
            self.objects = Objects::default();
            return;
        };
        self.revision = revision;
        for change in changes {
            let key = key_of(&change.resource.kind, &change.object);
            let after = (!change.gone).then(|| change.object.clone());
            let before = self.objects.put(&key, after.as_ref());
            self.learn(&key, before.as_deref(), after.as_deref(), now);
        }
        self.judge_victims(now);
    }

    /// What is to be remembered of a change.
    fn learn(&mut self, key: &Key, before: Option<&Value>, after: Option<&Value>, now: Duration) {
        let by_manager = self.writing.as_ref() == Some(key);
        if let Some(before) = before {
            if controller(before).is_some() {
                self.owned.insert(uid(before).to_owned(), now);
            }
            if !by_manager {
                self.touched.insert(uid(before).to_owned(), now);
            }
        }
        if let Some(after) = after {
            self.born.entry(uid(after).to_owned()).or_insert(now);
            self.learn_limits(&key.0, after, now);
            self.costs.changed(uid(after));
            self.order.changed(&key.0, before, after, now);
        }
        match key.0.as_str() {
            "Pod" => self.learn_pod(before, after, by_manager, now),
            "Deployment" => self.learn_deployment(before, after),
            "ReplicaSet" => self.learn_set(before, after, by_manager, now),
            "Node" => self.learn_node(before, after, now),
            "ClusterRole" => {
                self.learn_grant(&key.2, before, after, now);
                let is_sum = |it: &&Value| !at(it, "/aggregationRule").is_null();
                if before.is_some_and(|it| is_sum(&it)) {
                    self.sums.insert(key.2.clone(), now);
                }
            }
            _ => {}
        }
    }

    fn learn_pod(
        &mut self,
        before: Option<&Value>,
        after: Option<&Value>,
        by_manager: bool,
        now: Duration,
    ) {
        if let Some(after) = after {
            if !text(after, "/spec/nodeName").is_empty() {
                self.bound.entry(uid(after).to_owned()).or_insert(now);
            }
            let ready = is_live(after) && is_ready(after);
            let known = self.ready_since.entry(uid(after).to_owned()).or_insert((ready, now));
            if known.0 != ready {
                *known = (ready, now);
            }
            if ready && let Some(nodes) = controller(after).and_then(|it| self.emptied.get_mut(it))
            {
                nodes.remove(fields::node_of(after));
            }
        }
        let Some(before) = before else { return };
        let owner = controller(before);
        let is_same = after.is_some_and(|after| {
            controller(after) == owner
                && at(after, "/metadata/labels") == at(before, "/metadata/labels")
                && (is_live(after) || !is_live(before))
                && (is_ready(after) || !is_ready(before))
        });
        // The kubelet ends what the manager has deleted.
        let was_live = is_live(before);
        if was_live && !is_same && !by_manager {
            let now_of = after.and_then(controller);
            for owner in owner.into_iter().chain(now_of) {
                self.shake(owner, now);
            }
        }
    }

    /// Notes that others did something to what an object controls, and to what controls that.
    fn shake(&mut self, owner: &str, now: Duration) {
        self.shaken.insert(owner.to_owned(), now);
        let above = self.objects.find(owner).and_then(|(_, it)| controller(it)).map(str::to_owned);
        if let Some(above) = above {
            self.shaken.insert(above, now);
        }
    }

    fn learn_set(
        &mut self,
        before: Option<&Value>,
        after: Option<&Value>,
        by_manager: bool,
        now: Duration,
    ) {
        // Who adopts a set has made none larger.
        let told = |it: Option<&Value>| {
            it.map(|it| {
                let spec = (at(it, "/spec/replicas").clone(), at(it, "/metadata/labels").clone());
                let spec = (!by_manager).then_some(spec);
                (spec, controller(it).map(str::to_owned), is_ending(it))
            })
        };
        if by_manager && before.is_none() {
            return;
        }
        if told(before) != told(after) {
            let owners = [before, after].into_iter().flatten().filter_map(controller);
            for owner in owners.map(str::to_owned).collect::<Vec<_>>() {
                self.shaken.insert(owner, now);
            }
        }
    }

    fn learn_node(&mut self, before: Option<&Value>, after: Option<&Value>, now: Duration) {
        let told = |it: Option<&Value>| {
            it.map(|it| {
                (at(it, "/metadata/labels").clone(), at(it, "/spec").clone(), is_ending(it))
            })
        };
        if told(before) != told(after) {
            self.nodes_changed = now;
        }
        if let Some(before) = before {
            // That it is there again some are told later.
            self.gone_nodes.insert(text(before, "/metadata/name").to_owned(), now);
        }
        if let (Some(before), Some(after)) = (before, after)
            && uid(before) == uid(after)
        {
            self.gone_nodes.remove(text(before, "/metadata/name"));
        }
    }

    /// Somebody has set the clock of a manager: for how long a pod has been ready is not what it
    /// thinks, and where that counts nothing is promised any more.
    pub(crate) fn clocks_are_wrong(&mut self) {
        self.wrong_clocks = true;
        self.promised.clear();
    }

    fn is_shaken(&self, owner: &str, now: Duration) -> bool {
        let waits = || {
            let owner = self.objects.find(owner);
            owner.is_some_and(|(_, owner)| number(owner, "/spec/minReadySeconds") > 0)
        };
        if self.wrong_clocks && waits() {
            return true;
        }
        self.shaken.get(owner).is_some_and(|last| is_late(*last, now))
    }

    fn blame(&mut self, rule: &'static str, text: String) {
        self.broken.push(Broken { rule, text });
    }

    /// What a write must be like, by what there was before it.
    pub(crate) fn judge(&mut self, it: &Written<'_>) {
        let Written { account, method, path, sent, .. } = it;
        let target = Target::of(path);
        self.judge_account(it, &target);
        let version = text(sent, "/metadata/resourceVersion");
        if *method == "PUT" && version.is_empty() {
            self.blame("update-names-version", format!("{account} {method} {path}"));
        }
        if ["events", "leases", ""].contains(&target.plural.as_str()) || path.contains("reviews") {
            return;
        }
        let is_one = *method == "DELETE" && !target.name.is_empty();
        if is_one && text(sent, "/preconditions/uid").is_empty() {
            self.blame("delete-names-uid", format!("{account} {method} {path} names no uid"));
        }
        let made = text(it.got, "/metadata/name").to_owned();
        let target = match *method {
            "POST" if target.name.is_empty() && it.code < 300 => Target { name: made, ..target },
            _ => target,
        };
        self.writing = target.key();
        let before = self.writing.as_ref();
        let before = before
            .and_then(|(kind, namespace, name)| self.objects.get(kind, namespace, name).cloned());
        self.learn_raise(it, before.as_deref());
        self.judge_collector(it, before.as_deref());
        if it.code >= 300 {
            return;
        }
        self.judge_most(it, before.as_deref());
        self.judge_purpose(it, &target, before.as_ref());
        let Some(before) = before else { return };
        if ["PUT", "PATCH"].contains(method) {
            self.judge_change(it, &before);
            self.judge_news(it, &before);
            self.judge_wait(it, &before);
        }
        if *method == "DELETE" {
            self.count_deletion(it, &target, &before);
        }
        if target.plural == "pods" && target.sub.is_empty() {
            self.judge_pod(it, &before);
        }
        self.judge_adoption(it, &before);
    }

    /// What is done to a pod.
    fn judge_pod(&mut self, it: &Written<'_>, pod: &Arc<Value>) {
        let Written { account, method, path, .. } = it;
        let ends = self.objects.get("Namespace", "", text(pod, "/metadata/namespace"));
        let ends = ends.is_none_or(|it| is_ending(it));
        // Whose owner somebody has taken away is anybody's who selects it, and pods without a node
        // or beyond a limit are collected whoever made them.
        let is_foreign = !at(pod, &format!("/metadata/labels/{FOREIGN}")).is_null()
            && (controlling(pod).is_some_and(|it| text(it, "/kind") == "Thing")
                || text(pod, "/metadata/labels/app") == "stray")
            && *account != "pod-garbage-collector";
        if is_foreign && !ends {
            self.blame("foreign", format!("{account} {method} {path}: it is not its pod"));
        }
        let last = self.owned.get(uid(pod));
        let is_owned = last.is_some_and(|last| is_late(*last, it.at)) || controller(pod).is_some();
        let by_owner = [SETS[0], SETS[1], "daemon-set-controller"].contains(account);
        if *method == "DELETE" && by_owner && !is_owned {
            self.blame("deletes-own", format!("{account} {method} {path}: it has no controller"));
        }
        if *method == "DELETE" && is_live(pod) {
            match *account {
                account if SETS.contains(&account) => self.judge_set_deletion(it, pod),
                "daemon-set-controller" => self.judge_daemon_deletion(it, pod),
                _ => {}
            }
        }
    }

    /// What must hold after a write.
    pub(crate) fn judge_after(&mut self, it: &Written<'_>) {
        let written = self.writing.take();
        if it.code >= 300 {
            return;
        }
        if it.method == "POST" && it.path.ends_with("/pods") {
            let Some(uid) = controller(it.got) else { return };
            let uid = uid.to_owned();
            match it.account {
                account if SETS.contains(&account) => self.judge_pod_of_set(it, &uid),
                "daemon-set-controller" => self.judge_daemon(it, &uid),
                _ => {}
            }
        }
        self.judge_order(it);
        if it.account == "deployment-controller" && it.path.contains("/replicasets") {
            self.judge_surge(it);
        }
        if it.method == "DELETE" && written.is_some_and(|key| key.0 == "Pod") {
            self.judge_available();
        }
    }

    /// How many writes of the manager may be needed for what there is, once nothing goes wrong any
    /// more.
    pub(crate) fn writes_max(&self) -> u64 {
        let objects = u64::try_from(self.objects.all().count()).unwrap_or(u64::MAX);
        objects.saturating_mul(WRITES_PER_OBJECT)
    }
}

/// How many writes of the manager each object may need until all is as it should be, on average.
const WRITES_PER_OBJECT: u64 = 5;
