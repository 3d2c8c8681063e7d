//! Scripts as text, and playing them on a server without nodes and controllers.

use std::cell::Cell;
use std::time::Duration;

use api::Key;
use http::Method;
use runtime::Runtime;
use sandbox::{Options, Server};
use serde_json::json;

use crate::command::{How, Rollout, Target};
use crate::play::counted;
use crate::show::field;
use crate::{
    Ask, Cluster, Command, Difference, NodeAct, Player, Reply, Script, Unsupported, normal,
};

const ACCOUNT: &str = "> create
| apiVersion: v1
| kind: ServiceAccount
| metadata: {name: default}";
const START: api::Time = api::Time::from_unix(1_767_225_600, 0);

/// An API server alone, on which time passes without anything happening.
struct Alone {
    server: Server,
    waited: Cell<Duration>,
    /// What a user does after so long.
    later: Option<(Duration, Ask)>,
}

impl Cluster for Alone {
    async fn ask(&self, ask: Ask) -> anyhow::Result<Reply> {
        ask.put_to(&self.server)
    }

    async fn tick(&self, time: Duration) {
        self.waited.set(self.waited.get() + time);
        if let Some((_, ask)) = self.later.as_ref().filter(|(after, _)| self.waited.get() == *after)
        {
            ask.clone().put_to(&self.server).unwrap();
        }
    }

    fn node(&self, _act: NodeAct, _name: &str) -> Result<(), Unsupported> {
        Err(Unsupported("there are no nodes".to_owned()))
    }

    fn fail(&self, _pod: &Key) -> Result<(), Unsupported> {
        Ok(())
    }

    async fn explain(&self, plural: &str, key: &Key) -> Result<Vec<String>, Unsupported> {
        Ok(vec![format!("{plural} {key}")])
    }
}

/// Plays a script, and says what differs and how long it took.
fn play(text: &str) -> (Vec<Difference>, Duration) {
    play_while(text, None, Duration::ZERO)
}

/// The same while a user does something, with patience.
fn play_while(
    text: &str,
    later: Option<(Duration, Ask)>,
    patience: Duration,
) -> (Vec<Difference>, Duration) {
    let tokio = tokio::runtime::Builder::new_current_thread().start_paused(true).build().unwrap();
    tokio.block_on(async {
        let runtime = Runtime::simulated(START, 1);
        let server = Server::new(&runtime, Options::default());
        let mut cluster = Alone { server, waited: Cell::default(), later: None };
        // What a manager would have made, and pods need.
        let account = Script::parse(ACCOUNT).unwrap();
        Player::new(&cluster, "default").await.unwrap().play(&account).await.unwrap();
        cluster.waited.set(Duration::ZERO);
        cluster.later = later;
        let script = Script::parse(text).unwrap();
        let mut player = Player::new(&cluster, "default").await.unwrap().patient(patience);
        (player.play(&script).await.unwrap().differences, cluster.waited.get())
    })
}

#[test]
fn what_was_read_is_written_again() {
    let text = "\
# A comment
@nodes 5
@controllers deployment-controller
@flags --a=1 --b
@sandbox-only why not

> apply
| kind: Pod
|
| spec: {}
pod/web created
> say It's \"quoted
> show pods -l app=web
NAME  READY
| is output here
";
    let script = Script::parse(text).unwrap();
    assert_eq!(script.to_string(), text);
    assert_eq!(script.nodes, 5);
    assert_eq!(script.controllers, "deployment-controller");
    assert_eq!(script.flags, ["--a=1", "--b"]);
    assert_eq!(script.sandbox_only.as_deref(), Some("why not"));
    let steps: Vec<_> =
        script.steps().map(|it| (it.line, it.input.len(), it.output.len())).collect();
    assert_eq!(steps, [(7, 3, 1), (12, 0, 0), (13, 0, 2)]);
}

#[test]
fn errors_name_the_line() {
    let rows = [
        ("> show pods\n> dance", "line 2: unknown command \"dance\""),
        ("# x\nwhat", "line 2: \"what\" is neither a command (`> …`) nor below one"),
        ("@nodes many", "line 1: \"many\" is no number"),
        (
            "@color red",
            "line 1: unknown setting \"color\": nodes, controllers, flags, sandbox-only",
        ),
        ("> scale deployment/web", "line 1: a number of replicas is missing"),
        ("> scale deployment/web two", "line 1: \"two\" is not a number of replicas"),
        ("> tick", "line 1: how long? such as `tick 10s`"),
        ("> tick 10 s", "line 1: \"10\" is no time such as 10s"),
        ("> tick 10s more", "line 1: not understood: more"),
        ("> show pods --all=yes", "line 1: not understood: --all"),
        ("> delete pods --cascade", "line 1: --cascade: its value is missing"),
        ("> patch rs/a '{'", "line 1: {: EOF while parsing an object at line 1 column 1"),
        ("> patch rs/a '{}", "line 1: a quote is open: patch rs/a '{}"),
        ("> label pod/a b", "line 1: \"b\": expected KEY=VALUE, or KEY-"),
        ("> until pod/a ready", "line 1: \"ready\": PATH=VALUE, or `gone`"),
        ("> rollout back deployment/a", "line 1: rollout \"back\" is not known"),
        ("> set color deployment/a", "line 1: set \"color\" is not known, only `set image`"),
        ("> join node-0", "line 1: the id of a bootstrap token is missing"),
        ("> taint node-0 a=b", "line 1: \"a=b\": KEY=VALUE:EFFECT"),
    ];
    for (text, expected) in rows {
        let error = Script::parse(text).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn commands_are_taken_apart() {
    let target = |resource: &str, name: &str| Target {
        resource: resource.to_owned(),
        name: name.to_owned(),
        ..Target::default()
    };
    let limit = Duration::from_mins(2);
    let rows = [
        ("apply", Command::Write(How::Apply)),
        ("scale deploy/web -1", Command::Scale(target("deploy", "web"), -1)),
        ("scale  deploy/web   3 ", Command::Scale(target("deploy", "web"), 3)),
        (
            "delete pods -l 'app in (a, b)' --first 2 -n kube-system --cascade=orphan --grace 0",
            Command::Delete {
                target: Target {
                    selector: "app in (a, b)".to_owned(),
                    namespace: Some("kube-system".to_owned()),
                    first: Some(2),
                    ..target("pods", "")
                },
                cascade: Some("orphan".to_owned()),
                grace_seconds: Some(0),
            },
        ),
        (
            r#"patch status rs/a '{"a": "b c"}'"#,
            Command::Patch(target("rs", "a"), "/status", json!({"a": "b c"})),
        ),
        (
            "annotate node/a b/c=",
            Command::Mark(
                target("node", "a"),
                "annotations",
                "b/c".to_owned(),
                Some(String::new()),
            ),
        ),
        ("label pod/a b-", Command::Mark(target("pod", "a"), "labels", "b".to_owned(), None)),
        (
            "taint n a=b:NoSchedule",
            Command::Taint(
                "n".to_owned(),
                "a".to_owned(),
                Some(("b".to_owned(), "NoSchedule".to_owned())),
            ),
        ),
        ("taint n a-", Command::Taint("n".to_owned(), "a".to_owned(), None)),
        ("rollout undo ds/a --to 3", Command::Rollout(Rollout::Undo(Some(3)), target("ds", "a"))),
        ("join n abcdef", Command::Join("n".to_owned(), "abcdef".to_owned())),
        ("settle", Command::Settle(limit)),
        ("settle 500ms", Command::Settle(Duration::from_millis(500))),
        (
            "until rs/a .status.reason='b c' 1h",
            Command::Until(
                target("rs", "a"),
                ".status.reason".to_owned(),
                "b c".to_owned(),
                Duration::from_hours(1),
            ),
        ),
        ("until rs/a gone 5s", Command::UntilGone(target("rs", "a"), Duration::from_secs(5))),
        ("say  'tis done", Command::Say(" 'tis done".to_owned())),
    ];
    for (text, expected) in rows {
        assert_eq!(Command::parse(text), Ok(expected), "{text}");
    }
}

#[test]
fn commands_say_what_they_need() {
    let rows = [
        ("kill node-1", true, true),
        ("explain rs/a", true, false),
        ("why rs/a --as jane", true, false),
        ("fail pod/a", true, false),
        ("join node-9 abcdef", true, true),
        ("cordon node-1", false, true),
        ("label node/a b=c", false, true),
        ("label pod/a b=c", false, false),
        ("get nodes .spec", false, false),
    ];
    for (text, sandbox, nodes) in rows {
        let command = Command::parse(text).unwrap();
        assert_eq!((command.needs_sandbox(), command.changes_nodes()), (sandbox, nodes), "{text}");
    }
}

#[test]
fn made_up_names_are_left_out() {
    let rows = [
        ("web-5c47764678-x7bzq", "web-5c47764678-xxxxx"),
        ("Created pod: web-bcdfg, web-24567", "Created pod: web-xxxxx, web-xxxxx"),
        // Vowels and 0, 1, 3 are in no such name.
        ("web-hello web-10310 node-0", "web-hello web-10310 node-0"),
        // Of another length.
        ("web-bcdf web-bcdfgh bcdfg", "web-bcdf web-bcdfgh bcdfg"),
        ("uid 73854af5-4586-4ae1-aea3-79680d7554cb!", "uid xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx!"),
        ("73854af5-4586-4ae1-aea3-79680d7554cg", "73854af5-4586-4ae1-aea3-79680d7554cg"),
        ("\u{e4}-bcdfg \u{2026}", "\u{e4}-xxxxx \u{2026}"),
    ];
    for (text, expected) in rows {
        assert_eq!(normal::text(text), expected);
    }
    let lines = ["b", "a-bcdfg", "b", "a-zwxvt", "b"].map(str::to_owned);
    assert_eq!(counted(&lines), ["b  (3 times)", "a-xxxxx  (2 times)"]);
}

#[test]
fn fields_are_found_by_their_path() {
    let object = json!({
        "metadata": {"labels": {"example.com/a.b": "c"}},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "list": [{"name": "x", "n": 1}, [true]],
            "empty": null,
        },
    });
    let rows = [
        (".metadata.labels[example.com/a.b]", "c"),
        (".status.conditions[Ready].status", "True"),
        ("status.conditions[0].type", "Ready"),
        (".status.list[x].n", "1"),
        (".status.list[1][0]", "true"),
        (".status.list[2]", "<none>"),
        (".status.conditions[Other].status", "<none>"),
        (".status.empty", "<none>"),
        (".status.conditions[", "<none>"),
        (".metadata.labels", r#"{"example.com/a.b":"c"}"#),
    ];
    for (path, expected) in rows {
        assert_eq!(field(&object, path), expected, "{path}");
    }
}

#[test]
fn objects_are_written_and_shown() {
    let (differences, _) = play(
        r#"
> create
| apiVersion: v1
| kind: ConfigMap
| metadata: {name: one, labels: {a: b}}
| data: {k: v}
| ---
| apiVersion: v1
| kind: ConfigMap
| metadata: {generateName: made-, labels: {a: b}}
configmap/one created
configmap/made-xxxxx created
> create
| apiVersion: v1
| kind: ConfigMap
| metadata: {generateName: made-, labels: {a: b}}
configmap/made-xxxxx created
> show cm -l a=b
NAME        DATA
made-xxxxx  0  (2 times)
one         1
> apply
| apiVersion: v1
| kind: ConfigMap
| metadata: {name: one, annotations: {owner: '<<cm/one .data.k>>'}}
configmap/one configured
> get cm/one .metadata.annotations.owner .data.none
.metadata.annotations.owner: v
.data.none: <none>
> label cm -l a=b a-
configmap/made-xxxxx labeled  (2 times)
configmap/one labeled
> show configmap -l a=b
No resources found
> show cm/two
Error from server (NotFound): configmaps "two" not found
> show things
error: the server doesn't have a resource type "things"
> create
| apiVersion: example.com/v1
| kind: Thing
error: no matches for kind "Thing" in version "example.com/v1"
> delete cm/one
configmap/one deleted
> kill node-0
cannot be done here: there are no nodes
> events
No events found
"#,
    );
    assert_eq!(differences, []);
}

/// A status and an Event come later than what they report.
#[test]
fn what_is_not_yet_so_is_looked_at_again() {
    let seconds = Duration::from_secs;
    let path = "/api/v1/namespaces/default/configmaps";
    let make = Ask::send(Method::POST, path, json!({"metadata": {"name": "one"}}));
    let later = || Some((seconds(3), make.clone()));
    let shows = "> show cm\nNAME  DATA\none   0\n";
    assert_eq!(play_while(shows, later(), seconds(5)), (vec![], seconds(3)));
    let (differences, waited) = play_while(shows, later(), seconds(2));
    assert_eq!((differences.len(), waited), (1, seconds(2)));
    // What writes is done once.
    let (differences, waited) = play_while("> delete cm/one\ndone\n", later(), seconds(5));
    assert_eq!((differences.len(), waited), (1, seconds(0)));
}

/// As `kubectl wait`: what was so of the last generation does not count.
#[test]
fn waiting_ends() {
    let set = "
> create
| apiVersion: apps/v1
| kind: ReplicaSet
| metadata: {name: web}
| spec:
|   selector: {matchLabels: {app: web}}
|   template:
|     metadata: {labels: {app: web}}
|     spec: {containers: [{name: web, image: a}]}
replicaset.apps/web created
> patch status rs/web '{\"status\": {\"observedGeneration\": 1}}'
replicaset.apps/web patched
> until rs/web .status.replicas=0
";
    let (differences, waited) = play(set);
    assert_eq!((differences, waited), (vec![], Duration::ZERO));
    let rows = [
        (
            "> scale rs/web 2\nreplicaset.apps/web scaled\n> until rs/web .status.replicas=0 2s\n\
          not so after 2s:\n.status.replicas: 0",
            2000,
        ),
        ("> until rs/web gone 3s\n1 still there after 3s", 3000),
        ("> until pods -l app=web gone 3s", 0),
        ("> until pods -l app=web .spec=0 1s\nnot so after 1s:", 1000),
        ("> settle", 3500),
        ("> settle 2s\nnot settled after 2s", 2000),
        ("> tick 90s", 90_000),
    ];
    for (text, expected_ms) in rows {
        let (differences, waited) = play(&format!("{set}{text}"));
        assert_eq!(differences, [], "{text}");
        assert_eq!(waited, Duration::from_millis(expected_ms), "{text}");
    }
}

/// kubectl's rollback.go: the last but one revision, its template without the hash.
#[test]
fn undo_restores_a_revision() {
    let set = |name: &str, revision: u64| {
        format!(
            "
> create
| apiVersion: apps/v1
| kind: ReplicaSet
| metadata:
|   name: {name}
|   annotations: {{deployment.kubernetes.io/revision: '{revision}'}}
|   ownerReferences:
|   - apiVersion: apps/v1
|     kind: Deployment
|     name: web
|     uid: <<deployment/web .metadata.uid>>
| spec:
|   selector: {{matchLabels: {{app: web}}}}
|   template:
|     metadata: {{labels: {{app: web, pod-template-hash: {name}}}}}
|     spec: {{containers: [{{name: web, image: {name}}}]}}
replicaset.apps/{name} created"
        )
    };
    let deployment = "
> create
| apiVersion: apps/v1
| kind: Deployment
| metadata: {name: web}
| spec:
|   selector: {matchLabels: {app: web}}
|   template:
|     metadata: {labels: {app: web}, annotations: {new: 'yes'}}
|     spec: {containers: [{name: web, image: newest}, {name: more, image: newest}]}
deployment.apps/web created";
    let text = format!(
        "{deployment}{}{}{}
> rollout history deployment/web
revision 2
revision 7
revision 9
> rollout undo deployment/web
deployment.apps/web rolled back
> get deployment/web .spec.template.metadata .spec.template.spec.containers[0].image
.spec.template.metadata: {{\"labels\":{{\"app\":\"web\"}}}}
.spec.template.spec.containers[0].image: middle
> get deployment/web .spec.template.spec.containers[1]
.spec.template.spec.containers[1]: <none>
> rollout undo deployment/web --to 2
deployment.apps/web rolled back
> get deployment/web .spec.template.spec.containers[0].image
.spec.template.spec.containers[0].image: oldest
> rollout undo deployment/web --to 3
error: no such revision to roll back to
> rollout undo deployment/other
Error from server (NotFound): deployments.apps \"other\" not found
",
        set("middle", 7),
        set("newest", 9),
        set("oldest", 2)
    );
    assert_eq!(play(&text).0, []);
}
