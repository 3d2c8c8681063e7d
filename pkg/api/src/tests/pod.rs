//! The Pod view, from both codecs.

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::Quantity;
use proptest::prelude::*;
use prost::Message;
use serde_json::{Value, json};

use super::{NOON, labels};
use crate::wire::PROTOBUF_MAGIC;
use crate::*;

/// The messages as `generated.proto` declares them, written down once more and apart from the wire
/// types, with some fields that the view does not read.
mod proto {
    use std::collections::BTreeMap;

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Unknown {
        #[prost(message, optional, tag = "1")]
        pub(super) type_meta: Option<TypeMeta>,
        #[prost(bytes = "vec", tag = "2")]
        pub(super) raw: Vec<u8>,
        #[prost(string, tag = "4")]
        pub(super) content_type: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct TypeMeta {
        #[prost(string, tag = "1")]
        pub(super) api_version: String,
        #[prost(string, tag = "2")]
        pub(super) kind: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Pod {
        #[prost(message, optional, tag = "1")]
        pub(super) metadata: Option<ObjectMeta>,
        #[prost(message, optional, tag = "2")]
        pub(super) spec: Option<PodSpec>,
        #[prost(message, optional, tag = "3")]
        pub(super) status: Option<PodStatus>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct ObjectMeta {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(string, tag = "2")]
        pub(super) generate_name: String,
        #[prost(string, tag = "3")]
        pub(super) namespace: String,
        #[prost(string, tag = "5")]
        pub(super) uid: String,
        #[prost(string, tag = "6")]
        pub(super) resource_version: String,
        #[prost(int64, tag = "7")]
        pub(super) generation: i64,
        #[prost(message, optional, tag = "8")]
        pub(super) creation_timestamp: Option<Time>,
        #[prost(message, optional, tag = "9")]
        pub(super) deletion_timestamp: Option<Time>,
        #[prost(int64, optional, tag = "10")]
        pub(super) deletion_grace_period_seconds: Option<i64>,
        #[prost(btree_map = "string, string", tag = "11")]
        pub(super) labels: BTreeMap<String, String>,
        #[prost(btree_map = "string, string", tag = "12")]
        pub(super) annotations: BTreeMap<String, String>,
        #[prost(message, repeated, tag = "13")]
        pub(super) owner_references: Vec<OwnerReference>,
        #[prost(string, repeated, tag = "14")]
        pub(super) finalizers: Vec<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct OwnerReference {
        #[prost(string, tag = "1")]
        pub(super) kind: String,
        #[prost(string, tag = "3")]
        pub(super) name: String,
        #[prost(string, tag = "4")]
        pub(super) uid: String,
        #[prost(string, tag = "5")]
        pub(super) api_version: String,
        #[prost(bool, optional, tag = "6")]
        pub(super) controller: Option<bool>,
        #[prost(bool, optional, tag = "7")]
        pub(super) block_owner_deletion: Option<bool>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Time {
        #[prost(int64, optional, tag = "1")]
        pub(super) seconds: Option<i64>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct PodSpec {
        #[prost(message, repeated, tag = "2")]
        pub(super) containers: Vec<Container>,
        #[prost(string, tag = "3")]
        pub(super) restart_policy: String,
        #[prost(string, tag = "10")]
        pub(super) node_name: String,
        #[prost(message, repeated, tag = "20")]
        pub(super) init_containers: Vec<Container>,
        #[prost(message, repeated, tag = "22")]
        pub(super) tolerations: Vec<Toleration>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    #[expect(clippy::struct_field_names, reason = "they are the API's")]
    pub(super) struct Toleration {
        #[prost(string, tag = "1")]
        pub(super) key: String,
        #[prost(string, tag = "2")]
        pub(super) operator: String,
        #[prost(string, tag = "3")]
        pub(super) value: String,
        #[prost(string, tag = "4")]
        pub(super) effect: String,
        #[prost(int64, optional, tag = "5")]
        pub(super) toleration_seconds: Option<i64>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct Container {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(string, tag = "2")]
        pub(super) image: String,
        #[prost(string, tag = "24")]
        pub(super) restart_policy: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct PodStatus {
        #[prost(string, tag = "1")]
        pub(super) phase: String,
        #[prost(message, repeated, tag = "2")]
        pub(super) conditions: Vec<PodCondition>,
        #[prost(message, repeated, tag = "8")]
        pub(super) container_statuses: Vec<ContainerStatus>,
        #[prost(message, repeated, tag = "10")]
        pub(super) init_container_statuses: Vec<ContainerStatus>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct PodCondition {
        #[prost(string, tag = "1")]
        pub(super) r#type: String,
        #[prost(string, tag = "2")]
        pub(super) status: String,
        #[prost(message, optional, tag = "4")]
        pub(super) last_transition_time: Option<Time>,
        #[prost(string, tag = "5")]
        pub(super) reason: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(super) struct ContainerStatus {
        #[prost(string, tag = "1")]
        pub(super) name: String,
        #[prost(bool, tag = "4")]
        pub(super) ready: bool,
        #[prost(int32, tag = "5")]
        pub(super) restart_count: i32,
    }
}

/// `runtime.Unknown` around a message, as the API server sends it.
fn envelope(pod: &proto::Pod) -> Vec<u8> {
    let unknown = proto::Unknown {
        type_meta: Some(proto::TypeMeta { api_version: "v1".into(), kind: "Pod".into() }),
        raw: pod.encode_to_vec(),
        content_type: String::new(),
    };
    [PROTOBUF_MAGIC.as_slice(), &unknown.encode_to_vec()].concat()
}

/// The same pod as JSON, as Go writes it: no time is `null`.
fn json(pod: &proto::Pod) -> Value {
    let time = |time: &Option<proto::Time>| {
        let seconds = time.as_ref().and_then(|time| time.seconds);
        seconds.map(|seconds| Time::from_unix(seconds, 0).to_string())
    };
    let (meta, spec) = (pod.metadata.as_ref().unwrap(), pod.spec.as_ref().unwrap());
    let status = pod.status.as_ref().unwrap();
    let container = |c: &proto::Container| match c.restart_policy.as_str() {
        "" => json!({"name": c.name, "image": c.image}),
        policy => json!({"name": c.name, "image": c.image, "restartPolicy": policy}),
    };
    let toleration = |it: &proto::Toleration| {
        json!({"key": it.key, "operator": it.operator, "value": it.value, "effect": it.effect,
            "tolerationSeconds": it.toleration_seconds})
    };
    let container_status = |c: &proto::ContainerStatus| {
        let (name, ready, restarts) = (&c.name, c.ready, c.restart_count);
        json!({"name": name, "ready": ready, "restartCount": restarts})
    };
    let condition = |c: &proto::PodCondition| {
        json!({"type": c.r#type, "status": c.status, "reason": c.reason, "lastProbeTime": null,
            "lastTransitionTime": time(&c.last_transition_time)})
    };
    let owner = |owner: &proto::OwnerReference| {
        json!({"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name,
            "uid": owner.uid, "controller": owner.controller,
            "blockOwnerDeletion": owner.block_owner_deletion})
    };
    json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {
            "name": meta.name, "generateName": meta.generate_name, "namespace": meta.namespace,
            "uid": meta.uid, "resourceVersion": meta.resource_version,
            "generation": meta.generation,
            "creationTimestamp": time(&meta.creation_timestamp),
            "deletionTimestamp": time(&meta.deletion_timestamp),
            "deletionGracePeriodSeconds": meta.deletion_grace_period_seconds,
            "labels": meta.labels, "annotations": meta.annotations,
            "ownerReferences": meta.owner_references.iter().map(owner).collect::<Vec<_>>(),
            "finalizers": meta.finalizers,
        },
        "spec": {
            "containers": spec.containers.iter().map(container).collect::<Vec<_>>(),
            "initContainers": spec.init_containers.iter().map(container).collect::<Vec<_>>(),
            "nodeName": spec.node_name, "restartPolicy": spec.restart_policy,
            "tolerations": spec.tolerations.iter().map(toleration).collect::<Vec<_>>(),
        },
        "status": {
            "phase": status.phase,
            "conditions": status.conditions.iter().map(condition).collect::<Vec<_>>(),
            "containerStatuses":
                status.container_statuses.iter().map(container_status).collect::<Vec<_>>(),
            "initContainerStatuses":
                status.init_container_statuses.iter().map(container_status).collect::<Vec<_>>(),
        },
    })
}

/// Seconds from 1900 to 2200.
fn time() -> impl Strategy<Value = Option<proto::Time>> {
    let seconds = proptest::option::of(-2_208_988_800_i64..7_258_118_400);
    proptest::option::of(seconds.prop_map(|seconds| proto::Time { seconds }))
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9./-]{0,12}", "\\PC{0,8}"]
}

fn container() -> impl Strategy<Value = proto::Container> {
    let policy = prop_oneof![Just(""), Just("Always"), Just("Never")];
    ("[a-c]", text(), policy).prop_map(|(name, image, restart_policy)| proto::Container {
        name,
        image,
        restart_policy: restart_policy.to_owned(),
    })
}

fn toleration() -> impl Strategy<Value = proto::Toleration> {
    let effect = prop_oneof![Just(""), Just("NoExecute"), Just("NoSchedule")];
    (text(), text(), text(), effect, any::<Option<i64>>()).prop_map(
        |(key, operator, value, effect, toleration_seconds)| proto::Toleration {
            key,
            operator,
            value,
            effect: effect.to_owned(),
            toleration_seconds,
        },
    )
}

fn container_status() -> impl Strategy<Value = proto::ContainerStatus> {
    ("[a-c]", any::<bool>(), 0..i32::MAX).prop_map(|(name, ready, restart_count)| {
        proto::ContainerStatus { name, ready, restart_count }
    })
}

fn condition() -> impl Strategy<Value = proto::PodCondition> {
    let kind = prop_oneof![Just("Ready"), Just("DisruptionTarget"), Just("example.com/gate")];
    let status = prop_oneof![Just("True"), Just("False"), Just("Unknown"), Just("Perhaps")];
    (kind, status, time(), text()).prop_map(|(kind, status, last_transition_time, reason)| {
        proto::PodCondition {
            r#type: kind.to_owned(),
            status: status.to_owned(),
            last_transition_time,
            reason,
        }
    })
}

fn owner() -> impl Strategy<Value = proto::OwnerReference> {
    (text(), text(), text(), any::<Option<bool>>(), any::<Option<bool>>()).prop_map(
        |(kind, name, uid, controller, block_owner_deletion)| proto::OwnerReference {
            kind,
            name,
            uid,
            api_version: "apps/v1".to_owned(),
            controller,
            block_owner_deletion,
        },
    )
}

fn metadata() -> impl Strategy<Value = proto::ObjectMeta> {
    let pairs = || proptest::collection::btree_map(text(), text(), 0..4);
    let cost = proptest::option::of(prop_oneof!["-?[0-9]{1,11}", Just("+1".to_owned())]);
    let numbers = (any::<u64>(), any::<i64>(), proptest::option::of(0..3_i64));
    let lists = (proptest::collection::vec(owner(), 0..3), proptest::collection::vec(text(), 0..3));
    let names = (text(), text(), text());
    (names, numbers, (time(), time()), pairs(), (pairs(), cost), lists).prop_map(
        |(names, (version, generation, grace), times, labels, (mut annotations, cost), lists)| {
            let cost_key = "controller.kubernetes.io/pod-deletion-cost".to_owned();
            annotations.extend(cost.map(|cost| (cost_key, cost)));
            proto::ObjectMeta {
                generate_name: format!("{}-", names.0),
                name: names.0,
                namespace: names.1,
                uid: names.2,
                resource_version: version.to_string(),
                generation,
                creation_timestamp: times.0,
                deletion_timestamp: times.1,
                deletion_grace_period_seconds: grace,
                labels,
                annotations,
                owner_references: lists.0,
                finalizers: lists.1,
            }
        },
    )
}

fn pod() -> impl Strategy<Value = proto::Pod> {
    let containers = || proptest::collection::vec(container(), 0..4);
    let statuses = || proptest::collection::vec(container_status(), 0..4);
    let phase = prop_oneof![
        Just(""),
        Just("Pending"),
        Just("Running"),
        Just("Succeeded"),
        Just("Failed"),
        Just("Unknown"),
        Just("Resting")
    ];
    let tolerations = proptest::collection::vec(toleration(), 0..4);
    let spec = (containers(), containers(), text(), tolerations).prop_map(
        |(containers, init_containers, node_name, tolerations)| proto::PodSpec {
            containers,
            restart_policy: "Always".to_owned(),
            node_name,
            init_containers,
            tolerations,
        },
    );
    let conditions = proptest::collection::vec(condition(), 0..4);
    let status = (phase, conditions, statuses(), statuses()).prop_map(
        |(phase, conditions, container_statuses, init_container_statuses)| proto::PodStatus {
            phase: phase.to_owned(),
            conditions,
            container_statuses,
            init_container_statuses,
        },
    );
    (metadata(), spec, status).prop_map(|(metadata, spec, status)| proto::Pod {
        metadata: Some(metadata),
        spec: Some(spec),
        status: Some(status),
    })
}

proptest! {
    /// Both codecs give the same view.
    #[test]
    fn codecs_agree(pod in pod()) {
        let from_json = Pod::decode(Codec::Json, json(&pod).to_string().as_bytes());
        let from_protobuf = Pod::decode(Codec::Protobuf, &envelope(&pod));
        prop_assert!(from_json.is_ok(), "{from_json:?}");
        prop_assert_eq!(from_json, from_protobuf);
    }

    /// No bytes make the decoder panic.
    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Pod::decode(Codec::Json, &bytes);
        let _ = Pod::decode(Codec::Protobuf, &[PROTOBUF_MAGIC.as_slice(), &bytes].concat());
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one value with all fields")]
fn upstreams_bytes_are_read_from_both_codecs() {
    let time = |text| Some(Time::parse(text).unwrap());
    let owner = |api_version: &str, kind: &str, name: &str, uid: &str, controller: bool| OwnerRef {
        api_version: api_version.into(),
        kind: kind.into(),
        name: name.into(),
        uid: uid.into(),
        controller,
        block_owner_deletion: controller,
    };
    let cpu = || BTreeMap::from([("cpu".into(), Quantity::parse("100m").unwrap())]).into();
    let expected = Pod {
        meta: Meta {
            key: Key::new("shop", "web-7d4b9-x2x4z"),
            uid: "0f3c1d52-8a1e-4c55-9b8e-2f4a8f1f6c11".into(),
            resource_version: u64::MAX,
            generation: 3,
            creation_timestamp: time(NOON),
            deletion_timestamp: time("2024-05-01T12:30:00Z"),
            labels: labels(&[("app", "web"), ("empty", ""), ("pod-template-hash", "7d4b9")]),
            owners: OwnerRef::shared(&[
                owner("v1", "ConfigMap", "bystander", "c0", false),
                owner("apps/v1", "ReplicaSet", "web-7d4b9", "r1", true),
                owner("v1", "Secret", "denied", "s0", false),
            ]),
            finalizers: ["example.com/hold".into(), "batch.kubernetes.io/job-tracking".into()]
                .into(),
        },
        node_name: Some("node-1".into()),
        target_node: None,
        tolerations: [Toleration {
            key: "node.kubernetes.io/not-ready".into(),
            operator: "Exists".into(),
            effect: "NoExecute".into(),
            ..Toleration::default()
        }]
        .into(),
        phase: Phase::Running,
        evicted: false,
        ready: Some((Status::True, time("2024-05-01T12:00:09Z"))),
        start_time: None,
        disruption_target: None,
        ended_by_kubelet: false,
        observed: Observed::default(),
        shut_down: false,
        nothing_runs: false,
        unreadable: false,
        deletion_cost: -12,
        restarts_max: 7,
        sidecar_restarts_max: 5,
        network: Network { ips: ["10.0.0.7".into()].into(), names: None },
        secrets: Box::default(),
        claims: Box::default(),
        ephemeral_volumes: Box::default(),
        quota: Arc::new(PodQuota {
            resources: PodResources { requests: cpu(), limits: ResourceList::default() },
            containers: [("main".into(), cpu()), ("proxy".into(), ResourceList::default())].into(),
            grace_ends: time("2024-05-01T12:30:30Z"),
            ..PodQuota::default()
        }),
        job: Some(Box::new(JobPart {
            restarts: 113,
            conditions: ["PodScheduled", "Ready"].map(|it| (it.into(), Status::True)).into(),
            deletion_grace_period_seconds: Some(30),
            ..JobPart::default()
        })),
    };
    let protobuf = Pod::decode(Codec::Protobuf, include_bytes!("../../testdata/pod.pb"));
    let json = Pod::decode(Codec::Json, include_bytes!("../../testdata/pod.json"));
    assert_eq!(protobuf.as_ref(), Ok(&expected));
    assert_eq!(json.as_ref(), Ok(&expected));
    assert_eq!(expected.meta.controller().map(|owner| &*owner.uid), Some("r1"));
    let found = |pod: &Pod| -> Vec<_> {
        let entry =
            |index: &Index<Pod>| Some((index.name, index.of(pod).as_slice().last()?.to_string()));
        Pod::INDEXES.iter().filter_map(entry).collect()
    };
    let [owned, shop, node] =
        [("podController", "r1"), ("namespace", "shop"), ("spec.nodeName", "node-1")]
            .map(|(name, value)| (name, value.to_owned()));
    assert_eq!(found(&expected), [owned, shop.clone(), node]);

    // Go's zero time, an empty message in protobuf, is no time: not 1970, when the pod would have
    // been ready and old for half a century.
    let protobuf = Pod::decode(Codec::Protobuf, include_bytes!("../../testdata/bare.pb")).unwrap();
    let json = Pod::decode(Codec::Json, include_bytes!("../../testdata/bare.json")).unwrap();
    assert_eq!(protobuf, json);
    assert_eq!(json.meta.creation_timestamp, None);
    assert_eq!(json.ready, Some((Status::True, None)));
    assert_eq!((json.phase, json.node_name.clone()), (Phase::Pending, None));
    assert_eq!(found(&json), [("orphans", "shop".to_owned()), shop]);
}

/// `VisitPodSecretNames`: each place where a pod can name a Secret, and none where it names
/// something else.
#[test]
fn the_secrets_that_a_pod_names_are_read_from_both_codecs() {
    let protobuf = Pod::decode(Codec::Protobuf, include_bytes!("../../testdata/secrets-pod.pb"));
    let json = Pod::decode(Codec::Json, include_bytes!("../../testdata/secrets-pod.json"));
    assert_eq!(protobuf, json);
    let expected = [
        "azure-file",
        "cephfs",
        "cinder",
        "container-env",
        "container-env-from",
        "csi",
        "ephemeral-env",
        "ephemeral-env-from",
        "flex",
        "init-env",
        "init-env-from",
        "iscsi",
        "projected",
        "pull",
        "rbd",
        "scale-io",
        "secret",
        "storage-os",
    ];
    let pod = json.unwrap();
    assert_eq!(pod.secrets.iter().map(|name| &**name).collect::<Vec<_>>(), expected);
}

#[test]
fn the_first_second_of_year_1_is_no_time() {
    let json = br#"{"metadata":{"creationTimestamp":"0001-01-01T00:00:00Z"}}"#;
    assert_eq!(Pod::decode(Codec::Json, json).unwrap().meta.creation_timestamp, None);
}

/// As TestGetDeletionCostFromPodAnnotations of upstream's pkg/apis/core/helper.
#[test]
fn deletion_costs_are_read_as_upstream() {
    for (text, cost) in [
        (json!("10"), 10),
        (json!("+10"), 0),
        (json!("008"), 0),
        (json!("0"), 0),
        (json!("00"), 0),
        (json!("-1"), -1),
        (json!("-007"), -7),
        (json!("-"), 0),
        (json!("--1"), 0),
        (json!("-+1"), 0),
        (json!(""), 0),
        (json!(" 1"), 0),
        (json!("1 "), 0),
        (json!("1e3"), 0),
        (json!("string"), 0),
        (json!("-string"), 0),
        (json!("2147483647"), i32::MAX),
        (json!("2147483648"), 0),
        (json!("-2147483648"), i32::MIN),
    ] {
        let json = json!({"metadata": {"annotations": {
            "controller.kubernetes.io/pod-deletion-cost": text,
        }}});
        let pod = Pod::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
        assert_eq!(pod.deletion_cost, cost, "{text}");
    }
    assert_eq!(Pod::decode(Codec::Json, br#"{"metadata":{}}"#).unwrap().deletion_cost, 0);
}

#[test]
fn pods_are_active_until_they_end_or_are_deleted() {
    // As TestActivePodFiltering, with the deletion beside it.
    for (phase, deleted, active, terminal) in [
        ("Pending", false, true, false),
        ("Running", false, true, false),
        ("Unknown", false, true, false),
        ("", false, true, false),
        ("Succeeded", false, false, true),
        ("Failed", false, false, true),
        ("Running", true, false, false),
        ("Failed", true, false, true),
    ] {
        let deleted = deleted.then_some(NOON);
        let json = json!({"metadata": {"deletionTimestamp": deleted}, "status": {"phase": phase}});
        let pod = Pod::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
        assert_eq!((pod.is_active(), pod.is_terminal()), (active, terminal), "{json}");
    }
}

/// In both codecs: a grace period of 0 is another thing than none.
#[test]
fn pods_without_grace_wait_for_their_finalizers() {
    let hold = || vec!["example.com/hold".to_owned()];
    for (deleted, grace, finalizers, shut_down, waits) in [
        (true, Some(0), hold(), true, true),
        (true, Some(0), vec![], true, false),
        (true, Some(30), hold(), false, false),
        (true, None, hold(), false, false),
        (false, Some(0), hold(), false, false),
    ] {
        let metadata = proto::ObjectMeta {
            deletion_timestamp: deleted.then_some(proto::Time { seconds: Some(1) }),
            deletion_grace_period_seconds: grace,
            finalizers,
            ..proto::ObjectMeta::default()
        };
        let pod = proto::Pod {
            metadata: Some(metadata),
            spec: Some(proto::PodSpec::default()),
            status: Some(proto::PodStatus::default()),
        };
        let protobuf = Pod::decode(Codec::Protobuf, &envelope(&pod)).unwrap();
        let json = Pod::decode(Codec::Json, json(&pod).to_string().as_bytes()).unwrap();
        assert_eq!((protobuf.shut_down, json.shut_down), (shut_down, shut_down));
        assert_eq!((protobuf.waits_for_finalizers(), json.waits_for_finalizers()), (waits, waits));
    }
}

#[test]
fn a_pod_says_whether_it_is_to_be_disrupted() {
    let since = Some(Time::parse(NOON).unwrap());
    for (kind, status, expected) in [
        ("Ready", "True", None),
        ("DisruptionTarget", "True", Some((Status::True, since))),
        ("DisruptionTarget", "False", Some((Status::False, since))),
    ] {
        let target = json!({"type": kind, "status": status, "lastTransitionTime": NOON});
        let conditions = json!([{"type": "PodScheduled", "status": "True"}, target]);
        let json = json!({"metadata": {}, "status": {"conditions": conditions}});
        let pod = Pod::decode(Codec::Json, json.to_string().as_bytes()).unwrap();
        assert_eq!(pod.disruption_target, expected, "{json}");
    }
}

#[test]
fn a_pod_says_whether_a_generation_was_observed() {
    for (status, condition) in [(0, 0), (3, 0), (0, 3), (2, 3)] {
        let condition_json = json!({"type": "DisruptionTarget", "status": "True",
            "observedGeneration": condition});
        let status_json = json!({"observedGeneration": status, "conditions": [condition_json]});
        let json = json!({"metadata": {}, "status": status_json}).to_string();
        let pod = Pod::decode(Codec::Json, json.as_bytes()).unwrap();
        let found = (pod.observed.status, pod.observed.disruption_target);
        assert_eq!(found, (status != 0, condition != 0), "{json}");
    }
}

#[test]
fn broken_pods_say_which_field_is_broken() {
    for (json, field) in [
        (r#"{"spec":{"nodeName":7}}"#, "spec.nodeName"),
        (
            r#"{"status":{"containerStatuses":[{},{"restartCount":"x"}]}}"#,
            "status.containerStatuses[1].restartCount",
        ),
        (r#"{"metadata":{"creationTimestamp":"x"}}"#, "metadata.creationTimestamp"),
        (r#"{"metadata":{"resourceVersion":"x"}}"#, "metadata.resourceVersion"),
    ] {
        let error = Pod::decode(Codec::Json, json.as_bytes()).unwrap_err();
        assert!(error.0.starts_with(field), "{field}: {error}");
    }
    assert!(Pod::decode(Codec::Protobuf, b"k8s").is_err(), "no envelope");
    assert!(Pod::decode(Codec::Protobuf, b"k8s\0\x12\x01\xff").is_err(), "no message");
}

#[test]
fn an_unreadable_pod_counts_as_active() {
    let json = br#"{"metadata":{"name":"a","namespace":"shop"},"spec":7}"#;
    let error = Pod::decode(Codec::Json, json).unwrap_err();
    let pod = Pod::unreadable(Meta::decode(Codec::Json, json).unwrap(), &error);
    assert_eq!(pod.meta.key, Key::new("shop", "a"));
    assert!(pod.is_active() && !pod.is_ready());
    assert!(pod.unreadable);
}
