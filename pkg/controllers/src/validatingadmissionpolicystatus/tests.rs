//! Tables: what is checked, over which kinds, and what is said then. What upstream warns of in
//! which words is tested in `pkg/cel`.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Key, PolicyExpressions, Resource, Served, ServedKind, ValidatingAdmissionPolicy};
use controller::fixture::{Fixture, body, decode, enqueued, with};
use controller::{
    Action, Answer, Change, Controller as _, Facts, PatchKind, Query, Refused, Step, Verb, Views,
};
use serde_json::{Value, json};

use super::*;

/// A policy with one expression over Deployments, of which no generation was looked at.
fn policy() -> Value {
    json!({
        "metadata": {"name": "limits", "uid": "u", "resourceVersion": "7", "generation": 2},
        "spec": {
            "matchConstraints": {"resourceRules": [rule(&["apps"], &["v1"], &["deployments"])]},
            "validations": [{"expression": "object.spec.replicas < 5"}],
        },
    })
}

fn rule(groups: &[&str], versions: &[&str], resources: &[&str]) -> Value {
    json!({"apiGroups": groups, "apiVersions": versions, "resources": resources})
}

fn rules(rules: impl Into<Vec<Value>>) -> Value {
    json!({"spec": {"matchConstraints": {"resourceRules": rules.into()}}})
}

fn validations(validations: &[&str]) -> Value {
    let all: Vec<_> = validations.iter().map(|it| json!({"expression": it})).collect();
    json!({"spec": {"validations": all}})
}

/// What is served: a live read has it.
#[derive(Clone, Default)]
struct World {
    /// The policy, if the cache is stale.
    live: Option<Value>,
    failed: BTreeMap<String, String>,
    /// By path, as the server has them; others are missing.
    documents: BTreeMap<String, Result<String, Refused>>,
}

const DEPLOYMENTS: &str = "/openapi/v3/apis/apps/v1";
const CORE: &str = "/openapi/v3/api/v1";

/// Deployments with these fields besides those of `spec`.
fn deployments(properties: &Value) -> World {
    let mut fields = json!({
        "spec": {"$ref": "#/components/schemas/Spec"},
        "kind": {"type": "string"},
    });
    fields.as_object_mut().unwrap().extend(properties.as_object().unwrap().clone());
    let schema = json!({
        "type": "object", "properties": fields,
        "x-kubernetes-group-version-kind":
            [{"group": "apps", "version": "v1", "kind": "Deployment"}],
    });
    let spec = json!({"type": "object", "properties": {"replicas": {"type": "integer"}}});
    World::default().document(DEPLOYMENTS, &json!({"Deployment": schema, "Spec": spec}))
}

// === impl World ===

impl World {
    fn document(self, path: &str, schemas: &Value) -> Self {
        self.answered(path, &json!({"paths": {}, "components": {"schemas": schemas}}).to_string())
    }

    fn answered(mut self, path: &str, text: &str) -> Self {
        self.documents.insert(path.to_owned(), Ok(text.to_owned()));
        self
    }

    fn refused(mut self, path: &str, code: Option<u16>) -> Self {
        let refused = Refused { code, ..Refused::from("away") };
        self.documents.insert(path.to_owned(), Err(refused));
        self
    }

    fn served() -> Vec<ServedKind> {
        let kinds = [
            ("", "v1", "pods", "Pod"),
            ("", "v1", "events", "Event"),
            ("apps", "v1", "deployments", "Deployment"),
            ("apps", "v1", "replicasets", "ReplicaSet"),
            ("apps", "v1beta1", "deployments", "Deployment"),
            ("batch", "v1", "jobs", "Job"),
            ("events.k8s.io", "v1", "events", "Event"),
            ("metrics.k8s.io", "v1", "nodes", "NodeMetrics"),
        ];
        let kind = |(group, version, plural, kind)| ServedKind {
            resource: Resource::namespaced(group, version, plural, kind),
            verbs: Box::default(),
            preferred: true,
            subresources: Box::default(),
        };
        kinds.map(kind).into()
    }

    fn answer(&self, policy: &Value, query: &Query) -> Answer {
        match query {
            Query::Get { .. } => {
                let live = self.live.as_ref().unwrap_or(policy);
                if live.is_null() {
                    return Answer::NotFound;
                }
                Answer::Views(Views::new(vec![decode::<PolicyExpressions>(live)]))
            }
            Query::Served => {
                Answer::Served(Arc::new(Served::new(Self::served(), self.failed.clone())))
            }
            Query::Document(excerpt) => match self.documents.get(excerpt.path()) {
                Some(Ok(text)) => Answer::Document(excerpt.of(text.as_bytes()).into()),
                Some(Err(refused)) => Answer::Failed(refused.clone()),
                None => Answer::Failed(Refused { code: Some(404), ..Refused::from("none") }),
            },
            Query::Path(_) | Query::List { .. } | Query::Review { .. } | Query::Cloud(_) => {
                panic!("{query}")
            }
        }
    }

    /// The last plan, and what was asked before it.
    fn planned(&self, policy: &Value) -> (Plan, Vec<String>) {
        let fixture =
            Fixture::default().holding::<ValidatingAdmissionPolicy>(std::slice::from_ref(policy));
        let snapshot = Controller.observe(&Key::new("", "limits"), &fixture.view(), &()).unwrap();
        let (mut facts, mut asked) = (Facts::default(), Vec::new());
        loop {
            let plan = Controller.decide(&snapshot, &facts).0;
            let [Step::Fetch(queries)] = &*plan.steps else { return (plan, asked) };
            for query in queries {
                asked.push(query.to_string());
                facts.answers.insert(query.clone(), self.answer(policy, query));
            }
        }
    }

    fn status(&self, policy: &Value) -> Value {
        applied(&self.planned(policy).0).unwrap()
    }

    /// Where there is a warning, and its first line without the place.
    fn warned(&self, policy: &Value) -> Vec<(String, String)> {
        let status = self.status(policy);
        assert!(status["typeChecking"].is_object(), "{status}");
        let all = status["typeChecking"]["expressionWarnings"].as_array().cloned();
        let text = |it: &Value| it.as_str().unwrap_or_default().to_owned();
        all.unwrap_or_default()
            .iter()
            .map(|it| {
                let line = text(&it["warning"]).lines().next().unwrap_or_default().to_owned();
                let issue = line.splitn(4, ": ").last().unwrap_or_default().to_owned();
                (text(&it["fieldRef"]), issue)
            })
            .collect()
    }
}

/// The status that a plan applies; none: it writes nothing.
fn applied(plan: &Plan) -> Option<Value> {
    let [Step::InOrder(actions)] = &*plan.steps else { return None };
    let [Action::Write(write)] = &**actions else { panic!("{plan}") };
    let Verb::Patch(patch) = &write.verb else { panic!("{plan}") };
    let kind = PatchKind::Apply { field_manager: "validatingadmissionpolicy-status", force: true };
    assert_eq!((&patch.kind, write.subresource), (&kind, Some("status")));
    let body = body(write);
    assert_eq!(body["metadata"], json!({"name": "limits", "uid": "u"}));
    assert_eq!(body["kind"], "ValidatingAdmissionPolicy");
    Some(body["status"].clone())
}

/// `reconcile`: a generation is looked at once.
#[test]
fn a_generation_is_looked_at_once() {
    for (observed, writes) in [(None, true), (Some(1), true), (Some(2), false), (Some(3), false)] {
        let policy = with(policy(), json!({"status": {"observedGeneration": observed}}));
        let (plan, asked) = deployments(&json!({})).planned(&policy);
        assert_eq!(applied(&plan).is_some(), writes, "{observed:?}");
        assert_eq!(asked.is_empty(), !writes, "{observed:?}");
    }
}

/// `typesToCheck` and `Check` of apiserver's pkg/admission/plugin/policy/validating: without
/// expressions, or without kinds that are named, nothing is checked and there are no warnings.
#[test]
fn what_has_nothing_to_check_is_checked_without_a_read() {
    for (name, patch, reads) in [
        ("an expression over Deployments", json!({}), true),
        ("no validations", json!({"spec": {"validations": []}}), false),
        ("null validations", json!({"spec": {"validations": null}}), false),
        ("no rules", rules([]), false),
        ("no constraints", json!({"spec": {"matchConstraints": null}}), false),
        ("any group", rules([rule(&["*"], &["v1"], &["pods"])]), false),
        ("a group and any", rules([rule(&["", "*"], &["v1"], &["pods"])]), false),
        ("any version", rules([rule(&[""], &["*"], &["pods"])]), false),
        ("no group", rules([rule(&[], &["v1"], &["pods"])]), false),
        ("any resource", rules([rule(&[""], &["v1"], &["*"])]), false),
        ("subresources", rules([rule(&[""], &["v1"], &["pods/exec", "*/scale"])]), false),
        ("one resource", rules([rule(&[""], &["v1"], &["*", "pods"])]), true),
        (
            "one rule of two",
            rules([rule(&["*"], &["*"], &["*"]), rule(&[""], &["v1"], &["pods"])]),
            true,
        ),
    ] {
        let policy = with(policy(), patch);
        let (plan, asked) = deployments(&json!({})).planned(&policy);
        let wanted = json!({"observedGeneration": 2, "typeChecking": {}});
        assert_eq!(applied(&plan), Some(wanted), "{name}");
        assert_eq!(!asked.is_empty(), reads, "{name}: {asked:?}");
    }
}

/// TestExtractTypeNames, and `KindsFor` of the mapper that upstream's manager has.
#[test]
fn rules_name_kinds() {
    let many: Vec<_> = (0..5).map(|_| "deployments").collect();
    for (name, rules, expected) in [
        ("specific", vec![rule(&["apps"], &["v1"], &["deployments"])], "apps/v1, Kind=Deployment"),
        (
            "multiple",
            vec![rule(&["apps"], &["v1"], &["deployments"]), rule(&[""], &["v1"], &["pods"])],
            "/v1, Kind=Pod; apps/v1, Kind=Deployment",
        ),
        ("all resources", vec![rule(&["apps"], &["v1"], &["*"])], ""),
        ("sub resources", vec![rule(&["apps"], &["v1"], &["pods/*"])], ""),
        (
            "mixtures",
            vec![
                rule(&["apps"], &["v1"], &["deployments"]),
                rule(&["apps"], &["*"], &["deployments"]),
            ],
            "apps/v1, Kind=Deployment",
        ),
        ("not served", vec![rule(&["apps"], &["v2"], &["deployments"])], ""),
        ("another group", vec![rule(&["batch"], &["v1"], &["deployments"])], ""),
        (
            "singular and case",
            vec![rule(&["apps", "batch"], &["v1"], &["Deployments", "job"])],
            "apps/v1, Kind=Deployment; batch/v1, Kind=Job",
        ),
        (
            "no group is any group",
            vec![rule(&[""], &["v1"], &["events"])],
            "/v1, Kind=Event; events.k8s.io/v1, Kind=Event",
        ),
        (
            "several of each",
            vec![rule(&["batch", "apps"], &["v1beta1", "v1"], &["replicasets", "deployments"])],
            "apps/v1, Kind=Deployment; apps/v1, Kind=ReplicaSet; apps/v1beta1, Kind=Deployment",
        ),
        (
            "nine of one rule, and another one",
            vec![
                rule(&["apps", "apps", "apps"], &["v1", "v1", "v1"], &["deployments"]),
                rule(&["batch"], &["v1"], &["jobs"]),
            ],
            "apps/v1, Kind=Deployment; batch/v1, Kind=Job",
        ),
        (
            "ten of one rule end it",
            vec![rule(&["apps", "apps"], &["v1"], &many), rule(&["batch"], &["v1"], &["jobs"])],
            "apps/v1, Kind=Deployment",
        ),
    ] {
        let policy = with(policy(), super::tests::rules(rules));
        let policy = decode::<PolicyExpressions>(&policy);
        let served = Served::new(World::served(), BTreeMap::new());
        let kinds = kinds::named(&policy, &served).unwrap().kinds;
        let kinds: Vec<_> = kinds.iter().map(ToString::to_string).collect();
        assert_eq!(kinds.join("; "), expected, "{name}");
    }
}

/// A name, the fields of the kind, the expressions and the warnings.
type Row<'a> = (&'a str, Value, &'a [&'a str], Vec<(String, String)>);

/// TestTypeCheck: what is wrong of one kind.
#[test]
fn expressions_are_checked_over_a_kind() {
    let foo = |of: &str| json!({"foo": {"type": of}});
    let any = "object.foo == 'bar'";
    let field = |place: usize| format!("spec.validations[{place}].expression");
    let undefined = |name: &str| format!("undefined field '{name}'");
    let no_overload = "found no matching overload for '_==_' applied to";
    let rows: [Row<'_>; 7] = [
        ("passed check", foo("string"), &[any], vec![]),
        ("undefined field", json!({}), &[any], vec![(field(0), undefined("foo"))]),
        (
            "field type mismatch",
            foo("integer"),
            &[any],
            vec![(field(0), format!("{no_overload} '(int, string)'"))],
        ),
        (
            "multiple expressions",
            foo("string"),
            &[any, "object.bar == 'foo'"],
            vec![(field(1), undefined("bar"))],
        ),
        (
            "authorizer",
            json!({}),
            &["authorizer.group('').resource('endpoints').check('create').allowed()"],
            vec![],
        ),
        (
            "authorizer invalid",
            json!({}),
            &["authorizer.allowed()"],
            vec![(
                field(0),
                "found no matching overload for 'allowed' applied to \
                 'kubernetes.authorization.Authorizer.()'"
                    .to_owned(),
            )],
        ),
        (
            "additionalProperties: true",
            json!({"text": {"type": "object", "additionalProperties": true}}),
            &["has(object.spec.replicas)"],
            vec![],
        ),
    ];
    for (name, fields, expressions, expected) in rows {
        let policy = with(policy(), validations(expressions));
        assert_eq!(deployments(&fields).warned(&policy), expected, "{name}");
    }
}

/// TestTypeCheck: variables, messages and parameters.
#[test]
fn expressions_use_variables_and_parameters() {
    let world = deployments(&json!({"foo": {"type": "integer"}})).document(
        CORE,
        &json!({"Config": {
            "type": "object", "properties": {"foo": {"type": "string"}},
            "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Config"}],
        }}),
    );
    let variables = |name: &str, of: &str, expression: &str| {
        json!({"spec": {
            "variables": [{"name": name, "expression": of}],
            "validations": [{"expression": expression}],
        }})
    };
    let params = |kind: &str, expression: &str| {
        json!({"spec": {
            "paramKind": {"apiVersion": "v1", "kind": kind},
            "validations": [{"expression": expression}],
        }})
    };
    let overload = "found no matching overload for '_==_' applied to '(string, int)'";
    for (name, patch, expected) in [
        ("variables valid", variables("works", "true", "variables.works"), None),
        (
            "variables missing field",
            variables("works", "true", "variables.nonExisting"),
            Some("undefined field 'nonExisting'"),
        ),
        (
            "variables field wrong type",
            variables("name", "'something'", "variables.name == object.foo"),
            Some(overload),
        ),
        (
            "error in variables, not reported",
            variables("name", "object.foo == 'str'", "variables.name == object.foo"),
            None,
        ),
        ("params", params("Config", "object.foo == params.bar"), Some("undefined field 'bar'")),
        ("params of a type", params("Config", "params.foo == object.foo"), Some(overload)),
        ("params with untyped schema", params("Missing", "params.a.b != null"), None),
        (
            "no params",
            validations(&["params != null"]),
            Some("undeclared reference to 'params' (in container '')"),
        ),
    ] {
        let warned = world.warned(&with(policy(), patch));
        let issues: Vec<_> = warned.iter().map(|(_, issue)| &**issue).collect();
        assert_eq!(issues, Vec::from_iter(expected), "{name}");
    }
    let both = json!({"expression": "true", "messageExpression": "object.foo + 'a'"});
    let warned = world.warned(&with(policy(), json!({"spec": {"validations": [both]}})));
    assert_eq!(warned.len(), 1);
    assert_eq!(warned[0].0, "spec.validations[0].messageExpression");
}

/// TestTypeChecking, byte for byte; and kinds without a schema are left out.
#[test]
fn a_warning_has_a_paragraph_for_each_kind() {
    let pod = json!({"Pod": {
        "type": "object", "properties": {"spec": {"type": "object"}},
        "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "Pod"}],
    }});
    let world = deployments(&json!({})).document(CORE, &pod);
    let all = [rule(&["apps", "batch", ""], &["v1"], &["deployments", "jobs", "pods"])];
    let policy = with(policy(), rules(all));
    let policy = with(policy, validations(&["object.spec.replicas > '1'"]));
    let text = "/v1, Kind=Pod: ERROR: <input>:1:12: undefined field 'replicas'\n \
                | object.spec.replicas > '1'\n | ...........^\n\n\
                apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for \
                '_>_' applied to '(int, string)'\n \
                | object.spec.replicas > '1'\n | .....................^\n";
    let warnings = json!([{"fieldRef": "spec.validations[0].expression", "warning": text}]);
    let wanted = json!({"observedGeneration": 2, "typeChecking": {"expressionWarnings": warnings}});
    assert_eq!(world.status(&policy), wanted);
}

/// Each document is read once, and those of other kinds are not.
#[test]
fn what_is_named_is_read() {
    let all = [rule(&["apps", ""], &["v1"], &["deployments", "replicasets", "pods", "a"])];
    let policy = with(policy(), rules(all));
    let params = json!({"spec": {"paramKind": {"apiVersion": "example.com/v1", "kind": "Limit"}}});
    let (_, asked) = deployments(&json!({})).planned(&with(policy, params));
    let itself = "validatingadmissionpolicies.admissionregistration.k8s.io limits";
    let custom = "/openapi/v3/apis/example.com/v1";
    assert_eq!(asked, [itself, "what is served", CORE, DEPLOYMENTS, custom]);
    for version in ["v1?a=b", "../v1", "a/b/c", "", "a/"] {
        let params = json!({"spec": {"paramKind": {"apiVersion": version, "kind": "Limit"}}});
        let (plan, asked) = deployments(&json!({})).planned(&with(self::policy(), params));
        assert_eq!(asked, [itself, "what is served", DEPLOYMENTS], "{version}");
        assert!(applied(&plan).unwrap()["typeChecking"].is_object());
    }
    // Without a kind nothing is checked: no parameters are needed.
    let policy = with(self::policy(), rules([rule(&["apps"], &["v1"], &["none"])]));
    let params = json!({"spec": {"paramKind": {"apiVersion": "example.com/v1", "kind": "Limit"}}});
    let (plan, asked) = deployments(&json!({})).planned(&with(policy, params));
    assert_eq!(asked, [itself, "what is served"]);
    assert!(applied(&plan).unwrap()["typeChecking"].is_object());
}

/// No policy counts as checked of which an expression was not.
#[test]
fn what_cannot_be_checked_does_not_count_as_checked() {
    let unchecked = json!({"observedGeneration": 2});
    let deep = format!("{}1{}", "(".repeat(200), ")".repeat(200));
    let message = "google.protobuf.Int64Value{value: 1} == 1";
    for (name, world, expression) in [
        ("its schemas may not be read", World::default().refused(DEPLOYMENTS, Some(403)), "true"),
        ("no JSON", World::default().answered(DEPLOYMENTS, "{"), "true"),
        ("no schemas", World::default().answered(DEPLOYMENTS, "[5]"), "true"),
        (
            "a reference to nothing",
            deployments(&json!({"a": {"$ref": "#/components/schemas/Nothing"}})),
            "true",
        ),
        ("too deep", deployments(&json!({})), &*deep),
        ("a message", deployments(&json!({})), message),
    ] {
        let policy = with(policy(), validations(&["object.spec.replicas > '1'", expression]));
        assert_eq!(world.status(&policy), unchecked, "{name}");
        let variable = json!([{"name": "a", "expression": expression}]);
        let policy = with(self::policy(), json!({"spec": {"variables": variable}}));
        assert_eq!(world.status(&policy), unchecked, "{name}");
    }
}

/// `CreateContext`: a kind whose schema cannot be read is left out, and so are the kinds of a group
/// whose discovery fails. The others are checked, and the plan says what was left out.
#[test]
fn a_kind_that_cannot_be_read_is_left_out() {
    const METRICS: &str = "/openapi/v3/apis/metrics.k8s.io/v1";
    let named = [
        rule(&["apps"], &["v1"], &["deployments"]),
        rule(&["metrics.k8s.io"], &["v1"], &["nodes"]),
    ];
    let params = json!({"paramKind": {"apiVersion": "metrics.k8s.io/v1", "kind": "NodeMetrics"}});
    let policy = with(policy(), rules(named));
    let policy = with(policy, validations(&["object.spec.replicas > '1'"]));
    let world = || deployments(&json!({}));
    let failing = |place: &str, world: World| World {
        failed: [(place.to_owned(), "away".to_owned())].into(),
        ..world
    };
    let kind = "metrics.k8s.io/v1, Kind=NodeMetrics";
    let broken = "its schema cannot be read";
    for (name, world, patch, left_out) in [
        ("no document", world(), json!({}), String::new()),
        ("away", world().refused(METRICS, Some(503)), json!({}), format!("{kind}: away")),
        ("no response", world().refused(METRICS, None), json!({}), format!("{kind}: away")),
        ("forbidden", world().refused(METRICS, Some(403)), json!({}), format!("{kind}: away")),
        (
            "no JSON",
            world().answered(METRICS, "{"),
            json!({}),
            format!("{kind}: {broken}: EOF while parsing an object at line 1 column 1"),
        ),
        (
            "parameters",
            world().refused(METRICS, Some(503)),
            json!({ "spec": params }),
            format!("{kind}: away"),
        ),
        (
            "discovery",
            failing("metrics.k8s.io/v1", world()),
            json!({}),
            "metrics.k8s.io/v1: discovery fails".to_owned(),
        ),
        ("discovery of another group", failing("batch/v1", world()), json!({}), String::new()),
    ] {
        let policy = with(policy.clone(), patch);
        let plan = world.planned(&policy).0;
        let left_out = if left_out.is_empty() { left_out } else { format!("; without {left_out}") };
        let why = format!("why: generation 2 is new, with 1 warnings{left_out}\n");
        assert!(plan.to_string().starts_with(&why), "{name}: {plan}");
        let warnings = world.warned(&policy);
        assert!(warnings[0].1.starts_with("found no matching overload for '_>_'"), "{name}");
    }
    let any = with(policy.clone(), rules([rule(&[""], &["v1"], &["nodes", "deployments"])]));
    let why = failing("metrics.k8s.io/v1", world()).planned(&any).0.to_string();
    let left_out = "with 1 warnings; without metrics.k8s.io/v1: discovery fails\n";
    assert!(why.contains(left_out), "{why}");
    // The API server's own groups come back.
    for policy in [policy, any] {
        let plan = failing("apps/v1", world()).planned(&policy).0;
        assert_eq!(plan.to_string(), "why: discovery fails\nerror: apps/v1\n");
    }
}

/// etcd takes 1.5 MiB: of a policy and what is said of it.
#[test]
fn warnings_leave_room_for_their_policy() {
    let wrong = format!("object.spec.replicas > '{}'", "a".repeat(15_000));
    let status = |count: usize, annotation: usize| {
        let policy = with(policy(), validations(&vec![&*wrong; count]));
        let annotations = json!({"metadata": {"annotations": {"a": "a".repeat(annotation)}}});
        deployments(&json!({})).status(&with(policy, annotations))
    };
    let is_checked = |status: Value| status["typeChecking"].is_object();
    assert!(is_checked(status(45, 0)));
    assert!(is_checked(status(45, 100_000)));
    assert!(!is_checked(status(45, 250_000)));
    let bytes = status(45, 100_000)["typeChecking"].to_string().len();
    assert!((650_000..750_000).contains(&bytes), "{bytes}");
}

/// Issue: lists of groups, versions and resources multiply, so that a small policy can name more
/// than memory holds.
#[test]
fn a_policy_that_names_too_much_is_not_checked() {
    let world = deployments(&json!({}));
    let names: Vec<_> = (0..500).map(|number| format!("n{number}")).collect();
    let names: Vec<_> = names.iter().map(|name| &**name).collect();
    for (names, wanted) in [
        (&names[..], json!({"observedGeneration": 2})),
        (&names[..20], json!({"observedGeneration": 2, "typeChecking": {}})),
    ] {
        let policy = with(policy(), rules([rule(names, names, names)]));
        assert_eq!(world.status(&policy), wanted, "{}", names.len());
    }
}

/// What could not be read of a built-in kind is read again: with back-off.
#[test]
fn what_cannot_be_read_is_retried() {
    for code in [None, Some(429), Some(503)] {
        let (plan, _) = deployments(&json!({})).refused(DEPLOYMENTS, code).planned(&policy());
        let wanted = "why: an OpenAPI document could not be read\nerror: away\n";
        assert_eq!(plan.to_string(), wanted, "{code:?}");
    }
}

/// The generation that was read is the one that is said to be looked at.
#[test]
fn what_is_live_counts() {
    let newer = json!({"metadata": {"generation": 4}, "spec": {"validations": [
        {"expression": "object.a"},
    ]}});
    for (name, live, expected) in [
        ("deleted", Value::Null, None),
        ("another one", with(policy(), json!({"metadata": {"uid": "v"}})), None),
        ("looked at", with(policy(), json!({"status": {"observedGeneration": 2}})), None),
        ("newer", with(policy(), newer), Some(json!(4))),
    ] {
        let world = World { live: Some(live), ..deployments(&json!({})) };
        let status = applied(&world.planned(&policy()).0);
        assert_eq!(status.map(|it| it["observedGeneration"].clone()), expected, "{name}");
    }
}

/// `enqueuePolicy`.
#[test]
fn a_policy_that_comes_or_changes_is_looked_at() {
    let fixture = Fixture::default().holding::<ValidatingAdmissionPolicy>(&[]);
    let policy = || decode::<ValidatingAdmissionPolicy>(&policy());
    for (change, calls) in [
        (Change::Added(policy()), "now limits\n"),
        (Change::Updated { old: policy(), new: policy() }, "now limits\n"),
        (Change::Deleted(policy()), "forget limits\n"),
    ] {
        assert_eq!(enqueued(&Controller, &change, &fixture), calls);
    }
}

#[test]
fn a_policy_that_cannot_be_read_is_left_alone() {
    let fixture =
        Fixture::default().holding_unreadable::<ValidatingAdmissionPolicy>(&policy(), "odd");
    let snapshot = Controller.observe(&Key::new("", "limits"), &fixture.view(), &());
    let plan = Controller.decide(&snapshot.unwrap(), &Facts::default()).0;
    assert_eq!(plan.to_string(), "why: the policy cannot be read\nerror: odd\n");
}

#[test]
fn an_explanation_says_how_much_is_checked() {
    let fixture = Fixture::default().holding::<ValidatingAdmissionPolicy>(&[policy()]);
    let snapshot = Controller.observe(&Key::new("", "limits"), &fixture.view(), &()).unwrap();
    let facts = Controller.summary(&snapshot).into_iter();
    let facts: Vec<_> = facts.map(|(name, value)| format!("{name}: {value}")).collect();
    let wanted = "generation: 2, looked at: 0, expressions: 1, resources that they are about: 1";
    assert_eq!(facts.join(", "), wanted);
}
