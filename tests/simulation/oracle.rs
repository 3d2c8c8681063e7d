//! What must hold under all faults: after each write of the manager, and at the end. Caches may be
//! stale, and a decision on a stale cache is no fault. So each write is judged by what its manager
//! can have known: `knowledge` says up to which revision its caches had been shown each kind when
//! the sync began that writes, and the oracle notes with what it learns at which revision it became
//! so. Time excuses nothing.
//!
//! What is looked at when stands in one table, `rules`. Here and in the other files is what the
//! checks of that table ask, and what is remembered for them. A check looks and remembers nothing.
//!
//! - `rules`: the table.
//! - `accounts`: what each account is for.
//! - `attaching`: which volumes are attached where.
//! - `autoscaling`: sizes that autoscalers give.
//! - `batch`: Jobs whose pods run.
//! - `binding`: which claims and volumes are bound.
//! - `blocks`: which ranges of addresses nodes have.
//! - `bootstrap`: bootstrap tokens, and what they sign.
//! - `budgets`: how many pods may be evicted.
//! - `bundles`: the bundle with the authority of the API server.
//! - `certificates`: which requests are approved.
//! - `cron`: CronJobs.
//! - `devices`: claims of devices, and taints of them.
//! - `kubelets`: which kubelets have reported, and which pods must leave their nodes.
//! - `groups`: pods that are scheduled together.
//! - `migrations`: which objects were stored anew.
//! - `policies`: what is said of admission policies.
//! - `pools`: questions about pools of devices.
//! - `clocks`: what a manager with a wrong clock takes for now.
//! - `workloads`: how many pods there are, how many are available, and which are deleted.
//! - `jobs`: which Jobs go, and when.
//! - `quotas`: what is used of quotas.
//! - `ranges`: ranges of addresses of Services.
//! - `selinux`: what pods are told of the labels of their volumes.
//! - `knowledge`: what a manager can know.
//! - `stateful`: StatefulSets.
//! - `servers`: what API servers have said that are gone.
//! - `tries`: requests that do not come through.
//! - `order`: what must be over before something else begins.
//! - `ownership`: adoption and the garbage collector.
//! - `costs`: deletions after a corruption.
//! - `volumes`: claims that pods use, volumes and their classes.
//! - `ending`: what is there at the end.

mod accounts;
mod attaching;
mod autoscaling;
mod batch;
mod binding;
mod blocks;
mod bootstrap;
mod budgets;
mod bundles;
mod certificates;
mod clocks;
mod costs;
mod cron;
mod devices;
mod ending;
mod fields;
mod groups;
mod jobs;
mod knowledge;
mod kubelets;
mod migrations;
mod objects;
mod order;
mod ownership;
mod policies;
mod pools;
mod quotas;
mod ranges;
mod rules;
mod selinux;
mod servers;
mod services;
mod stateful;
mod tries;
mod volumes;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use api::Time;
use sandbox::Server;
use serde_json::Value;

pub(crate) use ending::{TERMINATED_MAX, TOKEN_CLEAN_UP};
use fields::{at, controller, controlling, is_ending, is_live, is_ready, list, text, uid};
use knowledge::Decider;
pub(crate) use knowledge::{Knowledge, Stream};
pub(crate) use objects::Key;
use objects::{KINDS, Objects, key_of, kind_of, plural_of};
pub(crate) use rules::{Broken, Check, RULES, Rule, broken};
pub(crate) use tries::Tried;
use workloads::Limits;

use crate::run::Settling;

/// The accounts that keep as many pods as a set asks for.
const SETS: [&str; 2] = ["replicaset-controller", "replication-controller"];
/// The account that keeps pods on nodes.
const DAEMONS: &str = "daemon-set-controller";
/// The controllers that keep pods, and the kind of owner of each.
const KEEPERS: [(&str, &str); 5] = [
    (SETS[0], "ReplicaSet"),
    (SETS[1], "ReplicationController"),
    (DAEMONS, "DaemonSet"),
    ("statefulset-controller", "StatefulSet"),
    (batch::ACCOUNT, "Job"),
];
/// Objects with this label are not judged.
pub(crate) const FOREIGN: &str = "foreign";

/// A write of the manager.
pub(crate) struct Written<'a> {
    pub(crate) life: &'a str,
    pub(crate) account: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) code: u16,
    pub(crate) sent: &'a Value,
    /// The server's response, whether or not the manager gets it.
    pub(crate) got: &'a Value,
    pub(crate) at: Duration,
}

/// A write of a controller, with what the oracle knows of it.
pub(crate) struct Judged<'a> {
    write: &'a Written<'a>,
    target: Target,
    /// What there was before.
    before: Option<Arc<Value>>,
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
#[expect(clippy::struct_excessive_bools, reason = "each says which rows run")]
pub(crate) struct Oracle {
    pub(crate) knowledge: Knowledge,
    /// Whether the manager binds claims.
    binds: bool,
    /// Whether it attaches volumes.
    attaches: bool,
    /// Whether it looks at kubelets.
    has_hearts: bool,
    /// Whether it gives ranges to nodes.
    gives_ranges: bool,
    /// The sync that decided on the present write.
    decider: Decider,
    revision: u64,
    /// By kind: when an object of it last changed.
    changed: BTreeMap<String, u64>,
    objects: Objects,
    /// By uid: what a spec allowed.
    limits: BTreeMap<String, Limits>,
    /// By uid of an object: when it last had a controller.
    owned: BTreeMap<String, u64>,
    /// By uid of an object: when it was made.
    born: BTreeMap<String, u64>,
    /// By uid of a pod: the life that made it.
    makers: BTreeMap<String, String>,
    /// By uid of an object: when others than the manager last changed it.
    touched: BTreeMap<String, u64>,
    /// By uid of an owner, and by kind: when others than the manager last changed something that
    /// it controls, or where its pods may be.
    shaken: BTreeMap<String, BTreeMap<&'static str, u64>>,
    clocks: clocks::Clocks,
    /// When labels or taints of a node changed, or a node came or went.
    nodes_changed: u64,
    /// By name: when a role last aggregated others.
    sums: BTreeMap<String, u64>,
    /// What the manager is writing to right now, and the user.
    writing: Option<Key>,
    writer: String,
    /// By uid of a pod: since when it is ready, or not.
    ready_since: BTreeMap<String, Ready>,
    /// The uids of what controlled something, as it said, that is of a kind that there is not.
    odd: BTreeSet<String>,
    /// No controller has anything left to do but for these.
    quiet: Option<ending::Quiet>,
    /// By uid of a DaemonSet: nodes that lost their last ready pod by its controller.
    emptied: BTreeMap<String, BTreeMap<String, Duration>>,
    /// By uid of a DaemonSet: what its template says of nodes.
    places: BTreeMap<String, [Value; 2]>,
    /// Pods that were deleted though there was a better choice, as it seems.
    victims: Vec<workloads::Victim>,
    /// By how much the present write makes a ReplicaSet larger.
    raised: i64,
    /// Deployments that were complete and have since seen nothing but the manager and what people
    /// may do to them: by uid, what is promised.
    promised: BTreeMap<String, workloads::Promise>,
    /// By uid of a ReplicaSet that was made smaller: up to which revision its Deployment knew its
    /// pods then; none: it was not its Deployment.
    smaller: BTreeMap<String, Option<u64>>,
    /// By uid of a ReplicaSet: when its status was written, and up to which revision the pods were
    /// known then.
    looks: BTreeMap<String, Vec<(u64, u64)>>,
    /// When an account last saw an owner alive: by life, account and uid.
    rechecked: BTreeMap<(String, String, String), Duration>,
    /// By uid of a Job: when it was to go as the manager last read it, and when that was.
    jobs_read: BTreeMap<String, (Option<Time>, Duration)>,
    /// By life: when a review last said that a kubelet may have its certificate.
    allowed: BTreeMap<String, Duration>,
    /// By uid of a pod: since when it is on a node.
    bound: BTreeMap<String, u64>,
    tally: batch::Tally,
    runs: cron::Runs,
    ends: budgets::Ends,
    users: volumes::Users,
    devices: devices::Pods,
    kubelets: kubelets::Kubelets,
    policies: policies::Policies,
    stored: migrations::Stored,
    grown: autoscaling::Grown,
    scales: autoscaling::Looks,
    labels: selinux::Users,
    signed: bootstrap::Signed,
    missed: servers::Missed,
    /// What the managers know of the authority of the API server.
    authority: &'static str,
    attached: attaching::Attached,
    costs: costs::Costs,
    order: order::Order,
    tries: tries::Tries,
    pub(crate) broken: Vec<Broken>,
}

/// Since when a pod is ready, or not.
#[derive(Clone, Copy)]
struct Ready {
    is: bool,
    revision: u64,
    at: Duration,
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
        Self { plural: part(0), name: unescaped(&part(1)), sub: part(2), ..target }
    }

    fn key(&self) -> Option<Key> {
        let kind = kind_of(&self.plural)?.to_owned();
        (!self.name.is_empty()).then(|| (kind, self.namespace.clone(), self.name.clone()))
    }
}

// === impl Judged ===

impl<'a> Deref for Judged<'a> {
    type Target = Written<'a>;

    fn deref(&self) -> &Written<'a> {
        self.write
    }
}

impl Judged<'_> {
    /// The pod that it changes or deletes, if it does.
    fn pod(&self) -> Option<&Value> {
        let is_pod = self.target.plural == "pods" && self.target.sub.is_empty();
        self.before.as_deref().filter(|_| is_pod)
    }

    /// The live pod that an account of these deletes, if it does.
    fn live_pod_of(&self, accounts: &[&str]) -> Option<&Value> {
        let is_deleted = self.method == "DELETE" && accounts.contains(&self.account);
        self.pod().filter(|pod| is_deleted && is_live(pod))
    }

    /// What it changes, if it does.
    fn changed(&self) -> Option<&Value> {
        self.before.as_deref().filter(|_| ["PUT", "PATCH"].contains(&self.method))
    }

    /// The owner of the pod that an account of these has made, if it has.
    fn owner_of_new_pod(&self, accounts: &[&str]) -> Option<&str> {
        let makes = self.method == "POST" && self.path.ends_with("/pods");
        controller(self.got).filter(|_| makes && accounts.contains(&self.account))
    }

    /// The owner of the ReplicaSet that the Deployments' controller writes, if it does.
    fn deployment_of_set(&self) -> Option<&str> {
        let writes = self.account == "deployment-controller" && self.path.contains("/replicasets");
        controller(self.got).filter(|_| writes)
    }
}

impl fmt::Display for Judged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Written { account, method, path, .. } = self.write;
        write!(f, "{account} {method} {path}")
    }
}

/// An update names the version that was decided on.
fn update_names_version(it: &Written<'_>) -> Option<String> {
    let Written { account, method, path, sent, .. } = it;
    let is_blind = *method == "PUT" && text(sent, "/metadata/resourceVersion").is_empty();
    is_blind.then(|| format!("{account} {method} {path}"))
}

/// A part of a path as the name that it stands for.
fn unescaped(part: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        let code = code.and_then(|it| u8::from_str_radix(it, 16).ok()).filter(|_| *first == b'%');
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A deletion names the uid of what was decided on.
fn delete_names_uid(it: &Judged<'_>) -> Option<String> {
    let is_one = it.method == "DELETE" && !it.target.name.is_empty();
    let is_blind = is_one && text(it.sent, "/preconditions/uid").is_empty();
    is_blind.then(|| format!("{it} names no uid"))
}

// === impl Oracle ===

impl Oracle {
    /// Whether the manager binds claims, and a provisioner makes volumes; whether it attaches
    /// volumes, with an attacher; whether it looks at kubelets; whether it gives ranges to nodes;
    /// and what it knows of the authority of the API server.
    pub(crate) fn new(
        [binds, attaches, has_hearts, gives_ranges]: [bool; 4],
        authority: &'static str,
    ) -> Self {
        Self { binds, attaches, has_hearts, gives_ranges, authority, ..Self::default() }
    }

    /// Up to which revision the sync that decided on the present write had been shown a kind.
    fn seen(&self, kind: &str) -> u64 {
        self.knowledge.seen(&self.decider, &plural_of(kind))
    }

    /// Whether the sync that decided on the present write can have known what became so then.
    fn knows(&self, kind: &str, revision: u64) -> bool {
        revision <= self.seen(kind)
    }

    /// The same of a kind of which the decider holds a part.
    fn knows_in_part(&self, kind: &str, revision: u64) -> bool {
        revision <= self.knowledge.seen_of_parts(&self.decider, &plural_of(kind))
    }

    /// Takes in what has changed.
    pub(crate) fn look(&mut self, server: &Server, now: Duration) {
        let Ok((changes, revision)) = server.changes_since(self.revision, KINDS) else {
            self.revision = 0;
            self.objects = Objects::default();
            return;
        };
        for (revision, change) in changes {
            if change.resource.kind == "Lease" && !change.gone {
                self.kubelets.learn_lease(&change.object, revision);
            }
            if change.resource.kind == "Lease" && !servers::is_identity(&change.object) {
                continue;
            }
            let key = key_of(&change.resource.kind, &change.object);
            let after = (!change.gone).then(|| change.object.clone());
            self.revision = revision;
            self.changed.insert(key.0.clone(), revision);
            let before = self.objects.put(&key, after.as_ref(), revision);
            self.learn(&key, before.as_deref(), after.as_deref(), now);
        }
        self.revision = revision;
        self.judge_victims();
    }

    /// What is to be remembered of a change.
    fn learn(&mut self, key: &Key, before: Option<&Value>, after: Option<&Value>, now: Duration) {
        // Evictions by taints come to other controllers from without.
        let by_manager = self.writing.as_ref() == Some(key) && self.writer != kubelets::ACCOUNT;
        let revision = self.revision;
        if let Some(before) = before {
            if controller(before).is_some() {
                self.owned.insert(uid(before).to_owned(), revision);
            }
            if !by_manager {
                self.touched.insert(uid(before).to_owned(), revision);
            }
        }
        self.users.learn(&key.0, before, after, revision);
        let odd = after.and_then(controlling).filter(|owner| ending::is_odd(owner));
        self.odd.extend(odd.map(|owner| text(owner, "/uid").to_owned()));
        if let Some(after) = after {
            self.born.entry(uid(after).to_owned()).or_insert(revision);
            self.learn_limits(&key.0, after);
            self.costs.changed(uid(after));
            self.order.changed(&key.0, before, after, revision);
        }
        match key.0.as_str() {
            "Pod" => {
                self.ends.learn(before, after, revision);
                self.devices.learn(before, after, revision);
                let knowledge = &self.knowledge;
                self.labels.learn_pod(before, after, revision, || knowledge.told_all("pods"));
                self.learn_pod(before, after, by_manager, now);
                self.attached.learn_pod(before, after, (revision, now));
            }
            "Deployment" => self.learn_deployment(before, after),
            "ReplicaSet" => self.learn_set(before, after, by_manager),
            "PersistentVolume" => after.iter().for_each(|it| self.labels.learn_volume(it)),
            "Node" => {
                self.learn_node(before, after);
                self.attached.learn_node(before, after, revision);
                self.kubelets.learn_node(before, after, (revision, now));
            }
            "ValidatingAdmissionPolicy" => {
                if let Some(policy) = after {
                    self.policies.learn(policy);
                }
            }
            "ClusterRole" if before.is_some_and(|it| !at(it, "/aggregationRule").is_null()) => {
                self.sums.insert(key.2.clone(), revision);
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
            self.tally.learn(after);
            if !text(after, "/spec/nodeName").is_empty() {
                self.bound.entry(uid(after).to_owned()).or_insert(self.revision);
            }
            let ready = is_live(after) && is_ready(after);
            let since = Ready { is: ready, revision: self.revision, at: now };
            let known = self.ready_since.entry(uid(after).to_owned()).or_insert(since);
            if known.is != ready {
                *known = since;
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
        let was_ready = was_live && is_ready(before);
        if was_ready && !is_same {
            let by_set = by_manager && self.writer == SETS[0];
            owner.map(str::to_owned).iter().for_each(|set| self.learn_loss(set, by_set));
        }
        if was_live && !is_same && !by_manager {
            let now_of = after.and_then(controller);
            for owner in owner.into_iter().chain(now_of) {
                self.shake(owner, "Pod");
                let above = self.objects.find(owner).and_then(|(_, it)| controller(it));
                if let Some(above) = above.map(str::to_owned) {
                    self.shake(&above, "Pod");
                }
            }
        }
    }

    /// Notes that others did something to what an owner controls, or to itself.
    fn shake(&mut self, owner: &str, kind: &'static str) {
        self.shaken.entry(owner.to_owned()).or_default().insert(kind, self.revision);
    }

    fn learn_set(&mut self, before: Option<&Value>, after: Option<&Value>, by_manager: bool) {
        // An adoption of a set makes none larger.
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
        if let Some(after) = after {
            self.learn_size(before, after, by_manager);
        }
        if told(before) != told(after) {
            let owners = [before, after].into_iter().flatten().filter_map(controller);
            for owner in owners.map(str::to_owned).collect::<Vec<_>>() {
                if !by_manager {
                    self.promised.remove(&owner);
                }
                self.shake(&owner, "ReplicaSet");
            }
        }
    }

    fn learn_node(&mut self, before: Option<&Value>, after: Option<&Value>) {
        let told = |it: Option<&Value>| {
            it.map(|it| {
                (at(it, "/metadata/labels").clone(), at(it, "/spec").clone(), is_ending(it))
            })
        };
        if told(before) != told(after) {
            self.nodes_changed = self.revision;
        }
    }

    /// Whether others did something to what an owner controls that the sync that decided on the
    /// present write cannot know.
    fn is_shaken(&self, owner: &str) -> bool {
        let mut last = self.shaken.get(owner).into_iter().flatten();
        last.any(|(kind, revision)| !self.knows(kind, *revision))
    }

    /// Asks all rules that `ask` knows how to ask.
    fn ask(&mut self, ask: impl Fn(&Self, &Check) -> Option<String>) {
        let broken = broken(|check| ask(self, check));
        self.broken.extend(broken);
    }

    /// The server has refused something for want of a role.
    pub(crate) fn refused(&mut self, message: &str) {
        self.ask(|_, check| match check {
            Check::Refused(check) => check(message),
            _ => None,
        });
    }

    /// The faults have stopped.
    pub(crate) fn settles(&mut self, it: &Settling) {
        self.ask(|_, check| match check {
            Check::Settling(check) => check(it),
            _ => None,
        });
    }

    /// What a write must be like, by what there was before it; if it is one of a controller, it is
    /// to be judged again when it shows.
    pub(crate) fn judge<'a>(&mut self, it: &'a Written<'a>) -> Option<Judged<'a>> {
        self.ask(|_, check| match check {
            Check::Any(check) => check(it),
            _ => None,
        });
        let target = Target::of(it.path);
        if target.plural == "events" && it.code < 300 {
            self.ask(|oracle, check| match check {
                Check::Told(check) => check(oracle, it),
                _ => None,
            });
        }
        let others = ["events", "leases", ""];
        if others.contains(&target.plural.as_str()) || it.path.contains("reviews") {
            return None;
        }
        let made = text(it.got, "/metadata/name").to_owned();
        let target = match it.method {
            "POST" if target.name.is_empty() && it.code < 300 => Target { name: made, ..target },
            _ => target,
        };
        self.writing = target.key();
        it.account.clone_into(&mut self.writer);
        self.decider = self.decider_of(it, &target);
        let before = self.writing.as_ref();
        let before = before
            .and_then(|(kind, namespace, name)| self.objects.get(kind, namespace, name).cloned());
        let judged = Judged { write: it, target, before };
        self.learn_raise(&judged);
        if judged.code < 300 {
            self.learn_stored(&judged);
        }
        self.ask(|oracle, check| match check {
            Check::Asked(check) => check(oracle, &judged),
            _ => None,
        });
        if it.code < 300 {
            self.learn_deletion(&judged);
            self.ask(|oracle, check| match check {
                Check::Done(check) => check(oracle, &judged),
                _ => None,
            });
        }
        Some(judged)
    }

    /// What a deletion is remembered for.
    fn learn_deletion(&mut self, it: &Judged<'_>) {
        if it.method == "DELETE" {
            self.count_deletion(it);
            self.learn_victim(it);
            self.learn_emptied(it);
        }
    }

    /// The sync that decided on a write: that of the object, or of an owner of it.
    fn decider_of(&self, it: &Written<'_>, target: &Target) -> Decider {
        let named = |name: &str| match target.namespace.as_str() {
            "" => name.to_owned(),
            namespace => format!("{namespace}/{name}"),
        };
        let before = target.key();
        let before = before.and_then(|(kind, of, name)| self.objects.get(&kind, &of, &name));
        let objects = [Some(it.sent), Some(it.got), before.map(|it| &**it)].into_iter().flatten();
        let owners = objects.flat_map(|object| list(object, "/metadata/ownerReferences"));
        let keys = owners.map(|owner| named(text(owner, "/name"))).chain([named(&target.name)]);
        self.knowledge.decider(it.life, it.account, &keys.collect::<Vec<_>>(), it.at)
    }

    /// What must hold when a write shows.
    pub(crate) fn judge_after(&mut self, it: &Judged<'_>) {
        self.writing = None;
        if it.code >= 300 {
            return;
        }
        self.learn_run(it);
        self.learn_signed(it);
        self.learn_growth(it);
        self.learn_said(it);
        if it.method == "POST" && it.path.ends_with("/pods") {
            self.makers.insert(uid(it.got).to_owned(), it.life.to_owned());
        }
        self.ask(|oracle, check| match check {
            Check::Shown(check) => check(oracle, it),
            _ => None,
        });
    }

    /// A controller that keeps pods deletes only those of its own kind of owner.
    fn deletes_own(&self, it: &Judged<'_>) -> Option<String> {
        let (_, kind) = KEEPERS.iter().find(|(account, _)| *account == it.account)?;
        let pod = it.pod().filter(|_| it.method == "DELETE")?;
        let last = self.owned.get(uid(pod));
        let was_owned = last.is_some_and(|last| !self.knows("Pod", *last));
        let of = controlling(pod).map_or("nothing", |owner| text(owner, "/kind"));
        (!was_owned && of != *kind).then(|| format!("{it}: {of} controls it"))
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
