//! Tables, mirroring upstream's `pkg/api/v1/endpoints/util_test.go`.

use api::ObjectReference;

use super::*;

/// A subset, such as `1.2.3.4 5.6.7.8@uid !1.2.3.5 : 111 222`, in which the last address is not
/// ready.
fn subset(text: &str) -> Subset {
    let (addresses, ports) = text.split_once(':').unwrap();
    let mut subset = Subset::default();
    for word in addresses.split_whitespace() {
        let (ip, uid) = word.split_once('@').map_or((word, None), |(ip, uid)| (ip, Some(uid)));
        let uid = uid.map(|uid| ObjectReference { uid: Some(uid.into()), ..Default::default() });
        let ip_only = ip.trim_start_matches('!');
        let ip_only = ip_only.replace('_', ":");
        let address =
            EndpointAddress { ip: ip_only.into(), target_ref: uid, ..EndpointAddress::default() };
        let is_ready = !ip.starts_with('!');
        let list = if is_ready { &mut subset.addresses } else { &mut subset.not_ready_addresses };
        list.push(address);
    }
    let port = |port: &str| EndpointPort { port: port.parse().unwrap(), ..Default::default() };
    subset.ports = ports.split_whitespace().map(port).collect();
    subset
}

fn text(subset: &Subset) -> String {
    let address = |mark: &'static str| {
        move |it: &EndpointAddress| {
            let uid = it.target_ref.as_ref().and_then(|target| target.uid.clone());
            let uid = uid.map(|uid| format!("@{uid}")).unwrap_or_default();
            format!("{mark}{}{uid} ", it.ip.replace(':', "_"))
        }
    };
    let ready = subset.addresses.iter().map(address(""));
    let other = subset.not_ready_addresses.iter().map(address("!"));
    let ports: Vec<_> = subset.ports.iter().map(|it| format!(" {}", it.port)).collect();
    format!("{}:{}", ready.chain(other).collect::<String>(), ports.concat())
}

/// TestPackSubsets, all rows.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn subsets_are_packed_as_upstream() {
    for (name, given, expected) in [
        ("empty everything", vec![" :"], vec![]),
        ("empty addresses", vec![" : 111"], vec![]),
        ("empty ports", vec!["1.2.3.4 :"], vec!["1.2.3.4 :"]),
        ("empty ports, not ready", vec!["!1.2.3.4 :"], vec!["!1.2.3.4 :"]),
        ("one set, one ip, one port", vec!["1.2.3.4 : 111"], vec!["1.2.3.4 : 111"]),
        ("IPv6", vec!["beef__1_2_3_4 : 111"], vec!["beef__1_2_3_4 : 111"]),
        ("one set, one notReady ip, one port", vec!["!1.2.3.4 : 111"], vec!["!1.2.3.4 : 111"]),
        ("one UID", vec!["1.2.3.4@uid-1 : 111"], vec!["1.2.3.4@uid-1 : 111"]),
        ("one UID, notReady", vec!["!1.2.3.4@uid-1 : 111"], vec!["!1.2.3.4@uid-1 : 111"]),
        ("two ips, one port", vec!["1.2.3.4 5.6.7.8 : 111"], vec!["1.2.3.4 5.6.7.8 : 111"]),
        ("two mixed ips", vec!["1.2.3.4 !5.6.7.8 : 111"], vec!["1.2.3.4 !5.6.7.8 : 111"]),
        ("notReady is covered by ready", vec!["1.2.3.4 !1.2.3.4 : 111"], vec!["!1.2.3.4 : 111"]),
        ("one ip, two ports", vec!["1.2.3.4 : 111 222"], vec!["1.2.3.4 : 111 222"]),
        ("dup ips, one port", vec!["1.2.3.4 1.2.3.4 : 111"], vec!["1.2.3.4 : 111"]),
        ("dup ips, one port (IPv6)", vec!["beef__1 beef__1 : 111"], vec!["beef__1 : 111"]),
        ("one ip, dup ports", vec!["1.2.3.4 : 111 111"], vec!["1.2.3.4 : 111"]),
        ("two sets, dup ip, dup port", vec!["1.2.3.4 : 111"; 2], vec!["1.2.3.4 : 111"]),
        (
            "two sets, dup mixed ip, dup port",
            vec!["1.2.3.4 : 111", "!1.2.3.4 : 111"],
            vec!["!1.2.3.4 : 111"],
        ),
        (
            "two sets, dup ip, two ports",
            vec!["1.2.3.4 : 111", "1.2.3.4 : 222"],
            vec!["1.2.3.4 : 111 222"],
        ),
        (
            "two sets, dup ip, dup uids, two ports",
            vec!["1.2.3.4@uid-1 : 111", "1.2.3.4@uid-1 : 222"],
            vec!["1.2.3.4@uid-1 : 111 222"],
        ),
        (
            "two sets, dup mixed ip, dup uids, two ports",
            vec!["1.2.3.4@uid-1 : 111", "!1.2.3.4@uid-1 : 222"],
            vec!["!1.2.3.4@uid-1 : 222", "1.2.3.4@uid-1 : 111"],
        ),
        (
            "two sets, two ips, dup port",
            vec!["1.2.3.4 : 111", "5.6.7.8 : 111"],
            vec!["1.2.3.4 5.6.7.8 : 111"],
        ),
        (
            "two set, dup ip, two uids, dup ports",
            vec!["1.2.3.4@uid-1 : 111", "1.2.3.4@uid-2 : 111"],
            vec!["1.2.3.4@uid-1 1.2.3.4@uid-2 : 111"],
        ),
        (
            "two set, dup ip, with and without uid, dup ports",
            vec!["1.2.3.4 : 111", "1.2.3.4@uid-2 : 111"],
            vec!["1.2.3.4 1.2.3.4@uid-2 : 111"],
        ),
        (
            "two ips, two dup ip with uid, dup port, wrong order",
            vec!["5.6.7.8 : 111", "5.6.7.8@uid-1 : 111", "1.2.3.4@uid-1 : 111", "1.2.3.4 : 111"],
            vec!["1.2.3.4 1.2.3.4@uid-1 5.6.7.8 5.6.7.8@uid-1 : 111"],
        ),
        (
            "wrong order, ends up with split addresses",
            vec!["5.6.7.8 : 111", "!5.6.7.8@uid-1 : 111", "!1.2.3.4@uid-1 !1.2.3.4 : 111"],
            vec!["5.6.7.8 !1.2.3.4 !1.2.3.4@uid-1 !5.6.7.8@uid-1 : 111"],
        ),
        (
            "two sets, two ips, two ports",
            vec!["1.2.3.4 : 111", "5.6.7.8 : 222"],
            vec!["1.2.3.4 : 111", "5.6.7.8 : 222"],
        ),
        (
            "four sets, three ips, three ports, jumbled",
            vec!["1.2.3.4 : 111", "1.2.3.5 : 222", "1.2.3.6 : 111", "1.2.3.5 : 333"],
            vec!["1.2.3.4 1.2.3.6 : 111", "1.2.3.5 : 222 333"],
        ),
        (
            "four sets, three mixed ips, three ports, jumbled",
            vec!["1.2.3.4 : 111", "!1.2.3.5 : 222", "1.2.3.6 : 111", "!1.2.3.5 : 333"],
            vec!["!1.2.3.5 : 222 333", "1.2.3.4 1.2.3.6 : 111"],
        ),
    ] {
        let given: Vec<_> = given.into_iter().map(subset).collect();
        let packed = canonical(&given);
        assert_eq!(packed.iter().map(text).collect::<Vec<_>>(), expected, "{name}");
        assert_eq!(canonical(&packed), packed, "{name}: once more");
        assert!(are_alike(&given, &packed), "{name}");
    }
}

/// TestPackSubsets, "dup ips with target-refs": the first reference stays.
#[test]
fn the_first_of_two_references_stays() {
    let named = |name: &str| EndpointAddress {
        ip: "1.2.3.4".into(),
        target_ref: Some(ObjectReference { name: Some(name.into()), ..Default::default() }),
        ..EndpointAddress::default()
    };
    let ports = vec![EndpointPort { port: 111, ..EndpointPort::default() }];
    let dup = Subset { addresses: vec![named("foo"), named("bar")], ports, ..Subset::default() };
    let packed = canonical(std::slice::from_ref(&dup));
    assert_eq!(packed[0].addresses, [named("foo")]);
    let mixed =
        Subset { addresses: vec![named("foo")], not_ready_addresses: vec![named("bar")], ..dup };
    let packed = canonical(&[mixed]);
    assert!(packed[0].addresses.is_empty());
    assert_eq!(packed[0].not_ready_addresses, [named("foo")]);
}

/// TestEndpointSubsetsEqualIgnoreResourceVersion: versions of pods do not count, all else does.
#[test]
fn versions_of_pods_do_not_count() {
    let with = |change: fn(&mut Subset)| {
        let mut it = subset("1.2.3.4@uid-1 : 111");
        change(&mut it);
        vec![it]
    };
    let wanted = with(|_| {});
    let target = |it: &mut Subset| it.addresses[0].target_ref.as_mut().unwrap().clone();
    for (name, stored, expected) in [
        ("the same", with(|_| {}), true),
        (
            "another version",
            with(|it| {
                it.addresses[0].target_ref.as_mut().unwrap().resource_version = Some("7".into());
            }),
            true,
        ),
        ("another port", with(|it| it.ports[0].port = 112), false),
        ("another name", with(|it| it.ports[0].name = Some("x".into())), false),
        ("another node", with(|it| it.addresses[0].node_name = Some("n".into())), false),
        (
            "another uid",
            with(|it| it.addresses[0].target_ref.as_mut().unwrap().uid = Some("uid-2".into())),
            false,
        ),
        ("none", Vec::new(), false),
    ] {
        assert_eq!(are_alike(&stored, &wanted), expected, "{name}");
    }
    assert!(target(&mut subset("1.2.3.4@uid-1 : 111")).uid.is_some());
}
