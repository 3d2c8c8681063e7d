//! Claims of devices: which are made, whom they are reserved for, and when they go. And which pods
//! go since their devices are tainted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use std::time::Duration;

use api::Time;
use serde_json::Value;

use super::fields::{at, controller, has_ended, is_ending, list, text, uid};
use super::{Judged, Oracle};
use crate::site::START;

/// The controllers of claims and of taints.
pub(super) const ACCOUNT: &str = "resource-claim-controller";
pub(super) const OF_TAINTS: &str = "device-taint-eviction-controller";
const CLAIM: &str = "ResourceClaim";
const TEMPLATE: &str = "ResourceClaimTemplate";
const ENTRY: &str = "/metadata/annotations/resource.kubernetes.io~1pod-claim-name";
const STATUSES: &str = "/status/resourceClaimStatuses";
const USERS: &str = "/status/reservedFor";
const ALLOCATION: &str = "/status/allocation";
const FINALIZER: &str = "resource.kubernetes.io/delete-protection";

/// By uid: what is known of the pods that have claims.
#[derive(Default)]
pub(super) struct Pods(BTreeMap<String, Known>);

#[derive(Default)]
struct Known {
    /// Since when it needs no new claim.
    over: Option<u64>,
    /// The claims that it has named.
    claims: BTreeSet<String>,
}

// === impl Pods ===

impl Pods {
    /// A pod has changed.
    pub(super) fn learn(&mut self, before: Option<&Value>, after: Option<&Value>, revision: u64) {
        let Some(pod) = after.or(before).filter(|pod| !entries(pod).is_empty()) else { return };
        let known = self.0.entry(uid(pod).to_owned()).or_default();
        known.claims.extend(entries(pod).iter().filter_map(|entry| named(pod, entry)));
        if after.is_none() || is_ending(pod) || has_ended(pod) {
            known.over.get_or_insert(revision);
        }
    }
}

impl Oracle {
    /// Why the controller of claims is not to do that.
    pub(super) fn claims_wrong(&self, it: &Judged<'_>) -> Option<&'static str> {
        let before = it.before.as_deref();
        match (it.target.plural.as_str(), it.method, it.target.sub.as_str()) {
            ("resourceclaims", "POST", "") => self.claim_made_wrong(it),
            ("resourceclaims", "DELETE", "") => self.claim_deleted_wrong(before?),
            ("resourceclaims", "PUT", "status") => self.claim_status_wrong(before?, it),
            ("resourceclaims", "PUT", "") => claim_let_go(before?, it),
            ("pods", "PATCH", "status") => self.claims_named_wrong(before?, it),
            _ => Some("it is for claims and for the status of pods alone"),
        }
    }

    /// A claim is made for an entry of a pod that may run, and for each once.
    fn claim_made_wrong(&self, it: &Judged<'_>) -> Option<&'static str> {
        let owner = controller(it.got).unwrap_or_default();
        if !self.born.contains_key(owner) {
            return Some("no pod owns it");
        }
        let over = self.devices.0.get(owner).and_then(|known| known.over);
        if over.is_some_and(|over| self.knows("Pod", over)) {
            return Some("the pod needs no claim any more");
        }
        let entry = text(it.got, ENTRY);
        let has_it = |claim: &&Arc<Value>| {
            let born = self.born.get(uid(claim)).copied().unwrap_or(u64::MAX);
            text(claim, ENTRY) == entry && uid(claim) != uid(it.got) && self.knows(CLAIM, born)
        };
        if self.objects.children(CLAIM, owner).any(|claim| has_it(&claim)) {
            return Some("the entry has its claim");
        }
        // A pod that is there no more cannot be asked.
        let (_, pod) = self.objects.find(owner)?;
        let is_it = |it: &&Value| text(it, "/name") == entry;
        let Some(entry) = entries(pod).iter().find(is_it) else {
            return Some("the pod has no such entry");
        };
        at(entry, "/resourceClaimTemplateName").is_null().then_some("the entry names a claim")
    }

    /// It was made for a pod that is over, and nobody uses it.
    fn claim_deleted_wrong(&self, claim: &Value) -> Option<&'static str> {
        let Some(owner) = controller(claim) else { return Some("it was made for no pod") };
        if self.may_run(owner) {
            return Some("the pod that it was made for may run");
        }
        // A user may have reserved it just now.
        let edited = self.touched.get(uid(claim));
        let is_edited = edited.is_some_and(|edited| !self.knows(CLAIM, *edited));
        let is_used = !is_edited && self.live_users(claim).next().is_some();
        is_used.then_some("it is reserved for a pod that may run")
    }

    /// The version that was decided on is this one.
    fn claim_status_wrong(&self, claim: &Value, it: &Judged<'_>) -> Option<&'static str> {
        let (was, is) = (list(claim, USERS), list(it.got, USERS));
        let has = |users: &[Value], user: &Value| {
            users.iter().any(|it| text(it, "/uid") == text(user, "/uid"))
        };
        let dropped = |user: &&Value| !has(is, user) && self.may_run(text(user, "/uid"));
        if was.iter().any(|user| dropped(&user)) {
            return Some("a pod that may run loses its reservation");
        }
        let name = text(claim, "/metadata/name");
        let knows_it = |user: &Value| {
            let known = self.devices.0.get(text(user, "/uid"));
            known.is_some_and(|known| known.claims.contains(name))
        };
        if is.iter().any(|user| !has(was, user) && !knows_it(user)) {
            return Some("it is reserved for what does not name it");
        }
        let is_lost = !at(claim, ALLOCATION).is_null() && at(it.got, ALLOCATION).is_null();
        if is_lost && !is.is_empty() {
            return Some("it loses its devices while it is reserved");
        }
        let was_never_used = was.is_empty() && !is_ending(claim);
        (is_lost && was_never_used).then_some("it loses its devices before it was used")
    }

    /// An entry gets the claim that was made for it, and none loses its own.
    fn claims_named_wrong(&self, pod: &Value, it: &Judged<'_>) -> Option<&'static str> {
        let is = list(it.got, STATUSES);
        let name = |status: &Value| text(status, "/resourceClaimName").to_owned();
        let is_others = |status: &&Value| {
            let namespace = text(pod, "/metadata/namespace");
            let claim = self.objects.get(CLAIM, namespace, &name(status));
            claim.is_some_and(|claim| controller(claim) != Some(uid(pod)))
        };
        if is.iter().any(|status| is_others(&status)) {
            return Some("it names a claim of another pod");
        }
        let has = |entry: &Value| is.iter().any(|it| text(it, "/name") == text(entry, "/name"));
        let is_lost = list(pod, STATUSES).iter().any(|entry| !has(entry));
        is_lost.then_some("an entry loses its claim")
    }

    /// Whether a pod with that uid is there, and its containers may run.
    fn may_run(&self, uid: &str) -> bool {
        self.objects.find(uid).is_some_and(|(key, pod)| key.0 == "Pod" && !is_done(pod))
    }

    /// The pods that a claim is reserved for and that may run.
    fn live_users<'a>(&'a self, claim: &'a Value) -> impl Iterator<Item = &'a Value> {
        list(claim, USERS).iter().filter(|user| self.may_run(text(user, "/uid")))
    }

    /// Whether a claim that is being deleted stays.
    pub(super) fn claim_is_reserved(&self, claim: &Value) -> bool {
        self.live_users(claim).next().is_some()
    }

    /// What the claims of a pod that may run must be like.
    pub(super) fn device_claims_lack(&self, pod: &Value) -> Option<String> {
        if is_done(pod) {
            return None;
        }
        let namespace = text(pod, "/metadata/namespace");
        for entry in entries(pod) {
            let entry_name = text(entry, "/name");
            let mut made = self.objects.children(CLAIM, uid(pod));
            let made = made.find(|claim| text(claim, ENTRY) == entry_name);
            let is_of_template = !at(entry, "/resourceClaimTemplateName").is_null();
            if is_of_template && made.is_none() {
                return Some(format!("has no claim for {entry_name}"));
            }
            let name = named(pod, entry).unwrap_or_default();
            let claim = self.objects.get(CLAIM, namespace, &name);
            if is_of_template && claim.and_then(|it| controller(it)) != Some(uid(pod)) {
                return Some(format!("does not name its claim for {entry_name}"));
            }
        }
        if text(pod, "/spec/nodeName").is_empty() {
            return None;
        }
        // Those behind one that is missing wait, too.
        let claims = entries(pod).iter().map_while(|entry| {
            self.objects.get(CLAIM, namespace, &named(pod, entry).unwrap_or_default())
        });
        let is_reserved =
            |claim: &Value| list(claim, USERS).iter().any(|user| text(user, "/uid") == uid(pod));
        let mut open = claims.filter(|it| !at(it, ALLOCATION).is_null() && !is_reserved(it));
        let open = open.next()?;
        Some(format!("claim {} is not reserved for it", text(open, "/metadata/name")))
    }

    /// What a claim must be like.
    pub(super) fn device_claim_lacks(&self, claim: &Value) -> Option<String> {
        let over = list(claim, USERS).iter().find(|user| !self.may_run(text(user, "/uid")));
        if let Some(user) = over {
            return Some(format!("is reserved for {}, which is over", text(user, "/name")));
        }
        let (_, pod) = self.objects.find(controller(claim)?)?;
        // The end of a pod enqueues the claims that it names, as upstream's `enqueuePod`: if it
        // ended before its status named one, that goes with the pod.
        let known = self.devices.0.get(uid(pod))?;
        let is_named = known.claims.contains(text(claim, "/metadata/name"));
        (is_done(pod) && is_named).then(|| "the pod that it was made for is over".to_owned())
    }

    /// Whether a claim is reserved for a pod that is over and never named it: users wrote that, and
    /// the end of that pod enqueued nothing, as upstream's `enqueuePod`.
    /// Or a user of it waits to be evicted, by a clock that was behind: upstream's counts by the
    /// wall clock, too (`evictPod` in devicetainteviction/device_taint_eviction.go).
    pub(super) fn claim_sleeps(&self, claim: &Value) -> bool {
        let pods = list(claim, USERS).iter().filter_map(|it| self.objects.find(text(it, "/uid")));
        let is_due = pods.map(|(_, pod)| self.must_leave(pod)).any(|due| due.is_some());
        if is_due && self.clocks.were_behind() {
            return true;
        }
        let name = text(claim, "/metadata/name");
        list(claim, USERS).iter().any(|user| {
            let known = self.devices.0.get(text(user, "/uid"));
            !self.may_run(text(user, "/uid"))
                && known.is_none_or(|known| !known.claims.contains(name))
        })
    }

    /// Why a pod is not to be evicted: no device that it has reserved is tainted, or its claim
    /// tolerates that, still.
    pub(super) fn pod_may_stay(&self, pod: &Value, it: &Judged<'_>) -> Option<&'static str> {
        let is_new = |kind: &str| {
            let changed = self.changed.get(kind).copied().unwrap_or(0);
            !self.knows(kind, changed)
        };
        if it.target.plural != "pods" {
            return Some("it is for pods alone");
        }
        // Another one may have had the name until just now.
        let born = self.born.get(uid(pod)).copied().unwrap_or(u64::MAX);
        if is_new(CLAIM) || is_new("ResourceSlice") || !self.knows("Pod", born) {
            return None;
        }
        let now = START + it.at + self.clocks.ahead(it.life, self.decider.begun);
        let is_due = self.due(pod).iter().any(|due| *due <= now);
        (!is_due).then_some("its claims tolerate the taints of its devices")
    }

    /// What must no longer be there.
    pub(super) fn must_leave(&self, pod: &Value) -> Option<String> {
        let due = self.due(pod).into_iter().min()?;
        Some(format!("its device is tainted, and not tolerated from {due} on"))
    }

    /// When a pod is due for each taint of its devices that it does not tolerate for good.
    fn due(&self, pod: &Value) -> Vec<Time> {
        let namespace = text(pod, "/metadata/namespace");
        if text(pod, "/spec/nodeName").is_empty() {
            return Vec::new();
        }
        let claims = entries(pod).iter().filter_map(|entry| {
            let claim = self.objects.get(CLAIM, namespace, &named(pod, entry)?)?;
            let is_made = at(entry, "/resourceClaimName").is_null();
            let is_own = !is_made || controller(claim) == Some(uid(pod));
            let users = list(claim, USERS);
            (is_own && users.iter().any(|it| text(it, "/uid") == uid(pod))).then_some(claim)
        });
        let results = claims.flat_map(|claim| list(claim, "/status/allocation/devices/results"));
        let of_result = |result: &Value| {
            let tolerations = list(result, "/tolerations").to_vec();
            let taints = self.taints(result);
            taints.into_iter().filter_map(move |taint| due(&taint, &tolerations))
        };
        results.flat_map(of_result).collect()
    }

    /// The taints that end pods, of a device. All slices here are of one generation.
    fn taints(&self, result: &Value) -> Vec<Value> {
        let slices = self.objects.of_kind("ResourceSlice").filter(|slice| {
            text(slice, "/spec/driver") == text(result, "/driver")
                && text(slice, "/spec/pool/name") == text(result, "/pool")
        });
        let devices = slices.flat_map(|slice| list(slice, "/spec/devices"));
        let mut devices = devices.filter(|it| text(it, "/name") == text(result, "/device"));
        let taints = devices.next().map_or(&[][..], |device| list(device, "/taints"));
        taints.iter().filter(|it| text(it, "/effect") == "NoExecute").cloned().collect()
    }

    /// The templates that a pod asks for and that are not there.
    pub(super) fn missing_templates(&self, pod: &Value) -> Vec<String> {
        let namespace = text(pod, "/metadata/namespace");
        let names = entries(pod).iter().map(|it| text(it, "/resourceClaimTemplateName"));
        let is_missing =
            |name: &&str| !name.is_empty() && self.objects.get(TEMPLATE, namespace, name).is_none();
        names.filter(is_missing).map(str::to_owned).collect()
    }
}

/// Why a claim is not to lose its finalizer. The version that was decided on is this one.
fn claim_let_go(claim: &Value, it: &Judged<'_>) -> Option<&'static str> {
    let holds = |it: &Value| list(it, "/metadata/finalizers").iter().any(|it| it == FINALIZER);
    let is_used = !at(claim, ALLOCATION).is_null() || !list(claim, USERS).is_empty();
    (holds(claim) && !holds(it.sent) && is_used).then_some("it is allocated, or reserved")
}

/// When a taint ends a pod; none: never.
fn due(taint: &Value, tolerations: &[Value]) -> Option<Time> {
    let tolerates = |it: &&Value| {
        let is_key = ["", text(taint, "/key")].contains(&text(it, "/key"));
        let is_value =
            text(it, "/operator") == "Exists" || text(it, "/value") == text(taint, "/value");
        // One without an effect is of no such taint, as upstream's `claimEvictionTime`.
        is_key && is_value && text(it, "/effect") == "NoExecute"
    };
    let mut seconds = None;
    for toleration in tolerations.iter().filter(tolerates) {
        let most = at(toleration, "/tolerationSeconds").as_u64()?;
        seconds = Some(seconds.map_or(most, |known: u64| known.min(most)));
    }
    let added = Time::parse(text(taint, "/timeAdded")).ok()?;
    Some(added + Duration::from_secs(seconds.unwrap_or(0)))
}

fn entries(pod: &Value) -> &[Value] {
    list(pod, "/spec/resourceClaims")
}

/// The claim of an entry.
fn named(pod: &Value, entry: &Value) -> Option<String> {
    let given = text(entry, "/resourceClaimName");
    let mut made = list(pod, STATUSES).iter();
    let made = made.find(|it| text(it, "/name") == text(entry, "/name"));
    let name = made.map_or(given, |it| text(it, "/resourceClaimName"));
    (!name.is_empty()).then(|| name.to_owned())
}

/// Whether none of its containers runs or ever will.
fn is_done(pod: &Value) -> bool {
    has_ended(pod) || is_ending(pod) && text(pod, "/spec/nodeName").is_empty()
}
