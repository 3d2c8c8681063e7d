//! Plans in several rounds: writes before a live read, the other types of reads, and deletions of
//! whole collections.

use std::time::Duration;

use api::{Edit, Key, Kind, Metadata, Pod, Raw, ReplicaSet};
use cache::fixture::{Call, run, status};
use controller::{Action, Answer, Collection, Facts, ObjectRef, Plan, Query, Step, Write, fixture};
use serde_json::json;

use super::world::{PODS, World, accept, body, missing, pod, refuse, set, with};

fn object() -> Query {
    Query::object(ReplicaSet::RESOURCE, Key::new("shop", "web"))
}

fn update() -> Action {
    let view = fixture::decode::<ReplicaSet>(&set(1, 0, 0));
    let object = ObjectRef::new(&ReplicaSet::RESOURCE, &view.meta);
    let edits = vec![Edit::new(["status", "replicas"], json!(1))];
    Write::update(object, Raw::default(), edits).at("status").into()
}

fn empty() -> Collection {
    Collection { resource: Pod::RESOURCE, namespace: "shop".into() }
}

/// Writes the status, reads the set live, and rests with what was read.
fn write_then_read(facts: &Facts) -> Plan {
    match facts.get(&object()).map(Answer::object) {
        None => Plan {
            steps: vec![Step::InOrder(vec![update()]), Step::Fetch(vec![object()])],
            ..Plan::rest("written, then read")
        },
        Some(answer) => {
            let version = answer.unwrap().map(|(meta, _)| meta.resource_version);
            Plan::failed("has read", format!("{version:?}"))
        }
    }
}

/// Issue 6: a read that depends on an earlier write.
#[test]
fn writes_before_a_read_are_done_first() {
    run(async {
        let (mut world, log) = World::probe(|_, facts| write_then_read(facts)).await;
        let put = world.put().await;
        world.quiet().await;
        accept(put, &set(11, 0, 0)).await;
        accept(world.get().await, &set(12, 0, 0)).await;
        world.settle().await;
        let lines = log.take();
        assert!(lines[3].ends_with("report Some(12) web"), "{lines:?}");
    });
}

/// Once a write has failed, nothing more is read or decided.
#[test]
fn a_failed_write_ends_the_rounds() {
    run(async {
        let (mut world, log) = World::probe(|_, facts| write_then_read(facts)).await;
        refuse(world.put().await, 500, "InternalError", "broken").await;
        world.settle().await;
        let lines = log.take();
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[2].contains("broken"), "{lines:?}");
    });
}

/// The live reads of a round run at the same time.
#[test]
fn reads_are_under_way_at_once() {
    run(async {
        let queries = ["a", "b"].map(|name| Query::object(Pod::RESOURCE, Key::new("shop", name)));
        let plan = move |_: &_, facts: &Facts| match facts.answers.len() {
            0 => Plan::fetch("are they there?", queries.to_vec()),
            _ => Plan::failed("has read", facts.answers.len().to_string()),
        };
        let (mut world, log) = World::probe(plan).await;
        let calls = world.server.under_way().await;
        let lines: Vec<_> = calls.iter().map(Call::line).collect();
        assert_eq!(lines, [format!("GET {PODS}/a"), format!("GET {PODS}/b")]);
        for call in calls {
            accept(call, &pod("a", 1)).await;
        }
        world.settle().await;
        assert!(log.take()[3].ends_with("report 2 web"));
    });
}

/// Reads the metadata of all pods of the namespace, and rests with their names.
fn names(facts: &Facts) -> Plan {
    let query = Query::all(Pod::RESOURCE, "shop".into());
    match facts.get(&query).map(|answer| answer.all()) {
        None => Plan::fetch("who is there?", vec![query]),
        Some(Err(error)) => Plan::failed("cannot read", error.text.clone()),
        Some(Ok(found)) => {
            let names = found.unwrap().iter().map(|it| it.meta.key.name.to_string());
            Plan::failed("has read", names.collect::<Vec<_>>().join(","))
        }
    }
}

/// Issue 6: only metadata is requested, page by page.
#[test]
fn all_objects_are_read_as_metadata_page_by_page() {
    run(async {
        let (mut world, log) = World::probe(|_, facts| names(facts)).await;
        for (query, names, next) in
            [("?limit=500", ["a", "b"], "x/y"), ("?limit=500&continue=x%2Fy", ["c", "d"], "")]
        {
            let call = world.server.find("GET", PODS).await;
            assert_eq!(call.path, format!("{PODS}{query}"));
            assert_eq!(call.accept, Metadata::ACCEPT_LIST);
            let items = names.map(|name| pod(name, 1));
            let meta = json!({"resourceVersion": "12", "continue": next});
            let kind = "PartialObjectMetadataList";
            let list = json!({"kind": kind, "apiVersion": "meta.k8s.io/v1", "metadata": meta,
                "items": items});
            call.reply(200, list.to_string()).await;
        }
        world.settle().await;
        let lines = log.take();
        assert!(lines[3].ends_with("report a,b,c,d web"), "{lines:?}");
    });
}

/// A list that ends early is an error: what was read of it does not count.
#[test]
fn a_list_that_fails_is_no_list() {
    run(async {
        let (mut world, log) = World::probe(|_, facts| names(facts)).await;
        let call = world.server.find("GET", PODS).await;
        let mut stream = call.answer(200, "application/json");
        stream.send(format!(r#"{{"items":[{},"#, pod("a", 1))).await;
        drop(stream);
        world.settle().await;
        let lines = log.take();
        assert!(lines[3].contains("ended early"), "{lines:?}");
    });
}

/// Deletes all pods of the namespace, then reads the set, and rests with how the deletion went.
fn delete_all(facts: &Facts) -> Plan {
    match facts.emptied.get(&empty()) {
        None => Plan {
            steps: vec![
                Step::Together(vec![Write::delete_all(empty()).into()]),
                Step::Fetch(vec![object()]),
            ],
            ..Plan::rest("empties")
        },
        Some(how) => {
            let code = how.as_ref().map(|refused| refused.code);
            Plan::failed("emptied", format!("{code:?}"))
        }
    }
}

/// Namespace card: DELETE collection with Background; a failure is a fact, and does not end the
/// plan.
#[test]
fn the_result_of_a_collection_deletion_is_a_fact() {
    for (code, expected) in [(200, "None"), (405, "Some(Some(405))"), (500, "Some(Some(500))")] {
        run(async {
            let (mut world, log) = World::probe(|_, facts| delete_all(facts)).await;
            let delete = world.server.find("DELETE", PODS).await;
            let options = json!({"apiVersion": "v1", "kind": "DeleteOptions",
                "propagationPolicy": "Background"});
            assert_eq!(body(&delete), options);
            delete.reply(code, status(code, "Odd", "odd")).await;
            accept(world.get().await, &set(12, 0, 0)).await;
            world.settle().await;
            let lines = log.take();
            assert!(lines[3].ends_with(&format!("report {expected} web")), "{code}: {lines:?}");
        });
    }
}

/// The controller gets the answers at once, in the order of the queries.
#[test]
fn the_controller_gets_the_answers() {
    run(async {
        let there = |name| Query::metadata(Pod::RESOURCE, Key::new("shop", name));
        let plan = move |_: &_, facts: &Facts| match facts.answers.len() {
            0 => Plan::fetch("are they there?", vec![there("b"), there("a")]),
            _ => Plan::rest("has read"),
        };
        let (mut world, log) = World::probe(plan).await;
        let (b, a) = (world.server.call().await, world.server.call().await);
        assert_eq!(a.accept, Metadata::ACCEPT);
        accept(a, &with(pod("a", 7), json!({"spec": null}))).await;
        missing(b, "b").await;
        world.wait(Duration::from_millis(1)).await;
        let learned: Vec<_> =
            log.take().into_iter().filter(|line| line.starts_with("learn")).collect();
        assert_eq!(
            learned,
            ["learn metadata of pods shop/b: none", "learn metadata of pods shop/a: 7"]
        );
    });
}

/// An unknown path says nothing about its objects: upstream's garbage collector would take its 404
/// for a missing owner.
#[test]
fn a_kind_that_is_not_known_is_no_missing_object() {
    run(async {
        let query = Query::metadata(Pod::RESOURCE, Key::new("shop", "a"));
        let plan = move |_: &_, facts: &Facts| match facts.get(&query) {
            None => Plan::fetch("is it there?", vec![query.clone()]),
            Some(answer) => Plan::failed("has read", format!("{:?}", answer.metadata().is_err())),
        };
        let (mut world, log) = World::probe(plan).await;
        let get = world.server.find("GET", &format!("{PODS}/a")).await;
        get.answer(404, "text/plain").send("404 page not found").await;
        world.settle().await;
        let lines = log.take();
        let learned = "learn metadata of pods shop/a: the server answered with HTTP 404";
        assert!(lines[2].starts_with(learned), "{lines:?}");
        assert!(lines[4].ends_with("report true web"), "{lines:?}");
    });
}

/// k8s.io/apimachinery pkg/api/validate/content/path.go: no object has such a name, so nothing is
/// requested. Sent unchanged, `..` would be another object. Upstream's manager finds the first two
/// absent, and gets an error for the third.
#[test]
fn an_object_of_an_impossible_name_is_not_asked_for() {
    run(async {
        let there = |name| Query::metadata(Pod::RESOURCE, Key::new("shop", name));
        let plan = move |_: &_, facts: &Facts| match facts.answers.len() {
            0 => Plan::fetch("are they there?", vec![there(".."), there("a/b"), there("50%")]),
            _ => Plan::rest("has read"),
        };
        let (mut world, log) = World::probe(plan).await;
        world.settle().await;
        let lines = log.take();
        let learned: Vec<_> = lines.iter().filter(|line| line.starts_with("learn")).collect();
        let expected = [
            "learn metadata of pods shop/..: none",
            "learn metadata of pods shop/a/b: none",
            "learn metadata of pods shop/50%: invalid resource name \"50%\": [may not contain '%']",
        ];
        assert_eq!(learned, expected, "{lines:?}");
        world.quiet().await;
    });
}
