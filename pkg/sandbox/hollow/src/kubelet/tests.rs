//! What becomes of pods, and when.

use serde_json::{Value, json};

use crate::Nodes;
use crate::fields::{at, condition, items, number, text};
use crate::kinds::PODS;
use crate::world::{World, pod, pod_with};

/// A world with a node and a pod, which is the same at each run of a row.
fn world(annotations: &[(&str, &str)], spec: &Value) -> World {
    let mut world = World::new(&Nodes::new(1));
    world.run(1);
    let delay = [("start-delay", "1s"), ("stop-delay", "500ms")];
    let annotations: Vec<_> = delay.iter().chain(annotations).copied().collect();
    world.log.clear();
    world.create(&PODS, pod_with("a", &annotations, spec));
    world
}

/// The words of each change of a pod, from its binding on, at seconds since its creation.
fn story(world: &World) -> Vec<&str> {
    world.log.iter().skip(2).map(String::as_str).collect()
}

type Story<'a> = (&'a str, &'a [(&'a str, &'a str)], Value, &'a [&'a str]);

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn stories() {
    let job = json!({ "restartPolicy": "Never" });
    let on_failure = json!({ "restartPolicy": "OnFailure" });
    let first = |extra: &[(&str, &str)]| {
        let mut container = json!({ "name": "i", "image": "i" });
        for (key, value) in extra {
            container[key] = json!(value);
        }
        json!({ "initContainers": [container] })
    };
    let rows: &[Story<'_>] = &[
        (
            "TestGetPhase: all running",
            &[],
            json!({}),
            &["1.0 a Pending False main:ContainerCreating/0", "2.0 a Running True main:running/0"],
        ),
        (
            "TestGeneratePodReadyCondition",
            &[("ready-delay", "3s")],
            json!({}),
            &[
                "1.0 a Pending False main:ContainerCreating/0",
                "2.0 a Running False main:running/0",
                "5.0 a Running True main:running/0",
            ],
        ),
        (
            "never ready",
            &[("not-ready", "true")],
            json!({}),
            &["1.0 a Pending False main:ContainerCreating/0", "2.0 a Running False main:running/0"],
        ),
        (
            "TestPodPhaseWithRestartNever: succeeded",
            &[("run-for", "4s")],
            job.clone(),
            &[
                "1.0 a Pending False main:ContainerCreating/0",
                "2.0 a Running True main:running/0",
                "6.0 a Succeeded False main:Completed(0)/0",
            ],
        ),
        (
            "TestPodPhaseWithRestartNever: failed",
            &[("run-for", "4s"), ("exit-code", "3")],
            job,
            &[
                "1.0 a Pending False main:ContainerCreating/0",
                "2.0 a Running True main:running/0",
                "6.0 a Failed False main:Error(3)/0",
            ],
        ),
        (
            "TestPodPhaseWithRestartOnFailure",
            &[("run-for", "4s"), ("exit-code", "1")],
            on_failure,
            &[
                "1.0 a Pending False main:ContainerCreating/0",
                "2.0 a Running True main:running/0",
                "6.0 a Running False main:Error(1)/0",
                "7.0 a Running True main:running/1",
                "11.0 a Running False main:Error(1)/1",
                "12.0 a Running False main:CrashLoopBackOff/1",
                "21.0 a Running True main:running/2",
            ],
        ),
        (
            "TestPodPhaseWithRestartAlwaysInitContainers",
            &[("run-for.i", "2s")],
            first(&[]),
            &[
                "1.0 a Pending False i:PodInitializing/0 main:PodInitializing/0",
                "2.0 a Pending False i:running/0 main:PodInitializing/0",
                "4.0 a Running True i:Completed(0)/0 main:running/0",
            ],
        ),
        (
            "TestPodPhaseWithRestartAlwaysRestartableInitContainers",
            &[],
            first(&[("restartPolicy", "Always")]),
            &[
                "1.0 a Pending False i:PodInitializing/0 main:PodInitializing/0",
                "2.0 a Running True i:running/0 main:running/0",
            ],
        ),
        (
            "TestActiveDeadlineHandler",
            &[],
            json!({ "activeDeadlineSeconds": 5 }),
            &[
                "1.0 a Pending False main:ContainerCreating/0",
                "2.0 a Running True main:running/0",
                "6.0 a Failed False main:running/0",
                "6.5 a Failed False main:Completed(0)/0",
            ],
        ),
    ];
    for (name, annotations, spec, wanted) in rows {
        let mut world = world(annotations, spec);
        world.run(21);
        assert_eq!(story(&world), *wanted, "{name}");
        assert_eq!(world.failures, [""; 0], "{name}");
    }
}

#[test]
fn a_failed_init_container_ends_a_pod_that_never_restarts() {
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{ "name": "i", "image": "i" }],
    });
    let mut world = world(&[("exit-code.i", "2")], &spec);
    world.run(10);
    let wanted = "3.0 a Pending False i:running/0 main:PodInitializing/0";
    assert_ne!(story(&world).last(), Some(&wanted));
    assert_eq!(
        story(&world).last(),
        Some(&"3.0 a Failed False i:Error(2)/0 main:PodInitializing/0")
    );
}

#[test]
fn sidecars_outlive_the_others_and_then_stop() {
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{ "name": "s", "image": "s", "restartPolicy": "Always" }],
    });
    let mut world = world(&[("run-for", "3s")], &spec);
    world.run(10);
    assert_eq!(
        story(&world)[2..],
        [
            "5.0 a Running False s:running/0 main:Completed(0)/0",
            "5.5 a Succeeded False s:Completed(0)/0 main:Completed(0)/0",
        ]
    );
}

#[test]
fn pods_of_a_job_end_by_themselves() {
    let mut world = World::new(&Nodes::new(1));
    let mut of_job = pod_with("a", &[], &json!({ "restartPolicy": "OnFailure" }));
    of_job["metadata"]["ownerReferences"] =
        json!([{ "kind": "Job", "name": "j", "uid": "j", "controller": true }]);
    world.create(&PODS, of_job);
    world.create(&PODS, pod_with("b", &[], &json!({ "restartPolicy": "OnFailure" })));
    world.run(10);
    assert_eq!(text(world.pod("a"), "/status/phase"), "Succeeded");
    assert_eq!(text(world.pod("b"), "/status/phase"), "Running");
}

#[test]
fn crash_loops_back_off_to_five_minutes() {
    let mut world = world(&[("run-for", "1s"), ("exit-code", "1")], &json!({}));
    world.run(1500);
    let starts = world.log.iter().filter(|line| line.contains("main:running"));
    let starts: Vec<f64> =
        starts.map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    // From one end to the next start: at once (it takes a second to see), 10 s, 20 s, …
    let waits: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0] - 1.0).collect();
    assert_eq!(waits, [1.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0]);
    let status = items(world.pod("a"), "/status/containerStatuses").first().unwrap();
    let message = text(status, "/state/waiting/message");
    let uid = text(world.pod("a"), "/metadata/uid");
    assert_eq!(
        message,
        format!("back-off 5m0s restarting failed container=main pod=a_default({uid})")
    );
    assert_eq!(number(status, "/lastState/terminated/exitCode"), Some(1));
    let back_off = format!("Back-off restarting failed container main in pod a_default({uid})");
    assert_eq!(world.events("BackOff"), [(back_off.as_str(), 9)]);
    assert_eq!(world.events("Started"), [("Container started", 10)]);
}

#[test]
fn a_long_run_forgets_the_crashes() {
    let mut world = world(&[], &json!({}));
    world.run(5);
    let key = api::Key::new("default", "a");
    for _ in 0..3 {
        assert!(world.kubelet.fail(&key));
        world.run(700);
    }
    let loops = world.log.iter().filter(|line| line.contains("CrashLoop")).count();
    assert_eq!((loops, world.ready()), (0, 1));
}

#[test]
fn deletions_take_as_long_as_they_may() {
    // Stop delay, grace, when the containers end, exit code.
    let rows = [
        ("500ms", Some(30), "10.5", 0),
        ("5s", Some(30), "15.0", 0),
        ("5s", Some(2), "12.0", 137),
        ("60s", None, "40.0", 137),
    ];
    for (delay, grace, end, code) in rows {
        let mut world = world(&[("stop-delay", delay)], &json!({}));
        world.run(9);
        world.delete("a", grace);
        world.run(60);
        let reason = if code == 0 { "Completed" } else { "Error" };
        let phase = if code == 0 { "Succeeded" } else { "Failed" };
        let last = format!("{end} a {phase} False main:{reason}({code})/0");
        assert_eq!(story(&world)[3..], [last, format!("{end} a gone")], "{delay} {grace:?}");
        assert_eq!(world.events("Killing"), [("Stopping container main", 1)]);
    }
}

#[test]
fn finalizers_keep_a_pod_and_nothing_loops() {
    let mut world = world(&[], &json!({}));
    world.edit(&PODS, "default/a", |pod| pod["metadata"]["finalizers"] = json!(["x/y"]));
    world.run(5);
    world.delete("a", Some(0));
    world.run(5);
    let before = world.log.len();
    world.run(600);
    assert_eq!((world.log.len(), world.all("pods").count()), (before, 1));
    assert_eq!(text(world.pod("a"), "/status/phase"), "Failed", "no time to stop");
}

#[test]
fn a_pod_that_is_deleted_without_grace_is_forgotten() {
    let mut world = world(&[], &json!({}));
    world.run(5);
    world.delete("a", Some(0));
    world.run(60);
    assert_eq!(story(&world).last(), Some(&"6.0 a gone"));
    assert!(!world.kubelet.fail(&api::Key::new("default", "a")));
    world.create(&PODS, pod("a"));
    world.run(5);
    assert_eq!(world.ready(), 1);
}

#[test]
fn images_that_are_nowhere_are_pulled_again_until_they_change() {
    let spec = json!({ "containers": [{ "name": "main", "image": "registry.invalid:5000/x:1" }] });
    let mut world = world(&[], &spec);
    world.run(30);
    assert_eq!(
        story(&world)[1..],
        [
            "2.0 a Pending False main:ErrImagePull/0",
            "4.0 a Pending False main:ImagePullBackOff/0",
            "12.0 a Pending False main:ErrImagePull/0",
            "14.0 a Pending False main:ImagePullBackOff/0",
        ]
    );
    let status = items(world.pod("a"), "/status/containerStatuses").first().unwrap();
    let message = text(status, "/state/waiting/message");
    let start =
        "Back-off pulling image \"registry.invalid:5000/x:1\": ErrImagePull: failed to pull";
    assert!(message.starts_with(start), "{message}");
    world.edit(&PODS, "default/a", |pod| pod["spec"]["containers"][0]["image"] = json!("x:2"));
    world.run(1);
    assert_eq!(story(&world).last(), Some(&"31.0 a Running True main:running/0"));
}

#[test]
fn attempts_to_pull_back_off_to_five_minutes() {
    let spec = json!({ "containers": [{ "name": "main", "image": "registry.invalid/x" }] });
    let mut world = world(&[], &spec);
    world.run(1300);
    let pulls = world.log.iter().filter(|line| line.contains("ErrImagePull"));
    let pulls: Vec<f64> =
        pulls.map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    let waits: Vec<f64> = pulls.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(waits, [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0]);
}

#[test]
fn a_new_image_restarts_the_container() {
    let mut world = world(&[], &json!({}));
    world.run(9);
    world.edit(&PODS, "default/a", |pod| pod["spec"]["containers"][0]["image"] = json!("web:2"));
    world.run(9);
    assert_eq!(
        story(&world)[4..],
        ["10.5 a Running False main:Completed(0)/0", "11.5 a Running True main:running/1",]
    );
    let status = items(world.pod("a"), "/status/containerStatuses").first().unwrap();
    assert_eq!(text(status, "/image"), "web:2");
    let message = "Container main definition changed, will be restarted";
    assert_eq!(world.events("Killing"), [(message, 1)]);
}

#[test]
fn the_status_is_upstreams() {
    let mut world = world(
        &[("run-for.i", "1s")],
        &json!({
            "initContainers": [{ "name": "i", "image": "i" }],
            "readinessGates": [{ "conditionType": "x/gate" }],
        }),
    );
    world.run(1);
    let said = |world: &World, kind: &str| {
        let it = condition(world.pod("a"), kind).unwrap();
        format!("{} {} {}", text(it, "/status"), text(it, "/reason"), text(it, "/message"))
    };
    let unready = "False ContainersNotReady containers with unready status: [main]";
    assert_eq!(said(&world, "ContainersReady"), unready);
    assert_eq!(said(&world, "Ready"), unready);
    let waits = "False ContainersNotInitialized containers with incomplete status: [i]";
    assert_eq!(said(&world, "Initialized"), waits);
    world.run(5);
    assert_eq!(said(&world, "ContainersReady"), "True  ");
    let gate = "False ReadinessGatesNotReady corresponding condition of pod readiness gate \
                \"x/gate\" does not exist.";
    assert_eq!(said(&world, "Ready"), gate);
    world.edit(&PODS, "default/a", |pod| {
        let conditions = pod["status"]["conditions"].as_array_mut().unwrap();
        conditions.push(json!({ "type": "x/gate", "status": "True" }));
    });
    world.run(1);
    assert_eq!(said(&world, "Ready"), "True  ");
    assert_eq!(said(&world, "PodReadyToStartContainers"), "True  ");
    let pod = world.pod("a");
    assert_eq!(number(pod, "/status/observedGeneration"), Some(1));
    assert_eq!(text(pod, "/status/qosClass"), "BestEffort");
    assert_eq!(text(pod, "/status/podIP"), "10.244.0.2");
    assert_eq!(text(pod, "/status/hostIP"), "10.128.0.1");
    let status = items(pod, "/status/containerStatuses").first().unwrap();
    assert!(text(status, "/containerID").starts_with("hollow://"));
    assert!(text(status, "/imageID").starts_with("web@sha256:"));
    assert_eq!(at(status, "/started"), Some(&json!(true)));
}

#[test]
fn what_others_write_is_set_right() {
    let mut world = world(&[], &json!({ "hostNetwork": true }));
    world.run(5);
    assert_eq!(text(world.pod("a"), "/status/podIP"), "10.128.0.1");
    // As the node lifecycle controller does, and it insists.
    for _ in 0..5 {
        world.edit(&PODS, "default/a", |pod| {
            let conditions = pod["status"]["conditions"].as_array_mut().unwrap();
            let ready = conditions.iter_mut().find(|it| text(it, "/type") == "Ready").unwrap();
            ready["status"] = json!("False");
        });
        assert_eq!(world.ready(), 0);
        world.run(1);
        assert_eq!(world.ready(), 1);
    }
    // As a controller that fails a pod: the kubelet stops it.
    world.edit(&PODS, "default/a", |pod| pod["status"]["phase"] = json!("Failed"));
    world.run(2);
    assert_eq!(story(&world).last(), Some(&"11.5 a Failed False main:Completed(0)/0"));
}

#[test]
fn readiness_follows_the_annotation() {
    let mut world = world(&[], &json!({}));
    world.run(5);
    for (value, ready) in [("true", 0), ("false", 1)] {
        world.edit(&PODS, "default/a", |pod| {
            pod["metadata"]["annotations"]["sandbox/not-ready"] = json!(value);
        });
        world.run(1);
        assert_eq!(world.ready(), ready);
    }
}

#[test]
fn addresses_are_lent_again() {
    let mut world = World::new(&Nodes::new(1));
    for round in 0..4 {
        for at in 0..100 {
            let name = format!("p{round}-{at}");
            world.create(
                &PODS,
                pod_with(&name, &[("run-for", "1s")], &json!({ "restartPolicy": "Never" })),
            );
        }
        world.run(5);
    }
    let last = world.all("pods").filter(|it| text(it, "/metadata/name").starts_with("p3-"));
    let addresses: std::collections::BTreeSet<&str> =
        last.map(|it| text(it, "/status/podIP")).collect();
    assert_eq!(addresses.len(), 100);
}

#[test]
fn a_reboot_initializes_again_where_that_is_allowed() {
    // Restart policy, what becomes of the containers after two seconds and in the end.
    let rows = [
        (
            "Always",
            "Pending False i:running/1 main:Unknown(255)/0",
            "Running True i:Completed(0)/1 main:running/1",
        ),
        (
            "OnFailure",
            "Running True i:Completed(0)/0 main:running/1",
            "Running True i:Completed(0)/0 main:running/1",
        ),
        (
            "Never",
            "Failed False i:Completed(0)/0 main:Unknown(255)/0",
            "Failed False i:Completed(0)/0 main:Unknown(255)/0",
        ),
    ];
    for (policy, soon, last) in rows {
        let spec = json!({
            "restartPolicy": policy,
            "initContainers": [{ "name": "i", "image": "i" }],
        });
        let mut world = world(&[("run-for.i", "3s")], &spec);
        world.run(10);
        world.kubelet.kill("node-0");
        world.run(10);
        world.kubelet.revive("node-0");
        world.run(2);
        assert_eq!(crate::world::words(world.pod("a")), soon, "{policy}");
        world.run(10);
        assert_eq!(crate::world::words(world.pod("a")), last, "{policy}");
    }
}

/// Rule: pods of an indexed Job, which have one template, may end in different ways.
#[test]
fn exit_codes_go_by_completion_index() {
    for (index, phase) in [("0", "Succeeded"), ("1", "Failed"), ("2", "Succeeded")] {
        let mut world = World::new(&Nodes::new(1));
        let annotations = [("exit-code", "0,42,0"), ("run-for", "2s")];
        let mut pod = pod_with("a", &annotations, &json!({"restartPolicy": "Never"}));
        let key = "batch.kubernetes.io/job-completion-index";
        pod["metadata"]["annotations"][key] = json!(index);
        world.create(&PODS, pod);
        world.run(10);
        assert_eq!(text(world.pod("a"), "/status/phase"), phase, "index {index}");
    }
}
