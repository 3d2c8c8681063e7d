//! Whether the bundles are right. As `syncClusterTrustBundle` of upstream's
//! `pkg/controller/certificates/clustertrustbundlepublisher/publisher.go`.

use api::{Edit, Kind, ServingTrustBundle, Text};
use controller::{Action, ObjectRef, Plan, Step, Tolerated, Write};
use mutant::Mutant;
use serde_json::json;

use super::snapshot::Snapshot;

pub(super) fn decide(s: &Snapshot, name: &str, authority: &str) -> Plan {
    let first = match s.named(name) {
        None => Some(("the authority is missing", create(name, authority))),
        Some(bundle) if bundle.unreadable.is_some() || *bundle.trust_bundle == *authority => None,
        Some(bundle) => Some(("the authority is wrong", update(bundle, authority))),
    };
    let deletes: Vec<_> = s.others(name).map(delete).collect();
    let Some((why, write)) = first else {
        if deletes.is_empty() {
            return Plan::rest("the authority is right");
        }
        return Plan::one("the signer has other bundles", Step::Together(deletes));
    };
    let mut plan = Plan::one(why, Step::InOrder(vec![write]));
    if !deletes.is_empty() {
        let place = if mutant::is(Mutant::OldBundlesGoFirst) { 0 } else { plan.steps.len() };
        plan.steps.insert(place, Step::Together(deletes));
    }
    plan
}

fn create(name: &str, authority: &str) -> Action {
    let resource = ServingTrustBundle::RESOURCE;
    let body = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": {"signerName": ServingTrustBundle::SIGNER, "trustBundle": authority},
    });
    Write::create(resource, Text::default(), body.to_string()).into()
}

fn update(bundle: &ServingTrustBundle, authority: &str) -> Action {
    let edits = vec![Edit::new(["spec", "trustBundle"], json!(authority))];
    let object = ObjectRef::new(&ServingTrustBundle::RESOURCE, &bundle.meta);
    Write::update(object, bundle.raw.clone(), edits).into()
}

fn delete(bundle: &ServingTrustBundle) -> Action {
    let object = ObjectRef::new(&ServingTrustBundle::RESOURCE, &bundle.meta);
    Write::delete(object).tolerating(&[Tolerated::Missing]).into()
}
