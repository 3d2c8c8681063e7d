//! Whether the account must be made. As `syncNamespace` upstream.

use api::{Kind, NamespacePhase, ServiceAccount};
use controller::{Action, Plan, Step, Write};
use mutant::Mutant;
use serde_json::json;

use super::NAME;
use super::snapshot::Snapshot;

pub(super) fn decide(s: &Snapshot) -> Plan {
    match s.namespace.phase {
        NamespacePhase::Active if s.exists && !mutant::is(Mutant::AccountMadeAgain) => {
            Plan::rest("the service account is there")
        }
        NamespacePhase::Active => {
            let create = Step::InOrder(vec![create(&s.namespace.meta.key.name)]);
            Plan::one("the service account is missing", create)
        }
        NamespacePhase::Terminating | NamespacePhase::Unknown => {
            Plan::rest("the namespace is not active")
        }
    }
}

fn create(namespace: &str) -> Action {
    let resource = ServiceAccount::RESOURCE;
    let body = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": { "name": NAME, "namespace": namespace },
    });
    let body = body.to_string();
    Write::create(resource, namespace.into(), body).into()
}
