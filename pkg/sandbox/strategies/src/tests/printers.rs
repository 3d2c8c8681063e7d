//! pkg/printers/internalversion/printers_test.go, of the core group.

use serde_json::{Value, json};

use super::EARLIER;
use crate::core::{
    ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume,
    PersistentVolumeClaim, PodTemplate, ResourceQuota, Secret, Service,
};
use crate::fixture::now;
use crate::{Column, Strategy};

/// What each row of a table stands for: a kind, an object, its cells.
type Row<'a> = (&'a str, &'a dyn Strategy, Value, Value);

/// Compares rows; each has a cell per column.
pub(super) fn check(rows: &[Row<'_>]) {
    for (row, kind, object, expected) in rows {
        let cells = kind.row(object, now());
        assert_eq!(json!(cells), *expected, "{row}");
        assert_eq!(cells.len(), kind.columns().len(), "{row}: a cell per column");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn nodes() {
    let node = |name: &str, unschedulable: bool, conditions: Value| {
        json!({ "metadata": { "name": name }, "spec": { "unschedulable": unschedulable },
            "status": { "conditions": conditions } })
    };
    let ready = |status: &str| json!([{ "type": "Ready", "status": status }]);
    let cells = |name: &str, status: &str| {
        json!([
            name,
            status,
            "<none>",
            "<unknown>",
            "",
            "<none>",
            "<none>",
            "<unknown>",
            "<unknown>",
            "<unknown>"
        ])
    };
    let whole = json!({
        "metadata": { "name": "foo10", "creationTimestamp": EARLIER, "labels": {
            "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "master",
            "node-role.kubernetes.io/": "", "foo": "bar" } },
        "status": {
            "addresses": [{ "type": "ExternalIP", "address": "1.1.1.1" },
                { "type": "InternalIP", "address": "2.2.2.2" }],
            "nodeInfo": { "kubeletVersion": "v1.36.3", "osImage": "fake-os",
                "kernelVersion": "6.1", "architecture": "amd64",
                "containerRuntimeVersion": "foo" },
        },
    });
    check(&[
        ("TestPrintNodeStatus", &Node, node("foo1", false, ready("True")), cells("foo1", "Ready")),
        (
            "TestPrintNodeStatus: unschedulable",
            &Node,
            node("foo2", true, ready("True")),
            cells("foo2", "Ready,SchedulingDisabled"),
        ),
        (
            "TestPrintNodeStatus: not ready",
            &Node,
            node("foo4", false, ready("False")),
            cells("foo4", "NotReady"),
        ),
        (
            "TestPrintNodeStatus: no such condition",
            &Node,
            node("foo8", true, json!([{ "type": "InvalidValue", "status": "True" }])),
            cells("foo8", "Unknown,SchedulingDisabled"),
        ),
        (
            "TestPrintNodeRole, OSImage, KernelVersion, Arch, ExternalIP, InternalIP",
            &Node,
            whole,
            json!([
                "foo10",
                "Unknown",
                "master,worker",
                "5m",
                "v1.36.3",
                "2.2.2.2",
                "1.1.1.1",
                "fake-os",
                "6.1 (amd64)",
                "foo"
            ]),
        ),
    ]);
    let wide: Vec<_> = Node.columns().iter().filter(|it| it.wide).map(|it| it.name).collect();
    let expected =
        ["Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"];
    assert_eq!(wide, expected);
}

#[test]
fn services() {
    let service = |kind: &str, spec: Value, ingress: Value| {
        let mut object = json!({ "metadata": { "name": "s" }, "spec": spec,
            "status": { "loadBalancer": { "ingress": ingress } } });
        object["spec"]["type"] = kind.into();
        object
    };
    let tcp = json!([{ "port": 80, "protocol": "TCP" }]);
    let ports = json!({ "ports": tcp, "clusterIPs": ["1.2.3.4"] });
    let three = json!([{ "ip": "2.3.4.5" }, { "ip": "3.4.5.6" },
        { "ip": "5.6.7.8", "hostname": "host5678" }]);
    let cells = |kind: &str, external: &str, ports: &str, selector: &str| {
        json!(["s", kind, "1.2.3.4", external, ports, "<unknown>", selector])
    };
    let nodes = json!({ "clusterIPs": ["1.2.3.4"], "externalIPs": ["9.8.7.6"],
        "ports": [{ "port": 8888, "nodePort": 9999, "protocol": "UDP" }],
        "selector": { "b": "2", "a": "1" } });
    let mut both = ports.clone();
    both["externalIPs"] = json!(["9.9.9.9"]);
    check(&[
        (
            "TestPrintServiceLoadBalancer: wide, as the API server always prints",
            &Service,
            service("LoadBalancer", ports.clone(), three),
            cells("LoadBalancer", "2.3.4.5,3.4.5.6,5.6.7.8", "80/TCP", "<none>"),
        ),
        (
            "TestPrintServiceLoadBalancer: pending",
            &Service,
            service("LoadBalancer", ports.clone(), json!([])),
            cells("LoadBalancer", "<pending>", "80/TCP", "<none>"),
        ),
        (
            "TestPrintService: external IPs of a load balancer",
            &Service,
            service("LoadBalancer", both, json!([{ "hostname": "h" }])),
            cells("LoadBalancer", "h,9.9.9.9", "80/TCP", "<none>"),
        ),
        (
            "TestPrintService: node ports",
            &Service,
            service("NodePort", nodes, json!([])),
            cells("NodePort", "9.8.7.6", "8888:9999/UDP", "a=1,b=2"),
        ),
        (
            "TestPrintService: cluster IP",
            &Service,
            service("ClusterIP", ports, json!([])),
            cells("ClusterIP", "<none>", "80/TCP", "<none>"),
        ),
        (
            "TestPrintService: external name",
            &Service,
            service("ExternalName", json!({ "externalName": "my.database" }), json!([])),
            json!(["s", "ExternalName", "<none>", "my.database", "<none>", "<unknown>", "<none>"]),
        ),
    ]);
}

#[test]
fn events() {
    let event = |part: Value| {
        let mut object = json!({ "metadata": { "name": "event2" }, "type": "Warning",
            "reason": "Event Reason", "message": " Message Data\n", "count": 6,
            "source": { "component": "kubelet", "host": "Node1" },
            "involvedObject": { "kind": "Deployment", "name": "Deployment Name",
                "fieldPath": "spec.containers{foo}" } });
        for (key, value) in part.as_object().unwrap() {
            object[key] = value.clone();
        }
        object
    };
    let cells = |last: &str, first: &str, count: i64, source: &str| {
        json!([
            last,
            "Warning",
            "Event Reason",
            "deployment/Deployment Name",
            "spec.containers{foo}",
            source,
            "Message Data",
            first,
            count,
            "event2"
        ])
    };
    let (three, two) = ("2024-04-28T12:00:00Z", "2024-04-29T12:00:00Z");
    check(&[
        (
            "TestPrintEvent: wide",
            &Event,
            event(json!({ "firstTimestamp": three, "lastTimestamp": two })),
            cells("2d", "3d", 6, "kubelet, Node1"),
        ),
        (
            "TestPrintEvent: w/o FirstTimestamp",
            &Event,
            event(json!({ "eventTime": "2024-04-28T12:00:00.000000Z", "lastTimestamp": two })),
            cells("2d", "3d", 6, "kubelet, Node1"),
        ),
        (
            "TestPrintEvent: w/o both, without a count",
            &Event,
            event(json!({ "eventTime": "2024-04-28T12:00:00.000000Z", "count": 0 })),
            cells("3d", "3d", 1, "kubelet, Node1"),
        ),
        (
            "TestPrintEvent: series",
            &Event,
            event(json!({ "firstTimestamp": three, "source": null,
                "reportingComponent": "kubernetes.io/kubelet", "reportingInstance": "",
                "series": { "count": 12, "lastObservedTime": "2024-05-01T11:55:00.000000Z" } })),
            cells("5m", "3d", 12, "kubernetes.io/kubelet"),
        ),
    ]);
}

#[test]
fn volumes() {
    let claim = |spec: Value, phase: &str| {
        json!({ "metadata": { "name": "test1" }, "spec": spec, "status": { "phase": phase,
            "accessModes": ["ReadOnlyMany", "ReadWriteOnce"], "capacity": { "storage": "4Gi" } } })
    };
    let volume = json!({
        "metadata": { "name": "test2" },
        "spec": { "accessModes": ["ReadOnlyMany"], "capacity": { "storage": "4Gi" },
            "claimRef": { "name": "test", "namespace": "default" },
            "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "my-scn" },
        "status": { "phase": "Bound" },
    });
    let mut ending = volume.clone();
    ending["metadata"]["deletionTimestamp"] = EARLIER.into();
    let cells = |status: &str| {
        json!([
            "test2",
            "4Gi",
            "ROX",
            "Retain",
            status,
            "default/test",
            "my-scn",
            "<unset>",
            "",
            "<unknown>",
            "<unset>"
        ])
    };
    check(&[
        (
            "TestPrintPersistentVolumeClaim: bound",
            &PersistentVolumeClaim,
            claim(json!({ "volumeName": "my-volume", "volumeMode": "Filesystem" }), "Bound"),
            json!([
                "test1",
                "Bound",
                "my-volume",
                "4Gi",
                "RWO,ROX",
                "",
                "<unset>",
                "<unknown>",
                "Filesystem"
            ]),
        ),
        (
            "TestPrintPersistentVolumeClaim: lost",
            &PersistentVolumeClaim,
            claim(
                json!({ "storageClassName": "my-scn", "volumeAttributesClassName": "v" }),
                "Lost",
            ),
            json!(["test1", "Lost", "", "", "", "my-scn", "v", "<unknown>", "<unset>"]),
        ),
        ("TestPrintPersistentVolume", &PersistentVolume, volume, cells("Bound")),
        ("TestPrintPersistentVolume: ending", &PersistentVolume, ending, cells("Terminating")),
    ]);
}

#[test]
fn quotas_and_small_kinds() {
    let quota = json!({ "metadata": { "name": "q", "creationTimestamp": EARLIER }, "status": {
        "used": { "cpu": "1", "memory": "1Gi", "pods": "1", "limits.cpu": "2" },
        "hard": { "cpu": "100", "memory": "4Gi", "pods": "10", "limits.cpu": "200" } } });
    let named = |part: Value| {
        let mut object = json!({ "metadata": { "name": "n", "creationTimestamp": EARLIER } });
        for (key, value) in part.as_object().unwrap() {
            object[key] = value.clone();
        }
        object
    };
    let ips = |count: usize| -> Vec<Value> {
        (1..=count).map(|it| json!({ "ip": format!("1.2.3.{it}") })).collect()
    };
    let four = json!({ "subsets": [{ "addresses": ips(4), "ports": [{ "port": 8001 }] }] });
    let bare = json!({ "subsets": [{ "addresses": ips(1) }] });
    let template = json!({ "template": { "metadata": { "labels": { "a": "b" } }, "spec": {
        "containers": [{ "name": "x", "image": "i" }, { "name": "y", "image": "j" }] } } });
    check(&[
        (
            "TestPrintResourceQuota",
            &ResourceQuota,
            quota,
            json!(["q", "cpu: 1/100, memory: 1Gi/4Gi, pods: 1/10", "limits.cpu: 2/200", "5m"]),
        ),
        (
            "TestPrintNamespace",
            &Namespace,
            named(json!({ "status": { "phase": "Active" } })),
            json!(["n", "Active", "5m"]),
        ),
        (
            "TestPrintSecret",
            &Secret,
            named(json!({ "type": "kubernetes.io/tls", "data": { "a": "", "b": "" } })),
            json!(["n", "kubernetes.io/tls", 2, "5m"]),
        ),
        (
            "TestPrintConfigMap",
            &ConfigMap,
            named(json!({ "data": { "a": "" }, "binaryData": { "b": "" } })),
            json!(["n", 2, "5m"]),
        ),
        (
            "TestPrintEndpoint",
            &Endpoints,
            named(four),
            json!(["n", "1.2.3.1:8001,1.2.3.2:8001,1.2.3.3:8001 + 1 more...", "5m"]),
        ),
        ("TestPrintEndpoint: no ports", &Endpoints, named(bare), json!(["n", "1.2.3.1", "5m"])),
        ("TestPrintEndpoint: none", &Endpoints, named(json!({})), json!(["n", "<none>", "5m"])),
        ("TestPrintPodTemplate", &PodTemplate, named(template), json!(["n", "x,y", "i,j", "a=b"])),
        ("NewDefaultTableConvertor", &LimitRange, named(json!({})), json!(["n", EARLIER])),
    ]);
    let created = LimitRange.columns().last().copied();
    let expected = Column { name: "Created At", kind: "date", format: "", wide: false };
    assert_eq!(created, Some(expected));
}
