//! Tables, mirroring upstream's
//! `pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner_test.go`.

use api::{Kind as _, Raw, Time};
use controller::fixture::{Fixture, decode, enqueued, time, with};
use controller::{Action, Answer, Change, Controller as _, Guard, PatchKind, Query, Step};
use serde_json::{Value, json};

use super::decide::WRITES_MAX;
use super::*;

const REST: &str = "why: nothing to clean\nagain in 86400s\n";
const INVALIDATED: &str = "why: 1 unused, 0 unused and invalid for the clean-up period
together: merge secrets default/token-secret-1 {\"apiVersion\":\"v1\",\"kind\":\"Secret\",\
\"metadata\":{\"labels\":{\"kubernetes.io/legacy-token-invalid-since\":\"2024-05-01\"},\
\"name\":\"token-secret-1\",\"namespace\":\"default\",\"uid\":\"23456\"}}
again in 86400s
";
const DELETED: &str = "why: 0 unused, 1 unused and invalid for the clean-up period
together: delete secrets default/token-secret-1 of this version
again in 86400s
";
const TRACKING: &str =
    "configmaps kube-system/kube-apiserver-legacy-service-account-token-tracking";

/// As upstream's `configuredServiceAccountTokenSecret`; empty labels are left out.
fn secret(last_used: &str, invalid_since: &str, created: &str) -> Value {
    let label = |day: &str| if day.is_empty() { Value::Null } else { day.into() };
    let labels = json!({
        "kubernetes.io/legacy-token-last-used": label(last_used),
        "kubernetes.io/legacy-token-invalid-since": label(invalid_since),
    });
    let secret = json!({
        "metadata": {
            "name": "token-secret-1", "namespace": "default", "uid": "23456",
            "resourceVersion": "1", "creationTimestamp": format!("{created}T00:00:00Z"),
            "annotations": {
                "kubernetes.io/service-account.name": "default",
                "kubernetes.io/service-account.uid": "12345",
            },
        },
        "data": {"token": "QUJD", "ca.crt": "Q0EgRGF0YQ==", "namespace": "ZGVmYXVsdA=="},
    });
    with(secret, json!({ "metadata": { "labels": labels } }))
}

fn for_account(secret: Value, name: &str, uid: &str) -> Value {
    let account = json!({"kubernetes.io/service-account.name": name,
        "kubernetes.io/service-account.uid": uid});
    with(secret, json!({ "metadata": { "annotations": account } }))
}

/// As upstream's `serviceAccount`.
fn account(secrets: &[&str]) -> Value {
    let secrets: Vec<_> = secrets.iter().map(|name| json!({ "name": name })).collect();
    json!({
        "metadata": {"name": "default", "namespace": "default", "uid": "12345",
            "resourceVersion": "1"},
        "secrets": secrets,
    })
}

/// As upstream's `configuredPod`.
fn pod(volumes: &Value) -> Value {
    json!({"metadata": {"name": "pod-1", "namespace": "default", "resourceVersion": "1"},
        "spec": {"volumes": volumes}})
}

fn plain() -> Value {
    pod(&json!([]))
}

fn caches(secrets: &[Value], accounts: &[Value], pods: &[Value]) -> Fixture {
    let fixture = Fixture::default().holding::<TokenSecret>(secrets);
    fixture.holding::<ServiceAccount>(accounts).holding::<Pod>(pods)
}

/// As upstream's `configuredLegacyTokenCleanUpPeriod`: it began with this day.
fn since(day: &str) -> Controller {
    let start = Time::parse(&format!("{day}T00:00:00Z")).unwrap();
    Controller { clean_up_period: time(0).since(start) }
}

/// As upstream's `configuredConfigMap`.
fn config_map(data: &Value) -> Answer {
    let object = json!({"metadata": {"name": "x"}, "data": data}).to_string();
    let meta = api::Meta::decode(api::Codec::Json, object.as_bytes()).unwrap();
    Answer::Found(Box::new((meta, Raw::parse(object.as_bytes()).unwrap())))
}

/// The plan of a pass, which first asks for the ConfigMap and nothing else.
fn pass(controller: Controller, fixture: &Fixture, tracking: Answer) -> Plan {
    let key = Key::parse(Controller::SEEDS[0]);
    let snapshot = controller.observe(&key, &fixture.view(), &()).unwrap();
    let asked = controller.decide(&snapshot, &Facts::default()).0;
    assert_eq!(
        asked.to_string(),
        format!("why: since when is the use of tokens noted?\nfetch {TRACKING}\n")
    );
    let [Step::Fetch(queries)] = asked.steps.as_slice() else { panic!("one fetch: {asked}") };
    let query: &Query = queries.first().unwrap();
    controller.decide(&snapshot, &Facts::from([(query.clone(), tracking)])).0
}

fn noted(day: &str) -> Answer {
    config_map(&json!({ "since": day }))
}

/// TestLegacyServiceAccountTokenCleanUp, the rows about the ConfigMap.
#[test]
fn nothing_is_done_before_uses_are_noted_for_the_whole_period() {
    let why = "why: nothing is known of the use of tokens\nerror: cannot read since when the use \
               of tokens is noted: ";
    let too_short = "why: the use of tokens is not noted for the clean-up period yet
again in 86400s
";
    let fixture = caches(
        &[secret("2022-12-27", "", "2022-12-27")],
        &[account(&["token-secret-1"])],
        &[plain()],
    );
    for (name, tracking, period, expected) in [
        (
            "configmap does not exist",
            Answer::NotFound,
            "2022-12-28",
            format!("{why}there is no {TRACKING}\n"),
        ),
        (
            "configmap exists, but the configmap does not have tracked-since label",
            config_map(&Value::Null),
            "2022-12-28",
            format!("{why}{TRACKING} has no \"since\"\n"),
        ),
        (
            "configmap exists, the time period since 'tracked-since' is smaller than the \
             CleanUpPeriod",
            noted("2022-12-29"),
            "2022-12-29",
            too_short.to_owned(),
        ),
        (
            "configmap exists, the 'tracked-since' cannot be parsed",
            noted("2022-12-27-1"),
            "2022-12-29",
            format!("{why}\"since\" of {TRACKING} is no day: \"2022-12-27-1\"\n"),
        ),
        // More than upstream's rows.
        ("no response", Answer::Failed("timeout".into()), "2022-12-29", format!("{why}timeout\n")),
        ("whole days count", noted("2022-12-28"), "2022-12-29", INVALIDATED.to_owned()),
        ("a day too late", noted("2022-12-29"), "2022-12-30", INVALIDATED.to_owned()),
    ] {
        let plan = pass(since(period), &fixture, tracking);
        assert_eq!(plan.to_string(), expected, "{name}");
    }
}

/// A row of upstream's table: by default the Secret was made on 2022-12-27, its account lists it,
/// and no pod names it.
struct Row {
    name: &'static str,
    secret: Value,
    accounts: Vec<Value>,
    pod: Value,
    tracked: &'static str,
    period: &'static str,
}

/// `days`: since when uses are noted, and when the clean-up period began.
fn row(name: &'static str, labels: [&str; 2], days: [&'static str; 2]) -> Row {
    let [last_used, invalid_since] = labels;
    let [tracked, period] = days;
    let secret = secret(last_used, invalid_since, "2022-12-27");
    Row {
        name,
        secret,
        accounts: vec![account(&["token-secret-1"])],
        pod: plain(),
        tracked,
        period,
    }
}

fn expect(rows: Vec<Row>, expected: &str) {
    for Row { name, secret, accounts, pod, tracked, period } in rows {
        let fixture = caches(&[secret], &accounts, &[pod]);
        let plan = pass(since(period), &fixture, noted(tracked));
        assert_eq!(plan.to_string(), expected, "{name}");
    }
}

/// TestLegacyServiceAccountTokenCleanUp, the rows in which nothing is written. "secret is not
/// SecretTypeServiceAccountToken type" is the field selector of the view.
#[test]
fn tokens_stay_as_upstream() {
    assert_eq!(TokenSecret::FIELD_SELECTOR, "type=kubernetes.io/service-account-token");
    let used = ["2022-12-27", ""];
    let days = ["2022-12-27", "2022-12-29"];
    let row_with = |name, secret| Row { secret, ..row(name, used, days) };
    let leaving = json!({"metadata": {"deletionTimestamp": "2024-05-01T12:00:00Z"}});
    let old = secret("2022-12-27", "", "2022-12-27");
    let mounted = pod(&json!([{"name": "foo", "secret": {"secretName": "token-secret-1"}}]));
    let after = ["2022-12-28", "2022-12-30"];
    let rows = vec![
        Row {
            accounts: vec![account(&[])],
            ..row("secret is not referenced by serviceaccount", used, days)
        },
        row_with(
            "auto-generated secret has a late creation time",
            secret("2022-12-27", "", "2022-12-30"),
        ),
        row_with("auto-generated secret has a deletion time", with(old.clone(), leaving)),
        row("auto-generated secret has a late last-used time", ["2022-12-30", ""], days),
        row(
            "auto-generated secret has a last-used label, but it can not be parsed",
            ["2022-12-27-1", ""],
            days,
        ),
        Row {
            accounts: vec![],
            ..row("secret-referenced service account does not exist", used, days)
        },
        row_with(
            "secret-referenced service account uid does not match",
            for_account(old.clone(), "default", "123456"),
        ),
        row_with("secret-referenced service account name is empty", for_account(old, "", "12345")),
        row(
            "auto-generated secret does not have 'last-used' label, has been marked as invalid, \
             time period since invalid is less than CleanUpPeriod",
            ["", "2023-01-01"],
            ["2022-12-28", "2022-12-29"],
        ),
        Row { pod: mounted, ..row("auto-generated secret is mounted by the pod", used, days) },
        row(
            "auto-generated secret has 'last-used' label, …, secret has been marked as invalid, \
             time peroid since invalid is less than CleanUpPeriod",
            ["2022-12-27", "2023-05-01"],
            after,
        ),
        // More than upstream's rows.
        row("used on the very day", ["2022-12-30", ""], after),
        row("invalid since the very day", ["", "2022-12-30"], after),
        Row {
            secret: secret("", "", "2022-12-30"),
            ..row("made at the very moment", ["", ""], after)
        },
    ];
    expect(rows, REST);
}

/// TestLegacyServiceAccountTokenCleanUp, the rows with a patch.
#[test]
fn unused_tokens_are_invalidated_as_upstream() {
    let days = ["2022-12-28", "2022-12-30"];
    let any_uid = for_account(secret("2022-12-27", "", "2022-12-27"), "default", "");
    let rows = vec![
        row(
            "auto-generated secret does not have 'last-used' label, has not been marked as invalid",
            ["", ""],
            days,
        ),
        row(
            "…, has been marked as invalid, invalid_since label can not be parsed",
            ["", "2022-12-29-1"],
            days,
        ),
        row(
            "auto-generated secret has 'last-used' label, the time period since last-used is \
             larger than CleanUpPeriod, secret has not been marked as invalid",
            ["2022-12-27", ""],
            days,
        ),
        // More than upstream's rows.
        Row { secret: any_uid, ..row("an account with any uid", ["", ""], days) },
        row("a day that does not exist", ["", "2023-02-30"], ["2022-12-28", "2023-05-01"]),
        row("a day in another form", ["", "20221229"], ["2022-12-28", "2023-05-01"]),
        row("too long a year", ["", "+002022-12-29"], ["2022-12-28", "2023-05-01"]),
        Row {
            pod: pod(&json!([{"name": "foo", "secret": {"secretName": "token-secret-2"}}])),
            ..row("another secret is mounted", ["", ""], days)
        },
        row("used the day before", ["2022-12-29", ""], days),
    ];
    expect(rows, INVALIDATED);
}

/// TestLegacyServiceAccountTokenCleanUp, the rows with a deletion.
#[test]
fn invalid_tokens_are_deleted_as_upstream() {
    let rows = vec![
        row(
            "auto-generated secret does not have 'last-used' label, has been marked as invalid, \
             time period since invalid is larger than CleanUpPeriod",
            ["", "2022-12-29"],
            ["2022-12-28", "2023-01-01"],
        ),
        row(
            "auto-generated secret has 'last-used' label, …, secret has been marked as invalid, \
             time peroid since invalid is larger than CleanUpPeriod",
            ["2022-12-27", "2023-01-05"],
            ["2022-12-28", "2023-05-01"],
        ),
        // More than upstream's rows.
        row("invalid since the day before", ["", "2022-12-29"], ["2022-12-28", "2022-12-30"]),
    ];
    expect(rows, DELETED);
}

/// Card: not referenced by any pod in the namespace.
#[test]
fn what_a_pod_of_the_namespace_names_stays() {
    let fixture = |namespace: &str| {
        let pod = pod(&json!([{"name": "foo", "secret": {"secretName": "token-secret-1"}}]));
        let pod = with(pod, json!({ "metadata": { "namespace": namespace } }));
        caches(&[secret("", "2022-12-29", "2022-12-27")], &[account(&["token-secret-1"])], &[pod])
    };
    for (namespace, expected) in [("default", REST), ("other", DELETED)] {
        let plan = pass(since("2023-01-01"), &fixture(namespace), noted("2022-12-28"));
        assert_eq!(plan.to_string(), expected, "{namespace}");
    }
}

/// A pod that cannot be read may name any Secret.
#[test]
fn a_pod_that_cannot_be_read_keeps_the_secrets_of_its_namespace() {
    let fixture =
        caches(&[secret("", "2022-12-29", "2022-12-27")], &[account(&["token-secret-1"])], &[]);
    let fixture = fixture.holding_unreadable::<Pod>(&plain(), "spec: no");
    let snapshot = since("2023-01-01").observe(&Key::parse("secrets"), &fixture.view(), &());
    let [candidate] = &*snapshot.unwrap().candidates else { panic!("one candidate") };
    assert!(candidate.used);
}

/// The patch names the uid, the deletion the version.
#[test]
fn writes_are_guarded() {
    for (invalid_since, is_patch) in [("", true), ("2022-12-29", false)] {
        let secret = secret("", invalid_since, "2022-12-27");
        let fixture = caches(&[secret], &[account(&["token-secret-1"])], &[]);
        let plan = pass(since("2023-01-01"), &fixture, noted("2022-12-28"));
        let [Step::Together(actions)] = plan.steps.as_slice() else { panic!("one step: {plan}") };
        let [Action::Write(write)] = actions.as_slice() else { panic!("one write: {plan}") };
        match (write.patched(), write.deleted()) {
            (Some(patch), None) if is_patch => {
                assert_eq!((patch.kind, write.subresource), (PatchKind::Merge, None));
                assert_eq!(write.tolerates, [controller::Tolerated::Missing]);
            }
            (None, Some(delete)) if !is_patch => {
                assert_eq!(delete.guard, Guard::Version);
                let object = &write.object;
                assert_eq!((&*object.uid, object.resource_version), ("23456", 1));
            }
            _ => panic!("one write: {plan}"),
        }
    }
}

/// Limits: so many writes, the rest soon; and Secrets that cannot be written do not keep the others
/// from their turn for ever.
#[test]
fn a_pass_is_bounded() {
    let name = |n: usize| format!("token-{n:04}");
    let count = WRITES_MAX + 1;
    let secrets: Vec<_> = (0..count)
        .map(|n| {
            let renamed = json!({ "metadata": { "name": name(n) } });
            with(secret("", "2022-12-29", "2022-12-27"), renamed)
        })
        .collect();
    let names: Vec<_> = (0..count).map(name).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let controller = since("2023-01-01");
    let mut first = Vec::new();
    for second in 0..2 {
        let mut fixture = caches(&secrets, &[account(&names)], &[]);
        fixture.now = time(second * 1_000_000_000);
        let plan = pass(controller, &fixture, noted("2022-12-28"));
        assert_eq!((plan.actions(), plan.again), (WRITES_MAX, Some(Duration::from_secs(1))));
        let written: std::collections::BTreeSet<_> = plan
            .to_string()
            .lines()
            .filter(|line| line.contains("delete"))
            .map(str::to_owned)
            .collect();
        assert_eq!(written.len(), WRITES_MAX, "each once");
        first.push(written);
    }
    assert_ne!(first[0], first[1]);
    let fixture = caches(&secrets[..WRITES_MAX], &[account(&names)], &[]);
    let plan = pass(controller, &fixture, noted("2022-12-28"));
    assert_eq!((plan.actions(), plan.again), (WRITES_MAX, Some(PERIOD)));
}

/// Card: no queue of objects, an interval of 24 hours.
#[test]
fn nothing_enqueues_a_pass() {
    let controller = since("2023-01-01");
    let fixture = caches(&[], &[], &[]);
    let secret = decode::<TokenSecret>(&secret("", "", "2022-12-27"));
    let change = Change::Updated { old: secret.clone(), new: secret.clone() };
    assert_eq!(enqueued(&controller, &Change::Added(secret), &fixture), "");
    assert_eq!(enqueued(&controller, &change, &fixture), "");
    let account = decode::<ServiceAccount>(&account(&[]));
    assert_eq!(enqueued(&controller, &Change::Deleted(account), &fixture), "");
    assert_eq!(enqueued(&controller, &Change::Added(decode::<Pod>(&plain())), &fixture), "");
    assert_eq!((Controller::SEEDS, PERIOD), (&["secrets"][..], Duration::from_hours(24)));
}

#[test]
fn a_summary_shows_what_a_pass_sees() {
    let other = json!({"metadata": {"name": "other"}});
    let secrets = [secret("", "", "2022-12-27"), with(secret("", "", "2022-12-27"), other)];
    let mounted = pod(&json!([{"name": "foo", "secret": {"secretName": "token-secret-1"}}]));
    let fixture = caches(&secrets, &[account(&["token-secret-1"])], &[mounted]);
    let controller = since("2023-01-01");
    let snapshot = controller.observe(&Key::parse("secrets"), &fixture.view(), &()).unwrap();
    let facts = controller.summary(&snapshot).into_iter();
    let facts: Vec<_> = facts.map(|(name, value)| format!("{name}: {value}")).collect();
    let expected =
        ["secrets with tokens: 2", "listed by their account: 1", "of these named by a pod: 1"];
    assert_eq!(facts, expected);
}
