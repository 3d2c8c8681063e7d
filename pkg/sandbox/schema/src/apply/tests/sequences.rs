//! Random sequences of applies and updates of Deployments, Services and ConfigMaps.

use serde_json::Value;

use crate::apply::{Applier, ApplyError, apply, managers, updated};
use crate::{Schema, TypeId};

const SEQUENCES: &str = include_str!("sequences.jsonl");

fn id(object: &Value) -> TypeId {
    let text = |field: &str| object[field].as_str().unwrap();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    Schema::builtin().kind(group, version, text("kind")).unwrap()
}

/// What a step gives: the object, or the error and its causes.
fn step(live: &Value, step: &Value) -> Result<Value, (String, Vec<String>)> {
    let mut object = step["Object"].clone();
    let version = object["apiVersion"].as_str().unwrap().to_owned();
    let text = |field: &str| step[field].as_str().unwrap();
    let by = Applier {
        manager: text("Manager"),
        force: step["Force"] == true,
        subresource: text("Subresource"),
        api_version: &version,
        now: text("Now"),
    };
    let (schema, id) = (Schema::builtin(), id(&object));
    if text("Op") == "update" {
        updated(schema, id, live, &mut object, &by);
        return Ok(object);
    }
    apply(schema, id, live, object, &by).map_err(|error| {
        let text = error.to_string();
        let ApplyError::Conflicts(conflicts) = error else { return (text, Vec::new()) };
        let mut causes: Vec<_> =
            conflicts.iter().map(|it| format!("{}: {}", it.message, it.field)).collect();
        causes.sort();
        (text, causes)
    })
}

fn wanted(step: &Value) -> Result<Value, (String, Vec<String>)> {
    let Some(error) = step["Error"].as_str() else { return Ok(step["Result"].clone()) };
    let causes = step["Causes"].as_array().into_iter().flatten();
    // Upstream has them in no order.
    let mut causes: Vec<_> = causes.map(|it| it.as_str().unwrap().to_owned()).collect();
    causes.sort();
    Err((error.to_owned(), causes))
}

#[test]
fn sequences() {
    for (at, case) in SEQUENCES.lines().enumerate() {
        let case: Value = serde_json::from_str(case).unwrap();
        let mut live = case["live"].clone();
        for (number, it) in case["steps"].as_array().unwrap().iter().enumerate() {
            let mut got = step(&live, it);
            if let Ok(object) = &mut got {
                object["metadata"]["uid"] = "1".into();
                // Upstream continues where no manager applies any more; the table does not.
                if !managers::are_tracked(object) {
                    managers::remove(object);
                }
            }
            assert_eq!(got, wanted(it), "line {} step {number}: {live}", at + 1);
            live = got.unwrap_or(live);
        }
    }
}
