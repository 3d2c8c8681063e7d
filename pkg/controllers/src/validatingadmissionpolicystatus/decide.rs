//! What is said of a policy. As `reconcile` in upstream's
//! `pkg/controller/validatingadmissionpolicystatus/controller.go`.

use std::fmt::Write as _;

use api::{Kind, Meta, PolicyExpressions, ValidatingAdmissionPolicy};
use controller::{Facts, ObjectRef, PatchKind, Plan, Query, Step, Write};
use mutant::Mutant;
use serde_json::{Value, json};

use super::checks::{self, Checked, Schemas, Unchecked};
use super::kinds::{self, Named};
use super::snapshot::Snapshot;

/// Owns what is applied; upstream's name.
const FIELD_MANAGER: &str = "validatingadmissionpolicy-status";
/// How many kinds that were left out are named.
const NAMED_MAX: usize = 5;

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> Plan {
    let policy = &s.policy;
    if let Some(error) = &policy.unreadable {
        return Plan::failed("the policy cannot be read", error.to_string());
    }
    let generation = policy.meta.generation;
    if was_seen(generation, policy.observed_generation) {
        return Plan::rest(format!("generation {generation} was looked at"));
    }
    if !s.has_something_to_check() {
        let why = format!("generation {generation} is new, and has nothing to check");
        return apply(why, &policy.meta, Some(&[]));
    }
    let itself = Query::view::<PolicyExpressions>(policy.meta.key.clone());
    let (Some(live), Some(served)) = (facts.get(&itself), facts.get(&Query::Served)) else {
        let why = format!("generation {generation} is new: what does it say, and what is served?");
        return Plan::fetch(why, vec![itself, Query::Served]);
    };
    let live = match live.view::<PolicyExpressions>() {
        Err(refused) => return Plan::failed("the policy could not be read", &*refused.text),
        Ok(None) => return Plan::rest("the policy was deleted"),
        Ok(Some(live)) => live,
    };
    let is_other = live.meta.uid != policy.meta.uid;
    if is_other || was_seen(live.meta.generation, live.observed_generation) {
        return Plan::rest("the cache is stale: there is another policy, or it was looked at");
    }
    if let Some(error) = &live.unreadable {
        return Plan::failed("the policy cannot be read", error.to_string());
    }
    match served.served() {
        Err(refused) => Plan::failed("what is served could not be read", &*refused.text),
        Ok(served) => match kinds::named(live, served) {
            Some(named) => match named.failing.iter().find(|place| kinds::is_built_in(place)) {
                // The API server's own group, so that will not last.
                Some(place) => Plan::failed("discovery fails", place.clone()),
                None => check(live, &named, facts),
            },
            None => unchecked(live, "it names too many resources"),
        },
    }
}

fn was_seen(generation: i64, observed: i64) -> bool {
    generation <= observed && !mutant::is(Mutant::GenerationSeenAgain)
}

/// What is said of a policy over these kinds, once their documents are read.
fn check(policy: &PolicyExpressions, named: &Named, facts: &Facts) -> Plan {
    let Named { kinds, failing } = named;
    // Parameters matter where there is something to check.
    let params = if kinds.is_empty() { None } else { kinds::of_params(policy) };
    let documents = kinds::documents(kinds.iter().chain(&params));
    let missing: Vec<_> =
        documents.values().filter(|query| facts.get(query).is_none()).cloned().collect();
    if !missing.is_empty() {
        return Plan::fetch("which fields do its kinds have?", missing);
    }
    let generation = policy.meta.generation;
    match checks::check(policy, kinds, params.as_ref(), Schemas::new(&documents, facts)) {
        Ok(_) if mutant::is(Mutant::AnythingIsChecked) => {
            apply(format!("generation {generation} counts as checked"), &policy.meta, Some(&[]))
        }
        Ok(Checked { warnings, left_out }) => {
            let failing = failing.iter().map(|place| format!("{place}: discovery fails"));
            let left_out: Vec<_> = failing.chain(left_out).collect();
            let mut why =
                format!("generation {generation} is new, with {} warnings", warnings.len());
            for (place, what) in left_out.iter().take(NAMED_MAX).enumerate() {
                let how = if place == 0 { "; without " } else { ", " };
                write!(why, "{how}{what}").ok();
            }
            if left_out.len() > NAMED_MAX {
                write!(why, " and {} more", left_out.len() - NAMED_MAX).ok();
            }
            let warnings: Vec<_> = warnings
                .into_iter()
                .map(|it| json!({"fieldRef": it.field, "warning": it.text}))
                .collect();
            apply(why, &policy.meta, Some(&warnings))
        }
        Err(Unchecked::Unknown(why)) => unchecked(policy, &why),
        Err(Unchecked::Unread(error)) => {
            Plan::failed("an OpenAPI document could not be read", error)
        }
    }
}

fn unchecked(policy: &PolicyExpressions, why: &str) -> Plan {
    let generation = policy.meta.generation;
    let why = format!("generation {generation} is new; its expressions are not checked: {why}");
    apply(why, &policy.meta, None)
}

/// The generation, and what its expressions are warned of, if they were checked. All other fields
/// stay with their managers.
fn apply(why: String, policy: &Meta, warnings: Option<&[Value]>) -> Plan {
    let resource = &ValidatingAdmissionPolicy::RESOURCE;
    let mut body = json!({
        "apiVersion": resource.api_version(),
        "kind": resource.kind,
        "metadata": { "name": &*policy.key.name, "uid": &*policy.uid },
        "status": { "observedGeneration": policy.generation },
    });
    if let Some(warnings) = warnings {
        body["status"]["typeChecking"] = match warnings {
            [] => json!({}),
            warnings => json!({ "expressionWarnings": warnings }),
        };
    }
    let kind = PatchKind::Apply { field_manager: FIELD_MANAGER, force: true };
    let write = Write::patch(ObjectRef::new(resource, policy), kind, body.to_string());
    Plan::one(why, Step::InOrder(vec![write.at("status").into()]))
}
