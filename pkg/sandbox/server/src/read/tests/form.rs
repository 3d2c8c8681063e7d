//! Tables and metadata.

use api::Resource;

use super::*;
use crate::registry::Served;

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

/// As TestGetTable and TestGetPartialObjectMetadata (endpoints/apiserver_test.go). The columns are
/// the kind's, so configmaps stand for those that have none of their own.
#[test]
fn tables() {
    let world = World::new();
    world.put("a", "one", &json!({"app": "x"}));
    let (code, table) = world.get_as("/api/v1/namespaces/a/pods?limit=5", TABLE);
    assert_eq!(code, 200);
    assert_eq!((&table["kind"], &table["apiVersion"]), (&json!("Table"), &json!("meta.k8s.io/v1")));
    assert_eq!(table["metadata"], json!({"resourceVersion": "2"}));
    let columns = table["columnDefinitions"].as_array().unwrap();
    let name = json!({
        "name": "Name", "type": "string", "format": "name", "description": "", "priority": 0,
    });
    assert_eq!(columns[0], name);
    let row = &table["rows"][0];
    assert_eq!(row["cells"].as_array().unwrap().len(), columns.len());
    assert_eq!(row["cells"][0], "one");
    let metadata = json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {
            "name": "one", "namespace": "a", "labels": {"app": "x"}, "resourceVersion": "2",
        },
    });
    assert_eq!(row["object"], metadata);
    let (_, one) = world.get_as("/api/v1/namespaces/a/pods/one", TABLE);
    assert_eq!(one, table);
    let (_, table) = world.get_as("/api/v1/pods?includeObject=None", TABLE);
    assert_eq!(table["rows"][0]["object"], Value::Null);
    let (_, table) = world.get_as("/api/v1/pods?includeObject=Object", TABLE);
    assert_eq!(table["rows"][0]["object"]["kind"], "Pod");
    assert_eq!(table["rows"][0]["object"]["spec"]["nodeName"], "n");
    let (_, table) = world.get_as("/api/v1/namespaces/none/pods", TABLE);
    assert_eq!(table["rows"], json!([]));
    // A failure is a Status in any form.
    let (code, status) = world.get_as("/api/v1/namespaces/a/pods/none", TABLE);
    assert_eq!((code, &status["kind"]), (404, &json!("Status")));
}

#[test]
fn metadata() {
    let world = World::new();
    world.put("a", "one", &json!({}));
    let (code, object) = world.get_as("/api/v1/namespaces/a/pods/one", METADATA);
    assert_eq!((code, &object["kind"]), (200, &json!("PartialObjectMetadata")));
    assert!(object.get("spec").is_none());
    let (code, list) = world.get_as("/api/v1/pods", METADATA_LIST);
    assert_eq!((code, &list["kind"]), (200, &json!("PartialObjectMetadataList")));
    assert_eq!(list["items"][0], object);
    let (code, status) = world.get_as("/api/v1/pods", METADATA);
    let message = "you requested PartialObjectMetadata, but the requested object is a list \
                   (*core.PodList)";
    assert_eq!((code, &status["message"]), (406, &json!(message)));
    let (code, status) = world.get_as("/api/v1/namespaces/a/pods/one", METADATA_LIST);
    let message = "you requested PartialObjectMetadataList, but the requested object is not a \
                   list (*core.Pod)";
    assert_eq!((code, &status["message"]), (406, &json!(message)));
    let (code, status) = world.get_as("/api/v1/pods", "text/html");
    let message = "only the following media types are accepted: application/json";
    assert_eq!((code, &status["message"]), (406, &json!(message)));
}

/// endpoints/handlers/delete.go: what was deleted is a list, in any form of one.
#[test]
fn deleted_collections() {
    for (form, kind) in [
        (METADATA_LIST, "PartialObjectMetadataList"),
        (TABLE, "Table"),
        ("application/json", "PodList"),
        (METADATA, "Status"),
    ] {
        let world = World::new();
        world.put("a", "one", &json!({}));
        let path = "/api/v1/namespaces/a/pods";
        let Reply::Whole(answer) = world.ask_to(Method::DELETE, path, form) else { panic!() };
        let list: Value = serde_json::from_slice(answer.body()).unwrap();
        assert_eq!(list["kind"], kind, "{list}");
        match kind {
            "Status" => assert_eq!(answer.status().as_u16(), 406),
            "Table" => assert_eq!(list["rows"][0]["cells"][0], "one"),
            _ => assert_eq!(list["items"][0]["metadata"]["name"], "one"),
        }
        // What cannot be shown is done all the same.
        assert_eq!(world.get(&format!("{path}/one")).0, 404, "{form}");
    }
}

/// TestWatchTable (endpoints/handlers/response_test.go): the headers come once.
#[test]
fn watches_in_other_forms() {
    let world = World::new();
    world.put("a", "one", &json!({}));
    let mut watch = world.watch_as("/api/v1/pods?watch=1&resourceVersion=1", TABLE);
    world.remove("a", "one");
    let chunk = watch.try_next().unwrap();
    let events = events(&chunk);
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ADDED", "DELETED"]);
    assert!(events[0]["object"]["columnDefinitions"].is_array());
    assert_eq!(events[1]["object"]["columnDefinitions"], Value::Null);
    assert_eq!(events[1]["object"]["metadata"]["resourceVersion"], "3");
    assert_eq!(events[1]["object"]["rows"][0]["object"]["metadata"]["resourceVersion"], "3");

    let mut watch = world.watch_as("/api/v1/pods?watch=1&resourceVersion=1", METADATA);
    let chunk = watch.try_next().unwrap();
    let first = &super::events(&chunk)[0]["object"];
    assert_eq!((&first["kind"], first.get("spec")), (&json!("PartialObjectMetadata"), None));
}

/// Another version of a resource shows the same objects as its own, and items of custom resources
/// say their type.
#[test]
fn versions_are_said() {
    let world = World::new();
    let thing = json!({
        "kind": "Thing",
        "apiVersion": "example.com/v2",
        "metadata": {"name": "t", "namespace": "a"},
    });
    for version in ["v1", "v2"] {
        let served = Served {
            resource: Resource {
                version: version.into(),
                ..Resource::namespaced("example.com", "v1", "things", "Thing")
            },
            singular: "thing".to_owned(),
            short_names: Vec::new(),
            categories: Vec::new(),
            verbs: vec!["get", "list", "watch"],
            subresources: Vec::new(),
            table: "things.example.com".into(),
            ty: schema::Schema::builtin().custom(),
            strategy: crate::registry::Rules::Builtin(&strategies::Plain),
            custom: true,
            scale: None,
            definition: None,
        };
        world.server.state().registry.add(served);
    }
    let table = "things.example.com".into();
    world.server.state().store.put(&table, &Key::new("a", "t"), thing);
    for version in ["v1", "v2"] {
        let want = format!("example.com/{version}");
        let path = format!("/apis/{want}/namespaces/a/things");
        let (_, list) = world.get(&path);
        assert_eq!((&list["apiVersion"], &list["kind"]), (&json!(want), &json!("ThingList")));
        assert_eq!(list["items"][0]["apiVersion"], want);
        let (_, object) = world.get(&format!("{path}/t"));
        assert_eq!(object["apiVersion"], want);
        let mut watch = world.watch(&format!("{path}?watch=1&allowWatchBookmarks=1"));
        for event in events(&watch.try_next().unwrap()) {
            assert_eq!(event["object"]["apiVersion"], want);
        }
    }
}

#[test]
fn people_see_lines() {
    let world = World::new();
    world.put("a", "one", &json!({}));
    let plain = world.respond("/api/v1/pods", "*/*");
    let pretty = world.respond("/api/v1/pods?pretty=true", "*/*");
    let read = |it: &Response<Bytes>| serde_json::from_slice::<Value>(it.body()).unwrap();
    let lines = |it: &Response<Bytes>| it.body().split(|byte| *byte == b'\n').count() - 1;
    assert_eq!(read(&plain), read(&pretty));
    assert_eq!(lines(&plain), 1);
    assert!(lines(&pretty) > 10);
}

/// Warnings are quoted as net.NewWarningHeader does it.
#[test]
fn warnings_are_headers() {
    let world = World::new();
    let request = Request::new(Method::GET, "/api/v1/pods", "");
    let Ok(crate::request::Asked::Call(call)) = request.ask(&world.server.state()) else {
        panic!("no call")
    };
    let document = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}});
    let warnings = vec!["plain".to_owned(), "a \"b\"\n\\ ü".to_owned()];
    let written = crate::write::Written { code: 201, document: document.into(), warnings };
    let form = crate::request::Form::Whole;
    let answer = super::super::render::object(&call, form, &written);
    let warnings: Vec<_> = answer.headers().get_all("warning").iter().collect();
    assert_eq!(answer.status(), 201);
    assert_eq!(warnings[0], "299 - \"plain\"");
    assert_eq!(warnings[1].as_bytes(), "299 - \"a \\\"b\\\"\\\\ ü\"".as_bytes());
}
