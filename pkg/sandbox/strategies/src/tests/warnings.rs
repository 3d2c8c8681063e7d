//! What clients are warned of: WarningsOnCreate and WarningsOnUpdate of the strategies.

use serde_json::{Value, json};

use crate::fixture::{created, merged, updated};
use crate::{
    CronJob, DaemonSet, Deployment, Job, Pod, PodTemplate, ReplicaSet, ReplicationController,
    ResourceQuota, Service, ServiceAccount, StatefulSet, Strategy,
};

const NAME: &str = "metadata.name: this is used in Pod names and hostnames, which can result in \
                    surprising behavior; a DNS label is recommended: [must not contain dots]";
/// A negative grace, which every template may have.
const GRACE: &str = "terminationGracePeriodSeconds: must be >= 0; negative values are invalid and \
                     will be treated as 1";

/// A template that is warned of.
fn template() -> Value {
    let container = json!({ "name": "main", "image": "web:1" });
    let spec = json!({ "containers": [container], "terminationGracePeriodSeconds": -1 });
    json!({ "metadata": { "labels": { "app": "web" } }, "spec": spec })
}

fn named(name: &str, spec: &Value) -> Value {
    json!({ "metadata": { "name": name, "uid": "1" }, "spec": spec })
}

fn on_create(kind: &dyn Strategy, object: &Value) -> Vec<String> {
    kind.warnings(&created(kind, object), None)
}

fn on_update(kind: &dyn Strategy, object: &Value, patch: &Value) -> Vec<String> {
    let old = created(kind, object);
    kind.warnings(&updated(kind, &merged(&old, patch), &old), Some(&old))
}

/// Names are warned of once; templates, if they are new or may have changed.
#[test]
fn workloads() {
    let plain = json!({ "selector": { "matchLabels": { "app": "web" } }, "template": template() });
    let of_labels = json!({ "selector": { "app": "web" }, "template": template() });
    let job = json!({ "template": template() });
    let cron = json!({ "schedule": "* * * * *", "jobTemplate": { "spec": job } });
    let replicas = json!({ "spec": { "replicas": 3, "parallelism": 3, "suspend": true } });
    let image = json!({ "spec": { "template": { "spec": { "dnsPolicy": "Default" } } } });
    let rows: [(&dyn Strategy, &Value, &str, bool, &Value); 8] = [
        (&Deployment, &plain, "spec.template", true, &replicas),
        (&ReplicaSet, &plain, "spec.template", true, &replicas),
        (&ReplicationController, &of_labels, "spec.template", true, &replicas),
        (&StatefulSet, &plain, "spec.template", false, &replicas),
        (&DaemonSet, &plain, "spec.template", false, &image),
        (&Job, &job, "spec.template", true, &replicas),
        (&CronJob, &cron, "spec.jobTemplate.spec.template", true, &replicas),
        (&DaemonSet, &plain, "spec.template", false, &image),
    ];
    for (row, (kind, spec, path, is_named, patch)) in rows.into_iter().enumerate() {
        let object = named("a.b", spec);
        let grace = format!("{path}.spec.{GRACE}");
        let names: &[&str] = if is_named { &[NAME] } else { &[] };
        let expected = [names, &[&grace]].concat();
        assert_eq!(on_create(kind, &object), expected, "row {row}");
        assert_eq!(on_update(kind, &object, patch), [grace], "row {row}");
        let labelled = json!({ "metadata": { "labels": { "a": "b" } } });
        assert!(on_update(kind, &object, &labelled).is_empty(), "row {row}");
    }
    let unbounded = merged(&named("a", &plain), &replicas);
    assert!(
        on_update(&DaemonSet, &unbounded, &json!({ "spec": { "minReadySeconds": 1 } })).is_empty()
    );
}

/// Upstream hands the templates of an update over in the wrong order.
#[test]
fn replication_controllers() {
    let spec = json!({ "selector": { "app": "web" }, "template": template() });
    let healed = json!({ "terminationGracePeriodSeconds": 1 });
    let patch = json!({ "spec": { "template": { "spec": healed } } });
    let warnings = on_update(&ReplicationController, &named("a", &spec), &patch);
    assert_eq!(warnings, [format!("spec.template.spec.{GRACE}")]);
}

#[test]
fn jobs_and_stateful_sets() {
    let many =
        json!({ "completionMode": "Indexed", "completions": 100_001, "parallelism": 10_001 });
    let cron = json!({ "schedule": "TZ=UTC 0 * * * *", "jobTemplate": { "spec": many } });
    let [many] = on_create(&CronJob, &named("a", &cron)).try_into().unwrap();
    assert!(many.starts_with("spec.jobTemplate.spec: In Indexed Jobs"));
    let labelled = json!({ "metadata": { "labels": { "a": "b" } } });
    let [zone] = on_update(&CronJob, &named("a", &cron), &labelled).try_into().unwrap();
    assert!(zone.starts_with("cannot use TZ or CRON_TZ in spec.spec.schedule"));
    let endless = named("a", &json!({ "revisionHistoryLimit": -1 }));
    assert_eq!(on_create(&StatefulSet, &endless).len(), 1);
    assert_eq!(on_update(&StatefulSet, &endless, &labelled).len(), 1);
}

#[test]
fn pod_templates_and_pods() {
    let object = json!({ "metadata": { "name": "a.b" }, "template": template() });
    let grace = format!("template.spec.{GRACE}");
    assert_eq!(on_create(&PodTemplate, &object), [grace.as_str()]);
    let changed = json!({ "template": { "metadata": { "labels": { "app": "b" } } } });
    assert_eq!(on_update(&PodTemplate, &object, &changed), [grace.as_str()]);
    assert!(on_update(&PodTemplate, &object, &json!({ "metadata": { "labels": {} } })).is_empty());
    let pod = named("a.b", &json!({ "containers": [{ "name": "main", "image": "web:1" }] }));
    assert_eq!(on_create(&Pod, &pod).len(), 1);
    assert!(Pod.warnings(&pod, Some(&pod)).is_empty());
}

#[test]
fn others() {
    let quota = named("a", &json!({ "hard": { "requests.cpu": "2", "limits.cpu": "1" } }));
    assert_eq!(on_create(&ResourceQuota, &quota).len(), 1);
    assert!(ResourceQuota.warnings(&quota, Some(&quota)).is_empty());
    let key = "kubernetes.io/enforce-mountable-secrets";
    let account = json!({ "metadata": { "annotations": { key: "true" } } });
    assert_eq!(ServiceAccount.warnings(&account, None).len(), 1);
    assert_eq!(ServiceAccount.warnings(&account, Some(&json!({ "metadata": {} }))).len(), 1);
    assert!(ServiceAccount.warnings(&account, Some(&account)).is_empty());
    let rows: [(Value, &[&str]); 5] = [
        (json!({ "type": "ClusterIP" }), &[]),
        (
            json!({ "type": "ClusterIP", "externalIPs": ["1.2.3.4"] }),
            &["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
        ),
        (
            json!({ "type": "ExternalName", "externalName": "a.b", "externalIPs": ["1.2.3.4"] }),
            &["spec.externalIPs is ignored when spec.type is \"ExternalName\""],
        ),
        (
            json!({ "type": "ClusterIP", "externalName": "a.b" }),
            &["spec.externalName is ignored when spec.type is not \"ExternalName\""],
        ),
        (
            json!({ "type": "ClusterIP", "trafficDistribution": "PreferClose" }),
            &["spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""],
        ),
    ];
    for (spec, expected) in rows {
        assert_eq!(Service.warnings(&named("a", &spec), None), expected, "{spec}");
    }
}
