//! How a kubelet comes by its certificates. As client-go's util/certificate and its tests.

use serde_json::json;

use super::*;
use crate::Nodes;
use crate::fields::{items, texts, time};
use crate::kinds::{LEASES, NODES};
use crate::world::World;

/// Certificates and requests that are plain texts, with the seed in them.
struct Plain;

impl Keys for Plain {
    fn request(&self, seed: &str, wanted: &Wanted) -> String {
        let Wanted { common_name, organization, dns_names, addresses } = wanted;
        format!("{seed} {common_name} {organization} {dns_names:?} {addresses:?}")
    }

    fn validity(&self, seed: &str, certificate: &str) -> Option<(Time, Time)> {
        let (from, until) = certificate.strip_prefix(seed)?.trim().split_once(' ')?;
        Some((Time::parse(from).ok()?, Time::parse(until).ok()?))
    }
}

/// A world without nodes, which `worker` joins.
fn world() -> World {
    let mut world = World::new(&Nodes::new(0));
    world.run(1);
    assert!(world.kubelet.join("worker", "abcdef", Arc::new(Plain)));
    assert!(!world.kubelet.join("worker", "abcdef", Arc::new(Plain)), "there is one");
    world.run(1);
    world
}

/// The requests so far, the oldest first.
fn requests(world: &World) -> Vec<Value> {
    let mut all: Vec<_> = world.all("certificatesigningrequests").cloned().collect();
    all.sort_by_key(|it| time(it, "/metadata/creationTimestamp"));
    all
}

/// The name of the last one.
fn last(world: &World) -> String {
    text(requests(world).last().unwrap(), "/metadata/name").to_owned()
}

fn is_registered(world: &World) -> bool {
    world.get(&NODES, "worker").is_some()
}

fn set_condition(world: &mut World, name: &str, kind: &str) {
    world.edit(&CSRS, name, |csr| {
        csr["status"]["conditions"] = json!([{ "type": kind, "status": "True" }]);
    });
}

/// The signer issues what was asked for, for an hour.
fn sign(world: &mut World, name: &str) {
    let (from, until) = (world.now, world.now + Duration::from_hours(1));
    world.edit(&CSRS, name, |csr| {
        let seed = text(csr, "/spec/request").split(' ').next().unwrap().to_owned();
        csr["status"]["certificate"] = json!(format!("{seed} {from} {until}"));
    });
}

fn issue(world: &mut World, name: &str) {
    set_condition(world, name, "Approved");
    sign(world, name);
}

/// What a request asks for but for its key, and by which sender.
fn words(csr: &Value) -> String {
    let (_, wanted) = text(csr, "/spec/request").split_once(' ').unwrap();
    let usages = texts(csr, "/spec/usages").join(", ");
    let (signer, by) = (text(csr, "/spec/signerName"), text(csr, "/spec/username"));
    format!("{by}: {signer} ({usages}) {wanted}")
}

/// Upstream: NewKubeletClientCertificateManager and NewKubeletServerCertificateManager.
#[test]
fn a_kubelet_registers_once_it_has_a_certificate() {
    let mut world = world();
    let client = last(&world);
    set_condition(&mut world, &client, "Approved");
    world.run(60);
    assert!(!is_registered(&world), "approved is not issued");
    assert_eq!(world.all("leases").count(), 0);
    sign(&mut world, &client);
    world.run(60);
    let node = world.get(&NODES, "worker").unwrap();
    assert_eq!(text(condition(node, "Ready").unwrap(), "/status"), "True");
    assert!(world.get(&LEASES, "kube-node-lease/worker").is_some());
    let asked: Vec<_> = requests(&world).iter().map(words).collect();
    let address = text(items(node, "/status/addresses").first().unwrap(), "/address");
    let serving = format!(
        "Node(\"worker\"): kubernetes.io/kubelet-serving (digital signature, server auth) \
         system:node:worker system:nodes [\"worker\"] [\"{address}\"]"
    );
    let client = "Bootstrap(\"abcdef\"): kubernetes.io/kube-apiserver-client-kubelet \
                  (digital signature, client auth) system:node:worker system:nodes [] []";
    assert_eq!(asked, [client, &serving]);
    assert_eq!(world.failures, [""; 0]);
}

/// Upstream: TestRotateCertCreateCSRError, TestRotateCertWaitingForResultError. Each further
/// request has a new key.
#[test]
fn a_request_that_comes_to_nothing_is_followed_by_another_one() {
    type End = fn(&mut World, &str);
    let rows: [(&str, End); 4] = [
        ("denied", |world, name| set_condition(world, name, "Denied")),
        ("failed", |world, name| set_condition(world, name, "Failed")),
        ("deleted", |world, name| world.lose(&target(&CSRS, &Key::new("", name), ""))),
        ("for another key", |world, name| {
            set_condition(world, name, "Approved");
            world.edit(&CSRS, name, |csr| csr["status"]["certificate"] = json!("of another"));
        }),
    ];
    for (end, act) in rows {
        let mut world = world();
        let mut keys = std::collections::BTreeSet::new();
        for seconds in [2, 4, 8, 16, 32, 32] {
            let name = last(&world);
            keys.insert(text(requests(&world).last().unwrap(), "/spec/request").to_owned());
            act(&mut world, &name);
            world.run(seconds - 1);
            let asked = requests(&world).len();
            world.run(1);
            assert_eq!(requests(&world).len(), asked + 1, "{end}: after {seconds} s");
            assert!(!is_registered(&world), "{end}");
        }
        assert_eq!(keys.len(), 6, "{end}");
        let name = last(&world);
        issue(&mut world, &name);
        world.run(1);
        assert!(is_registered(&world), "{end}");
    }
}

/// Rule: certificateWaitTimeout is 15 minutes.
#[test]
fn a_request_that_nobody_decides_is_given_up() {
    let mut world = world();
    let first = last(&world);
    world.run(14 * 60);
    assert_eq!(requests(&world).len(), 1);
    world.run(2 * 60);
    assert_eq!(requests(&world).len(), 2);
    issue(&mut world, &first);
    world.run(60);
    assert!(!is_registered(&world), "its key is forgotten");
    let second = last(&world);
    issue(&mut world, &second);
    world.run(1);
    assert!(is_registered(&world));
}

/// Upstream: TestSetRotationDeadline: after 70% to 90% of the time.
#[test]
fn certificates_are_renewed_by_the_node_itself() {
    let mut world = world();
    let client = last(&world);
    issue(&mut world, &client);
    world.run(2);
    let serving = last(&world);
    issue(&mut world, &serving);
    world.run(41 * 60);
    assert_eq!(requests(&world).len(), 2);
    world.run(13 * 60);
    let renewals: Vec<_> = requests(&world).split_off(2);
    let [one, other] = renewals.as_slice() else { panic!("{renewals:?}") };
    assert!(words(one).starts_with("Node(\"worker\"): "));
    assert!(words(other).starts_with("Node(\"worker\"): "));
    assert_ne!(text(one, "/spec/signerName"), text(other, "/spec/signerName"));
    let name = text(one, "/metadata/name").to_owned();
    issue(&mut world, &name);
    world.run(41 * 60);
    let later: Vec<_> = requests(&world).split_off(4);
    let signer = |csr: &Value| text(csr, "/spec/signerName").to_owned();
    assert_eq!(later.iter().map(signer).collect::<Vec<_>>(), [signer(other), signer(other)]);
}

#[test]
fn a_kubelet_that_is_off_or_cut_off_asks_later() {
    let mut world = world();
    let first = last(&world);
    // What it has asked for before is of no use after a restart.
    assert!(world.kubelet.kill("worker"));
    world.run(1);
    issue(&mut world, &first);
    world.run(60 * 60);
    assert_eq!((requests(&world).len(), is_registered(&world)), (1, false));
    world.kubelet.revive("worker");
    world.run(1);
    assert_eq!((requests(&world).len(), is_registered(&world)), (2, false));
    // What comes while it is cut off it finds later.
    world.kubelet.partition("worker");
    world.run(1);
    let second = last(&world);
    issue(&mut world, &second);
    world.run(60);
    assert!(!is_registered(&world));
    world.kubelet.heal("worker");
    world.run(1);
    assert!(is_registered(&world));
    // A certificate outlives a restart.
    world.run(2);
    let asked = requests(&world).len();
    let serving = last(&world);
    issue(&mut world, &serving);
    world.run(1);
    world.kubelet.revive("worker");
    world.run(10);
    assert_eq!(requests(&world).len(), asked);
}

#[test]
fn lost_requests_are_sent_again() {
    let mut world = World::new(&Nodes::new(0));
    world.drop_every = Some(2);
    // The first request is answered, the second is not.
    assert!(world.kubelet.join("one", "abcdef", Arc::new(Plain)));
    assert!(world.kubelet.join("two", "abcdef", Arc::new(Plain)));
    world.run(1);
    assert_eq!(requests(&world).len(), 1);
    world.run(1);
    assert_eq!(requests(&world).len(), 2);
    world.run(60);
    assert_eq!(requests(&world).len(), 2, "what is shown is not sent again");
}

/// A machine that is removed before it has joined leaves nothing to do.
#[test]
fn a_kubelet_that_never_joined_is_forgotten() {
    for remove in [crate::Kubelet::remove, crate::Kubelet::terminate] {
        let mut world = world();
        assert!(remove(&mut world.kubelet, "worker"));
        let name = last(&world);
        issue(&mut world, &name);
        world.run(60 * 60);
        assert_eq!((requests(&world).len(), is_registered(&world)), (1, false));
        assert_eq!(world.kubelet.names().count(), 0);
    }
}
