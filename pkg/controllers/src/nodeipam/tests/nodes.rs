//! Nodes and what they get.

use api::{Key, Prefix};
use controller::fixture::{Fixture, NOW, decode, lines, remembered, with};
use controller::{Change, Controller as _, Enqueue, Facts, News, Outcome, Shared};
use serde_json::{Value, json};

use super::super::*;

const CLUSTER: &str = "127.123.234.0/28";

fn controller(ranges: &[(&str, u8)], services: &[&str]) -> Controller {
    let prefix = |text: &str| Prefix::parse_sloppy(text).unwrap();
    let ranges = ranges.iter().map(|(text, bits)| ClusterRange::new(prefix(text), *bits).unwrap());
    let services = services.iter().map(|text| prefix(text)).collect();
    Controller { ranges: ranges.collect(), services }
}

fn node(name: &str, cidrs: &[&str]) -> Value {
    let meta = json!({"name": name, "uid": format!("u-{name}"), "resourceVersion": "7"});
    json!({"metadata": meta, "spec": {"podCIDR": cidrs.first(), "podCIDRs": cidrs}})
}

fn bare(name: &str) -> Value {
    let meta = json!({"name": name, "uid": format!("u-{name}"), "resourceVersion": "7"});
    json!({ "metadata": meta })
}

/// A cluster and the controller's memory of it.
struct World {
    controller: Controller,
    memory: Shared<Pools>,
    nodes: Vec<Value>,
    /// The counts of all changes, as text.
    counted: Vec<String>,
}

impl World {
    fn new(ranges: &[(&str, u8)], services: &[&str], nodes: &[Value]) -> Self {
        let controller = controller(ranges, services);
        let (memory, counted) = (Shared::default(), Vec::new());
        let mut world = Self { controller, memory, nodes: Vec::new(), counted };
        for node in nodes {
            world.shows(node);
        }
        world
    }

    fn fixture(&self) -> Fixture {
        Fixture::default().holding::<Node>(&self.nodes)
    }

    /// The cache shows a node; which keys that enqueues.
    fn shows(&mut self, node: &Value) -> String {
        let name = &node["metadata"]["name"];
        let old = self.nodes.iter().position(|it| it["metadata"]["name"] == *name);
        let new = decode::<Node>(node);
        let change = if let Some(at) = old {
            let old = std::mem::replace(&mut self.nodes[at], node.clone());
            Change::Updated { old: decode::<Node>(&old), new }
        } else {
            self.nodes.push(node.clone());
            Change::Added(new)
        };
        self.hears(&change)
    }

    fn loses(&mut self, name: &str) -> String {
        let at = self.nodes.iter().position(|it| it["metadata"]["name"] == name).unwrap();
        let old = self.nodes.remove(at);
        self.hears(&Change::Deleted(decode::<Node>(&old)))
    }

    fn hears(&mut self, change: &Change<Node>) -> String {
        let queue = remembered(&self.controller, &self.memory, change, &self.fixture());
        self.counts(&queue);
        lines(&queue)
    }

    fn counts(&mut self, queue: &Enqueue) {
        let shown = queue.counts.iter().map(|count| {
            let name = count.family.name.trim_start_matches("node_ipam_controller_cidrset_");
            format!("{name} {:?}", count.value)
        });
        self.counted.extend(shown);
    }

    /// A sync whose writes have this end. The plan as text.
    fn syncs(&mut self, name: &str, outcome: &Outcome) -> String {
        let (fixture, key) = (self.fixture(), Key::new("", name));
        let snapshot = self.controller.observe(&key, &fixture.view(), &self.memory.read());
        let mut queue = Enqueue::default();
        let Some(snapshot) = snapshot else {
            let news = News::Gone(&key);
            self.controller.remember(&mut self.memory.write(), news, &mut queue);
            return "gone".to_owned();
        };
        let (plan, verdict) = self.controller.decide(&snapshot, &Facts::default());
        let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome };
        self.controller.remember(&mut self.memory.write(), news, &mut queue);
        self.counts(&queue);
        plan.to_string()
    }

    /// What a sync gives to the node; none: nothing.
    fn gives(&mut self, name: &str) -> Option<String> {
        let plan = self.syncs(name, &Outcome::default());
        let why = plan.lines().next()?.strip_prefix("why: the node gets ")?;
        Some(why.to_owned())
    }
}

fn failed() -> Outcome {
    Outcome { error: Some("no".to_owned()), ..Outcome::default() }
}

/// TestAllocateOrOccupyCIDRSuccess, all rows.
#[test]
fn a_node_gets_the_next_free_blocks() {
    const V4: (&str, u8) = ("127.123.234.0/24", 30);
    const BIG: (&str, u8) = ("127.123.234.0/8", 24);
    const V6: (&str, u8) = ("ace:cab:deca::/84", 98);
    let service = "127.123.234.0/26";
    let used = ["64", "68", "72", "80"];
    let used = used.map(|last| node(last, &[&format!("127.123.234.{last}/30")]));
    let counted = [node("node0", &["10.10.0.0/24"]), node("node1", &["10.10.2.0/24"])];
    for (ranges, services, nodes, expected) in [
        (&[V4][..], &[][..], &[][..], "127.123.234.0/30"),
        (&[V4], &[service], &[], "127.123.234.64/30"),
        (&[V4], &[service], &used, "127.123.234.76/30"),
        (&[BIG, V6], &[service], &[], "127.0.0.0/24, ace:cab:deca::/98"),
        (&[V6, BIG], &[service], &[], "ace:cab:deca::/98, 127.0.0.0/24"),
        (
            &[BIG, V6, ("10.0.0.0/8", 24)],
            &[service],
            &[],
            "127.0.0.0/24, ace:cab:deca::/98, 10.0.0.0/24",
        ),
        (&[("10.10.0.0/22", 24)], &[], &counted, "10.10.1.0/24"),
    ] {
        let mut world = World::new(ranges, services, nodes);
        assert_eq!(world.shows(&bare("node")), "now node\n");
        assert_eq!(world.gives("node").as_deref(), Some(expected), "{ranges:?}");
    }
}

/// The bytes of the patch: upstream's `PatchNodeCIDRs`, and the uid.
#[test]
fn the_patch_is_upstreams() {
    let mut world = World::new(&[("10.0.0.0/8", 24)], &[], &[bare("a")]);
    assert_eq!(
        world.syncs("a", &Outcome::default()),
        "why: the node gets 10.0.0.0/24\n\
        in order: patch nodes a {\"metadata\":{\"uid\":\"u-a\"},\
        \"spec\":{\"podCIDR\":\"10.0.0.0/24\",\"podCIDRs\":[\"10.0.0.0/24\"]}}\n"
    );
}

/// TestOccupyPreExistingCIDR, all rows: what upstream does not start with is an error of the node,
/// and takes nothing from others.
#[test]
fn ranges_of_nodes_are_the_clusters_or_an_error() {
    const V4: (&str, u8) = ("10.10.0.0/16", 24);
    const V6: (&str, u8) = ("ace:cab:deca::/8", 24);
    let out = "out the range of cluster cidr";
    for (ranges, cidrs, problem) in [
        (&[V4][..], &["10.10.0.1/24"][..], ""),
        (&[V4, V6], &["10.10.0.1/24", "a00::/86"], ""),
        (&[V4], &["172.10.0.1/24"], out),
        (&[V4], &["10.10.0.1/24", "a00::/86"], "at index:1 that does not exist"),
        (&[V4, V6], &["172.10.0.1/24", "a00::/86"], out),
        (&[V4, V6], &["10.10.0.1/24", "cdd::/86"], out),
        // Row 3 of the function: garbage.
        (&[V4], &["garbage"], "failed to parse node node0, CIDR garbage"),
    ] {
        let mut world = World::new(ranges, &[], &[]);
        let enqueued = world.shows(&node("node0", cidrs));
        assert_eq!(enqueued.is_empty(), problem.is_empty(), "{cidrs:?}");
        let plan = world.syncs("node0", &Outcome::default());
        let expected = if problem.is_empty() { "the node has its ranges" } else { problem };
        assert!(plan.contains(expected), "{cidrs:?}: {plan}");
        assert_eq!(plan.contains("error: "), !problem.is_empty(), "{plan}");
        world.shows(&bare("node1"));
        let given = world.gives("node1").unwrap();
        let first = if cidrs[0].starts_with("10.10.0.1") { "10.10.1.0/24" } else { "10.10.0.0/24" };
        assert!(given.starts_with(first), "{given}");
    }
}

/// A cluster whose flags name the families the other way round: no block is given twice.
#[test]
fn a_range_in_the_wrong_place_is_taken_all_the_same() {
    let ranges = [("fd00:1::/63", 64), ("10.244.0.0/22", 24)];
    let mut world = World::new(&ranges, &[], &[node("old", &["10.244.0.0/24"]), bare("new")]);
    assert_eq!(world.gives("new").as_deref(), Some("fd00:1::/64, 10.244.1.0/24"));
    let plan = world.syncs("old", &Outcome::default());
    assert!(plan.contains("is out the range of cluster cidr fd00:1::/63"), "{plan}");
}

/// TestAllocateOrOccupyCIDRFailure and TestReleaseCIDRSuccess.
#[test]
fn a_range_without_a_free_block_says_so_until_one_is_free() {
    let cidrs = ["0", "4", "8", "12"].map(|last| format!("127.123.234.{last}/30"));
    let nodes: Vec<_> = cidrs.iter().map(|cidr| node(cidr, &[cidr])).collect();
    let mut world = World::new(&[(CLUSTER, 30)], &[], &nodes);
    world.shows(&bare("node0"));
    assert_eq!(
        world.syncs("node0", &Outcome::default()),
        "why: --cluster-cidr has no free range for the node\n\
        in order: event Normal CIDRNotAvailable: Node node0 status is now: CIDRNotAvailable\n\
        error: failed to allocate cidr from cluster cidr at idx:0: CIDR allocation failed; there \
        are no remaining CIDRs left to allocate in the accepted range\n"
    );
    assert_eq!(world.loses(&cidrs[1]), format!("forget {}\n", cidrs[1]));
    assert_eq!(world.gives("node0").as_deref(), Some("127.123.234.4/30"));
}

/// TestReleaseCIDRSuccess, its second row, and TestNodeDeletionReleaseCIDR.
#[test]
fn the_block_of_a_deleted_node_is_free_and_rests_for_a_while() {
    let mut world = World::new(&[(CLUSTER, 30)], &[], &[]);
    for (name, expected) in [("a", "0"), ("b", "4"), ("c", "8")] {
        world.shows(&bare(name));
        let cidr = format!("127.123.234.{expected}/30");
        assert_eq!(world.gives(name).as_ref(), Some(&cidr));
        assert_eq!(world.shows(&node(name, &[&cidr])), "");
    }
    // One that is being deleted keeps its block.
    let deleted = json!({"metadata": {"deletionTimestamp": NOW}});
    world.shows(&with(node("c", &["127.123.234.8/30"]), deleted.clone()));
    world.loses("a");
    for (name, expected) in [("d", Some("12")), ("e", Some("0")), ("f", None)] {
        world.shows(&bare(name));
        let expected = expected.map(|last| format!("127.123.234.{last}/30"));
        assert_eq!(world.gives(name), expected);
    }
    world.shows(&with(bare("g"), deleted));
    assert_eq!(world.syncs("g", &failed()), "why: the node is being deleted\n");
}

/// A write without an answer may still be done: what was offered to a node goes to no other one,
/// until the node names its ranges or is deleted.
#[test]
fn what_was_offered_is_nobody_elses() {
    let mut world = World::new(&[("10.0.0.0/23", 24)], &[], &[bare("a"), bare("b")]);
    let first = world.syncs("a", &failed());
    assert!(first.contains("the node gets 10.0.0.0/24"), "{first}");
    assert_eq!(world.gives("b").as_deref(), Some("10.0.1.0/24"));
    assert_eq!(world.syncs("a", &failed()), first, "the same again");
    world.shows(&bare("c"));
    assert_eq!(world.gives("c"), None);
    // It is deleted before it has them; the answer comes later.
    world.loses("b");
    world.syncs("a", &failed());
    assert_eq!(world.gives("c").as_deref(), Some("10.0.1.0/24"));
    // The write was done after all, or somebody else named another range.
    world.shows(&node("a", &["10.0.0.0/24"]));
    world.loses("c");
    world.shows(&node("d", &["10.0.1.0/24"]));
    world.loses("a");
    world.shows(&bare("e"));
    assert_eq!(world.gives("e").as_deref(), Some("10.0.0.0/24"));
}

/// A node that is deleted while it is written, and another one of its name.
#[test]
fn an_offer_to_a_node_that_was_deleted_is_forgotten() {
    let mut world = World::new(&[("10.0.0.0/24", 24)], &[], &[bare("a")]);
    let snapshot = {
        let (fixture, memory) = (world.fixture(), world.memory.read());
        world.controller.observe(&Key::new("", "a"), &fixture.view(), &memory).unwrap()
    };
    let verdict = world.controller.decide(&snapshot, &Facts::default()).1;
    world.loses("a");
    let outcome = Outcome::default();
    let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome: &outcome };
    world.controller.remember(&mut world.memory.write(), news, &mut Enqueue::default());
    world.shows(&bare("b"));
    assert_eq!(world.gives("b"), None, "it may have been done");
    assert_eq!(world.syncs("a", &Outcome::default()), "gone");
    assert_eq!(world.gives("b").as_deref(), Some("10.0.0.0/24"));
    // The same with a new node of the name.
    world.loses("b");
    world.shows(&bare("c"));
    assert!(world.gives("c").is_some());
    world.shows(&with(bare("c"), json!({"metadata": {"uid": "another"}})));
    assert_eq!(world.gives("c").as_deref(), Some("10.0.0.0/24"));
}

/// `RecordNodeStatusChange` after `cidrUpdateRetries` failures.
#[test]
fn failures_are_told_after_three() {
    let mut world = World::new(&[("10.0.0.0/8", 24)], &[], &[bare("a")]);
    let told: Vec<_> = (0..8)
        .map(|_| world.syncs("a", &failed()).contains("CIDRAssignmentFailed: Node a status is now"))
        .collect();
    assert_eq!(told, [false, false, false, true, false, false, true, false]);
}

/// cidr_set_test.go's metrics: only blocks that change are counted.
#[test]
fn blocks_are_counted_once() {
    let mut world = World::new(&[("10.0.0.0/22", 24)], &["10.0.0.0/23"], &[bare("a")]);
    assert_eq!(world.gives("a").as_deref(), Some("10.0.2.0/24"));
    world.shows(&node("a", &["10.0.2.0/24"]));
    world.loses("a");
    let of = |family: &str, value: f64| format!("{family} Of({value:?})");
    assert_eq!(
        world.counted,
        [
            of("cidrs_allocations_total", 2.0),
            of("cidrs_allocations_total", 1.0),
            of("allocation_tries_per_request", 2.0),
            of("cidrs_releases_total", 1.0),
        ]
    );
    let gauges = world.memory.read().gauges(&world.controller);
    let shown: Vec<_> = gauges.iter().map(|it| (it.labels.join(" "), it.value)).collect();
    assert_eq!(
        shown,
        [
            ("kube-controller-manager nodeipam".to_owned(), controller::Amount::Of(1.0)),
            ("10.0.0.0/22".to_owned(), controller::Amount::Of(4.0)),
            ("10.0.0.0/22".to_owned(), controller::Amount::Of(0.5)),
        ]
    );
}
