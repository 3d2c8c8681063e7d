//! One rule each, with the types of the API.

use serde_json::{Value, json};

use crate::apply::{Applier, ApplyError, Conflict, apply, keep_times, updated};
use crate::{Schema, TypeId};

const FIRST: &str = "2000-01-01T00:00:00Z";
const SECOND: &str = "2000-01-02T00:00:00Z";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn by<'a>(manager: &'a str, now: &'a str) -> Applier<'a> {
    Applier { manager, force: false, subresource: "", api_version: "apps/v1", now }
}

fn id(group: &str, kind: &str) -> TypeId {
    Schema::builtin().kind(group, "v1", kind).unwrap()
}

fn deployment(spec: &Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"}, "spec": spec,
    })
}

fn applied(live: &Value, object: Value, by: &Applier<'_>) -> Result<Value, ApplyError> {
    apply(Schema::builtin(), id("apps", "Deployment"), live, object, by)
}

fn update(live: &Value, mut new: Value, by: &Applier<'_>) -> Value {
    updated(Schema::builtin(), id("apps", "Deployment"), live, &mut new, by);
    new
}

fn entries(object: &Value) -> Vec<Value> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    entries.cloned().unwrap_or_default()
}

/// `name operation time`, in the order that the object has.
fn managers(object: &Value) -> Vec<String> {
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or("-").to_owned();
    let words = |entry: &Value| {
        let fields = ["manager", "operation", "time", "subresource"];
        fields.map(|field| text(entry, field)).join(" ").trim_end_matches(" -").to_owned()
    };
    entries(object).iter().map(words).collect()
}

/// What an object that was created by applying it says of its manager.
#[test]
fn an_entry() {
    let spec = |item: Value| json!({"template": {"spec": {"containers": [item]}}});
    let nulls = deployment(&spec(json!({"name": "a", "image": null})));
    let created = applied(&json!(null), nulls, &by("", FIRST)).unwrap();
    assert_eq!(created["spec"], spec(json!({"name": "a"})));
    let object = deployment(&json!({"replicas": 3}));
    let created = applied(&json!(null), object.clone(), &by("", FIRST)).unwrap();
    assert_eq!(
        entries(&created),
        [json!({
            "manager": "unknown", "operation": "Apply", "apiVersion": "apps/v1", "time": FIRST,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}},
        })]
    );
    let mut rest = created;
    rest["metadata"].as_object_mut().unwrap().remove("managedFields");
    assert_eq!(rest, object);
}

/// The texts of conflicts: managedfields/internal/conflict_test.go.
#[test]
fn conflicts() {
    let mut live = deployment(&json!({"replicas": 3, "template": {"spec": {"containers": [
        {"name": "web", "image": "a"},
    ]}}}));
    let entry = |name: &str, operation: &str, subresource: &str, fields: Value| {
        json!({
            "manager": name, "operation": operation, "apiVersion": "apps/v1", "time": FIRST,
            "subresource": subresource, "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": fields},
        })
    };
    let replicas = json!({"f:replicas": {}});
    live["metadata"]["managedFields"] =
        json!([entry("kubectl-client-side-apply", "Update", "", replicas.clone())]);
    let wants = deployment(&json!({"replicas": 4, "template": {"spec": {"containers": [
        {"name": "web", "image": "b"},
    ]}}}));
    let error = applied(&live, wants.clone(), &by("me", SECOND)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"kubectl-client-side-apply\" using apps/v1: \
         .spec.replicas"
    );
    let image = json!({"f:template": {"f:spec": {"f:containers": {
        "k:{\"name\":\"web\"}": {".": {}, "f:image": {}},
    }}}});
    live["metadata"]["managedFields"] = json!([
        entry("b", "Update", "scale", replicas.clone()),
        entry("a", "Apply", "", replicas),
        entry("a", "Update", "", image),
    ]);
    let error = applied(&live, wants.clone(), &by("me", SECOND)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 3 conflicts: conflicts with \"a\":\n- .spec.replicas\n\
         conflicts with \"a\" using apps/v1:\n\
         - .spec.template.spec.containers[name=\"web\"].image\n\
         conflicts with \"b\" with subresource \"scale\" using apps/v1:\n- .spec.replicas"
    );
    let ApplyError::Conflicts(all) = error else { panic!("{error}") };
    assert_eq!(
        all[1],
        Conflict {
            message: "conflict with \"a\" using apps/v1".to_owned(),
            field: ".spec.template.spec.containers[name=\"web\"].image".to_owned(),
        }
    );
    let forced = applied(&live, wants, &Applier { force: true, ..by("me", SECOND) }).unwrap();
    assert_eq!(forced["spec"]["replicas"], 4);
    // A manager without fields is removed; the item as such was never contested.
    assert_eq!(managers(&forced), [format!("me Apply {SECOND}"), format!("a Update {FIRST}")]);
}

/// What was there before the first apply: skipnonapplied.go.
#[test]
fn before_the_first_apply() {
    let mut live = deployment(&json!({"replicas": 3, "strategy": {"type": "Recreate"}}));
    live["status"] = json!({"replicas": 3});
    let object = applied(&live, deployment(&json!({"paused": true})), &by("me", SECOND)).unwrap();
    assert_eq!(
        managers(&object),
        [format!("me Apply {SECOND}"), format!("before-first-apply Update {SECOND}")]
    );
    assert_eq!(
        entries(&object)[1]["fieldsV1"],
        json!({"f:spec": {"f:replicas": {}, "f:strategy": {"f:type": {}}}})
    );
    let error = applied(&live, deployment(&json!({"replicas": 1})), &by("me", SECOND)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Apply failed with 1 conflict: conflict with \"before-first-apply\" using apps/v1: \
         .spec.replicas"
    );
    // A manager that owns something already owns that alone.
    let other = deployment(&json!({"replicas": 3, "minReadySeconds": null}));
    let object = applied(&object, other, &by("you", SECOND)).unwrap();
    assert_eq!(object["spec"].get("minReadySeconds"), None, "a null is owned, and not kept");
    assert_eq!(managers(&object).len(), 3);
}

/// The time is that of the last change: managedfieldsupdater_test.go.
#[test]
fn times() {
    let wants = || deployment(&json!({"replicas": 3}));
    let one = applied(&json!(null), wants(), &by("me", FIRST)).unwrap();
    let again = applied(&one, wants(), &by("me", SECOND)).unwrap();
    assert_eq!(again, one);
    // A manager that changes nothing has no time at all.
    let shared = applied(&one, wants(), &by("you", SECOND)).unwrap();
    assert_eq!(managers(&shared), ["you Apply".to_owned() + "", format!("me Apply {FIRST}")]);
    let more =
        applied(&one, deployment(&json!({"replicas": 3, "paused": true})), &by("me", SECOND));
    assert_eq!(managers(&more.unwrap()), [format!("me Apply {SECOND}")]);
    let mut new = one.clone();
    new["metadata"]["resourceVersion"] = json!("2");
    new["metadata"]["generation"] = json!(2);
    assert_eq!(update(&one, new.clone(), &by("you", SECOND)), new);
    new["spec"]["paused"] = json!(true);
    assert_eq!(
        managers(&update(&one, new, &by("you", SECOND))),
        [format!("me Apply {FIRST}"), format!("you Update {SECOND}")]
    );
}

/// A write of the same again is no change: equality_test.go.
#[test]
fn times_of_no_change() {
    let one = applied(&json!(null), deployment(&json!({"replicas": 3})), &by("me", FIRST)).unwrap();
    let mut new = one.clone();
    new["metadata"]["managedFields"][0]["time"] = json!(SECOND);
    let other = new.clone();
    new["metadata"]["resourceVersion"] = json!("2");
    keep_times(&one, &mut new);
    assert_eq!(new["metadata"]["managedFields"], one["metadata"]["managedFields"]);
    new = one.clone();
    for (pointer, value) in [
        ("/spec/replicas", json!(4)),
        ("/metadata/managedFields/0/manager", json!("you")),
        ("/metadata/managedFields/0/fieldsV1", json!({})),
    ] {
        let mut new = other.clone();
        *new.pointer_mut(pointer).unwrap() = value;
        let before = new.clone();
        keep_times(&one, &mut new);
        assert_eq!(new, before, "{pointer}");
    }
    keep_times(&json!(null), &mut new);
    assert_eq!(new, one);
}

/// `status` and the rest are apart: `GetResetFields`.
#[test]
fn subresources() {
    let status = |by: Applier<'static>| Applier { subresource: "status", ..by };
    let mut wants = deployment(&json!({"replicas": 3}));
    wants["status"] = json!({"replicas": 1});
    let one = applied(&json!(null), wants.clone(), &by("me", FIRST)).unwrap();
    assert_eq!(entries(&one)[0]["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    let both = applied(&one, wants.clone(), &status(by("me", SECOND))).unwrap();
    assert_eq!(managers(&both), ["me Apply - status".to_owned(), format!("me Apply {FIRST}")]);
    assert_eq!(entries(&both)[0]["fieldsV1"], json!({"f:status": {"f:replicas": {}}}));
    // A write to the one takes nothing of the other.
    wants["status"]["replicas"] = json!(2);
    wants["spec"]["replicas"] = json!(5);
    let mut new = both.clone();
    new["status"]["replicas"] = json!(2);
    new["spec"]["replicas"] = json!(5);
    new["metadata"]["managedFields"] = json!([]);
    let new = update(&both, new, &status(by("you", SECOND)));
    assert_eq!(
        managers(&new),
        [format!("me Apply {FIRST}"), format!("you Update {SECOND} status")],
        "an update of a subresource resets nothing"
    );
    assert_eq!(entries(&new)[1]["fieldsV1"], json!({"f:status": {"f:replicas": {}}}));
}

/// `[]` and `[{}]` reset: fieldmanager.go, `isResetManagedFields`.
#[test]
fn resets() {
    let one = applied(&json!(null), deployment(&json!({"replicas": 3})), &by("me", FIRST)).unwrap();
    for said in [json!([]), json!([{}])] {
        let mut new = one.clone();
        new["metadata"]["managedFields"] = said;
        assert!(entries(&update(&one, new, &by("you", SECOND))).is_empty());
    }
    for said in [json!(null), json!([{"manager": "x"}]), json!([{"manager": "x"}, {}])] {
        let mut new = one.clone();
        new["metadata"]["managedFields"] = said;
        assert_eq!(update(&one, new, &by("you", SECOND)), one);
    }
}

/// An object that was never applied has no managers; a client may set them.
#[test]
fn untracked_objects() {
    let mut new = deployment(&json!({"replicas": 3}));
    let plain = new.clone();
    new["metadata"]["managedFields"] = json!([{
        "manager": "x", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
    }]);
    assert_eq!(update(&plain, new.clone(), &by("you", SECOND)), plain);
    assert_eq!(update(&json!(null), plain.clone(), &by("you", SECOND)), plain);
    new["metadata"]["managedFields"][0]["operation"] = json!("Apply");
    assert_eq!(managers(&update(&plain, new.clone(), &by("you", SECOND))), ["x Apply"]);
    // Created, all of it is the updater's: it took the field from the manager in the object.
    let created = update(&json!(null), new, &by("you", SECOND));
    assert_eq!(managers(&created), [format!("you Update {SECOND}")]);
}

/// At most ten managers that update: capmanagers_test.go.
#[test]
fn many_updaters() {
    let mut live =
        applied(&json!(null), deployment(&json!({"replicas": 3})), &by("me", FIRST)).unwrap();
    for at in 0..12 {
        let mut new = live.clone();
        new["metadata"]["labels"][format!("l{at}")] = json!("x");
        let now = format!("2000-01-01T00:00:{:02}Z", at + 10);
        live = update(&live, new, &by(&format!("u{at:02}"), &now));
    }
    let all = managers(&live);
    assert_eq!(all.len(), 11);
    assert_eq!(all[1], "ancient-changes Update 2000-01-01T00:00:12Z");
    assert_eq!(all[2], "u03 Update 2000-01-01T00:00:13Z");
    let labels = json!({".": {}, "f:l0": {}, "f:l1": {}, "f:l2": {}});
    assert_eq!(entries(&live)[1]["fieldsV1"], json!({"f:metadata": {"f:labels": labels}}));
}

/// kubectl takes what it applied itself, and the annotation follows: lastapplied*_test.go.
#[test]
fn client_side_applies() {
    let last = deployment(&json!({"replicas": 3, "paused": true}));
    let mut live = deployment(&json!({"replicas": 3, "paused": false}));
    live["metadata"]["annotations"] = json!({ANNOTATION: last.to_string()});
    let object =
        applied(&live, deployment(&json!({"replicas": 4})), &by("kubectl", SECOND)).unwrap();
    assert_eq!(object["spec"]["replicas"], 4);
    let annotation = format!("{}\n", deployment(&json!({"replicas": 4})));
    assert_eq!(object["metadata"]["annotations"][ANNOTATION], annotation);
    let left = |manager: &str, spec: Value| {
        let error = applied(&live, deployment(&spec), &by(manager, SECOND)).unwrap_err();
        let ApplyError::Conflicts(all) = error else { panic!("{error}") };
        all.into_iter().map(|it| it.field).collect::<Vec<_>>()
    };
    let both = json!({"replicas": 4, "paused": true});
    // Too much for annotations: it goes.
    let mut large = deployment(&json!({}));
    large["metadata"]["annotations"] = json!({"a": "x".repeat(256 * 1024)});
    let object = applied(&live, large, &by("kubectl", SECOND)).unwrap();
    assert_eq!(object["metadata"]["annotations"].get(ANNOTATION), None);
    // Another manager changed it since.
    assert_eq!(left("kubectl", both.clone()), [".spec.paused"]);
    assert_eq!(left("me", both.clone()), [".spec.paused", ".spec.replicas"]);
    // Of another version, or of no type: nothing is allowed.
    for (field, value) in [("apiVersion", json!("apps/v1beta1")), ("bogus", json!(1))] {
        let mut last = last.clone();
        last[field] = value;
        let mut live = live.clone();
        live["metadata"]["annotations"][ANNOTATION] = last.to_string().into();
        let error = applied(&live, deployment(&both), &by("kubectl", SECOND)).unwrap_err();
        assert!(error.to_string().starts_with("Apply failed with 2 conflicts"), "{error}");
    }
}

/// What is refused, and how: fieldmanager_test.go, validate_test.go.
#[test]
fn refusals() {
    let refused = |object: Value| applied(&json!(null), object, &by("me", FIRST)).unwrap_err();
    let of_type = |spec: Value, why: &str| {
        let want = format!(
            "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): {why}"
        );
        assert_eq!(refused(deployment(&spec)), ApplyError::Failed(want));
    };
    of_type(json!({"replica": 1}), ".spec.replica: field not declared in schema");
    of_type(
        json!({"replicas": "1"}),
        ".spec.replicas: expected numeric (int or float), got string",
    );
    of_type(json!({"paused": 1}), ".spec.paused: expected boolean, got &{1}");
    of_type(json!({"template": []}), ".spec.template: expected map, got &{[]}");
    of_type(
        json!({"template": {"metadata": {"labels": {"a": {"b": 1}}}}}),
        ".spec.template.metadata.labels.a: expected string, got &value.valueUnstructured{Value:\
         map[string]interface {}{\"b\":1}}",
    );
    of_type(
        json!({"strategy": {"rollingUpdate": {"maxSurge": []}}}),
        ".spec.strategy.rollingUpdate.maxSurge: expected any scalar, got &{[]}",
    );
    of_type(
        json!({"template": {"spec": {"containers": [{"name": "a"}, {"name": "a", "image": 1}]}}}),
        "errors:\n  .spec.template.spec.containers: duplicate entries for key [name=\"a\"]\n  \
         .spec.template.spec.containers[name=\"a\"].image: expected string, got \
         &value.valueUnstructured{Value:1}",
    );
    of_type(
        json!({"template": {"spec": {"tolerations": [{"x": 1}], "containers": {"a": 1}}}}),
        "errors:\n  .spec.template.spec.containers: expected list, got &{map[a:1]}\n  \
         .spec.template.spec.tolerations[0].x: field not declared in schema",
    );
    let mut object = deployment(&json!({}));
    object["metadata"]["managedFields"] = json!([]);
    let nil = ApplyError::Malformed("metadata.managedFields must be nil".to_owned());
    assert_eq!(refused(object.clone()), nil);
    object["kind"] = json!("DaemonSet");
    let kind = "invalid object type: apps/v1, Kind=DaemonSet";
    assert_eq!(refused(object.clone()), ApplyError::Malformed(kind.to_owned()));
    object["kind"] = json!("Deployment");
    object["apiVersion"] = json!("v1");
    let kind = "invalid object type: /v1, Kind=Deployment";
    assert_eq!(refused(object.clone()), ApplyError::Malformed(kind.to_owned()));
    let mut live = deployment(&json!({}));
    for (entry, why) in [
        (json!({"operation": "Patch"}), "operation must be `Apply` or `Update`"),
        (json!({"operation": "Apply"}), "apiVersion must not be empty"),
        (
            json!({"operation": "Apply", "apiVersion": "v1"}),
            "missing fieldsType in managed fields entry 0",
        ),
        (
            json!({"operation": "Apply", "apiVersion": "v1", "fieldsType": "x"}),
            "invalid fieldsType \"x\" in managed fields entry 0",
        ),
    ] {
        live["metadata"]["managedFields"] = json!([entry]);
        let error = applied(&live, deployment(&json!({})), &by("me", FIRST)).unwrap_err();
        let want = format!("failed to decode managed fields: {why}");
        assert_eq!(error, ApplyError::Failed(want));
    }
}

/// Keys that are not said have the defaults of the schema: default_keys_test.go.
#[test]
fn default_keys() {
    let schema = Schema::builtin();
    let service = |ports: Value| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},
            "spec": {"ports": ports},
        })
    };
    let by = Applier { api_version: "v1", ..by("me", FIRST) };
    let id = id("", "Service");
    let one = apply(schema, id, &json!(null), service(json!([{"port": 80}])), &by).unwrap();
    assert_eq!(
        entries(&one)[0]["fieldsV1"],
        json!({"f:spec": {"f:ports": {
            "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}},
        }}})
    );
    let more = json!([{"port": 80, "protocol": "UDP"}, {"port": 80, "name": "x"}]);
    let two = apply(schema, id, &one, service(more.clone()), &by).unwrap();
    assert_eq!(two["spec"]["ports"], more);
    let twice = service(json!([{"port": 80}, {"port": 80, "protocol": "TCP"}]));
    let error = apply(schema, id, &json!(null), twice, &by).unwrap_err().to_string();
    let why = "duplicate entries for key [port=80,protocol=\"TCP\"]";
    assert!(error.ends_with(why), "{error}");
    // A key without a default of its own has that of its kind: 0 and "".
    let unnamed = service(json!([{"name": "x"}]));
    let one = apply(schema, id, &json!(null), unnamed, &by).unwrap();
    let ports = &entries(&one)[0]["fieldsV1"]["f:spec"]["f:ports"];
    assert!(ports.get("k:{\"port\":0,\"protocol\":\"TCP\"}").is_some(), "{ports}");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        "spec": {"imagePullSecrets": [{}]},
    });
    let one = apply(schema, self::id("", "Pod"), &json!(null), pod, &by).unwrap();
    assert_eq!(
        entries(&one)[0]["fieldsV1"],
        json!({"f:spec": {"f:imagePullSecrets": {"k:{\"name\":\"\"}": {}}}})
    );
}

/// What types do not say: anything is a whole, but for custom resources, whose maps have parts.
#[test]
fn what_no_type_says() {
    let schema = Schema::builtin();
    let object = |kind: &str, version: &str, rest: Value| {
        let mut object = json!({
            "apiVersion": version, "kind": kind,
            "metadata": {"name": "a", "finalizers": ["x"]},
        });
        object.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        object
    };
    let fields = |id: TypeId, object: Value| {
        let version = object["apiVersion"].as_str().unwrap().to_owned();
        let by = Applier { api_version: &version, ..by("me", FIRST) };
        let one = apply(schema, id, &json!(null), object, &by).unwrap();
        let mut fields = entries(&one)[0]["fieldsV1"].clone();
        assert_eq!(fields["f:metadata"].take(), json!({"f:finalizers": {"v:\"x\"": {}}}));
        fields.as_object_mut().unwrap().remove("f:metadata");
        fields
    };
    let rest = json!({"spec": {"a": {"b": 1}, "l": [{"name": "x"}], "e": {}, "n": null}});
    assert_eq!(
        fields(schema.custom(), object("Foo", "example.com/v1", rest)),
        json!({"f:spec": {
            ".": {}, "f:a": {".": {}, "f:b": {}}, "f:l": {}, "f:e": {}, "f:n": {},
        }})
    );
    let rest = json!({"data": {"a": {"b": 1}}, "revision": 1});
    let revision = id("apps", "ControllerRevision");
    assert_eq!(
        fields(revision, object("ControllerRevision", "apps/v1", rest)),
        json!({"f:data": {}, "f:revision": {}})
    );
    // A reference, which is a whole elsewhere.
    let rest = json!({"spec": {"claimRef": {"name": "a", "namespace": "b"}}});
    assert_eq!(
        fields(id("", "PersistentVolume"), object("PersistentVolume", "v1", rest)),
        json!({"f:spec": {"f:claimRef": {"f:name": {}, "f:namespace": {}}}})
    );
}

/// Maps, lists and single values in each other's place: deduced_test.go.
#[test]
fn other_kinds_of_values() {
    let schema = Schema::builtin();
    let by = |manager| Applier { api_version: "example.com/v1", ..by(manager, FIRST) };
    let object = |spec: Value| {
        json!({
            "apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": spec,
        })
    };
    let custom = schema.custom();
    let one = object(json!({"a": {"b": 1}, "l": [1], "s": 1, "m": {"x": 1}, "n": {"x": 1}}));
    let one = apply(schema, custom, &json!(null), one, &by("me")).unwrap();
    let mut new = one.clone();
    new["spec"] = json!({"a": 1, "l": {"x": 1}, "s": [1], "m": [1], "n": {"x": 1}});
    updated(schema, custom, &one, &mut new, &by("you"));
    let fields: Vec<_> = entries(&new).iter().map(|entry| entry["fieldsV1"].clone()).collect();
    assert_eq!(
        fields,
        [
            json!({"f:spec": {".": {}, "f:n": {".": {}, "f:x": {}}}}),
            json!({"f:spec": {"f:a": {}, "f:l": {".": {}, "f:x": {}}, "f:m": {}, "f:s": {}}}),
        ]
    );
    let wants = object(json!({"a": {"c": 1}, "l": 1}));
    let forced = Applier { force: true, ..by("me") };
    let object = apply(schema, custom, &new, wants, &forced).unwrap();
    assert_eq!(object["spec"], json!({"a": {"c": 1}, "l": 1, "s": [1], "m": [1]}));
}
