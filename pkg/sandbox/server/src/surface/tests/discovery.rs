//! Held against the recordings of a real API server.

use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

/// What client-go asks for, in this order.
const CLIENT_GO: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                         application/json;g=apidiscovery.k8s.io;v=v2beta1;\
                         as=APIGroupDiscoveryList,application/json";

fn recorded(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The groups, versions and resources that are served here.
fn served(state: &State) -> BTreeSet<(String, String, String)> {
    let all = state.registry.all().map(|it| &it.resource);
    all.map(|it| (it.group.to_string(), it.version.to_string(), it.plural.to_string())).collect()
}

/// Keeps the items of a list that a test is for.
fn keep(list: &mut Value, wanted: impl Fn(&Value) -> bool) {
    list.as_array_mut().unwrap().retain(wanted);
}

fn name<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn aggregated_discovery_is_that_of_an_api_server() {
    within(|| {
        let state = state();
        let served = served(&state);
        let recorded = recorded(include_str!("../../../../../discovery/testdata/aggregated.json"));
        let mut expected = recorded.clone();
        for group in expected["items"].as_array_mut().unwrap() {
            let group_name = name(group, "/metadata/name").to_owned();
            for version in group["versions"].as_array_mut().unwrap() {
                let this = name(version, "/version").to_owned();
                keep(&mut version["resources"], |it| {
                    let plural = name(it, "/resource").to_owned();
                    served.contains(&(group_name.clone(), this.clone(), plural))
                });
            }
            keep(&mut group["versions"], |it| it["resources"] != serde_json::json!([]));
        }
        keep(&mut expected["items"], |it| it["versions"] != serde_json::json!([]));
        let answer = page(&state, &request("/apis", CLIENT_GO)).unwrap();
        assert!(answer.content_type.ends_with(";v=v2;as=APIGroupDiscoveryList"));
        let mut read: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(read["metadata"], serde_json::json!({}));
        for (ours, theirs) in
            read["items"].as_array_mut().unwrap().iter().zip(expected["items"].as_array().unwrap())
        {
            assert_eq!(ours, theirs);
        }
        assert_eq!(read, expected);
        let again = page(&state, &request("/apis", CLIENT_GO)).unwrap();
        assert_eq!(answer.etag, again.etag);
        assert!(answer.etag.is_some());
        let core = page(&state, &request("/api", CLIENT_GO)).unwrap();
        let core: Value = serde_json::from_slice(&core.body).unwrap();
        assert_eq!(core["items"][0]["metadata"], serde_json::json!({}));
        assert_eq!(core["items"][0]["versions"][0]["version"], "v1");
    });
}

#[test]
fn plain_discovery_is_that_of_an_api_server() {
    within(|| {
        let state = state();
        let served = served(&state);
        let recorded = recorded(include_str!("../../../../../discovery/testdata/plain.json"));
        let mut seen = 0;
        for (path, expected) in recorded.as_object().unwrap() {
            let parts: Vec<_> = path.split('/').skip(1).collect();
            let (group, version) = match parts.as_slice() {
                ["api", version] => ("", *version),
                ["apis", group, version] => (*group, *version),
                _ => continue,
            };
            let mut expected = expected.clone();
            keep(&mut expected["resources"], |it| {
                let plural = name(it, "/name").split('/').next().unwrap().to_owned();
                served.contains(&(group.to_owned(), version.to_owned(), plural))
            });
            let resources = expected["resources"].as_array_mut().unwrap();
            if resources.is_empty() {
                let refused = page(&state, &request(path, "application/json"));
                assert_eq!(refused.unwrap_err().code, 404, "{path}");
                continue;
            }
            for it in resources {
                it.as_object_mut().unwrap().remove("storageVersionHash");
            }
            assert_eq!(json(&state, path), expected, "{path}");
            seen += 1;
        }
        assert_eq!(seen, 20);
        let mut expected = recorded["/apis"].clone();
        for group in expected["groups"].as_array_mut().unwrap() {
            let this = name(group, "/name").to_owned();
            keep(&mut group["versions"], |it| {
                let version = name(it, "/version");
                served.iter().any(|place| place.0 == this && place.1 == version)
            });
        }
        keep(&mut expected["groups"], |it| it["versions"] != serde_json::json!([]));
        assert_eq!(json(&state, "/apis"), expected);
        assert_eq!(json(&state, "/api")["versions"], serde_json::json!(["v1"]));
        assert_eq!(json(&state, "/apis/apps")["kind"], "APIGroup");
        let paths = json(&state, "/");
        let paths: Vec<_> = paths["paths"].as_array().unwrap().iter().collect();
        assert!(paths.iter().any(|it| *it == "/apis/apps/v1"));
    });
}

#[test]
fn openapi_has_each_version() {
    within(|| {
        let state = state();
        let index = json(&state, "/openapi/v3");
        let paths = index["paths"].as_object().unwrap();
        assert_eq!(paths.len(), 20);
        for (path, place) in paths {
            let document = json(&state, place["serverRelativeURL"].as_str().unwrap());
            assert!(!document["paths"].as_object().unwrap().is_empty(), "{path}");
        }
        assert_eq!(page(&state, &request("/openapi/v3/apis/x/v1", "*/*")).unwrap_err().code, 404);
        assert_eq!(page(&state, &request("/openapi/v2", "*/*")).unwrap_err().code, 404);
    });
}
