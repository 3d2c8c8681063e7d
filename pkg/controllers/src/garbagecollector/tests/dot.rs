//! The page for Graphviz, as upstream's `dump_test.go`.

use super::world::*;
use crate::garbagecollector::identity::Identity;
use crate::garbagecollector::node::Node;

/// An object that has nothing but a uid.
fn bare(uid: &str) -> Identity {
    id("", "", "", "", uid)
}

fn vertex(uid: &str, missing: bool) -> String {
    let missing_line = if missing { "missingFromGraph\\n" } else { "" };
    let attributes = [
        format!("label=\"uid={uid}\\nnamespace=\\n./\\n{missing_line}\""),
        "group=\"\"\n    version=\"\"\n    kind=\"\"".to_owned(),
        format!("namespace=\"\"\n    name=\"\"\n    uid=\"{uid}\""),
        format!("missing=\"{missing}\"\n    beingDeleted=\"false\""),
        "deletingDependents=\"false\"\n    virtual=\"false\"".to_owned(),
    ];
    format!("  \"{uid}\" [\n    {}\n  ];\n", attributes.join("\n    "))
}

fn page(vertices: &[&str], missing: &[&str], edges: &[(&str, &str)]) -> String {
    let mut text = "strict digraph full {\n".to_owned();
    if !vertices.is_empty() {
        text.push_str("  // Node definitions.\n");
    }
    text.extend(vertices.iter().map(|uid| vertex(uid, missing.contains(uid))));
    if !edges.is_empty() {
        text.push_str("  // Edge definitions.\n");
    }
    text.extend(edges.iter().map(|(from, to)| format!("  \"{from}\" -> \"{to}\";\n")));
    text + "}\n"
}

/// A graph of these, with their owners.
fn graph(nodes: &[(&str, &[&str])]) -> World {
    let resource = api::Resource::cluster_scoped("", "", "", "");
    let w = World::new();
    for (uid, owners) in nodes {
        let owners: Vec<_> = owners.iter().map(|uid| bare(uid)).collect();
        let object = object(&bare(uid), &owners.iter().collect::<Vec<_>>());
        let meta = metadata(&object).meta;
        w.graph.write().put(&resource, &meta, &mut controller::Enqueue::default());
    }
    w
}

const ALPHA: (&str, &[&str]) = ("alpha", &["bravo", "charlie"]);
const BRAVO: (&str, &[&str]) = ("bravo", &[]);
const CHARLIE: (&str, &[&str]) = ("charlie", &[]);
const DELTA: (&str, &[&str]) = ("delta", &["foxtrot"]);
const ECHO: (&str, &[&str]) = ("echo", &[]);
const FOXTROT: (&str, &[&str]) = ("foxtrot", &["golf"]);
const GOLF: (&str, &[&str]) = ("golf", &[]);
const SIMPLE: [(&str, &[&str]); 3] = [ALPHA, BRAVO, CHARLIE];
const CHAINS: [(&str, &[&str]); 6] = [ALPHA, BRAVO, CHARLIE, DELTA, FOXTROT, GOLF];
const FIRST: [(&str, &str); 2] = [("alpha", "bravo"), ("alpha", "charlie")];
const SECOND: [(&str, &str); 2] = [("delta", "foxtrot"), ("foxtrot", "golf")];

/// TestToDOTGraph and TestToDOTGraphObj, all cases but "missing", and TestMarshalDOT "empty.dot"
/// and "simple.dot".
#[test]
fn the_page_shows_what_hangs_together() {
    let simple = page(&["alpha", "bravo", "charlie"], &[], &FIRST);
    let one = page(&["delta", "foxtrot", "golf"], &[], &SECOND);
    let names = ["alpha", "bravo", "charlie", "delta", "foxtrot", "golf"];
    let both = page(&names, &[], &[FIRST, SECOND].concat());
    let empty = page(&[], &[], &[]);
    let with_echo = [SIMPLE.as_slice(), &[ECHO]].concat();
    for (name, nodes, uids, expected) in [
        ("empty", &[][..], &[][..], &empty),
        ("simple", &SIMPLE, &[], &simple),
        ("drop-no-ref", &with_echo, &[], &simple),
        ("two-chains", &CHAINS, &[], &both),
        ("simple, by object", &SIMPLE, &["bravo"], &simple),
        ("drop-no-ref, by object", &with_echo, &["echo"], &empty),
        ("no such object", &SIMPLE, &["nobody"], &empty),
        ("two-chains-from-owner", &CHAINS, &["golf"], &one),
        ("two-chains-from-child", &CHAINS, &["delta"], &one),
        ("two-chains-choose-both", &CHAINS, &["delta", "charlie"], &both),
    ] {
        assert_eq!(graph(nodes).graph.read().picture(uids).dot(), *expected, "{name}");
    }
}

/// "missing": an owner that was deleted, and that two objects name. Each of them gives it a box.
#[test]
fn an_owner_that_is_not_in_the_graph_gets_a_box() {
    let w = graph(&[ALPHA, BRAVO, CHARLIE]);
    let mut nodes = w.graph.write();
    let meta = metadata(&object(&bare("bravo"), &[])).meta;
    let resource = api::Resource::cluster_scoped("", "", "", "");
    nodes.delete(&resource, &meta, &mut controller::Enqueue::default());
    drop(nodes);
    let expected = page(&["alpha", "bravo", "charlie"], &["bravo"], &FIRST);
    assert_eq!(w.graph.read().picture(&[]).dot(), expected);
    assert_eq!(
        w.graph.read().picture(&["bravo"]).dot(),
        page(&[], &[], &[]),
        "\"missing\", by object"
    );
}

/// TestMarshalDOT "escaping.dot", with conditions.
#[test]
fn names_are_quoted_as_go_does_and_conditions_are_shown() {
    let first = id(
        "ref1group/version",
        "ref1kind-Iñtërnâtiônàlizætiøn,🐹",
        "ns",
        "ref1name-Iñtërnâtiônàlizætiøn,🐹",
        "ref1-[]\"\\Iñtërnâtiônàlizætiøn,🐹",
    );
    let second = id("ref2group/version", "ref2kind-", "ns", "ref2name-", "ref2-");
    let resource =
        api::Resource::namespaced("ref1group", "version", "", "ref1kind-Iñtërnâtiônàlizætiøn,🐹");
    let w = World::new();
    let meta = metadata(&waiting(object(&first, &[&second]))).meta;
    w.graph.write().put(&resource, &meta, &mut controller::Enqueue::default());
    assert_eq!(
        w.graph.read().picture(&[]).dot(),
        r#"strict digraph full {
  // Node definitions.
  "ref1-[]\"\\Iñtërnâtiônàlizætiøn,🐹" [
    label="uid=ref1-[]\"\\Iñtërnâtiônàlizætiøn,🐹\nnamespace=ns\nref1kind-Iñtërnâtiônàlizætiøn,🐹.version.ref1group/ref1name-Iñtërnâtiônàlizætiøn,🐹\nbeingDeleted,deletingDependents\n"
    group="ref1group"
    version="version"
    kind="ref1kind-Iñtërnâtiônàlizætiøn,🐹"
    namespace="ns"
    name="ref1name-Iñtërnâtiônàlizætiøn,🐹"
    uid="ref1-[]\"\\Iñtërnâtiônàlizætiøn,🐹"
    missing="false"
    beingDeleted="true"
    deletingDependents="true"
    virtual="false"
  ];
  "ref2-" [
    label="uid=ref2-\nnamespace=ns\nref2kind-.version.ref2group/ref2name-\nvirtual\n"
    group="ref2group"
    version="version"
    kind="ref2kind-"
    namespace="ns"
    name="ref2name-"
    uid="ref2-"
    missing="false"
    beingDeleted="false"
    deletingDependents="false"
    virtual="true"
  ];
  // Edge definitions.
  "ref1-[]\"\\Iñtërnâtiônàlizætiøn,🐹" -> "ref2-";
}
"#
    );
}

/// What the docs of a node promise.
#[test]
fn a_node_is_small() {
    assert_eq!(size_of::<Node>(), 96);
    assert_eq!(size_of::<Option<Node>>(), 96);
}
