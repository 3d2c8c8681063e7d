//! What CustomResourceDefinitions add, held against the tests of apiextensions.

use api::Key;
use serde_json::{Value, json};
use strategies::Environment;

use super::*;

const TABLE: &str = "customresourcedefinitions.apiextensions.k8s.io";

fn definition(plural: &str, kind: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.org")},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "shortNames": ["wd"], "categories": ["all"]},
            "versions": [
                {
                    "name": "v1beta1", "served": true, "storage": false,
                    "subresources": {"status": {}, "scale": {
                        "specReplicasPath": ".spec.replicas",
                        "statusReplicasPath": ".status.replicas",
                        "labelSelectorPath": ".status.selector",
                    }},
                    "additionalPrinterColumns": [
                        {"name": "Ready", "type": "string",
                         "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"},
                        {"name": "Owner", "type": "string", "priority": 1,
                         "jsonPath": ".metadata.annotations.example\\.org/owner"},
                        {"name": "First", "type": "integer", "jsonPath": ".spec.sizes[0]"},
                        {"name": "Seen", "type": "date", "jsonPath": ".status.seen"},
                        {"name": "Spec", "type": "string", "jsonPath": ".spec.sizes"},
                        {"name": "Last", "type": "number", "jsonPath": ".spec['sizes'][-1]"},
                    ],
                },
                {"name": "v1", "served": true, "storage": true},
                {"name": "v2", "served": false, "storage": false},
            ],
        },
    })
}

fn write(state: &mut State, mut definition: Value) -> Value {
    complete_definition(state, &mut definition);
    let key = Key::new("", definition["metadata"]["name"].as_str().unwrap());
    state.store.put(&TABLE.into(), &key, definition.clone());
    definitions_changed(state);
    definition
}

fn condition<'a>(definition: &'a Value, kind: &str) -> &'a Value {
    let conditions = definition["status"]["conditions"].as_array().unwrap();
    conditions.iter().find(|it| it["type"] == kind).unwrap()
}

/// TestSync of apiextensions' naming_controller_test.go, and defaults_test.go.
#[test]
fn a_definition_is_established_at_once() {
    within(|| {
        let mut state = state();
        let it = write(&mut state, definition("widgets", "Widget"));
        let names = json!({"plural": "widgets", "singular": "widget", "kind": "Widget",
            "listKind": "WidgetList", "shortNames": ["wd"], "categories": ["all"]});
        assert_eq!(it["status"]["acceptedNames"], names);
        assert_eq!(it["spec"]["conversion"], json!({"strategy": "None"}));
        assert_eq!(it["status"]["storedVersions"], json!(["v1"]));
        let accepted = json!({"type": "NamesAccepted", "status": "True", "reason": "NoConflicts",
            "message": "no conflicts found", "lastTransitionTime": NOW});
        assert_eq!(*condition(&it, "NamesAccepted"), accepted);
        assert_eq!(condition(&it, "Established")["reason"], "InitialNamesAccepted");
        // Times are those of the first change.
        let later = api::Time::parse("2025-01-01T00:00:00Z").unwrap();
        state.runtime = Runtime::simulated(later, 1);
        let again = write(&mut state, it.clone());
        assert_eq!(again, it);
        let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let answer = page(&state, &request("/apis", aggregated)).unwrap();
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        let last = answer["items"].as_array().unwrap().last().unwrap();
        let kind = json!({"group": "example.org", "version": "v1", "kind": "Widget"});
        assert_eq!(last["versions"][0]["resources"][0]["responseKind"], kind);
        // The versions that are served are there, the better one first.
        let group = json(&state, "/apis/example.org");
        assert_eq!(group["preferredVersion"]["version"], "v1");
        assert_eq!(group["versions"].as_array().unwrap().len(), 2);
        let list = json(&state, "/apis/example.org/v1beta1");
        let listed: Vec<_> = list["resources"].as_array().unwrap().iter().collect();
        let listed: Vec<_> = listed.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(listed, ["widgets", "widgets/status", "widgets/scale"]);
        let last = json(&state, "/apis");
        assert_eq!(last["groups"].as_array().unwrap().last().unwrap()["name"], "example.org");
        let document = json(&state, "/openapi/v3/apis/example.org/v1");
        assert!(document.pointer("/components/schemas/org.example.v1.Widget").is_some());
    });
}

/// "simple conflict", "conflict on kind and short name" of naming_controller_test.go.
#[test]
fn names_are_given_once() {
    within(|| {
        let mut state = state();
        write(&mut state, definition("widgets", "Widget"));
        let mut other = definition("gadgets", "Widget");
        other["spec"]["names"]["singular"] = "gadget".into();
        let it = write(&mut state, other);
        let accepted = condition(&it, "NamesAccepted");
        assert_eq!(accepted["status"], "False");
        assert_eq!(accepted["reason"], "ListKindConflict");
        assert_eq!(accepted["message"], "\"WidgetList\" is already in use");
        assert_eq!(condition(&it, "Established")["reason"], "NotAccepted");
        let names = &it["status"]["acceptedNames"];
        assert_eq!(names["plural"], "gadgets");
        assert_eq!(names.get("kind"), None);
        assert!(state.registry.get("example.org", "v1", "gadgets").is_none());
        let mut short = definition("gadgets", "Gadget");
        short["metadata"]["name"] = "x.example.org".into();
        let it = write(&mut state, short);
        assert_eq!(condition(&it, "NamesAccepted")["reason"], "ShortNamesConflict");
        // requeueAllOtherGroupCRDs: the names of a definition that is being deleted are free again.
        state.store.remove(TABLE, &Key::new("", "widgets.example.org"));
        state.store.remove(TABLE, &Key::new("", "x.example.org"));
        definitions_changed(&mut state);
        let served = state.registry.get("example.org", "v1", "gadgets").unwrap();
        assert_eq!(served.resource.kind, "Widget");
    });
}

/// TestSelectableFields of apiextensions' test/integration: a version lists the fields that its
/// objects can be selected by; a field that is not there, or is no scalar, is empty.
#[test]
fn objects_are_selected_by_the_fields_of_the_definition() {
    within(|| {
        let mut state = state();
        let mut it = definition("widgets", "Widget");
        let paths = [".spec.colour", ".spec.size", ".spec.parts"];
        it["spec"]["versions"][1]["selectableFields"] =
            paths.into_iter().map(|path| json!({ "jsonPath": path })).collect();
        write(&mut state, it);
        let served = state.registry.get("example.org", "v1", "widgets").unwrap();
        let object = json!({"spec": {"colour": "red", "size": 3, "parts": ["red"]}});
        for (selector, expected) in [
            ("spec.colour=red", true),
            ("spec.colour!=red", false),
            ("spec.colour=red,spec.size=3", true),
            ("spec.size=", false),
            ("spec.parts=", true),
        ] {
            let fields = crate::request::Fields::parse(selector, served).unwrap();
            assert_eq!(fields.match_object(&object, served), expected, "{selector}");
        }
        let fields = crate::request::Fields::parse("spec.weight=1", served);
        assert!(fields.unwrap_err().message.contains("field label not supported: spec.weight"));
        let other = state.registry.get("example.org", "v1beta1", "widgets").unwrap();
        assert!(crate::request::Fields::parse("spec.colour=red", other).is_err());
    });
}

/// TestConvertToTable of apiextensions' tableconvertor_test.go.
#[test]
fn columns_are_those_of_the_definition() {
    within(|| {
        let mut state = state();
        write(&mut state, definition("widgets", "Widget"));
        let served = state.registry.get("example.org", "v1beta1", "widgets").unwrap();
        let scale = served.scale.as_ref().unwrap();
        assert_eq!((&*scale.wanted, &*scale.present), ("/spec/replicas", "/status/replicas"));
        let object = json!({
            "metadata": {"name": "a", "annotations": {"example.org/owner": "jane"}},
            "spec": {"sizes": [3.7, 1.5]},
            "status": {"seen": "2024-03-01T11:00:00Z", "selector": "a=b", "conditions": [
                {"type": "Other", "status": "False"}, {"type": "Ready", "status": "True"},
            ]},
        });
        let now = api::Time::parse(NOW).unwrap();
        let row = served.strategy.row(&object, now);
        assert_eq!(
            row,
            [
                json!("a"),
                json!("True"),
                json!("jane"),
                json!(3),
                json!("60m"),
                json!("[3.7,1.5]"),
                json!(1.5)
            ]
        );
        assert_eq!(served.strategy.scale_selector(&object).as_deref(), Some("a=b"));
        let names: Vec<_> = served.strategy.columns().iter().map(|it| it.name).collect();
        assert_eq!(names, ["Name", "Ready", "Owner", "First", "Seen", "Spec", "Last"]);
        assert!(served.strategy.columns()[2].wide);
        let row = served.strategy.row(&json!({"metadata": {"name": "b"}}), now);
        assert!(row[1..].iter().all(Value::is_null));
        let plain = state.registry.get("example.org", "v1", "widgets").unwrap();
        let names: Vec<_> = plain.strategy.columns().iter().map(|it| it.name).collect();
        assert_eq!(names, ["Name", "Age"]);
    });
}

/// PrepareForCreate and PrepareForUpdate of registry/customresource.
#[test]
fn status_and_generation_are_looked_after() {
    within(|| {
        let mut state = state();
        write(&mut state, definition("widgets", "Widget"));
        let env = Environment { now: api::Time::parse(NOW).unwrap(), random: &|| 0 };
        let apart = state.registry.get("example.org", "v1beta1", "widgets").unwrap();
        let whole = state.registry.get("example.org", "v1", "widgets").unwrap();
        let new = json!({"metadata": {"name": "a"}, "spec": 1, "status": 2});
        let mut created = new.clone();
        apart.strategy.prepare_create(&mut created, &env);
        assert_eq!(created, json!({"metadata": {"name": "a", "generation": 1}, "spec": 1}));
        let mut with_status = new.clone();
        whole.strategy.prepare_create(&mut with_status, &env);
        assert_eq!(with_status["status"], 2);
        let generation = |mut new: Value, old: &Value, served: &crate::registry::Served| {
            served.strategy.prepare_update(&mut new, old, &env);
            new["metadata"]["generation"].as_i64().unwrap()
        };
        assert_eq!(generation(new.clone(), &created, apart), 1);
        assert_eq!(generation(new.clone(), &created, whole), 2);
        let changed = json!({"metadata": {"name": "a"}, "spec": 3});
        assert_eq!(generation(changed.clone(), &created, apart), 2);
        assert_eq!(generation(json!({"metadata": {}}), &created, apart), 2);
        let mut status = json!({
            "metadata": {"labels": {"a": "b"}, "managedFields": [1]}, "spec": 9, "status": 7,
        });
        apart.strategy.prepare_status(&mut status, &created, &env);
        let kept = json!({
            "metadata": {"name": "a", "generation": 1, "managedFields": [1]},
            "spec": 1, "status": 7,
        });
        assert_eq!(status, kept);
    });
}

/// crd_finalizer.go of apiextensions.
#[test]
fn a_definition_takes_its_objects_with_it() {
    within(|| {
        let mut state = state();
        let mut it = write(&mut state, definition("widgets", "Widget"));
        let table = "widgets.example.org".into();
        let object = |name: &str| json!({"metadata": {"name": name, "namespace": "x"}});
        let mut held = object("held");
        held["metadata"]["finalizers"] = json!(["a/b"]);
        state.store.put(&table, &Key::new("x", "free"), object("free"));
        state.store.put(&table, &Key::new("x", "held"), held);
        begin_deletion(&state, &mut it);
        assert_eq!(it["metadata"]["deletionTimestamp"], NOW);
        assert_eq!(condition(&it, "Terminating")["reason"], "InstanceDeletionPending");
        let key = Key::new("", "widgets.example.org");
        state.store.put(&TABLE.into(), &key, it);
        definitions_changed(&mut state);
        assert!(state.store.get(&table, &Key::new("x", "free")).is_none());
        let held = state.store.get(&table, &Key::new("x", "held")).unwrap().object.as_ref().clone();
        assert_eq!(held["metadata"]["deletionTimestamp"], NOW);
        let waiting = state.store.get(TABLE, &key).unwrap().object.as_ref().clone();
        assert_eq!(condition(&waiting, "Terminating")["reason"], "InstanceDeletionInProgress");
        let served = state.registry.get("example.org", "v1", "widgets").unwrap();
        assert!(!served.verbs.contains(&"create"));
        let revision = state.store.revision();
        definitions_changed(&mut state);
        assert_eq!(state.store.revision(), revision);
        state.store.remove(&table, &Key::new("x", "held"));
        definitions_changed(&mut state);
        assert!(state.store.get(TABLE, &key).is_none());
        assert!(state.registry.get("example.org", "v1", "widgets").is_none());
        assert_eq!(page(&state, &request("/apis/example.org", "*/*")).unwrap_err().code, 404);
    });
}

#[test]
fn paths_are_read_or_refused() {
    let object = json!({"a": {"b.c": [{"k": 1, "v": "x"}, {"k": 2, "v": "y"}]}});
    for (path, expected) in [
        (".a.b\\.c[1].v", json!("y")),
        ("$.a['b.c'][*].v", json!("x")),
        (".a['b.c'][?(@.k==2)].v", json!("y")),
        (".a[\"b.c\"][-2].k", json!(1)),
        (".a['b.c'][5].k", Value::Null),
        (".a['b.c'].x", Value::Null),
        (".a['b.c'][?(@.k>1)].v", Value::Null),
        ("a", Value::Null),
        (".a[", Value::Null),
    ] {
        let path_read = crate::surface::jsonpath::JsonPath::parse(path);
        let found = path_read.as_ref().and_then(|it| it.first(&object)).cloned();
        assert_eq!(found.unwrap_or_default(), expected, "{path}");
    }
}
