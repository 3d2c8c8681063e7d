//! Tables of rules: objects in, findings out; for what the sandbox's nodes and provisioners never
//! do, and for what may not be read.

use std::sync::Arc;
use std::time::Duration;

use api::{
    Deployment, Kind, Namespace, Node, PersistentVolumeClaim, Pod, ReplicaSet, Resource,
    StatefulSet, StorageClass, Time,
};
use serde_json::{Value, json};

use crate::look::EVENTS;
use crate::text::{Style, age, write};
use crate::{
    Decision, Facts, Finding, Line, Names, Need, Report, Seen, Severity, State, Subject, examine,
};

const NOW: Time = Time::from_unix(1_767_225_600, 0);

fn ago(seconds: u64) -> String {
    (NOW - Duration::from_secs(seconds)).to_string()
}

fn listed(resource: &Resource, objects: &[Value]) -> (Need, Seen) {
    let namespace = if resource.namespaced { "shop" } else { "" };
    let need = Need::List(resource.clone(), namespace.to_owned(), String::new());
    (need, Seen::Objects(objects.iter().cloned().map(Arc::new).collect()))
}

fn named(resource: &Resource, name: &str, seen: Seen) -> (Need, Seen) {
    let namespace = if resource.namespaced { "shop" } else { "" };
    (Need::Get(resource.clone(), namespace.to_owned(), name.to_owned()), seen)
}

fn forbidden(need: (Need, Seen)) -> (Need, Seen) {
    let unseen = need.0.unseen(true, "no".to_owned());
    (need.0, Seen::Unseen(unseen))
}

/// One finding a line: how bad, how deep, of what, and the cause; then what is needed, if anything.
fn found(resource: &Resource, object: &Value, facts: &[(Need, Seen)]) -> String {
    let facts =
        facts.iter().cloned().fold(Facts::default(), |all, (need, seen)| all.with(need, seen));
    let examined = examine(&facts, resource, object, NOW);
    let sign = |severity| match severity {
        Severity::Note => '-',
        Severity::Waiting => '~',
        Severity::Stuck => '!',
    };
    let line = |it: &Finding| {
        let indent = "  ".repeat(it.depth);
        format!("{indent}{} {} {}\n", sign(it.severity), it.subject, it.cause)
    };
    let lines = examined.findings.iter().map(line);
    let needs = examined.needs.iter().map(|need| {
        let unseen = need.unseen(false, String::new());
        let name = unseen.name;
        format!("needs {} {} {name}", unseen.verb, unseen.resource).trim_end().to_owned() + "\n"
    });
    lines.chain(needs).collect()
}

fn pod(name: &str, more: &Value) -> Value {
    let mut pod = json!({
        "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
            "creationTimestamp": ago(600)},
        "spec": {"nodeName": "node-1", "containers": [{"name": "main", "image": "web:1"}]},
        "status": {"phase": "Pending", "startTime": ago(600)},
    });
    merge(&mut pod, more);
    pod
}

fn merge(base: &mut Value, more: &Value) {
    match (base, more) {
        (Value::Object(base), Value::Object(more)) => {
            for (name, value) in more {
                merge(base.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (base, more) => *base = more.clone(),
    }
}

fn waiting(reason: &str, message: &str) -> Value {
    json!({"status": {"containerStatuses": [{"name": "main", "image": "web:1", "ready": false,
        "state": {"waiting": {"reason": reason, "message": message}}}]}})
}

fn ready_node() -> (Need, Seen) {
    let node = json!({"metadata": {"name": "node-1"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    named(&Node::RESOURCE, "node-1", Seen::Object(Arc::new(node)))
}

fn event(kind: &str, name: &str, reason: &str, message: &str) -> Value {
    json!({"involvedObject": {"kind": kind, "name": name, "uid": format!("uid-{name}")},
        "reason": reason, "message": message, "lastTimestamp": ago(10), "type": "Warning"})
}

const ALONE: &str = "- pod/web is managed by nobody: it is not replaced when it is gone\n";

/// Rule: what a kubelet says of a container is the cause.
#[test]
fn pods_say_what_their_containers_wait_for() {
    let rows = [
        (
            waiting("CreateContainerConfigError", "configmap \"settings\" not found"),
            None,
            "! pod/web cannot start container main: CreateContainerConfigError: configmap \
             \"settings\" not found\n",
        ),
        (
            waiting("InvalidImageName", "couldn't parse image name \"WEB\""),
            None,
            "! pod/web cannot pull the image \"web:1\": couldn't parse image name \"WEB\"\n",
        ),
        (
            waiting("ContainerCreating", ""),
            Some(event("Pod", "web", "FailedMount", "secret \"keys\" not found")),
            "! pod/web cannot start: FailedMount: secret \"keys\" not found\n",
        ),
        (
            waiting("ContainerCreating", ""),
            None,
            "! pod/web starts on node/node-1, and container main is still not created\n",
        ),
        (
            json!({"status": {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}}),
            None,
            "! pod/web has failed: Evicted: low on memory\n",
        ),
    ];
    for (more, event, expected) in rows {
        let events: Vec<_> = event.into_iter().collect();
        let facts = [ready_node(), listed(&EVENTS, &events)];
        let said = found(&Pod::RESOURCE, &pod("web", &more), &facts);
        assert_eq!(said, format!("{expected}{ALONE}"));
    }
}

/// Rule: an object of which nothing was read yet is a need, not a finding.
#[test]
fn what_was_not_read_is_needed() {
    let pod = pod("web", &waiting("ContainerCreating", ""));
    let expected = "~ pod/web starts on node/node-1\n";
    let early = NOW - Duration::from_secs(590);
    let examined = examine(&Facts::default(), &Pod::RESOURCE, &pod, early);
    let [first, ..] = examined.findings.as_slice() else { panic!("no findings") };
    assert_eq!(format!("~ {} {}\n", first.subject, first.cause), expected);
    let needs: Vec<_> = examined.needs.iter().map(|it| it.unseen(false, String::new())).collect();
    let needs: Vec<_> = needs.iter().map(|it| format!("{} {}", it.verb, it.resource)).collect();
    assert_eq!(needs, ["list events", "get nodes"]);
}

fn unbound(class: &str) -> Value {
    json!({"metadata": {"name": "data-db-0", "namespace": "shop", "creationTimestamp": ago(600)},
        "spec": {"storageClassName": class}, "status": {"phase": "Pending"}})
}

/// Issue: PVC → PV → class, from the StatefulSet on.
#[test]
fn a_stateful_set_leads_to_its_class() {
    let set = json!({"metadata": {"name": "db", "namespace": "shop", "uid": "uid-db"},
        "spec": {"replicas": 2, "updateStrategy": {"type": "RollingUpdate"}},
        "status": {"currentRevision": "db-1", "updateRevision": "db-1", "updatedReplicas": 1}});
    let waits = json!({
        "metadata": {"ownerReferences": [{"kind": "StatefulSet", "apiVersion": "apps/v1",
            "name": "db", "uid": "uid-db", "controller": true}]},
        "spec": {"nodeName": "", "volumes": [{"name": "data",
            "persistentVolumeClaim": {"claimName": "data-db-0"}}]},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False",
            "reason": "Unschedulable", "message": "0/1 nodes are available: pod has unbound \
            immediate PersistentVolumeClaims. no new claims to deallocate, preemption: 0/1 nodes \
            are available."}]}});
    let facts = [
        listed(&Pod::RESOURCE, &[pod("db-0", &waits)]),
        listed(&EVENTS, &[]),
        named(
            &PersistentVolumeClaim::RESOURCE,
            "data-db-0",
            Seen::Object(Arc::new(unbound("fast"))),
        ),
        named(&StorageClass::RESOURCE, "fast", Seen::Absent),
    ];
    assert_eq!(
        found(&StatefulSet::RESOURCE, &set, &facts),
        "~ statefulset.apps/db wants 2 pods, has 1, 0 ready\n  \
         ! pod/db-0 cannot be scheduled: 0/1 nodes are available: pod has unbound immediate \
         PersistentVolumeClaims\n    \
         ! persistentvolumeclaim/data-db-0 is not bound: there is no storageclass/fast\n"
    );
}

/// Rule: a 403 is never taken for absent: neither the class nor the pods are said to be missing.
#[test]
fn what_may_not_be_read_is_not_absent() {
    let class = forbidden(named(&StorageClass::RESOURCE, "fast", Seen::Absent));
    let facts = [listed(&EVENTS, &[]), class];
    assert_eq!(
        found(&PersistentVolumeClaim::RESOURCE, &unbound("fast"), &facts),
        "~ persistentvolumeclaim/data-db-0 is not bound\n"
    );
    let set = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "uid-web"},
        "spec": {"replicas": 2}, "status": {"replicas": 2, "readyReplicas": 1}});
    let facts = [forbidden(listed(&Pod::RESOURCE, &[]))];
    assert_eq!(
        found(&ReplicaSet::RESOURCE, &set, &facts),
        "~ replicaset.apps/web wants 2 pods, has 2, 1 ready\n"
    );
}

/// Rule: claims that were bound, and volumes that grow.
#[test]
fn claims_say_what_is_wrong_after_they_were_bound() {
    let claim = |status: Value| {
        let mut claim = json!({"metadata": {"name": "data", "namespace": "shop"},
            "spec": {"volumeName": "disk", "resources": {"requests": {"storage": "2Gi"}}}});
        merge(&mut claim, &json!({"status": status}));
        claim
    };
    let condition = |kind: &str| {
        json!({"phase": "Bound", "capacity": {"storage": "1Gi"}, "conditions":
            [{"type": kind, "status": "True", "message": "no room"}]})
    };
    let rows = [
        (
            json!({"phase": "Lost"}),
            "! persistentvolumeclaim/data has lost its volume: persistentvolume/disk is gone\n",
        ),
        (condition("ControllerResizeError"), "! persistentvolumeclaim/data cannot grow: no room\n"),
        (
            condition("FileSystemResizePending"),
            "~ persistentvolumeclaim/data has grown to 2Gi, but not its file system\n",
        ),
        (condition("Resizing"), "~ persistentvolumeclaim/data grows from 1Gi to 2Gi\n"),
    ];
    for (status, expected) in rows {
        assert_eq!(found(&PersistentVolumeClaim::RESOURCE, &claim(status), &[]), expected);
    }
}

/// Upstream's condition of a namespace whose API group does not answer.
#[test]
fn a_namespace_names_the_group_that_does_not_answer() {
    let namespace = json!({
        "metadata": {"name": "shop", "deletionTimestamp": ago(60)},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"conditions": [{"type": "NamespaceDeletionDiscoveryFailure", "status": "True",
            "message": "metrics.k8s.io/v1beta1: stale"}]}});
    assert!(found(&Namespace::RESOURCE, &namespace, &[]).starts_with(
        "! namespace/shop is being deleted, and cannot be emptied: metrics.k8s.io/v1beta1: stale\n"
    ));
}

/// Rule: a change that the controller has not seen for long means that it does not run.
#[test]
fn a_controller_that_does_not_run_is_named() {
    let web = |seconds| {
        json!({"metadata": {"name": "web", "namespace": "shop", "generation": 2,
            "creationTimestamp": ago(seconds)}, "status": {"observedGeneration": 1}})
    };
    let cause = "deployment.apps/web has a change that its controller has not seen\n";
    for (seconds, sign) in [(10, '~'), (60, '!')] {
        let said = found(&Deployment::RESOURCE, &web(seconds), &[]);
        assert_eq!(said, format!("{sign} {cause}"));
    }
}

fn finding(name: &str, depth: usize, severity: Severity, cause: &str) -> Finding {
    let subject = Subject::new(&Pod::RESOURCE, "shop", name);
    let (since, waiting_for, next) = (None, None, None);
    Finding {
        subject,
        depth,
        severity,
        cause: cause.to_owned(),
        since,
        waiting_for,
        next,
        others: 0,
    }
}

/// Rule: the cause is the worst finding, and of those the one furthest along the chain, the first.
#[test]
fn the_cause_is_the_worst_and_the_furthest() {
    let subject = || Subject::new(&Pod::RESOURCE, "shop", "a");
    let rows = [
        (vec![], State::Settled, "pod/a is settled: nothing waits for anything."),
        (
            vec![finding("a", 0, Severity::Note, "is well")],
            State::Settled,
            "pod/a is settled: it is well.",
        ),
        (
            vec![
                finding("a", 0, Severity::Waiting, "waits"),
                finding("b", 1, Severity::Stuck, "is broken"),
                finding("c", 2, Severity::Stuck, "is torn."),
                finding("d", 2, Severity::Stuck, "is worn"),
                finding("e", 3, Severity::Waiting, "waits, too"),
            ],
            State::Stuck,
            "pod/a is stuck: pod/c is torn.",
        ),
        (
            vec![finding("a", 0, Severity::Waiting, "waits")],
            State::InProgress,
            "pod/a is in progress: it waits.",
        ),
    ];
    for (findings, state, cause) in rows {
        let report = Report::new(subject(), NOW, findings);
        assert_eq!((report.state, report.cause.as_str()), (state, cause));
    }
}

#[test]
fn reports_are_written_for_people() {
    let mut stuck = finding("a", 0, Severity::Stuck, "is torn");
    stuck.since = Some(NOW - Duration::from_secs(130));
    stuck.waiting_for = Some("thread".to_owned());
    let subject = Subject::new(&Pod::RESOURCE, "shop", "a");
    let mut report = Report::new(subject, NOW, vec![stuck]);
    let need = listed(&Node::RESOURCE, &[]).0;
    report.unseen = vec![need.unseen(true, "no".to_owned()), need.unseen(false, "late".to_owned())];
    assert_eq!(
        write(&report, Style::default()),
        "pod/a is stuck: it is torn.\n\npod/a\n  ! is torn (for 2m)\n    waits for: thread\n\n\
         Not seen, since RBAC does not allow it:\n  list nodes\n\n\
         Not seen, since reading it failed:\n  list nodes: late\n"
    );
    let coloured = write(&report, Style { colours: true });
    assert!(coloured.starts_with("\u{1b}[31mpod/a is stuck: it is torn.\u{1b}[0m\n"));
}

#[test]
fn plans_are_sentences_about_a_controller() {
    let subject = Subject::new(&Deployment::RESOURCE, "shop", "web");
    let mut report = Report::new(subject.clone(), NOW, Vec::new());
    let plan = ["why: it is time", "in order: create pod a", "again in 585.97s", "error: no"];
    report.decisions = vec![Decision {
        controller: "deployment-controller",
        subject,
        summary: vec![Line { name: "wanted".to_owned(), value: "2".to_owned() }],
        live_reads: vec!["pods: 2 found".to_owned()],
        plan: plan.map(str::to_owned).to_vec(),
        error: None,
    }];
    let text = write(&report, Style::default());
    let (_, said) = text.split_once("decided here and now:\n").unwrap();
    assert_eq!(
        said,
        "  wanted: 2\n  read: pods: 2 found\n  decides: it is time\n  would do: in order: create \
         pod a\n  looks again in 585s\n  fails: no\n"
    );
}

/// kubectl's ages, in short.
#[test]
fn ages_are_short() {
    let rows = [(0, "0s"), (119, "119s"), (120, "2m"), (7200, "2h"), (172_800, "2d")];
    for (seconds, expected) in rows {
        assert_eq!(age(Duration::from_secs(seconds)), expected);
    }
}

/// kubectl's names: plural, singular, short, kind, with group and version; the core group first.
#[test]
fn kinds_have_many_names() {
    let resource = |plural: &str, singular: &str, kind: &str, short: &[&str]| {
        json!({"resource": plural, "singularResource": singular, "scope": "Namespaced",
            "responseKind": {"kind": kind}, "shortNames": short})
    };
    let group =
        |name: &str, versions: Value| json!({"metadata": {"name": name}, "versions": versions});
    let events = || resource("events", "event", "Event", &["ev"]);
    let core = json!({"items": [group("", json!([{"version": "v1", "resources": [events()]}]))]});
    let deployments = || resource("deployments", "deployment", "Deployment", &["deploy"]);
    let others = json!({"items": [
        group("apps", json!([{"version": "v1", "resources": [deployments()]},
            {"version": "v1beta1", "resources": [deployments()]}])),
        group("events.k8s.io", json!([{"version": "v1", "resources": [events()]}])),
    ]});
    let names = Names::read(&[core, others]);
    for (word, expected) in [
        ("deploy", "apps/v1 deployments"),
        ("deployments.apps", "apps/v1 deployments"),
        ("Deployment.v1.apps", "apps/v1 deployments"),
        ("deployment.v2.apps", ""),
        ("ev", "v1 events"),
        ("event.events.k8s.io", "events.k8s.io/v1 events"),
        ("wheel", ""),
    ] {
        let found = names.find(word).map(|it| format!("{} {}", it.api_version(), it.plural));
        assert_eq!(found.unwrap_or_default(), expected, "{word}");
    }
}
