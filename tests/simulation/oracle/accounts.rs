//! What each account is for: less than what its role grants, which the sandbox sees to.

use std::sync::Arc;
use std::time::Duration;

use api::Time;
use serde_json::Value;

use super::ending::TOKEN_CLEAN_UP;
use super::fields::{at, has_ended, is_ending, is_ready, list, text, uid};
use super::{
    Judged, Oracle, Target, Written, attaching, binding, bootstrap, certificates, devices, groups,
    kubelets, migrations, policies, pools, volumes,
};
use crate::site::START;

/// The ConfigMap in which the server says since when it notes the use of tokens.
const TRACKING: &str = "kube-apiserver-legacy-service-account-token-tracking";
/// The annotation that the ttl controller is for.
const TTL: &str = "node.alpha.kubernetes.io/ttl";

impl Oracle {
    /// A controller writes what it is for.
    pub(super) fn purpose(&self, it: &Judged<'_>) -> Option<String> {
        let wrong = self.beside_purpose(it).map(|wrong| format!("{it}: {wrong}"));
        wrong.or_else(|| changes_more(it))
    }

    /// Why what is done is not what its account is for.
    fn beside_purpose(&self, it: &Judged<'_>) -> Option<&'static str> {
        let before = it.before.as_deref();
        match it.account {
            "service-account-controller" if text(it.sent, "/metadata/name") != "default" => {
                Some("makes an account of another name")
            }
            "root-ca-cert-publisher" if text(it.sent, "/metadata/name") != "kube-root-ca.crt" => {
                Some("writes another ConfigMap")
            }
            super::jobs::ACCOUNT => self.job_stays(before?, it),
            "ttl-controller" => ttl(it, before?),
            "clusterrole-aggregation-controller" => {
                let was = before.is_none_or(|it| !at(it, "/aggregationRule").is_null());
                let was = was || self.was_sum(&it.target);
                (!was).then_some("writes a role that aggregates nothing")
            }
            certificates::ACCOUNT if it.method == "DELETE" => self.request_stays(before?, it),
            certificates::ACCOUNT if it.target.sub == "approval" => self.unapproved(before?, it),
            certificates::OF_PODS => self.is_young(before?, it),
            super::budgets::ACCOUNT => self.stays_marked(before?, it),
            super::bundles::ACCOUNT => self.publishes_else(it),
            bootstrap::CLEANER => self.token_stays(before?, it),
            bootstrap::SIGNER => Self::signs_more(before?, it),
            "pvc-protection-controller" => self.claim_is_used(before?, it),
            volumes::OF_VOLUMES => Self::volume_is_bound(before?, it),
            volumes::OF_CLASSES => self.class_is_used(before?, it),
            volumes::OF_PODS => self.is_no_claim_of_a_pod(it),
            attaching::ACCOUNT => self.attaches_wrong(it),
            binding::ACCOUNT => self.binds_wrong(before?, it),
            binding::OF_SIZES => self.grows_wrong(before?, it),
            devices::ACCOUNT => self.claims_wrong(it),
            devices::OF_TAINTS => self.pod_may_stay(before?, it),
            groups::ACCOUNT => self.group_is_used(before?, it),
            migrations::ACCOUNT => Self::migrates_wrong(it),
            policies::ACCOUNT => self.says_wrong(before?, it),
            pools::ACCOUNT => self.answers_wrong(before?, it),
            "tokens-controller" if it.method == "DELETE" => self.token_is_good(before?),
            "legacy-service-account-token-cleaner" => self.token_is_young(it),
            // It says that a pod has failed before it deletes it.
            "pod-garbage-collector" => self.keeps_pod(before?),
            "namespace-controller" => self.namespace_stays(it),
            "endpoint-controller" if it.method == "DELETE" => self.endpoints_stay(before?, it),
            "deployment-controller" if it.method == "DELETE" => {
                let has_pods = *at(before?, "/spec/replicas") != 0;
                has_pods.then_some("deletes a ReplicaSet that wants pods")
            }
            _ => None,
        }
    }

    /// Whether a role aggregated others, as far as can be known.
    fn was_sum(&self, target: &Target) -> bool {
        self.sums.get(&target.name).is_some_and(|last| !self.knows("ClusterRole", *last))
    }

    /// Why a token Secret is to stay.
    fn token_is_good(&self, secret: &Value) -> Option<&'static str> {
        if text(secret, "/type") != "kubernetes.io/service-account-token" {
            return Some("it is no token");
        }
        let of = |name| at(secret, "/metadata/annotations").get(name).and_then(Value::as_str);
        let name = of("kubernetes.io/service-account.name")?;
        let uid_named = of("kubernetes.io/service-account.uid");
        let namespace = text(secret, "/metadata/namespace");
        let account = self.objects.get("ServiceAccount", namespace, name)?;
        let fits = uid_named.is_none_or(|it| it.is_empty() || it == uid(account));
        let born = self.born.get(uid(account));
        let is_new = born.is_some_and(|born| !self.knows("ServiceAccount", *born));
        // A user may have changed what it says just now.
        let edited = self.touched.get(uid(secret));
        let is_edited = edited.is_some_and(|edited| !self.knows("Secret", *edited));
        (fits && !is_new && !is_edited).then_some("its account is there")
    }

    /// Why the cleaner of tokens is to leave all of them alone.
    fn token_is_young(&self, it: &Judged<'_>) -> Option<&'static str> {
        let noted = self.objects.get("ConfigMap", "kube-system", TRACKING);
        let since = noted.map_or("", |noted| text(noted, "/data/since"));
        let Ok(since) = Time::parse(&format!("{since}T00:00:00Z")) else {
            return Some("nothing says since when the use of tokens is noted");
        };
        let begins = since + Duration::from_hours(24) + TOKEN_CLEAN_UP;
        let ahead = self.clocks.ahead(it.life, self.decider.begun);
        let is_early = START + it.at + ahead < begins;
        is_early.then_some("the use of tokens is not noted for long enough")
    }

    /// Why a pod is not for the collector of pods.
    fn keeps_pod(&self, pod: &Value) -> Option<&'static str> {
        let node = text(pod, "/spec/nodeName");
        // That it is there again may not be known.
        let born = |node: &Arc<Value>| self.born.get(uid(node)).copied().unwrap_or(0);
        let node_of = self.objects.get("Node", "", node);
        let has_no_node = node_of.is_none_or(|node| !self.knows("Node", born(node)));
        let is_unscheduled = node.is_empty() && is_ending(pod);
        // `gcTerminating` (podgc/gc_controller.go). What its node is now may not be known.
        let is_out = |node: &Arc<Value>| {
            let version = text(node, "/metadata/resourceVersion").parse().unwrap_or(0);
            attaching::is_out_of_service(node) && !is_ready(node) || !self.knows("Node", version)
        };
        let is_for_it = has_ended(pod)
            || is_unscheduled
            || !node.is_empty() && (has_no_node || is_ending(pod) && node_of.is_some_and(is_out));
        (!is_for_it).then_some("the pod has neither ended nor lost its node")
    }

    /// Why a namespace is left alone, or not yet let go.
    fn namespace_stays(&self, it: &Judged<'_>) -> Option<&'static str> {
        let target = &it.target;
        let name = if target.plural == "namespaces" { &target.name } else { &target.namespace };
        let namespace = self.objects.get("Namespace", "", name)?;
        if !is_ending(namespace) {
            return Some("the namespace is not being deleted");
        }
        let lets_go = target.sub == "finalize" && list(it.sent, "/spec/finalizers").is_empty();
        // It does not know of a kind that discovery lacks without a word of a failure, as upstream
        // (`deleteAllContent` in namespace/deletion/namespaced_resources_deleter.go).
        let lacks = |kind: &str| self.knowledge.may_lack(&self.decider, it.account, kind);
        let mut all = self.objects.all();
        let has_content = all.any(|(key, _)| key.1 == *name && !lacks(&key.0));
        (lets_go && has_content && it.code < 300).then_some("there still is something in it")
    }
}

/// The fields that an account may change; none: any.
fn allowed(it: &Judged<'_>) -> Option<&'static [&'static str]> {
    Some(match it.account {
        certificates::ACCOUNT if it.target.sub == "status" => {
            &["/status/conditions", "/status/certificate"]
        }
        certificates::ACCOUNT | devices::OF_TAINTS => &["/status/conditions"],
        "clusterrole-aggregation-controller" => &["/rules"],
        "generic-garbage-collector" => &["/metadata/ownerReferences", "/metadata/finalizers"],
        super::ranges::ACCOUNT if it.path.ends_with("/status") => &["/status"],
        devices::ACCOUNT if it.path.contains("/pods/") => &["/status/resourceClaimStatuses"],
        devices::ACCOUNT if it.path.ends_with("/status") => {
            &["/status/reservedFor", "/status/allocation"]
        }
        "pvc-protection-controller"
        | volumes::OF_VOLUMES
        | volumes::OF_CLASSES
        | devices::ACCOUNT
        | groups::ACCOUNT
        | super::ranges::ACCOUNT => &["/metadata/finalizers"],
        attaching::ACCOUNT => &["/status/volumesAttached"],
        kubelets::ACCOUNT if it.path.ends_with("/status") => &["/status/conditions"],
        kubelets::ACCOUNT => {
            &["/spec/taints", "/metadata/labels", "/spec/podCIDR", "/spec/podCIDRs"]
        }
        binding::ACCOUNT if it.path.ends_with("/status") => &["/status"],
        binding::ACCOUNT if it.path.contains("/persistentvolumes/") => {
            &["/spec/claimRef", "/metadata/annotations", "/metadata/finalizers"]
        }
        binding::ACCOUNT => {
            &["/spec/volumeName", "/spec/storageClassName", "/metadata/annotations"]
        }
        super::budgets::ACCOUNT
        | super::quotas::ACCOUNT
        | super::servers::ACCOUNT
        | pools::ACCOUNT => &["/status"],
        super::bundles::ACCOUNT => &["/spec/trustBundle"],
        migrations::ACCOUNT if it.path.contains("/storageversionmigrations/") => &["/status"],
        migrations::ACCOUNT => &[],
        "horizontal-pod-autoscaler" if it.target.sub == "status" => &["/status"],
        policies::ACCOUNT => &["/status/observedGeneration", "/status/typeChecking"],
        binding::OF_SIZES | "ttl-controller" => &["/metadata/annotations"],
        "replicaset-controller" | "replication-controller" | "daemon-set-controller"
            if it.path.ends_with("/status") =>
        {
            &["/status"]
        }
        "replicaset-controller" | "replication-controller" | "daemon-set-controller"
            if it.method == "PATCH" =>
        {
            &["/metadata/ownerReferences", "/metadata/labels"]
        }
        super::cron::ACCOUNT | super::batch::ACCOUNT if it.path.ends_with("/status") => {
            &["/status"]
        }
        super::batch::ACCOUNT if it.method == "PATCH" => {
            &["/metadata/ownerReferences", "/metadata/finalizers"]
        }
        "root-ca-cert-publisher" => &["/data", "/metadata/annotations"],
        bootstrap::SIGNER => &["/data"],
        "deployment-controller" if it.path.contains("/replicasets/") => &[
            "/spec/replicas",
            "/metadata/annotations",
            "/metadata/ownerReferences",
            "/spec/minReadySeconds",
            "/metadata/labels",
        ],
        "deployment-controller" => &["/status", "/metadata/annotations"],
        _ => return None,
    })
}

/// How a write changes more than its account is for.
fn changes_more(it: &Judged<'_>) -> Option<String> {
    let (before, allowed) = (it.changed()?, allowed(it)?);
    let bare = |object: &Value| {
        let mut object = object.clone();
        // A response is in the version that was asked for.
        let always = [
            "/apiVersion",
            "/metadata/managedFields",
            "/metadata/resourceVersion",
            "/metadata/generation",
        ];
        for path in allowed.iter().chain(&always) {
            if let Some((parent, field)) = path.rsplit_once('/')
                && let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut)
            {
                parent.remove(field);
            }
        }
        object
    };
    // The last patch of finalizers deletes it, and its response has a last version.
    (uid(it.got) == uid(before) && bare(before) != bare(it.got))
        .then(|| format!("{it}: changes more than {allowed:?}"))
}

/// Why a write of the ttl controller is wrong.
fn ttl(it: &Written<'_>, before: &Value) -> Option<&'static str> {
    let others = |object: &Value| {
        let notes = at(object, "/metadata/annotations").as_object().cloned();
        let mut notes = notes.unwrap_or_default();
        notes.remove(TTL);
        notes
    };
    let is_whole = it.code < 300 && uid(it.got) == uid(before);
    (is_whole && others(it.got) != others(before)).then_some("writes another annotation")
}
