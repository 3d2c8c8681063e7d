//! What is there at the end: as the specs ask for.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::fields::{
    at, controller, controlling, count, has_ended, is_ending, is_live, list, matches, node_of,
    number, selector, text, uid,
};
use super::objects::Key;
use super::{
    Judged, Oracle, batch, budgets, certificates, migrations, policies, pools, ranges, volumes,
};
use crate::corruption::{UNKNOWN, UNKNOWN_GROUP};

/// `--terminated-pod-gc-threshold` of the managers here.
pub(crate) const TERMINATED_MAX: usize = 4;
/// `--legacy-service-account-token-clean-up-period` of the managers here.
pub(crate) const TOKEN_CLEAN_UP: Duration = Duration::from_mins(1);
/// A foreign finalizer, which is removed at last.
const WAIT: &str = "example.com/wait";
const TOKEN: &str = "kubernetes.io/service-account-token";
const TTL: &str = "/metadata/annotations/node.alpha.kubernetes.io~1ttl";

/// The controllers that may still write when all is done.
pub(super) struct Quiet {
    /// The uids of DaemonSets without a revision: it is created when they are next synced. Its
    /// deletion enqueues nothing: upstream's DaemonSet controller has no handler for the deletion
    /// of revisions (`NewDaemonSetsController`).
    sets: BTreeSet<String>,
    /// The names of roles that have rules and aggregate none: a sync applies no rules, and that
    /// leaves the rules of other managers, as upstream's server-side apply
    /// (`clusterroleaggregation_controller.go`).
    roles: BTreeSet<String>,
}

impl Oracle {
    /// What is not yet as the specs ask for; none: nothing.
    pub(crate) fn lacks(&self, nodes: usize) -> Option<String> {
        self.lacks_but(nodes, &BTreeSet::new())
    }

    /// The same, but for those that sleep.
    pub(crate) fn lacks_but(&self, nodes: usize, asleep: &BTreeSet<Key>) -> Option<String> {
        if self.objects.of_kind("Node").count() < nodes {
            return Some("a node is missing".to_owned());
        }
        let ended = self.terminated();
        if ended > count(TERMINATED_MAX) {
            return Some(format!("{ended} pods have ended"));
        }
        let mut awake = self.objects.all().filter(|(key, _)| !asleep.contains(key));
        awake.find_map(|(key, object)| {
            let lack = self.object_lacks(key, object)?;
            Some(format!("{} {}/{}: {lack}", key.0, key.1, key.2))
        })
    }

    /// What a manager still tries again; none: nothing.
    pub(crate) fn fails(&self) -> Option<String> {
        self.knowledge.fails()
    }

    /// The objects that no controller need sync before something changes:
    /// - those whose keys were given up, after as many failures as upstream's;
    /// - Deployments of which a pod, or a set, was said to be of an owner of a kind that there is
    ///   not: its deletion enqueues nothing, as upstream's `getDeploymentsForReplicaSet`.
    pub(crate) fn asleep(&self) -> BTreeSet<Key> {
        let given_up = self.knowledge.given_up();
        let is_given_up = |account: &str, (_, namespace, name): &Key| {
            let key =
                if namespace.is_empty() { name.clone() } else { format!("{namespace}/{name}") };
            given_up.contains(&(account.to_owned(), key))
        };
        let is_of_odd = |deployment: &Value| {
            let mut sets = self.objects.of_kind("ReplicaSet").filter(|set| {
                controlling(set).is_some_and(|owner| text(owner, "/uid") == uid(deployment))
            });
            self.odd.contains(uid(deployment)) || sets.any(|set| self.odd.contains(uid(set)))
        };
        let sleeps = |(key, object): &(&Key, &std::sync::Arc<Value>)| match key.0.as_str() {
            "Deployment" => is_given_up("deployment-controller", key) || is_of_odd(object),
            "Secret" | "ServiceAccount" => is_given_up("tokens-controller", key),
            "Service" => {
                is_given_up("endpoint-controller", key)
                    || is_given_up("endpointslice-controller", key)
            }
            "Endpoints" => is_given_up("endpointslicemirroring-controller", key),
            "ServiceCIDR" => is_given_up(ranges::ACCOUNT, key),
            // `maxRetries` (resourcepoolstatusrequest/controller.go).
            "ResourcePoolStatusRequest" => is_given_up(pools::ACCOUNT, key),
            _ => false,
        };
        self.objects.all().filter(sleeps).map(|(key, _)| key.clone()).collect()
    }

    /// Commands that touch these.
    pub(crate) fn wake(&self, asleep: &BTreeSet<Key>) -> Vec<String> {
        let those = asleep
            .iter()
            .filter(|(kind, namespace, name)| self.objects.get(kind, namespace, name).is_some());
        let look = |(kind, namespace, name): &Key| {
            let (kind, revision) = (kind.to_lowercase(), self.revision);
            let space =
                if namespace.is_empty() { String::new() } else { format!(" -n {namespace}") };
            format!("> annotate {kind}/{name}{space} look={revision}\n")
        };
        those.map(look).collect()
    }

    /// From now on a controller may have something to do again.
    pub(crate) fn be_loud(&mut self) {
        self.quiet = None;
    }

    /// From now on no controller has anything left to do.
    pub(crate) fn be_quiet(&mut self) {
        let sets = self.objects.of_kind("DaemonSet");
        let has_none = |set: &&std::sync::Arc<Value>| {
            self.objects.children("ControllerRevision", uid(set)).next().is_none()
        };
        let sets = sets.filter(has_none).map(|set| uid(set).to_owned()).collect();
        let has_rules = |role: &Value| !list(role, "/rules").is_empty();
        let roles = self.objects.of_kind("ClusterRole").filter(|role| {
            let parts = self.parts_of(role).filter(|_| has_rules(role));
            parts.is_some_and(|parts| !parts.iter().any(|part| has_rules(part)))
        });
        let roles = roles.map(|role| text(role, "/metadata/name").to_owned()).collect();
        self.quiet = Some(Quiet { sets, roles });
    }

    /// No write comes but those that may still come.
    pub(super) fn silent(&self, it: &Judged<'_>) -> Option<String> {
        let (quiet, target) = (self.quiet.as_ref()?, &it.target);
        let may = match it.account {
            "daemon-set-controller" if target.plural == "controllerrevisions" => {
                controller(it.sent).is_some_and(|set| quiet.sets.contains(set))
            }
            // What is over may be there for an hour.
            certificates::ACCOUNT | pools::ACCOUNT => it.method == "DELETE",
            "clusterrole-aggregation-controller" => quiet.roles.contains(&target.name),
            _ => false,
        };
        (!may).then(|| format!("{it} {}", it.code))
    }

    fn object_lacks(&self, key: &Key, object: &Value) -> Option<String> {
        if is_ending(object) && self.is_kept(&key.0, object) {
            return None;
        }
        if is_ending(object) {
            return Some("is being deleted".to_owned());
        }
        if let Some((lost, all)) = self.lost_owners(object).filter(|(lost, _)| *lost > 0) {
            return Some(format!("{lost} of its {all} owners are gone"));
        }
        match key.0.as_str() {
            "Deployment" => deployment_lacks(object)
                .or_else(|| self.history_lacks(object))
                .or_else(|| self.claim_lacks("ReplicaSet", object)),
            "ReplicaSet" | "ReplicationController" => self.set_lacks(object),
            "StatefulSet" => self.stateful_lacks(object),
            "CronJob" => self.cron_lacks(object),
            "Job" if batch::is_elsewhere(object) => Self::job_lacks(object),
            "Job" => self.batch_lacks(object).or_else(|| Self::job_lacks(object)),
            "DaemonSet" => self.daemon_lacks(object),
            "Pod" => {
                let node = text(object, "/spec/nodeName");
                if self.pod_is_held(object) {
                    return Some("no Job counts it, and it has a finalizer".to_owned());
                }
                let lost = !node.is_empty() && self.objects.get("Node", "", node).is_none();
                let lost = lost.then(|| format!("its node {node} is gone"));
                let lost = lost.or_else(|| self.own_claims_lack(object));
                let lost = lost.or_else(|| self.device_claims_lack(object));
                let lost = lost.or_else(|| self.must_leave(object));
                let lost = lost.or_else(|| self.must_flee(object));
                let lost = lost.or_else(|| budgets::pod_lacks(object));
                lost.or_else(|| self.pod_is_unattached(object))
            }
            "PodDisruptionBudget" => self.budget_lacks(object),
            "ResourceQuota" => self.quota_lacks(object),
            "ServiceCIDR" => self.range_lacks(object),
            "StorageVersion" => self.storage_version_lacks(object),
            "ClusterTrustBundle" => Self::bundle_lacks(object),
            "CustomResourceDefinition" => self.kind_of_bundles_lacks(object),
            "PersistentVolumeClaim" => {
                volumes::protection_lacks(&key.0, object).or_else(|| self.claim_is_unbound(object))
            }
            "PersistentVolume" => volumes::protection_lacks(&key.0, object)
                .or_else(|| self.volume_is_unsettled(object)),
            "VolumeAttributesClass" => volumes::protection_lacks(&key.0, object),
            "ResourceClaim" => self.device_claim_lacks(object),
            "ValidatingAdmissionPolicy" => policies::policy_lacks(object),
            "HorizontalPodAutoscaler" => self.scaler_lacks(object),
            "StorageVersionMigration" => migrations::migration_lacks(object),
            "ResourcePoolStatusRequest" => pools::question_lacks(object),
            "Service" => self.service_lacks(object),
            "Endpoints" => self.endpoints_lack(object),
            "CertificateSigningRequest" => self.request_lacks(object),
            "PodCertificateRequest" => Some("is to go when it is old".to_owned()),
            "Namespace" => self.namespace_lacks(&key.2),
            "ClusterRole" => self.role_lacks(object),
            "Node" => {
                let lack = (text(object, TTL) != "0").then(|| "has no ttl".to_owned());
                let lack = lack.or_else(|| self.node_lists_wrong(object));
                let lack = lack.or_else(|| self.node_is_unwell(object));
                lack.or_else(|| self.node_has_no_range(object))
            }
            "VolumeAttachment" => self.attachment_lacks(object),
            "Secret" if text(object, "/type") == TOKEN => self.token_lacks(object),
            "Secret" => Self::token_is_over(object),
            "ConfigMap" => self.info_lacks(object),
            _ => None,
        }
    }

    /// Old ReplicaSets go by the limit of their Deployment.
    fn history_lacks(&self, deployment: &Value) -> Option<String> {
        let sets = self.objects.children("ReplicaSet", uid(deployment));
        let old = count(sets.filter(|it| number(it, "/spec/replicas") == 0).count());
        let limit = at(deployment, "/spec/revisionHistoryLimit").as_i64()?;
        // With no replicas at all the new one is empty, too.
        let is_over = old > limit + i64::from(number(deployment, "/spec/replicas") == 0);
        let is_paused = at(deployment, "/spec/paused") == true;
        (is_over && !is_paused).then(|| format!("has {old} old ReplicaSets, {limit} are kept"))
    }

    /// What an owner controls is what it selects, unless another owner controls that.
    fn claim_lacks(&self, kind: &str, owner: &Value) -> Option<String> {
        let selector = selector(owner);
        let strange = self.objects.children(kind, uid(owner)).find(|it| !matches(it, selector));
        let namespace = text(owner, "/metadata/namespace");
        let mut near = self.objects.of_kind(kind);
        let stray = near.find(|it| {
            text(it, "/metadata/namespace") == namespace
                && matches(it, selector)
                && controlling(it).is_none()
                && !has_ended(it)
                && !is_ending(it)
        });
        let name = |it: &Value| text(it, "/metadata/name").to_owned();
        let strange = strange.map(|it| format!("controls {}, and does not select it", name(it)));
        strange.or_else(|| stray.map(|it| format!("selects {}, which has no owner", name(it))))
    }

    pub(super) fn set_lacks(&self, set: &Value) -> Option<String> {
        let wanted = number(set, "/spec/replicas");
        let pods = self.objects.children("Pod", uid(set));
        let live = count(pods.filter(|pod| is_live(pod)).count());
        let fields = ["replicas", "readyReplicas", "availableReplicas"];
        let status = fields.map(|it| number(set, &format!("/status/{it}")));
        if let Some(lack) = self.claim_lacks("Pod", set) {
            return Some(lack);
        }
        let is_done = status == [wanted; 3] && live == wanted;
        let is_seen = is_observed(set);
        let text = || format!("wants {wanted}, has {live}, status {}", at(set, "/status"));
        (!is_done || !is_seen).then(text)
    }

    fn daemon_lacks(&self, set: &Value) -> Option<String> {
        let claims = self.claim_lacks("Pod", set);
        if claims.is_some() {
            return claims;
        }
        let (mut places, refuges) = (self.places_of(set), self.refuges_of(set));
        let mut has: Vec<_> = self
            .objects
            .children("Pod", uid(set))
            .filter(|pod| is_live(pod))
            .map(|pod| node_of(pod))
            .collect();
        let all = has.len();
        has.retain(|node| places.contains(node) || !refuges.contains(node));
        let left_over = count(all - has.len());
        places.sort_unstable();
        has.sort_unstable();
        if places != has {
            return Some(format!("is on {has:?}, should be on {places:?}"));
        }
        let nodes = count(places.len());
        let mut fields =
            vec!["desiredNumberScheduled", "currentNumberScheduled", "numberAvailable"];
        if text(set, "/spec/updateStrategy/type") != "OnDelete" {
            fields.push("updatedNumberScheduled");
        }
        let is_done = fields.iter().all(|it| number(set, &format!("/status/{it}")) == nodes)
            && number(set, "/status/numberMisscheduled") == left_over;
        if !is_done || !is_observed(set) {
            return Some(format!("is for {nodes} nodes, status {}", at(set, "/status")));
        }
        let revisions = count(self.objects.children("ControllerRevision", uid(set)).count());
        let limit = at(set, "/spec/revisionHistoryLimit").as_i64().unwrap_or(10);
        // The present one, and those that pods still have.
        let kept = limit + 1 + nodes;
        (revisions > kept).then(|| format!("has {revisions} revisions, {limit} are kept"))
    }

    fn namespace_lacks(&self, name: &str) -> Option<String> {
        if self.objects.get("ServiceAccount", name, "default").is_none() {
            return Some("has no default account".to_owned());
        }
        let Some(root) = self.objects.get("ConfigMap", name, "kube-root-ca.crt") else {
            return Some("has no root CA".to_owned());
        };
        let data = at(root, "/data");
        let is_right = *data == serde_json::json!({ "ca.crt": self.authority });
        (!is_right).then(|| format!("its root CA is {data}"))
    }

    /// The roles that a role aggregates; none: it is no such role.
    fn parts_of(&self, role: &Value) -> Option<Vec<&std::sync::Arc<Value>>> {
        let selectors = at(role, "/aggregationRule/clusterRoleSelectors").as_array()?;
        let others = self.objects.of_kind("ClusterRole").filter(|it| uid(it) != uid(role));
        let parts = others.filter(|it| {
            let fits = |selector: &Value| matches(it, at(selector, "/matchLabels"));
            selectors.iter().any(fits)
        });
        Some(parts.collect())
    }

    /// A role that aggregates others has their rules, and no others.
    fn role_lacks(&self, role: &Value) -> Option<String> {
        let others = self.parts_of(role)?;
        let mut wanted = others.iter().flat_map(|it| list(it, "/rules"));
        let rules = list(role, "/rules");
        // A role that aggregates nothing keeps what a user wrote.
        let is_odd = |rule: &&Value| !others.iter().any(|it| list(it, "/rules").contains(rule));
        let lack = wanted.clone().find(|rule| !rules.contains(rule));
        let more = rules.iter().find(is_odd).filter(|_| wanted.next().is_some());
        let lack = lack.map(|rule| format!("lacks the rule {rule}"));
        lack.or_else(|| more.map(|rule| format!("has the rule {rule}, which is of no part")))
    }

    fn token_lacks(&self, secret: &Value) -> Option<String> {
        let of = |name| at(secret, "/metadata/annotations").get(name).and_then(Value::as_str);
        let name = of("kubernetes.io/service-account.name")?;
        let namespace = text(secret, "/metadata/namespace");
        let Some(account) = self.objects.get("ServiceAccount", namespace, name) else {
            return Some("its account is gone".to_owned());
        };
        if of("kubernetes.io/service-account.uid") != Some(uid(account)) {
            return Some("it is of another account".to_owned());
        }
        text(secret, "/data/token").is_empty().then(|| "has no token".to_owned())
    }

    /// Whether something is still controlled by an owner that cannot exist, and so by none.
    pub(super) fn has_odd(&self) -> bool {
        self.objects.all().any(|(_, object)| controlling(object).is_some_and(is_odd))
    }

    /// Whether its owners are in the way. Upstream, and so we, look owners up by kind when
    /// something of theirs changes, but claim by uid alone: a change of a dependent that names
    /// another kind does not enqueue its owner. Nor is anything collected whose owner cannot be
    /// looked up, and an owner that is deleted in the foreground waits for it; or for one that
    /// waits for it, in a circle that users closed meanwhile.
    fn is_stuck(&self, object: &Value) -> bool {
        let owners = list(object, "/metadata/ownerReferences");
        let mut known = owners.iter().filter_map(|it| self.objects.find(text(it, "/uid")));
        let is_unserved =
            || !self.serves_widgets() && owners.iter().any(|it| text(it, "/kind") == "Widget");
        let is_unknown = || is_unserved() || owners.iter().any(super::ownership::is_refused);
        controlling(object).is_some_and(is_odd)
            || known.any(|(_, it)| is_ending(it)) && (is_ending(object) || is_unknown())
    }

    /// What people put right around an object.
    fn repairs_around(&self, kind: &str, object: &Value) -> Vec<String> {
        match kind {
            "HorizontalPodAutoscaler" => self.scaler_repairs(object),
            "Node" => self.node_repairs(object),
            "Pod" => {
                let namespace = text(object, "/metadata/namespace");
                let names = self.missing_templates(object).into_iter();
                names.map(|name| crate::devices::template(namespace, &name)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What people put right at the end, as commands.
    pub(crate) fn repairs(&self) -> Vec<String> {
        let mut acts = Vec::new();
        let resource = |kind: &str| kind.to_lowercase();
        for (key, object) in self.objects.all() {
            let (kind, namespace, name) = key;
            let quote = if name.contains(' ') { "'" } else { "" };
            let named = format!("{quote}{}/{name}{quote} -n {namespace}", resource(kind));
            let named = named.trim_end_matches(" -n ").to_owned();
            let finalizers = list(object, "/metadata/finalizers");
            if finalizers.iter().any(|it| it == WAIT) {
                let rest: Vec<_> = finalizers.iter().filter(|it| *it != WAIT).collect();
                let patch = serde_json::json!({"metadata": {"finalizers": rest}});
                acts.push(format!("> patch {named} '{patch}'\n"));
            }
            if self.is_stuck(object) {
                let patch = r#"{"metadata":{"ownerReferences":null}}"#;
                acts.push(format!("> patch {named} '{patch}'\n"));
            }
            // The controller that finalized its namespace did not know its kind.
            if !namespace.is_empty() && self.objects.get("Namespace", "", namespace).is_none() {
                acts.push(crate::workload::make(namespace));
            }
            acts.extend(self.repairs_around(kind, object));
            let template = at(object, "/spec/template/spec");
            match kind.as_str() {
                "Deployment" | "DaemonSet" | "ReplicationController" | "StatefulSet"
                    if is_broken(template) =>
                {
                    acts.push(format!("> set image {named} main=img:1\n"));
                }
                // Those of a Deployment it sees to itself.
                "ReplicaSet" if is_broken(template) && !is_of_deployment(object) => {
                    acts.push(format!("> set image {named} main=img:1\n"));
                }
                // After a clock is set right, what depends on it is synced.
                "Job" if self.sleeps_too_long(object) => {
                    acts.push(format!("> annotate {named} look={}\n", self.revision));
                }
                "Secret" if self.token_sleeps_too_long(object) => {
                    acts.push(format!("> annotate {named} look={}\n", self.revision));
                }
                "ResourceClaim" if self.claim_sleeps(object) => {
                    acts.push(format!("> annotate {named} look={}\n", self.revision));
                }
                "CronJob" if *at(object, "/spec/suspend") != true => {
                    acts.push(format!("> patch {named} '{{\"spec\":{{\"suspend\":true}}}}'\n"));
                }
                // A change of Endpoints enqueues no Service, as upstream's.
                "Service" if self.has_edited_endpoints(object) => {
                    acts.push(format!("> annotate {named} look={}\n", self.revision));
                }
                "Pod" if is_broken(at(object, "/spec")) => acts.push(format!("> delete {named}\n")),
                "Pod" | "PodDisruptionBudget" if self.waits_too_long(object) => {
                    acts.push(format!("> annotate {named} look={}\n", self.revision));
                }
                _ => {}
            }
            // Half-way there, with pods that never start.
            let is_paused = at(object, "/spec/paused") == true;
            let is_half = |set: &std::sync::Arc<Value>| {
                is_broken(at(set, "/spec/template/spec")) && number(set, "/spec/replicas") > 0
            };
            if is_paused && self.objects.children("ReplicaSet", uid(object)).any(is_half) {
                acts.push(format!("> rollout resume {named}\n"));
            }
            if !at(object, "/metadata/annotations/sandbox~1not-ready").is_null() {
                acts.push(format!("> annotate {named} sandbox/not-ready-\n"));
            }
        }
        acts
    }
}

/// Whether a reference is to what there cannot be.
pub(super) fn is_odd(owner: &Value) -> bool {
    text(owner, "/kind") == UNKNOWN || text(owner, "/apiVersion") == UNKNOWN_GROUP
}

fn is_of_deployment(set: &Value) -> bool {
    controlling(set).is_some_and(|owner| text(owner, "/kind") == "Deployment")
}

/// Whether pods of it cannot start.
fn is_broken(spec: &Value) -> bool {
    list(spec, "/containers").iter().any(|it| text(it, "/image").contains(".invalid"))
}

fn is_observed(object: &Value) -> bool {
    number(object, "/status/observedGeneration") == number(object, "/metadata/generation")
}

pub(super) fn deployment_lacks(it: &Value) -> Option<String> {
    let wanted = number(it, "/spec/replicas");
    let is_paused = at(it, "/spec/paused") == true;
    let fields = ["replicas", "availableReplicas", "updatedReplicas"];
    let fields = if is_paused { &fields[..0] } else { &fields };
    let is_done = fields.iter().all(|field| number(it, &format!("/status/{field}")) == wanted);
    (!is_observed(it) || !is_done).then(|| format!("wants {wanted}, status {}", at(it, "/status")))
}
