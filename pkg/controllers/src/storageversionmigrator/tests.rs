//! Tables, mirroring upstream's `migrationrunner_test.go`, `resourceversion_test.go` and
//! `storageversionmigrator_test.go`.

use api::{Object as _, Resource, Verb};
use controller::fixture::{self, Fixture, NOW, ago, decode, enqueued, with};
use controller::{
    Answer, Change, Controller, Facts, News, Outcome, Plan, Query, Refused, Shared, Step, Write,
};
use serde_json::{Value, json};

use super::*;

const DEPLOYMENTS: Resource = Resource::namespaced("apps", "v1", "deployments", "Deployment");
const ALL: [Verb; 3] = [Verb::List, Verb::Patch, Verb::Update];
const LIST: &str = "/apis/apps/v1/namespaces/@fake:svm_ns%21/deployments?limit=1";

/// Of `deployments.apps`, with conditions as type and status, and a version if it is noted.
fn migration(name: &str, version: &str, conditions: &[(&str, &str)]) -> Value {
    let condition = |(kind, status): &(&str, &str)| {
        json!({"type": kind, "status": status, "reason": "Test", "message": "as it was",
            "lastTransitionTime": ago(30)})
    };
    json!({
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "7",
            "creationTimestamp": ago(20)},
        "spec": {"resource": {"group": "apps", "resource": "deployments"}},
        "status": {"resourceVersion": version,
            "conditions": conditions.iter().map(condition).collect::<Vec<_>>()},
    })
}

fn served(verbs: &[Verb]) -> Memory {
    let kind = ServedKind {
        resource: DEPLOYMENTS,
        verbs: verbs.into(),
        preferred: true,
        subresources: Box::default(),
    };
    let served = Served::new(vec![kind], BTreeMap::new());
    Memory { served: Some(Arc::new(served)), done: BTreeMap::new() }
}

fn status(write: &Write) -> Value {
    Value::Object(fixture::status(write))
}

fn writes(plan: &Plan) -> Vec<&Write> {
    match plan.steps.as_slice() {
        [] => Vec::new(),
        [Step::InOrder(actions)] => actions.iter().map(|it| it.write().unwrap()).collect(),
        _ => panic!("one step: {plan}"),
    }
}

/// The condition that a write appends.
fn last_condition(write: &Write) -> (String, String, String) {
    let status = status(write);
    let condition = status["conditions"].as_array().unwrap().last().unwrap();
    assert_eq!(condition["lastTransitionTime"], NOW);
    assert_eq!(condition["status"], "True");
    let text = |name: &str| condition[name].as_str().unwrap().to_owned();
    (text("type"), text("reason"), text("message"))
}

// === Runner ===

fn run(migrations: &[Value], definition: Option<&Value>) -> Plan {
    let fixture = Fixture::default().holding::<StorageVersionMigration>(migrations);
    let key = Key::new("apps", "deployments");
    let snapshot = Runner.observe(&key, &fixture.view(), &Memory::default()).unwrap();
    let plan = Runner.decide(&snapshot, &Facts::default()).0;
    let [Step::Fetch(queries)] = plan.steps.as_slice() else { return plan };
    assert!(plan.to_string().contains("deployments.apps"), "{plan}");
    let answer = match definition {
        Some(definition) => {
            let bytes = definition.to_string();
            let raw = api::Raw::parse(bytes.as_bytes()).unwrap();
            let meta = api::Metadata::decode(api::Codec::Json, bytes.as_bytes()).unwrap().meta;
            Answer::Found(Box::new((meta, raw)))
        }
        None => Answer::NotFound,
    };
    Runner.decide(&snapshot, &[(queries[0].clone(), answer)].into()).0
}

/// A definition that is stored as v2; with the generation at which a migration began.
fn definition(began: Option<i64>) -> Value {
    let condition = began.map(|generation| {
        json!([{"type": "StorageMigrating", "status": "True", "observedGeneration": generation}])
    });
    json!({
        "metadata": {"name": "deployments.apps", "uid": "uid-definition", "generation": 1,
            "resourceVersion": "9"},
        "spec": {"versions": [{"name": "v1", "storage": false}, {"name": "v2", "storage": true}]},
        "status": {"conditions": condition, "storedVersions": ["v1", "v2"]},
    })
}

/// TestCustomResourceController_Sync, the rows in which a migration begins.
#[test]
fn the_oldest_migration_begins() {
    let begins = ("Running".into(), "MigrationRunning".into(), "The migration is running".into());
    let plan = run(&[migration("one", "", &[])], None);
    assert_eq!(last_condition(writes(&plan)[0]), begins, "Initial sync: CRD missing");

    let plan = run(&[migration("one", "", &[])], Some(&definition(None)));
    let [first, second] = writes(&plan)[..] else { panic!("two writes: {plan}") };
    let expected = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "deployments.apps", "uid": "uid-definition", "resourceVersion": "9"},
        "status": {"conditions": [{"type": "StorageMigrating", "status": "True",
            "reason": "MigrationRunning", "message": "Migration one is running",
            "lastTransitionTime": NOW, "observedGeneration": 1}]},
    });
    assert_eq!(fixture::body(first), expected, "Initial sync: CRD exists");
    assert_eq!(first.subresource, Some("status"));
    assert_eq!(last_condition(second), begins);

    let running = migration("one", "", &[("Running", "True")]);
    let plan = run(&[running.clone(), migration("two", "", &[])], None);
    assert_eq!(plan.to_string(), "why: one runs\n", "Migration running (No-op)");

    let at = |name: &str, seconds| {
        with(migration(name, "", &[]), json!({"metadata": {"creationTimestamp": ago(seconds)}}))
    };
    for (name, migrations, expected) in [
        ("Promote older SVM first", [at("newer", 1), at("older", 60)], "older"),
        ("by name", [at("b", 60), at("a", 60)], "a"),
    ] {
        let plan = run(&migrations, None);
        assert_eq!(&*writes(&plan)[0].object.key.name, expected, "{name}");
    }
    // What is over is passed over.
    let over = migration("one", "", &[("Failed", "True")]);
    assert_eq!(&*writes(&run(&[over, at("two", 1)], None))[0].object.key.name, "two");
}

/// The same, in which one ends. Otherwise than upstream, stored versions stay after a failure.
#[test]
fn what_is_over_runs_no_longer() {
    for (name, end, began, reason, message, stored) in [
        (
            "Migration succeeded: Update CRD stored versions",
            "Succeeded",
            Some(1),
            "MigrationSucceeded",
            "The migration has succeeded and the stored versions have been updated",
            json!(["v2"]),
        ),
        (
            "Migration succeeded: CRD generation mismatch (No update)",
            "Succeeded",
            Some(2),
            "MigrationSucceeded",
            "The migration has succeeded but the stored versions have not been updated due to a \
             generation mismatch",
            Value::Null,
        ),
        (
            "no condition",
            "Succeeded",
            None,
            "MigrationSucceeded",
            "The migration has succeeded but the stored versions have not been updated due to a \
             generation mismatch",
            Value::Null,
        ),
        (
            "Migration failed: CRD condition updated",
            "Failed",
            Some(1),
            "MigrationFailed",
            "The migration has failed",
            Value::Null,
        ),
    ] {
        let over = migration("one", "5", &[("Running", "True"), (end, "True")]);
        let over = with(over, json!({"metadata": {"generation": 4}}));
        let plan = run(&[over, migration("two", "", &[])], Some(&definition(began)));
        let [first, second] = writes(&plan)[..] else { panic!("two writes: {plan}") };
        let body = fixture::body(first);
        let condition = &body["status"]["conditions"][0];
        assert_eq!(condition["reason"], reason, "{name}");
        assert_eq!(condition["message"], message, "{name}");
        assert_eq!(condition["status"], "False", "{name}");
        assert_eq!(body["status"]["storedVersions"], stored, "{name}");
        let conditions = status(second)["conditions"].clone();
        let expected = json!({"type": "Running", "status": "False", "reason": "MigrationCompleted",
            "message": "Migration completed", "lastTransitionTime": NOW, "observedGeneration": 4});
        assert_eq!(conditions[0], expected, "{name}");
        assert_eq!(conditions[1]["type"], end, "{name}");
    }
    let over = migration("one", "5", &[("Running", "True"), ("Succeeded", "True")]);
    let plan = run(&[over], None);
    assert_eq!(writes(&plan).len(), 1, "Cleanup admission updates SVM condition");
    let noted = migration("one", "5", &[("Running", "False"), ("Succeeded", "True")]);
    assert_eq!(run(&[noted], None).to_string(), "why: no migration waits\n");
}

#[test]
fn a_change_enqueues_the_kind_and_the_migration() {
    let object = decode::<StorageVersionMigration>(&migration("one", "", &[]));
    let change = Change::Deleted(object);
    let fixture = Fixture::default();
    assert_eq!(enqueued(&Runner, &change, &fixture), "now apps/deployments\n");
    for found in [enqueued(&Checkpoint, &change, &fixture), enqueued(&Migrator, &change, &fixture)]
    {
        assert_eq!(found, "forget one\n");
    }
    let named = Runner.named(&Key::new("", "deployments.apps"), &Memory::default());
    assert_eq!(named, Some(Key::new("apps", "deployments")));
    assert_eq!(Runner.named(&Key::new("apps", "deployments"), &Memory::default()), None);
}

// === Checkpoint ===

fn note(migration: &Value, memory: &Memory, facts: &Facts) -> Plan {
    let migrations = std::slice::from_ref(migration);
    let fixture = Fixture::default().holding::<StorageVersionMigration>(migrations);
    let key = Key::new("", migration["metadata"]["name"].as_str().unwrap());
    let snapshot = Checkpoint.observe(&key, &fixture.view(), memory).unwrap();
    Checkpoint.decide(&snapshot, facts).0
}

fn answered(answer: Answer) -> Facts {
    [(Query::path(LIST), answer)].into()
}

fn listed(version: &str) -> Facts {
    let list = json!({"metadata": {"resourceVersion": version}, "items": []});
    answered(Answer::Json(Arc::new(list)))
}

/// TestRVSync, all rows.
#[test]
fn the_latest_version_is_noted_as_upstream() {
    let running = migration("one", "", &[("Running", "True")]);
    let nothing = Facts::default();
    for (name, object, expected) in [
        ("Migration not active", migration("one", "", &[]), "it does not run yet"),
        (
            "SVM already succeeded",
            migration("one", "", &[("Running", "True"), ("Succeeded", "True")]),
            "it is over",
        ),
        (
            "SVM already failed",
            migration("one", "", &[("Running", "True"), ("Failed", "True")]),
            "it is over",
        ),
        ("RV already set", migration("one", "123", &[("Running", "True")]), "the version is noted"),
    ] {
        let plan = note(&object, &served(&ALL), &nothing);
        assert_eq!(plan.to_string(), format!("why: {expected}\n"), "{name}");
    }
    let plan = note(&running, &served(&ALL), &nothing);
    let expected = format!("why: which version is the latest?\nfetch {LIST}\n");
    assert_eq!(plan.to_string(), expected);
    let plan = note(&running, &served(&ALL), &listed("12345"));
    let expected = json!({"resourceVersion": "12345"});
    assert_eq!(status(writes(&plan)[0]), expected, "Successful RV acquisition");
    let failed = answered(Answer::Failed(Refused::from("no")));
    let plan = note(&running, &served(&ALL), &failed);
    let expected = "error getting latest resourceVersion for apps/v1, Resource=deployments: no";
    assert_eq!(plan.error.as_deref(), Some(expected), "Metadata list error");
    for (odd, text) in [("abcde", "abcde"), ("0", "0"), ("", ""), ("012", "012")] {
        let plan = note(&running, &served(&ALL), &listed(odd));
        let message = format!(
            "latest resourceVersion for apps/v1, Resource=deployments is not valid: resource \
             version is not well formed: {text}"
        );
        let expected = ("Failed".into(), "StorageVersionMigrationFailed".into(), message);
        assert_eq!(last_condition(writes(&plan)[0]), expected, "Invalid RV returned");
    }
}

/// TestIsResourceMigratable; and kinds that are not served, or of which nothing is known.
#[test]
fn some_kinds_cannot_be_migrated() {
    let running = migration("one", "", &[("Running", "True")]);
    let old = with(running.clone(), json!({"metadata": {"creationTimestamp": ago(61)}}));
    let nothing = Facts::default();
    for missing in ALL {
        let verbs: Vec<_> = ALL.into_iter().filter(|verb| *verb != missing).collect();
        let plan = note(&running, &served(&verbs), &nothing);
        let message = "resource \"apps/v1, Resource=deployments\" does not support discovery \
                       operations: [update patch list]";
        let expected =
            ("Failed".into(), "StorageVersionMigrationFailed".into(), message.to_owned());
        assert_eq!(last_condition(writes(&plan)[0]), expected, "Resource not migratable");
    }
    let none = Memory { served: Some(Arc::default()), done: BTreeMap::new() };
    let plan = note(&running, &none, &nothing);
    assert!(plan.is_rest() && plan.quiet && plan.error.is_some(), "{plan}");
    let plan = note(&old, &none, &nothing);
    let message = "resource does not exist in discovery";
    let expected = ("Failed".into(), "StorageVersionMigrationFailed".into(), message.to_owned());
    assert_eq!(last_condition(writes(&plan)[0]), expected);
    for unknown in [
        Memory::default(),
        Memory {
            served: Some(Arc::new(Served::new(
                Vec::new(),
                [("apps/v1".to_owned(), "no".to_owned())].into(),
            ))),
            done: BTreeMap::new(),
        },
    ] {
        let plan = note(&old, &unknown, &nothing);
        assert!(plan.is_rest() && plan.error.is_some(), "{plan}");
    }
}

// === Migrator ===

/// A migrator, and what it remembers.
struct Scene {
    fixture: Fixture,
    memory: Shared<Memory>,
}

fn object(name: &str, version: u64) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
        "resourceVersion": version.to_string()}})
}

impl Scene {
    fn new(migration: &Value, objects: &[Value], shown: u64) -> Self {
        let migrations = std::slice::from_ref(migration);
        let fixture = Fixture::default()
            .holding::<StorageVersionMigration>(migrations)
            .holding_metadata(&DEPLOYMENTS, objects)
            .complete_to(&DEPLOYMENTS, shown);
        let memory = Shared::<Memory>::default();
        *memory.write() = served(&ALL);
        Self { fixture, memory }
    }

    fn look(&self) -> (Snapshot, Plan, Verdict) {
        let key = Key::new("", "one");
        let snapshot = Migrator.observe(&key, &self.fixture.view(), &self.memory.read()).unwrap();
        let (plan, verdict) = Migrator.decide(&snapshot, &Facts::default());
        (snapshot, plan, verdict)
    }

    /// What is reported if the plan ends so.
    fn ended(&self, outcome: &Outcome) -> Option<Write> {
        let (snapshot, _, verdict) = self.look();
        let report = Migrator.report(&snapshot, Some(&verdict), outcome);
        let news = News::Acted { snapshot: &snapshot, verdict: &verdict, outcome };
        Migrator.remember(&mut self.memory.write(), news, &mut controller::Enqueue::default());
        report
    }
}

fn refused(code: Option<u16>) -> Outcome {
    Outcome { error: Some("refused".to_owned()), code, step: Some(0), ..Outcome::default() }
}

fn running(version: &str) -> Value {
    migration("one", version, &[("Running", "True")])
}

fn names(plan: &Plan) -> Vec<String> {
    writes(plan).iter().map(|it| it.object.key.name.to_string()).collect()
}

/// TestSync, "Successful migration", "Conflict on patch is ignored".
#[test]
fn older_objects_are_stored_anew() {
    let objects = [object("a", 90), object("b", 100), object("c", 101)];
    let scene = Scene::new(&running("100"), &objects, 100);
    let (_, plan, verdict) = scene.look();
    assert_eq!((names(&plan).join(" "), verdict), ("a b".to_owned(), Verdict::Done));
    let expected = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"uid": "uid-a", "resourceVersion": "90"}});
    let first = writes(&plan)[0];
    assert_eq!(fixture::body(first), expected);
    assert_eq!(first.tolerates, [controller::Tolerated::Conflict]);
    let done = last_condition(&scene.ended(&Outcome::default()).unwrap());
    let expected = ("Succeeded", "StorageVersionMigrationSucceeded", "");
    assert_eq!((&*done.0, &*done.1, &*done.2), expected);
    let unsettled = Outcome { unsettled: true, ..Outcome::default() };
    assert!(scene.ended(&unsettled).is_none());
    // Nothing is older.
    let scene = Scene::new(&running("80"), &objects, 100);
    assert!(scene.look().1.is_rest());
    assert_eq!(last_condition(&scene.ended(&Outcome::default()).unwrap()).0, "Succeeded");
}

/// TestSync, "Fatal patch error fails migration", "Retriable patch error is returned directly".
#[test]
fn a_failure_that_does_not_pass_ends_the_migration() {
    let scene = Scene::new(&running("100"), &[object("a", 90)], 100);
    for code in [403, 404, 422, 400] {
        let failed = last_condition(&scene.ended(&refused(Some(code))).unwrap());
        let expected = (
            "Failed",
            "StorageVersionMigrationFailed",
            "migration encountered unhandled error: refused",
        );
        assert_eq!((&*failed.0, &*failed.1, &*failed.2), expected, "{code}");
    }
    for code in [None, Some(429), Some(500), Some(502), Some(503), Some(504)] {
        assert!(scene.ended(&refused(code)).is_none(), "{code:?}");
    }
}

/// TestSync, the other rows.
#[test]
fn a_migration_waits_for_its_kind() {
    let old = |value: Value| with(value, json!({"metadata": {"creationTimestamp": ago(120)}}));
    let objects = [object("a", 90)];
    let (_, plan, verdict) = Scene::new(&running("100"), &objects, 99).look();
    let error = "GC cache is not up to date, requeuing to attempt again. gcListResourceVersion: \
                 99, listResourceVersion: 100";
    assert_eq!(plan.error.as_deref(), Some(error), "GC cache is not up to date");
    assert_eq!(verdict, Verdict::Nothing);
    for (name, object) in [
        ("not noted", running("")),
        ("SVM already succeeded", migration("one", "100", &[("Succeeded", "True")])),
        ("failed", migration("one", "100", &[("Failed", "True")])),
    ] {
        let (_, plan, verdict) = Scene::new(&object, &objects, 100).look();
        assert!(plan.is_rest() && plan.error.is_none() && verdict == Verdict::Nothing, "{name}");
    }
    let (_, _, verdict) = Scene::new(&running("abc"), &objects, 100).look();
    let error = "error comparing resource versions between GC and SVM resource: resource version \
                 is not well formed: abc";
    assert_eq!(verdict, Verdict::Fails(error.to_owned()), "Incomparable resource version");
    for (name, is_served, young, late) in [
        (
            "Resource not in GC",
            true,
            "resource does not exist in GC, requeuing to attempt again",
            "resource does not exist in GC",
        ),
        (
            "not served",
            false,
            "resource does not exist in rest mapper, requeuing to attempt again",
            "unable to obtain GVR from discovery",
        ),
    ] {
        let look = |object: Value| {
            let fixture = Fixture::default().holding::<StorageVersionMigration>(&[object]);
            let none = Memory { served: Some(Arc::default()), done: BTreeMap::new() };
            let memory = if is_served { served(&ALL) } else { none };
            let snapshot = Migrator.observe(&Key::new("", "one"), &fixture.view(), &memory);
            Migrator.decide(&snapshot.unwrap(), &Facts::default())
        };
        assert_eq!(look(running("100")).0.error.as_deref(), Some(young), "{name}");
        let (plan, verdict) = look(old(running("100")));
        assert_eq!(verdict, Verdict::Fails(late.to_owned()), "{name}");
        assert!(plan.is_rest() && plan.error.is_none(), "{name}");
    }
}

/// Portions; upstream begins again after each failure.
#[test]
fn a_migration_goes_on_where_it_was() {
    let portion = decide::PORTION;
    let objects: Vec<_> =
        (0..portion + 2).map(|number| object(&format!("o-{number:04}"), 90)).collect();
    let scene = Scene::new(&running("100"), &objects, 100);
    let (_, plan, verdict) = scene.look();
    let last = Key::new("shop", &format!("o-{:04}", portion - 1));
    assert_eq!((names(&plan).len(), &verdict), (portion, &Verdict::Until(last)));
    assert_eq!(plan.again, Some(Duration::ZERO));
    // It is not done yet, and what has failed is not remembered.
    assert!(scene.ended(&refused(Some(429))).is_none());
    assert_eq!(names(&scene.look().1).len(), portion);
    assert!(scene.ended(&Outcome::default()).is_none());
    let (snapshot, plan, verdict) = scene.look();
    assert_eq!((names(&plan).len(), verdict, plan.again), (2, Verdict::Done, None));
    let facts = Migrator.summary(&snapshot);
    assert!(facts.contains(&("objects left", "2".to_owned())), "{facts:?}");
    // Another migration of that name begins anew; and so does one after the other is gone.
    let again = with(running("100"), json!({"metadata": {"uid": "other"}}));
    let again = Scene { memory: scene.memory, ..Scene::new(&again, &objects, 100) };
    assert_eq!(names(&again.look().1).len(), portion);
    let gone = Key::new("", "one");
    let queue = &mut controller::Enqueue::default();
    Migrator.remember(&mut again.memory.write(), News::Gone(&gone), queue);
    assert!(again.memory.read().done.is_empty());
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    let object = running("");
    let fixture = Fixture::default().holding_unreadable::<StorageVersionMigration>(&object, "odd");
    let (key, memory) = (Key::new("", "one"), served(&ALL));
    let expected = "why: the object cannot be read: odd\n";
    let snapshot = Checkpoint.observe(&key, &fixture.view(), &memory).unwrap();
    assert_eq!(Checkpoint.decide(&snapshot, &Facts::default()).0.to_string(), expected);
    let snapshot = Migrator.observe(&key, &fixture.view(), &memory).unwrap();
    assert_eq!(Migrator.decide(&snapshot, &Facts::default()).0.to_string(), expected);
}

#[test]
fn summaries_say_what_a_migration_waits_for() {
    let migrations = [
        migration("one", "", &[("Running", "True")]),
        migration("two", "", &[]),
        migration("three", "", &[("Failed", "True")]),
    ];
    let fixture = Fixture::default().holding::<StorageVersionMigration>(&migrations);
    let key = Key::new("apps", "deployments");
    let kinds = Runner.observe(&key, &fixture.view(), &Memory::default()).unwrap();
    let expected = [("running", "one"), ("waiting", "two"), ("over", "three")];
    assert_eq!(Runner.summary(&kinds), expected.map(|(name, text)| (name, text.to_owned())));
    let noted = Checkpoint.observe(&Key::new("", "one"), &fixture.view(), &served(&ALL)).unwrap();
    let expected =
        [("kind", "apps/v1, Resource=deployments"), ("stored anew up to", "not known yet")];
    assert_eq!(Checkpoint.summary(&noted), expected.map(|(name, text)| (name, text.to_owned())));
}
