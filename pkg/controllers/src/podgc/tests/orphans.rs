//! Pods whose node is deleted: the quarantine, the live read, and the mark.

use api::Raw;
use controller::fixture::remembered;
use controller::{Query, Shared};

use super::*;

/// A controller over time: what its caches hold, and what the API server has. It is notified of
/// changes, those of nodes first.
struct World {
    controller: Controller,
    quarantine: Shared<Quarantine>,
    fixture: Fixture,
    nodes: Vec<String>,
    pods: Vec<Value>,
}

impl World {
    fn new(nodes: &[&str], pods: &[Value]) -> Self {
        let mut world = Self {
            controller: Controller::new(-1),
            quarantine: Shared::default(),
            fixture: caches(&[], &[]),
            nodes: Vec::new(),
            pods: Vec::new(),
        };
        world.nodes(nodes);
        world.pods(pods);
        world
    }

    /// So many seconds after the beginning.
    fn at(&mut self, seconds: i64) {
        self.fixture.now = time(seconds * 1_000_000_000);
    }

    /// The cache of nodes shows these.
    fn nodes(&mut self, nodes: &[&str]) {
        let old = std::mem::replace(&mut self.nodes, nodes.iter().map(|&it| it.into()).collect());
        let shown: Vec<_> = nodes.iter().map(|name| node(name)).collect();
        self.fixture = std::mem::take(&mut self.fixture).holding::<Node>(&shown);
        let decoded = |name: &String| decode::<Node>(&node(name));
        let gone = old.iter().filter(|name| !self.nodes.contains(name));
        gone.for_each(|name| self.tell(&Change::Deleted(decoded(name))));
        let new = self.nodes.iter().filter(|name| !old.contains(name));
        new.for_each(|name| self.tell(&Change::Added(decoded(name))));
    }

    /// The cache of pods shows these.
    fn pods(&mut self, pods: &[Value]) {
        let old = std::mem::replace(&mut self.pods, pods.to_vec());
        self.fixture = std::mem::take(&mut self.fixture).holding::<Pod>(pods);
        let uid = |pod: &Value| pod["metadata"]["uid"].clone();
        let find =
            |pods: &[Value], it: &Value| pods.iter().find(|pod| uid(pod) == uid(it)).cloned();
        let gone = old.iter().filter(|pod| find(pods, pod).is_none());
        gone.for_each(|pod| self.tell(&Change::Deleted(decode::<Pod>(pod))));
        for pod in pods {
            let new = decode::<Pod>(pod);
            self.tell(&match find(&old, pod) {
                Some(old) => Change::Updated { old: decode::<Pod>(&old), new },
                None => Change::Added(new),
            });
        }
    }

    /// What is shown already becomes news.
    fn tell<T: api::Kind>(&self, change: &Change<T>) {
        let queue = remembered(&self.controller, &self.quarantine, change, &self.fixture);
        assert_eq!(queue.calls, [], "no event enqueues it");
    }

    /// A pass, in which the API server has these nodes: those that it asks for, and its plan.
    fn pass(&self, live: &[&str]) -> (Vec<String>, Plan) {
        self.answered(|name| {
            if !live.contains(&name) {
                return Answer::NotFound;
            }
            Answer::Found(Box::new((decode::<Node>(&node(name)).meta.clone(), Raw::default())))
        })
    }

    fn answered(&self, answer: impl Fn(&str) -> Answer) -> (Vec<String>, Plan) {
        let quarantine = self.quarantine.read();
        let snapshot = remembering(&self.controller, &self.fixture, &quarantine);
        let plan = self.controller.decide(&snapshot, &Facts::default()).0;
        let [Step::Fetch(queries)] = plan.steps.as_slice() else { return (Vec::new(), plan) };
        let asked: Vec<_> = queries.iter().map(name).collect();
        let answers = queries.iter().zip(&asked);
        let facts: Facts = answers.map(|(query, name)| (query.clone(), answer(name))).collect();
        (asked, self.controller.decide(&snapshot, &facts).0)
    }

    /// Whether a pass reads live, without a response.
    fn asks(&self) -> bool {
        !self.pass(&[]).0.is_empty()
    }
}

fn name(query: &Query) -> String {
    let Query::Get { key, .. } = query else { panic!("must not be read: {query}") };
    key.to_string()
}

/// The text of a plan that deletes these orphans, those with a star after they were marked.
fn orphans(pods: &[&str]) -> String {
    let condition = format!(
        concat!(
            r#""conditions":[{{"lastTransitionTime":"{}","#,
            r#""message":"PodGC: node no longer exists","observedGeneration":1,"#,
            r#""reason":"DeletionByPodGC","status":"True","#,
            r#""type":"DisruptionTarget"}}],"#
        ),
        time(80_000_000_000)
    );
    let status = r#""status":{"#;
    let text = deletes(&format!("{} orphaned", pods.len()), pods);
    text.replace(status, &format!("{status}{condition}"))
}

/// What happens between two passes.
type Between = fn(&mut World);

struct Row {
    name: &'static str,
    /// Nodes in the cache at the first pass.
    before: &'static [&'static str],
    /// Seconds until the second one.
    delay: i64,
    /// Nodes in the cache at the second one.
    after: &'static [&'static str],
    /// Nodes of the API server by then.
    live: &'static [&'static str],
    /// Name, node and phase.
    pods: &'static [[&'static str; 3]],
    /// How many nodes are asked for.
    asked: usize,
    /// What is deleted.
    deleted: &'static [&'static str],
}

/// No nodes anywhere, after two quarantines.
const NO_NODES: Row = Row {
    name: "no nodes",
    before: &[],
    delay: 80,
    after: &[],
    live: &[],
    pods: &[["a", "deleted", "Failed"], ["b", "deleted", "Succeeded"]],
    asked: 1,
    deleted: &["a", "b"],
};

const TWO: &[&str] = &["existing1", "existing2"];

const ON_TWO: &[[&str; 3]] =
    &[["a", "existing1", "Running"], ["b", "existing2", "Failed"], ["c", "existing2", "Succeeded"]];

/// TestGCOrphaned, all cases.
const ROWS: [Row; 11] = [
    Row {
        name: "nodes present in lister",
        before: TWO,
        after: TWO,
        pods: ON_TWO,
        asked: 0,
        deleted: &[],
        ..NO_NODES
    },
    Row {
        name: "nodes present in client",
        live: TWO,
        pods: ON_TWO,
        asked: 2,
        deleted: &[],
        ..NO_NODES
    },
    NO_NODES,
    Row {
        name: "no nodes, one running pod",
        pods: &[
            ["a", "deleted", "Failed"],
            ["b", "deleted", "Succeeded"],
            ["c", "deleted", "Running"],
        ],
        deleted: &["a", "b", "c*"],
        ..NO_NODES
    },
    Row { name: "quarantine not finished", delay: 20, asked: 0, deleted: &[], ..NO_NODES },
    Row {
        name: "wrong nodes",
        before: &["existing"],
        after: &["existing"],
        pods: &[["a", "deleted", "Running"]],
        deleted: &["a*"],
        ..NO_NODES
    },
    Row {
        name: "some nodes missing",
        before: &["existing"],
        after: &["existing"],
        pods: &[
            ["a", "deleted", "Failed"],
            ["b", "existing", "Failed"],
            ["c", "deleted", "Succeeded"],
            ["d", "deleted", "Running"],
        ],
        deleted: &["a", "c", "d*"],
        ..NO_NODES
    },
    Row {
        name: "node added to client after quarantine",
        live: &["node"],
        pods: &[["a", "node", "Running"]],
        deleted: &[],
        ..NO_NODES
    },
    // There the queue still holds the node; here a node that is in the cache is not asked for.
    Row {
        name: "node added to informer after quarantine",
        after: &["node"],
        pods: &[["a", "node", "Failed"]],
        asked: 0,
        deleted: &[],
        ..NO_NODES
    },
    Row {
        name: "node deleted from client after quarantine",
        pods: &[["a", "node", "Failed"]],
        deleted: &["a"],
        ..NO_NODES
    },
    Row {
        name: "node deleted from informer after quarantine",
        before: &["node"],
        pods: &[["a", "node", "Succeeded"]],
        asked: 0,
        deleted: &[],
        ..NO_NODES
    },
];

#[test]
fn orphans_are_collected_as_upstream() {
    for Row { name, before, delay, after, live, pods, asked, deleted } in ROWS {
        let pods: Vec<_> = pods.iter().map(|[name, node, phase]| pod(name, node, phase)).collect();
        let mut world = World::new(before, &pods);
        let (early, plan) = world.pass(&[]);
        assert_eq!((early.len(), plan.to_string()), (0, REST.to_owned()), "{name}: first pass");
        world.at(delay);
        world.nodes(after);
        let (found, plan) = world.pass(live);
        let expected = if deleted.is_empty() { REST.to_owned() } else { orphans(deleted) };
        assert_eq!((found.len(), plan.to_string()), (asked, expected), "{name}");
    }
}

/// Card, pass 3: not earlier than 40 seconds after the node went, and in the first pass after that.
#[test]
fn the_quarantine_lasts_40_seconds() {
    let mut world = World::new(&[], &[pod("a", "gone", "Failed")]);
    assert!(!world.asks());
    world.fixture.now = time(39_999_999_999);
    assert!(!world.asks());
    world.at(40);
    let (asked, plan) = world.pass(&[]);
    assert_eq!((asked, names(&plan)), (vec!["gone".to_owned()], vec!["a".to_owned()]));
    world.at(60);
    assert!(world.asks(), "and again, as long as the pod is there");
}

/// An observer, such as the debug pages, changes nothing: neither that a node is missing is noted,
/// nor that it is not.
#[test]
fn looking_starts_no_quarantine() {
    let controller = Controller::new(-1);
    let mut fixture = caches(&[], &[pod("a", "gone", "Failed")]);
    let quarantine = Shared::<Quarantine>::default();
    let due = |fixture: &Fixture| remembering(&controller, fixture, &quarantine.read()).due().len();
    assert_eq!(due(&fixture), 0);
    fixture.now = time(40_000_000_000);
    assert_eq!(due(&fixture), 0, "no notification that the node is deleted");
    let orphan = decode::<Pod>(&pod("a", "gone", "Failed"));
    remembered(&controller, &quarantine, &Change::Added(orphan), &fixture);
    let other = caches(&[node("gone")], &[]);
    assert_eq!(due(&other), 0);
    fixture.now = time(80_000_000_000);
    assert_eq!(
        due(&fixture),
        1,
        "40 seconds after the notification, whatever was observed between"
    );
}

/// Whichever cache is filled first: pods whose node comes after them were never without it.
#[test]
fn pods_may_come_before_their_nodes() {
    let mut world = World::new(&[], &[pod("a", "node", "Failed"), pod("b", "gone", "Failed")]);
    world.nodes(&["node"]);
    world.at(40);
    assert_eq!(world.pass(&[]).0, ["gone"]);
    world.nodes(&[]);
    world.at(79);
    assert_eq!(world.pass(&[]).0, ["gone"]);
    world.at(80);
    assert_eq!(world.pass(&[]).0, ["gone", "node"]);
}

/// A pod may be bound to a node that is deleted by then.
#[test]
fn a_pod_that_is_bound_starts_the_quarantine() {
    let mut world = World::new(&[], &[pod("a", "", "Pending")]);
    world.at(40);
    world.pods(&[pod("a", "gone", "Pending")]);
    world.at(79);
    assert!(!world.asks());
    world.at(80);
    assert!(world.asks());
}

/// Card, edge cases: a node that was there in between starts its quarantine anew, also if no pass
/// has seen it; and so does one that no pod has named in between.
#[test]
fn the_quarantine_starts_anew() {
    let orphan = pod("a", "node", "Failed");
    let rows: [(&str, Between); 3] = [
        ("seen by a pass", |world| {
            world.nodes(&["node"]);
            world.pass(&[]);
            world.nodes(&[]);
        }),
        ("between two passes", |world| {
            world.nodes(&["node"]);
            world.nodes(&[]);
        }),
        ("named by no pod", |world| {
            world.pods(&[]);
            world.pods(&[pod("a", "node", "Failed")]);
        }),
    ];
    for (name, between) in rows {
        let mut world = World::new(&[], std::slice::from_ref(&orphan));
        world.pass(&[]);
        world.at(30);
        between(&mut world);
        world.at(69);
        assert!(!world.asks(), "{name}");
        world.at(70);
        assert!(world.asks(), "{name}");
    }
}

/// No more is remembered than the nodes that pods name.
#[test]
fn what_no_pod_names_is_forgotten() {
    let mut world = World::new(&["node", "idle"], &[pod("a", "node", "Failed")]);
    world.nodes(&[]);
    assert_eq!(world.quarantine.read().len(), 1);
    world.pods(&[pod("a", "node", "Failed"), pod("b", "node", "Failed")]);
    world.pods(&[pod("b", "node", "Failed")]);
    assert_eq!(world.quarantine.read().len(), 1);
    world.pods(&[]);
    assert_eq!(world.quarantine.read().len(), 0);
}

/// The news of another node, or of a change of it, ends no quarantine.
#[test]
fn the_quarantine_goes_on() {
    let mut world = World::new(&[], &[pod("a", "gone", "Failed")]);
    world.pass(&[]);
    let gone = decode::<Node>(&node("gone"));
    world.nodes(&["other"]);
    world.tell(&Change::Updated { old: gone.clone(), new: gone });
    world.nodes(&[]);
    world.at(40);
    assert!(world.asks());
}

/// A clock that goes back makes the quarantine no longer than it is.
#[test]
fn the_clock_may_go_back() {
    let mut world = World::new(&[], &[pod("a", "gone", "Failed")]);
    world.at(5000);
    world.pass(&[]);
    world.at(0);
    world.pass(&[]);
    world.at(40);
    assert!(world.asks());
}

/// gcOrphaned: a node that cannot be read deletes no pod; the others are collected, and the next
/// pass tries again.
#[test]
fn a_node_that_cannot_be_read_keeps_its_pods() {
    let pods = [pod("a", "gone", "Failed"), pod("b", "unclear", "Failed")];
    let mut world = World::new(&[], &pods);
    world.pass(&[]);
    world.at(80);
    let answer = |name: &str| match name {
        "unclear" => Answer::Failed("timed out".into()),
        _ => Answer::NotFound,
    };
    let (asked, plan) = world.answered(answer);
    assert_eq!(asked, ["gone", "unclear"]);
    let error = "error: cannot read node unclear: timed out\n";
    assert_eq!(plan.to_string(), orphans(&["a"]) + error);
    world.pods(&pods[1..]);
    world.at(100);
    let (asked, plan) = world.answered(answer);
    assert_eq!((asked, plan.to_string()), (vec!["unclear".to_owned()], REST.to_owned() + error));
}

/// An empty cache of nodes, or one that is stale, deletes nothing: the API server has the nodes.
/// Limits: so many are read in a pass, the longest missing first.
#[test]
fn an_empty_cache_deletes_nothing() {
    let name = |n: usize| format!("node-{n:03}");
    let on = |n: usize| pod(&format!("pod-{n:03}"), &name(n), "Running");
    let pods: Vec<_> = (0..600).map(on).collect();
    let mut world = World::new(&[], &pods[300..]);
    world.pass(&[]);
    world.at(20);
    world.pods(&pods);
    world.pass(&[]);
    world.at(80);
    let names: Vec<_> = (0..600).map(name).collect();
    let live: Vec<_> = names.iter().map(String::as_str).collect();
    let (asked, plan) = world.pass(&live);
    assert_eq!(plan.to_string(), REST);
    assert_eq!(asked, [&names[300..], &names[..200]].concat());
}

/// TestGCInspectingPatchedPodBeforeDeletion; TestPodGcOrphanedPodsWithFinalizer (integration), all
/// cases: the mark of an orphan. Its other conditions are not in the patch, which leaves them.
#[test]
fn an_orphan_is_marked_as_upstream() {
    let finalizer = json!({"metadata": {"finalizers": ["test.k8s.io/finalizer"]}});
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    for (name, pod, expected) in [
        (
            "orphaned pod should have DisruptionTarget condition added before deletion",
            with(pod("a", "gone", "Running"), ready),
            orphans(&["a*"]),
        ),
        ("pending pod", with(pod("a", "gone", "Pending"), finalizer.clone()), orphans(&["a*"])),
        ("succeeded pod", with(pod("a", "gone", "Succeeded"), finalizer.clone()), orphans(&["a"])),
        ("failed pod", with(pod("a", "gone", "Failed"), finalizer), orphans(&["a"])),
        ("terminating pod", leaving(pod("a", "gone", "Running")), orphans(&["a*"])),
    ] {
        let mut world = World::new(&[], &[pod]);
        world.pass(&[]);
        world.at(80);
        assert_eq!(world.pass(&[]).1.to_string(), expected, "{name}");
    }
}

/// UpdatePodCondition: of a condition that holds already the time stays. Without a generation, as
/// pods of old API servers are, none was observed.
#[test]
fn the_mark_says_what_is_new() {
    let target = |status: &str| {
        let condition = json!({"type": "DisruptionTarget", "status": status,
            "reason": "DeletionByTaintManager", "lastTransitionTime": ago(60)});
        with(pod("a", "gone", "Running"), json!({"status": {"conditions": [condition]}}))
    };
    let ageless = with(pod("a", "gone", "Running"), json!({"metadata": {"generation": null}}));
    let time = format!(r#""lastTransitionTime":"{}","#, time(80_000_000_000));
    let all = orphans(&["a*"]);
    for (pod, expected) in [
        (target("True"), all.replace(&time, "")),
        (target("False"), all.clone()),
        (ageless, all.replace(r#""observedGeneration":1,"#, "")),
    ] {
        let mut world = World::new(&[], &[pod]);
        world.pass(&[]);
        world.at(80);
        assert_eq!(world.pass(&[]).1.to_string(), expected);
    }
}

/// `CalculatePodStatusObservedGeneration` and `CalculatePodConditionObservedGeneration` with the
/// gate off: a generation is written only where there was one before, so that none becomes old.
#[test]
fn without_the_gate_no_new_generations_are_written() {
    let observed = |status: i64, condition: i64| {
        let condition = json!({"type": "DisruptionTarget", "status": "False",
            "observedGeneration": condition});
        let status = json!({"observedGeneration": status, "conditions": [condition]});
        with(pod("a", "gone", "Running"), json!({"status": status}))
    };
    let of_condition = r#"exists","observedGeneration":1,"#;
    let of_status = r#"],"observedGeneration":1,"#;
    for (status, condition) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let mut world = World::new(&[], &[]);
        world.controller = Controller::new(-1).tracking_generations(false);
        world.pods(&[observed(status, condition)]);
        world.pass(&[]);
        world.at(80);
        let plan = world.pass(&[]).1.to_string();
        assert_eq!(plan.contains(of_status), status != 0, "{plan}");
        assert_eq!(plan.contains(of_condition), condition != 0, "{plan}");
        assert!(plan.contains("DisruptionTarget"), "{plan}");
    }
}

/// TestPodGcForPodsWithDuplicatedFieldKeys (integration): upstream's patch is computed from two
/// statuses since one from two pods could not be distinguished by keys that are there twice. Ours
/// is written down, and holds nothing but the uid and the status.
#[test]
fn doubled_keys_of_a_pod_do_not_matter() {
    let env = json!([{"name": "XYZ", "value": "1"}, {"name": "XYZ", "value": "2"}]);
    let ports = json!([{"containerPort": 93, "hostPort": 9376}, {"containerPort": 93,
        "hostPort": 9377}]);
    for container in [json!({"name": "foo", "env": env}), json!({"name": "foo", "ports": ports})] {
        let orphan = pod("a", "non-existing-node", "Pending");
        let mut world = World::new(
            &[],
            &[with(
                orphan,
                json!({"spec": {"containers":
            [container]}}),
            )],
        );
        world.pass(&[]);
        world.at(80);
        assert_eq!(world.pass(&[]).1.to_string(), orphans(&["a*"]));
    }
}

/// Pull 141190: an orphan that nothing but its finalizers keeps is not deleted again, and its node
/// is not asked for again.
#[test]
fn a_held_orphan_asks_for_nothing() {
    let mut world = World::new(&[], &[held(pod("a", "gone", "Failed"))]);
    world.pass(&[]);
    world.at(80);
    let (asked, plan) = world.pass(&[]);
    assert_eq!((asked.len(), plan.to_string()), (0, REST.to_owned()));
    world.pods(&[held(pod("a", "gone", "Running"))]);
    world.pass(&[]);
    world.at(160);
    assert_eq!(world.pass(&[]).1.steps.len(), 1, "it is marked, once");
}
