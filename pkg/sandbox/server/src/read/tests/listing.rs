//! Get and list.

use super::*;

/// Three pods of `a` (versions 2, 3, 4), one of `b` (5), then something else (6).
fn world() -> World {
    let world = World::new();
    world.put("a", "one", &json!({"app": "x"}));
    world.put("a", "two", &json!({"app": "y"}));
    world.put("a", "three", &json!({"app": "x"}));
    world.put("b", "one", &json!({}));
    world.touch();
    world
}

fn names(list: &Value) -> String {
    let items = list["items"].as_array().unwrap();
    let path = |it: &Value| {
        let text = |field: &str| it["metadata"][field].as_str().unwrap_or_default().to_owned();
        format!("{}/{}", text("namespace"), text("name"))
    };
    items.iter().map(path).collect::<Vec<_>>().join(" ")
}

/// Rows of upstream's RunTestList (storage/testing) and of api-concepts' table of resourceVersion
/// semantics: objects and the version of the list, or the code and the message.
#[test]
fn lists() {
    let world = world();
    world.remove("a", "two");
    world.put("a", "two", &json!({"app": "z"}));
    let rows = [
        ("", "a/one a/three a/two b/one @8"),
        ("labelSelector=app%3Dx", "a/one a/three @8"),
        ("labelSelector=app", "a/one a/three a/two @8"),
        ("fieldSelector=metadata.name%3Done", "a/one b/one @8"),
        ("fieldSelector=metadata.namespace%3Db", "b/one @8"),
        ("fieldSelector=metadata.namespace%3Db,metadata.name%3Dtwo", "@8"),
        ("fieldSelector=metadata.namespace!%3Db,metadata.name!%3Dtwo", "a/one a/three @8"),
        ("resourceVersion=0", "a/one a/three a/two b/one @8"),
        // The watch cache has no pages for a list at any version.
        ("resourceVersion=0&limit=1", "a/one a/three a/two b/one @8"),
        ("resourceVersion=5", "a/one a/three a/two b/one @8"),
        ("resourceVersion=5&resourceVersionMatch=NotOlderThan", "a/one a/three a/two b/one @8"),
        ("resourceVersion=3&resourceVersionMatch=Exact", "a/one a/two @3"),
        ("resourceVersion=7&resourceVersionMatch=Exact", "a/one a/three b/one @7"),
        // Legacy exact match.
        ("resourceVersion=3&limit=5", "a/one a/two @3"),
        ("resourceVersion=9", "504 Timeout: Too large resource version: 9, current: 8"),
        (
            "resourceVersion=9&resourceVersionMatch=Exact",
            "504 Timeout: Too large resource version: 9, current: 8",
        ),
        ("continue=x%26", "400"),
        ("limit=x", "400 strconv.ParseInt: parsing \"x\": invalid syntax"),
    ];
    for (query, want) in rows {
        let (code, list) = world.get(&format!("/api/v1/pods?{query}"));
        let found = match code {
            200 => {
                assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("PodList"), &json!("v1")));
                let version = list["metadata"]["resourceVersion"].as_str().unwrap();
                format!("{} @{version}", names(&list)).trim().to_owned()
            }
            code => format!("{code} {}", list["message"].as_str().unwrap()),
        };
        let is_prefix = want == "400" && found.starts_with("400 invalid continue token: ");
        assert!(found == want || is_prefix, "{query}: {found}");
    }
    let (_, list) = world.get("/api/v1/namespaces/b/pods");
    assert_eq!(names(&list), "b/one");
    // Items of built-in lists do not say their type; single objects do.
    assert!(list["items"][0].get("kind").is_none());
    let (_, pod) = world.get("/api/v1/namespaces/b/pods/one");
    assert_eq!(pod["kind"], "Pod");
    let (_, none) = world.get("/api/v1/namespaces/c/pods");
    assert_eq!(none["items"], json!([]));
}

/// RunTestListContinuation, with a write between the pages that they do not show, and
/// remainingItemCount of TestListContinuation.
#[test]
fn pages() {
    for namespace in ["", "/namespaces/a"] {
        let world = world();
        let mut query = "limit=1".to_owned();
        let mut seen = Vec::new();
        let total = if namespace.is_empty() { 4 } else { 3 };
        for page in 1.. {
            let (code, list) = world.get(&format!("/api/v1{namespace}/pods?{query}"));
            assert_eq!((code, &list["metadata"]["resourceVersion"]), (200, &json!("6")), "{list}");
            seen.push(names(&list));
            world.put("a", &format!("later-{page}"), &json!({}));
            let Some(token) = list["metadata"].get("continue") else { break };
            assert_eq!(list["metadata"]["remainingItemCount"], total - page);
            query = format!("limit=1&continue={}", token.as_str().unwrap());
        }
        let want = ["a/one", "a/three", "a/two", "b/one"];
        assert_eq!(seen, want[..total]);
    }
}

/// A list with a selector gets full pages and no count (RunTestListPaginationRareObject).
#[test]
fn filtered_pages() {
    let world = world();
    let (_, list) = world.get("/api/v1/pods?limit=1&labelSelector=app%3Dx");
    assert_eq!(names(&list), "a/one");
    assert!(list["metadata"].get("remainingItemCount").is_none());
    let token = list["metadata"]["continue"].as_str().unwrap();
    let path = format!("/api/v1/pods?limit=1&labelSelector=app%3Dx&continue={token}");
    let (_, list) = world.get(&path);
    assert_eq!(names(&list), "a/three");
}

/// RunTestListInconsistentContinuation, and what a token must not be (TestDecodeContinue).
#[test]
fn continuations_that_are_too_old_or_broken() {
    let world = world();
    let (_, list) = world.get("/api/v1/pods?limit=2");
    let token = list["metadata"]["continue"].as_str().unwrap();
    let (code, status) = world.get(&format!("/api/v1/pods?continue={token}&resourceVersion=1"));
    let message = "specifying resource version is not allowed when using continue";
    assert_eq!((code, &status["message"]), (400, &json!(message)));
    world.put("a", "x-new", &json!({}));
    world.server.compact(7);
    let (code, status) = world.get(&format!("/api/v1/pods?limit=2&continue={token}"));
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    let message = status["message"].as_str().unwrap();
    assert_eq!(message.len(), 417, "upstream's inconsistentContinue: {message}");
    assert!(message.starts_with("The provided continue parameter is too old to display"));
    let token = status["metadata"]["continue"].as_str().unwrap();
    let (code, list) = world.get(&format!("/api/v1/pods?continue={token}"));
    assert_eq!((code, &*names(&list)), (200, "a/two a/x-new b/one"));
    let (code, status) = world.get("/api/v1/pods?resourceVersion=6&resourceVersionMatch=Exact");
    let message = "The resourceVersion for the provided list is too old.";
    assert_eq!((code, &status["message"]), (410, &json!(message)));

    let rows = [
        (r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../x"}"#, "continue key is not valid: ../x"),
        (r#"{"v":"meta.k8s.io/v1","rv":1,"start":"a//x"}"#, "continue key is not valid: a//x"),
        (
            r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#,
            "continue key is not valid: incorrect encoded start resourceVersion (version \
             meta.k8s.io/v1)",
        ),
        (
            r#"{"v":"meta.k8s.io/v1","rv":1,"start":""}"#,
            "continue key is not valid: encoded start key empty (version meta.k8s.io/v1)",
        ),
        (
            r#"{"v":"v2","rv":1,"start":"a"}"#,
            "continue key is not valid: server does not recognize this encoded version v2",
        ),
    ];
    for (token, want) in rows {
        use base64::Engine;
        let token = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(token);
        let (code, status) = world.get(&format!("/api/v1/pods?continue={token}"));
        let want = format!("invalid continue token: {want}");
        assert_eq!((code, &status["message"]), (400, &json!(want)));
    }
}

#[test]
fn gets() {
    let world = world();
    let rows = [
        ("one", "200 2"),
        ("one?resourceVersion=0", "200 2"),
        ("one/status", "200 2"),
        ("none", "404 pods \"none\" not found"),
        ("one?resourceVersion=99", "504 Timeout: Too large resource version: 99, current: 6"),
        ("one/log", "501 the sandbox has no Pod to show at pods/log"),
    ];
    for (path, want) in &rows[..5] {
        let (code, found) = world.get(&format!("/api/v1/namespaces/a/pods/{path}"));
        let text = found.pointer("/metadata/resourceVersion").or(found.get("message")).unwrap();
        assert_eq!(format!("{code} {}", text.as_str().unwrap()), *want, "{path}");
    }
    let response = world.respond("/api/v1/namespaces/a/pods/one?resourceVersion=99", "*/*");
    assert_eq!(response.headers()["retry-after"], "1");
    let status: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(status["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
}

/// As `scale` of a Deployment shows it to kubectl and the autoscaler.
#[test]
fn scales() {
    let world = World::new();
    let selector = json!({
        "matchLabels": {"b": "2", "a": "1"},
        "matchExpressions": [{"key": "c", "operator": "NotIn", "values": ["z", "y"]}],
    });
    let deployment = json!({
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "d", "namespace": "a", "uid": "u", "labels": {"x": "y"}},
        "spec": {"replicas": 3, "selector": selector},
        "status": {"replicas": 2},
    });
    let key = Key::new("a", "d");
    world.server.state().store.put(&"deployments.apps".into(), &key, deployment);
    let (code, scale) = world.get("/apis/apps/v1/namespaces/a/deployments/d/scale");
    let want = json!({
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "d", "namespace": "a", "uid": "u", "resourceVersion": "2"},
        "spec": {"replicas": 3},
        "status": {"replicas": 2, "selector": "a=1,b=2,c notin (y,z)"},
    });
    assert_eq!((code, scale), (200, want));
}
