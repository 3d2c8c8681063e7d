//! TestPrintPod, TestPrintPodWithRestartableInitContainer, TestPrintPodwide.

use std::time::Duration;

use api::Time;
use serde_json::{Value, json};

use crate::Strategy;
use crate::pod::Pod;

const NOW: Time = Time::from_unix(100_000_000, 0);

/// A pod with this many containers.
#[expect(clippy::needless_pass_by_value, reason = "rows are easier to read")]
fn pod(containers: usize, status: Value) -> Value {
    json!({
        "metadata": {"name": "test"},
        "spec": {"containers": vec![json!({}); containers]},
        "status": status,
    })
}

fn with_init(count: usize, mut pod: Value) -> Value {
    pod["spec"]["initContainers"] = vec![json!({}); count].into();
    pod
}

/// A pod with two sidecars.
fn with_sidecars(mut pod: Value) -> Value {
    pod["spec"]["initContainers"] = json!([
        {"name": "one", "restartPolicy": "Always"},
        {"name": "two", "restartPolicy": "Always"},
    ]);
    pod
}

fn deleted(mut pod: Value) -> Value {
    pod["metadata"]["deletionTimestamp"] = ago(10).into();
    pod
}

fn ago(seconds: u64) -> String {
    (NOW - Duration::from_secs(seconds)).to_string()
}

/// What a container was before it was started again.
fn ended(seconds_ago: u64) -> Value {
    json!({"terminated": {"finishedAt": ago(seconds_ago), "exitCode": 1}})
}

fn running(restarts: i64) -> Value {
    json!({"ready": true, "restartCount": restarts, "state": {"running": {}}})
}

fn terminated(code: i64, reason: &str) -> Value {
    json!({"state": {"terminated": {"exitCode": code, "reason": reason}}})
}

fn again(mut container: Value, seconds_ago: u64) -> Value {
    container["lastState"] = ended(seconds_ago);
    container
}

fn not_ready(mut container: Value) -> Value {
    container["ready"] = false.into();
    container
}

fn check(rows: &[(&str, Value, [&str; 3])]) {
    for (name, pod, expected) in rows {
        let row = Pod.row(pod, NOW);
        assert_eq!(row.len(), Pod.columns().len(), "{name}");
        assert_eq!(row[1..4], expected.map(Value::from), "{name}");
        assert_eq!((&row[0], &row[4]), (&json!("test"), &json!("<unknown>")), "{name}");
    }
}

const DAY: u64 = 86400;

#[test]
#[expect(clippy::too_many_lines, reason = "a table, a row for each of upstream's")]
fn containers_say_what_a_pod_does() {
    let waits = json!({"restartCount": 3, "state": {"waiting": {"reason": "Waits"}}});
    let ready = json!({"type": "Ready", "status": "True"});
    let statuses = |phase: &str, all: Value| json!({"phase": phase, "containerStatuses": all});
    let plain = json!({"ready": true, "restartCount": 3});
    let done = terminated(0, "Completed");
    let crash = terminated(1, "podCrash");
    check(&[
        ("1", pod(2, statuses("P", json!([running(3), {"restartCount": 3}]))), ["1/2", "P", "6"]),
        ("2", pod(2, statuses("P", json!([running(3), waits]))), ["1/2", "Waits", "6"]),
        ("3: the first says more", pod(2, statuses("P", json!([waits, terminated(0, "End")]))), {
            ["0/2", "Waits", "3"]
        }),
        ("4", pod(2, statuses("P", json!([running(3), plain]))), ["1/2", "P", "6"]),
        (
            "5",
            pod(2, json!({"phase": "P", "reason": "R", "containerStatuses": [running(3), plain]})),
            ["1/2", "R", "6"],
        ),
        ("6", pod(2, statuses("Running", json!([done, running(3)]))), ["1/2", "NotReady", "3"]),
        (
            "6 ready",
            pod(
                2,
                json!({
                    "phase": "Running",
                    "containerStatuses": [done, running(3)],
                    "conditions": [ready],
                }),
            ),
            ["1/2", "Running", "3"],
        ),
        ("12", pod(1, statuses("Running", json!([again(running(3), 5 * DAY)]))), {
            ["1/1", "Running", "3 (5d ago)"]
        }),
        (
            "13",
            pod(2, statuses("Running", json!([running(0), again(running(3), 10 * DAY)]))),
            ["2/2", "Running", "3 (10d ago)"],
        ),
        (
            "14: the last one counts",
            pod(
                2,
                statuses(
                    "Running",
                    json!([again(running(6), 5 * DAY), again(running(3), 20 * DAY)]),
                ),
            ),
            ["2/2", "Running", "9 (5d ago)"],
        ),
        (
            "15",
            pod(
                2,
                json!({"phase": "P", "conditions": [
                    {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"},
                ]}),
            ),
            ["0/2", "SchedulingGated", "0"],
        ),
        ("16", pod(1, statuses("Succeeded", json!([done]))), ["0/1", "Completed", "0"]),
        ("17", pod(1, statuses("Failed", json!([terminated(1, "Error")]))), ["0/1", "Error", "0"]),
        ("18", deleted(pod(1, statuses("Succeeded", json!([done])))), ["0/1", "Completed", "0"]),
        ("19", deleted(pod(1, statuses("Running", json!([not_ready(running(0))])))), {
            ["0/1", "Terminating", "0"]
        }),
        ("20", deleted(pod(1, json!({"phase": "Pending"}))), ["0/1", "Terminating", "0"]),
        ("lost", deleted(pod(1, json!({"phase": "Running", "reason": "NodeLost"}))), {
            ["0/1", "Unknown", "0"]
        }),
        ("21", pod(2, statuses("Failed", json!([crash, running(0)]))), ["1/2", "podCrash", "0"]),
        ("22", pod(2, statuses("Failed", json!([running(0), crash]))), ["1/2", "podCrash", "0"]),
        ("23", pod(3, statuses("Failed", json!([running(0), crash, terminated(0, "")]))), {
            ["1/3", "podCrash", "0"]
        }),
        (
            "code",
            pod(1, statuses("Failed", json!([terminated(3, "")]))),
            ["0/1", "ExitCode:3", "0"],
        ),
        (
            "signal",
            pod(1, statuses("Failed", json!([{"state": {"terminated": {"signal": 9}}}]))),
            ["0/1", "Signal:9", "0"],
        ),
        ("completed and failed", pod(2, statuses("Failed", json!([done, terminated(2, "E")]))), {
            ["0/2", "E", "0"]
        }),
    ]);
}

#[test]
fn init_containers_come_first() {
    let waits = json!({"state": {"waiting": {}}});
    let starts = json!({"restartCount": 3, "state": {"running": {}}, "lastState": ended(10)});
    let done = json!({"state": {"terminated": {}}});
    let mut done_late = again(done.clone(), 120);
    done_late["restartCount"] = 2.into();
    let status = |init: Value| {
        let containers = json!([waits]);
        json!({"phase": "P", "initContainerStatuses": init, "containerStatuses": containers})
    };
    let initialized = |init: Value, container: Value| {
        json!({
            "phase": "Running",
            "initContainerStatuses": init,
            "containerStatuses": [container],
        })
    };
    let one = |init: Value| with_init(1, pod(1, status(init)));
    let two = |init: Value| with_init(2, pod(1, status(init)));
    let late = again(not_ready(running(4)), 20);
    let reason = |state: Value| one(json!([{"state": state}]));
    check(&[
        ("7", one(json!([starts])), ["0/1", "Init:0/1", "3 (10s ago)"]),
        ("8", two(json!([starts, waits])), ["0/1", "Init:0/2", "3 (10s ago)"]),
        ("9", two(json!([done, starts])), ["0/1", "Init:1/2", "3 (10s ago)"]),
        ("10", two(json!([done_late, starts])), ["0/1", "Init:1/2", "5 (10s ago)"]),
        ("11", with_init(1, pod(1, initialized(json!([done_late]), late))), {
            ["0/1", "Running", "4 (20s ago)"]
        }),
        ("failed", reason(json!({"terminated": {"exitCode": 1, "reason": "Error"}})), {
            ["0/1", "Init:Error", "0"]
        }),
        ("code", reason(json!({"terminated": {"exitCode": 2}})), ["0/1", "Init:ExitCode:2", "0"]),
        ("signal", reason(json!({"terminated": {"exitCode": 2, "signal": 9}})), {
            ["0/1", "Init:Signal:9", "0"]
        }),
        ("waits", reason(json!({"waiting": {"reason": "CrashLoopBackOff"}})), {
            ["0/1", "Init:CrashLoopBackOff", "0"]
        }),
        ("starts", reason(json!({"waiting": {"reason": "PodInitializing"}})), {
            ["0/1", "Init:0/1", "0"]
        }),
    ]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table, a row for each of upstream's")]
fn sidecars_count_as_containers() {
    let sidecar = |name: &str, started: bool, restarts: i64| {
        json!({
            "name": name,
            "started": started,
            "restartCount": restarts,
            "state": {"running": {}},
        })
    };
    let status = |phase: &str, initialized: &str, init: Value, container: Value| {
        json!({
            "phase": phase,
            "initContainerStatuses": init,
            "containerStatuses": [container],
            "conditions": [{"type": "Initialized", "status": initialized}],
        })
    };
    let waits = json!({"state": {"waiting": {}}});
    let first = |started| again(sidecar("one", started, 3), 10);
    let second = |started| sidecar("two", started, 0);
    let killed = |name: &str, restarts: i64| {
        let mut status = terminated(137, "Error");
        status["name"] = name.into();
        status["restartCount"] = restarts.into();
        status
    };
    let mut done = again(terminated(0, "Completed"), 20);
    done["restartCount"] = 4.into();
    let pending = |init| with_sidecars(pod(1, status("Pending", "False", init, waits.clone())));
    let ready = |mut sidecar: Value| {
        sidecar["ready"] = true.into();
        sidecar
    };
    check(&[
        ("1", pending(json!([first(false), second(false)])), ["0/3", "Init:0/2", "3 (10s ago)"]),
        ("1b", pending(json!([first(true), second(false)])), ["0/3", "Init:1/2", "3 (10s ago)"]),
        (
            "2",
            with_sidecars(pod(
                1,
                status(
                    "Running",
                    "True",
                    json!([first(true), second(true)]),
                    again(running(4), 20),
                ),
            )),
            ["1/3", "Running", "7 (10s ago)"],
        ),
        (
            "sidecars are ready",
            with_sidecars(pod(
                1,
                status(
                    "Running",
                    "True",
                    json!([ready(first(true)), ready(second(true))]),
                    running(0),
                ),
            )),
            ["3/3", "Running", "3 (10s ago)"],
        ),
        (
            "3",
            with_sidecars(pod(
                1,
                status(
                    "Succeeded",
                    "True",
                    json!([again(killed("one", 3), 10), killed("two", 0)]),
                    done,
                ),
            )),
            ["0/3", "Completed", "7 (10s ago)"],
        ),
        (
            "4: statuses of nobody",
            {
                let mut pod = pod(
                    1,
                    json!({
                        "phase": "Running",
                        "initContainerStatuses": [
                            {"name": "x"},
                            {"name": "init"},
                            {"name": "sidecar"},
                        ],
                        "containerStatuses": [{"name": "y"}, {"name": "container"}],
                    }),
                );
                pod["spec"]["initContainers"] =
                    json!([{"name": "init"}, {"name": "sidecar", "restartPolicy": "Always"}]);
                pod
            },
            ["0/2", "Init:0/2", "0"],
        ),
    ]);
}

#[test]
fn wide_rows_say_where_a_pod_is() {
    let mut bound = pod(
        1,
        json!({
            "podIPs": [{"ip": "1.1.1.1"}, {"ip": "2001:db8::"}],
            "nominatedNodeName": "node1",
            "conditions": [{"type": "a", "status": "False"}, {"type": "b", "status": "True"}],
        }),
    );
    bound["spec"]["nodeName"] = "test1".into();
    bound["spec"]["readinessGates"] =
        json!([{"conditionType": "a"}, {"conditionType": "b"}, {"conditionType": "c"}]);
    let rows = [
        (bound, ["1.1.1.1", "test1", "node1", "1/3"]),
        (pod(2, json!({})), ["<none>", "<none>", "<none>", "<none>"]),
    ];
    for (pod, expected) in rows {
        assert_eq!(Pod.row(&pod, NOW)[5..], expected.map(Value::from));
    }
}

/// A row is made of anything.
#[test]
fn what_is_no_pod_has_a_row() {
    for broken in [json!(null), json!([]), json!({"spec": 1, "status": [], "metadata": "x"})] {
        assert_eq!(Pod.row(&broken, NOW).len(), 9);
    }
}
