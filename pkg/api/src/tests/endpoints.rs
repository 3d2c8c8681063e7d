//! Services, where pods can be reached, and endpoints in both forms.

use serde_json::{Value, json};

use crate::*;

use super::labels;

/// The view of upstream's bytes; both codecs show the same.
fn read<T: Kind + PartialEq + std::fmt::Debug>(protobuf: &[u8], json: &[u8]) -> T {
    let view = T::decode(Codec::Protobuf, protobuf).unwrap();
    assert_eq!(T::decode(Codec::Json, json).as_ref(), Ok(&view));
    view
}

fn json<T: Kind>(object: &Value) -> T {
    T::decode(Codec::Json, object.to_string().as_bytes()).unwrap()
}

#[test]
fn upstreams_bytes_of_a_service_are_read_from_both_codecs() {
    let service: Service = read(
        include_bytes!("../../testdata/service.pb"),
        include_bytes!("../../testdata/service.json"),
    );
    assert_eq!(service.meta.key, Key::new("shop", "web"));
    assert_eq!(service.selector, Some(labels(&[("app", "web"), ("tier", "front")])));
    let port = |name: &str, protocol: &str, app_protocol: Option<&str>, target| ServicePort {
        name: name.into(),
        protocol: protocol.into(),
        app_protocol: app_protocol.map(Into::into),
        target,
    };
    let http = Some("kubernetes.io/h2c");
    let expected = [
        port("http", "TCP", http, TargetPort::Name("web".into())),
        port("dns", "UDP", None, TargetPort::Number(5353)),
    ];
    assert_eq!(*service.ports, expected);
    assert_eq!(*service.families, [Family::V6, Family::V4]);
    assert_eq!(service.cluster_family(), Some(Family::V4));
    assert!(service.is_external_name && service.publishes_not_ready && service.has_cluster_ip());
    assert_eq!(service.traffic_distribution.as_deref(), Some("PreferSameZone"));
    assert_eq!(service.topology_mode.as_deref(), Some("Auto"));
    let found = Service::INDEXES[0].of(&service);
    assert_eq!(found.as_slice(), ["shop/tier=front".into()]);
}

/// The older annotation counts first; a selector without pairs is none; and so is `None`.
#[test]
fn a_service_says_what_it_is() {
    let annotations = json!({"service.kubernetes.io/topology-mode": "Auto",
        "service.kubernetes.io/topology-aware-hints": "Disabled"});
    let metadata = json!({"name": "web", "namespace": "shop", "annotations": annotations});
    let spec = json!({"selector": {}, "clusterIP": "None", "ports": null, "ipFamilies": ["IPv5"]});
    let service: Service = json(&json!({ "metadata": metadata, "spec": spec }));
    assert_eq!(service.topology_mode.as_deref(), Some("Disabled"));
    assert_eq!(service.selector, None);
    assert!(service.is_headless() && !service.has_cluster_ip() && service.families.is_empty());
    assert_eq!(Service::INDEXES[0].of(&service).as_slice(), []);
}

#[test]
fn upstreams_bytes_of_where_a_pod_is_are_read_from_both_codecs() {
    let pod: Pod = read(
        include_bytes!("../../testdata/network-pod.pb"),
        include_bytes!("../../testdata/network-pod.json"),
    );
    let port = |name: &str, protocol: &str, number| NamedPort {
        name: name.into(),
        protocol: protocol.into(),
        number,
    };
    let names = Names {
        hostname: "h".into(),
        subdomain: "d".into(),
        ports: [port("http", "TCP", 80), port("side", "UDP", 90)].into(),
    };
    let ips = ["10.0.0.7".into(), "fd00::7".into()].into();
    let expected = Network { ips, names: Some(Box::new(names)) };
    assert_eq!(pod.network, expected);
    assert_eq!(expected.host(), Some((&"h".into(), &"d".into())));
    assert_eq!((Network::default().host(), Network::default().ports().len()), (None, 0));
}

#[test]
fn upstreams_bytes_of_the_processors_of_a_node_are_read_from_both_codecs() {
    let node: Node = read(
        include_bytes!("../../testdata/capacity-node.pb"),
        include_bytes!("../../testdata/capacity-node.json"),
    );
    assert_eq!(node.allocatable_cpu.as_deref(), Some("3920m"));
    let status = json!({"allocatable": {"cpu": 4}});
    let node: Node = json(&json!({"metadata": {"name": "a"}, "status": status}));
    assert_eq!(node.allocatable_cpu.as_deref(), Some("4"));
}

/// What is read of endpoints is written as it was: nothing is lost, whatever is unknown beside it.
#[test]
fn endpoints_are_written_as_they_were_read() {
    let target = json!({"kind": "Pod", "namespace": "shop", "name": "a", "uid": "u",
        "resourceVersion": "3", "fieldPath": "f", "apiVersion": "v1"});
    let address = json!({"ip": "10.0.0.1", "hostname": "h", "nodeName": "", "targetRef": target});
    let ports = json!([{"name": "p", "port": 80, "protocol": "TCP", "appProtocol": "http"}]);
    let subsets = json!([{"addresses": [address], "ports": ports},
        {"notReadyAddresses": [{"ip": "10.0.0.2"}]}]);
    let annotations = json!({"endpoints.kubernetes.io/over-capacity": "truncated",
        "control-plane.alpha.kubernetes.io/leader": ""});
    let metadata = json!({"name": "web", "namespace": "shop", "annotations": annotations});
    let object = json!({"metadata": metadata, "subsets": subsets, "later": [1.50]});
    let endpoints: Endpoints = json(&object);
    assert_eq!(json!(endpoints.subsets), subsets);
    assert_eq!(endpoints.over_capacity.as_deref(), Some("truncated"));
    assert!(endpoints.elects_leader && endpoints.raw.field("subsets").is_none());
    let edit = Edit::new(["subsets"], json!(endpoints.subsets));
    let written = endpoints.raw.edited(&Endpoints::RESOURCE, &[edit]).unwrap();
    let mut written: Value = serde_json::from_str(&written).unwrap();
    let fields = written.as_object_mut().unwrap();
    assert!(fields.remove("kind").is_some() && fields.remove("apiVersion").is_some());
    assert_eq!(written, object);
}

#[test]
fn slices_are_written_as_they_were_read() {
    let hints = json!({"forZones": [{"name": "a"}], "forNodes": [{"name": "n"}]});
    let endpoint = json!({
        "addresses": ["10.0.0.1"],
        "conditions": {"ready": true, "serving": true, "terminating": false},
        "hostname": "h",
        "targetRef": {"kind": "Pod", "name": "a"},
        "deprecatedTopology": {"x": "y"},
        "nodeName": "n",
        "zone": "a",
        "hints": hints,
    });
    let endpoints = json!([endpoint, {"addresses": ["10.0.0.2"], "conditions": {}}]);
    let ports = json!([{"name": "b", "port": 2, "protocol": "TCP"}, {"name": "", "port": 1,
        "protocol": "UDP", "appProtocol": "x"}]);
    let service = json!({"kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "me"});
    let slice: EndpointSlice = json(&json!({
        "metadata": {"name": "web-1", "namespace": "shop", "labels": service},
        "addressType": "IPv6", "ports": ports, "endpoints": endpoints,
    }));
    assert_eq!(json!(slice.endpoints), endpoints);
    assert_eq!(json!(slice.ports), json!([ports[1], ports[0]]), "sorted");
    assert_eq!((slice.family, slice.manager()), (Some(Family::V6), "me"));
    assert_eq!(EndpointSlice::INDEXES[0].of(&slice).as_slice(), ["shop/web".into()]);
    let bare: EndpointSlice = json(&json!({"metadata": {"name": "x"}, "addressType": "FQDN",
        "ports": null, "endpoints": [{"addresses": null, "conditions": null}]}));
    assert_eq!((bare.family, bare.manager(), bare.ports.len()), (None, "", 0));
    assert_eq!(bare.endpoints, [Endpoint::default()]);
    assert_eq!(EndpointSlice::service(&bare.meta), None);
}

/// `ParseIPSloppy` and Go's `IP.String`.
#[test]
fn addresses_are_read_as_upstream() {
    for (text, expected) in [
        ("1.2.3.4", Some("1.2.3.4")),
        ("01.002.3.4", Some("1.2.3.4")),
        ("1.2.3.256", None),
        ("1.2.3", None),
        ("1.2.3.4.5", None),
        ("+1.2.3.4", None),
        ("", None),
        ("host", None),
        ("FD00::0001", Some("fd00::1")),
        ("2001:db8:0:0:1:0:0:1", Some("2001:db8::1:0:0:1")),
        ("::ffff:1.2.3.4", Some("1.2.3.4")),
        ("::ffff:01.2.3.4", Some("1.2.3.4")),
        ("1::2::3", None),
        ("fe80::1%eth0", None),
    ] {
        assert_eq!(parse_ip(text).map(|ip| ip.to_string()).as_deref(), expected, "{text}");
    }
    assert_eq!(parse_ip("::1").map(Family::of), Some(Family::V6));
    assert_eq!(Family::parse("IPv4").map(Family::name), Some("IPv4"));
}
