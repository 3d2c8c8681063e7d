//! Whether the ConfigMap is right. As `syncNamespace` in upstream's
//! `pkg/controller/certificates/rootcacertpublisher/publisher.go`.

use api::{Edit, Kind, RootCa};
use controller::{Action, ObjectRef, Plan, Step, Write};
use serde_json::{Value, json};

use super::snapshot::{CA_KEY, Snapshot, is_right};

/// Upstream's text.
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when \
                           using internal endpoints such as the internal service IP or \
                           kubernetes.default.svc. No other usage is guaranteed across \
                           distributions of Kubernetes clusters.";

pub(super) fn decide(s: &Snapshot, root_ca: &str) -> Plan {
    let Some(published) = &s.published else {
        if s.is_terminating() {
            return Plan::rest("the namespace is being deleted");
        }
        let create = Step::InOrder(vec![create(&s.namespace.meta.key.name, root_ca)]);
        return Plan::one("the authority is missing", create);
    };
    if let Some(error) = &published.unreadable {
        let error = format!("cannot read configmap {}: {error}", published.meta.key);
        return Plan::failed("the authority cannot be read", error);
    }
    if is_right(published, root_ca) {
        return Plan::rest("the authority is right");
    }
    Plan::one("the authority is wrong", Step::InOrder(vec![update(published, root_ca)]))
}

fn data(root_ca: &str) -> Value {
    json!({ CA_KEY: root_ca })
}

fn create(namespace: &str, root_ca: &str) -> Action {
    let resource = RootCa::RESOURCE;
    let annotations = json!({ RootCa::DESCRIPTION: DESCRIPTION });
    let body = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {
            "name": RootCa::NAME,
            "namespace": namespace,
            "annotations": annotations,
        },
        "data": data(root_ca),
    });
    let body = body.to_string();
    Write::create(resource, namespace.into(), body).into()
}

fn update(published: &RootCa, root_ca: &str) -> Action {
    let description = ["metadata", "annotations", RootCa::DESCRIPTION];
    let edits =
        vec![Edit::new(["data"], data(root_ca)), Edit::new(description, json!(DESCRIPTION))];
    let object = ObjectRef::new(&RootCa::RESOURCE, &published.meta);
    Write::update(object, published.raw.clone(), edits).into()
}
