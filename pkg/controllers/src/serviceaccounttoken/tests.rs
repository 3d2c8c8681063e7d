//! Tables, mirroring upstream's `pkg/controller/serviceaccount/tokens_controller_test.go`.

use std::sync::Mutex;

use api::{Codec, Meta, Raw};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use controller::fixture::{self, Fixture, decode, enqueued, with};
use controller::{Action, Answer, Controller, Guard, Query, Step, Verb};
use serde_json::{Value, json};

use super::*;

const ACCOUNT: &str = "get serviceaccounts default/default";
const SECRET: &str = "get secrets default/token-secret-1";
const DELETE: &str = "delete secrets default/token-secret-1";

/// As upstream's `testGenerator`; notes what it was asked to sign.
#[derive(Default)]
struct Signer {
    refuses: bool,
    signed: Mutex<Vec<Vec<u8>>>,
}

impl TokenSigner for Signer {
    fn sign(&self, claims: &[u8]) -> Result<String, String> {
        self.signed.lock().map_err(|error| error.to_string())?.push(claims.to_vec());
        if self.refuses { Err("no randomness".to_owned()) } else { Ok("ABC".to_owned()) }
    }
}

fn secrets() -> Secrets {
    Secrets::new(Arc::new(Signer::default()), "CA Data")
}

/// As upstream's `serviceAccount`.
fn account(secrets: &[&str]) -> Value {
    let secrets: Vec<_> = secrets.iter().map(|name| json!({ "name": name })).collect();
    let secrets = if secrets.is_empty() { Value::Null } else { secrets.into() };
    let account = json!({"metadata": {"name": "default", "namespace": "default", "uid": "12345",
        "resourceVersion": "1"}});
    with(account, json!({ "secrets": secrets }))
}

/// As upstream's `serviceAccountTokenSecret`.
fn token_secret() -> Value {
    json!({
        "metadata": {
            "name": "token-secret-1", "namespace": "default", "uid": "23456",
            "resourceVersion": "1",
            "annotations": {
                "kubernetes.io/service-account.name": "default",
                "kubernetes.io/service-account.uid": "12345",
            },
        },
        "type": "kubernetes.io/service-account-token",
        "data": {
            "token": BASE64_STANDARD.encode("ABC"),
            "ca.crt": BASE64_STANDARD.encode("CA Data"),
            "namespace": BASE64_STANDARD.encode("default"),
        },
    })
}

/// The token secret with another value in its data, or without it.
fn with_data(key: &str, value: Option<&str>) -> Value {
    let value = value.map(|text| BASE64_STANDARD.encode(text));
    with(token_secret(), json!({ "data": { key: value } }))
}

fn annotated(key: &str, value: Option<&str>) -> Value {
    let name = format!("kubernetes.io/service-account.{key}");
    with(token_secret(), json!({ "metadata": { "annotations": { name: value } } }))
}

fn caches(accounts: &[Value], secrets: &[Value]) -> Fixture {
    Fixture::default().holding::<ServiceAccount>(accounts).holding::<TokenSecret>(secrets)
}

/// What a live read finds among the objects.
fn answer(query: &Query, live: &[Value]) -> Answer {
    let Query::Get { resource, key, .. } = query else { panic!("one object: {query}") };
    let is_secret = resource.plural == "secrets";
    let is_it = |object: &&Value| {
        object["metadata"]["name"] == *key.name && object.get("data").is_some() == is_secret
    };
    let Some(object) = live.iter().find(is_it) else { return Answer::NotFound };
    let json = object.to_string();
    let meta = Meta::decode(Codec::Json, json.as_bytes()).unwrap();
    Answer::Found(Box::new((meta, Raw::parse(json.as_bytes()).unwrap())))
}

/// An update with the object as it is sent, but for its kind.
fn updates(object: &Value) -> String {
    let Value::Object(mut fields) = object.clone() else { panic!("an object: {object}") };
    fields.remove("apiVersion");
    fields.remove("kind");
    format!("update {}", Value::Object(fields))
}

fn shown(action: &Action) -> String {
    let Action::Write(write) = action else { panic!("{action}") };
    match &write.verb {
        Verb::Update(_) => {
            let body = fixture::body(write);
            assert_eq!(write.object.resource_version.to_string(), "1", "as read live");
            assert_eq!(body["apiVersion"], "v1");
            assert_eq!(body["kind"], *write.object.resource.kind);
            updates(&body)
        }
        Verb::Delete(delete) => {
            assert_eq!((&*write.object.uid, &delete.guard), ("23456", &Guard::Uid));
            action.to_string()
        }
        Verb::Create(_) | Verb::DeleteAll | Verb::Patch(_) => panic!("{action}"),
    }
}

/// All requests of a sync, with `live` on the API server; none if the key needs none.
fn requests<C: Controller<Memory = ()>>(
    controller: &C,
    key: &Key,
    fixture: &Fixture,
    live: &[Value],
) -> Vec<String> {
    let Some(snapshot) = controller.observe(key, &fixture.view(), &()) else { return vec![] };
    let (mut facts, mut requests) = (Facts::default(), vec![]);
    for _ in 0..5 {
        let plan = controller.decide(&snapshot, &facts).0;
        assert_eq!(plan.error, None, "{plan}");
        let Some(step) = plan.steps.first() else { return requests };
        assert_eq!(plan.steps.len(), 1, "{plan}");
        match step {
            Step::Fetch(queries) => {
                for query in queries {
                    requests.push(format!("get {query}"));
                    facts.answers.insert(query.clone(), answer(query, live));
                }
            }
            Step::InOrder(actions) | Step::Together(actions) => {
                requests.extend(actions.iter().map(shown));
                return requests;
            }
            Step::SlowStart(_) | Step::Chains(_) => panic!("{plan}"),
        }
    }
    panic!("never has enough: {requests:?}")
}

/// All requests after a change, by both controllers.
fn after<T: api::Kind>(change: &Change<T>, fixture: &Fixture, live: &[Value]) -> Vec<String> {
    let key = |call: &str| {
        let key = call.strip_prefix("now ").or_else(|| call.strip_prefix("forget "));
        Key::parse(key.unwrap())
    };
    let (accounts, secrets) = (Accounts, secrets());
    let by_account = enqueued(&accounts, change, fixture);
    let by_account = by_account.lines().flat_map(|k| requests(&accounts, &key(k), fixture, live));
    let by_secret = enqueued(&secrets, change, fixture);
    let by_secret = by_secret.lines().flat_map(|k| requests(&secrets, &key(k), fixture, live));
    by_account.chain(by_secret).collect()
}

fn updated<T: api::Kind>(object: &Value) -> Change<T> {
    Change::Updated { old: decode(object), new: decode(object) }
}

/// TestTokenCreation: accounts, all rows. The Secrets that are no tokens are not in the cache.
/// TestQueueServiceAccountSync_Tombstone: every deletion comes with the object as it was last.
#[test]
fn accounts_are_synced_as_upstream() {
    let (none, missing) = (account(&[]), account(&["missing-secret-1"]));
    let (regular, token) = (account(&["regular-secret-1"]), account(&["token-secret-1"]));
    let newer = with(none.clone(), json!({"metadata": {"resourceVersion": "2"}}));
    for (name, secrets, account, live) in [
        ("serviceaccount with no secrets", vec![], &none, vec![none.clone()]),
        ("serviceaccount with missing secrets", vec![], &missing, vec![missing.clone()]),
        ("serviceaccount with non-token secrets", vec![], &regular, vec![regular.clone()]),
        (
            "serviceaccount with token secrets",
            vec![token_secret()],
            &token,
            vec![token.clone(), token_secret()],
        ),
        ("serviceaccount with no secrets with resource conflict", vec![], &none, vec![newer]),
    ] {
        let fixture = caches(std::slice::from_ref(account), &secrets);
        let added = Change::Added(decode::<ServiceAccount>(account));
        assert_eq!(after(&added, &fixture, &live), [""; 0], "new {name}");
        let updated = updated::<ServiceAccount>(account);
        assert_eq!(after(&updated, &fixture, &live), [""; 0], "updated {name}");
    }
    for (name, secrets, account) in [
        ("deleted serviceaccount with no secrets", vec![], &none),
        ("deleted serviceaccount with missing secrets", vec![], &missing),
        ("deleted serviceaccount with non-token secrets", vec![], &regular),
        ("deleted serviceaccount with token secrets", vec![token_secret()], &token),
    ] {
        // Otherwise than upstream, the account is read live before something is deleted.
        let expected = if secrets.is_empty() { vec![] } else { vec![ACCOUNT, DELETE] };
        let deleted = Change::Deleted(decode::<ServiceAccount>(account));
        let found = after(&deleted, &caches(&[], &secrets), &secrets);
        assert_eq!(found, expected, "{name}");
    }
}

/// TestTokenCreation: Secrets that were added or updated, all rows.
#[test]
fn secrets_are_filled_as_upstream() {
    let token = account(&["token-secret-1"]);
    let filled = || vec![SECRET.to_owned(), updates(&token_secret())];
    for (name, account, secret, expected) in [
        ("without serviceaccount", None, token_secret(), vec![ACCOUNT.into(), DELETE.into()]),
        ("with serviceaccount", Some(&token), token_secret(), vec![]),
        ("without token data", Some(&token), with_data("token", None), filled()),
        ("without ca data", Some(&token), with_data("ca.crt", None), filled()),
        (
            "with mismatched ca data",
            Some(&token),
            with_data("ca.crt", Some("mismatched")),
            filled(),
        ),
        ("without namespace data", Some(&token), with_data("namespace", None), filled()),
        (
            "with custom namespace data",
            Some(&token),
            with_data("namespace", Some("custom")),
            vec![],
        ),
        // More than upstream's rows.
        ("with empty token data", Some(&token), with_data("token", Some("")), filled()),
        (
            "without data",
            Some(&token),
            with(
                token_secret(),
                json!({ "data": {"token": null, "namespace": null, "ca.crt": null} }),
            ),
            filled(),
        ),
        ("without a uid and complete", Some(&token), annotated("uid", None), vec![]),
        ("without an account", Some(&token), annotated("name", None), vec![]),
        ("with an empty account", Some(&token), annotated("name", Some("")), vec![]),
        (
            "with another uid",
            Some(&token),
            annotated("uid", Some("other")),
            vec![ACCOUNT.into(), DELETE.into()],
        ),
        (
            "with an account that is not there",
            Some(&token),
            annotated("name", Some("other")),
            vec!["get serviceaccounts default/other".into(), DELETE.into()],
        ),
    ] {
        let accounts: Vec<_> = account.cloned().into_iter().collect();
        let fixture = caches(&accounts, std::slice::from_ref(&secret));
        let live = [accounts, vec![secret.clone()]].concat();
        let added = Change::Added(decode::<TokenSecret>(&secret));
        assert_eq!(after(&added, &fixture, &live), expected, "added secret {name}");
        let updated = updated::<TokenSecret>(&secret);
        assert_eq!(after(&updated, &fixture, &live), expected, "updated secret {name}");
    }
}

/// TestTokenCreation: Secrets that were deleted, all rows.
#[test]
fn references_to_deleted_secrets_are_struck_as_upstream() {
    let key = "default/token-secret-1/default/12345";
    let (none, token) = (account(&[]), account(&["token-secret-1"]));
    let several = account(&["a", "token-secret-1", "b"]);
    let with_fields = |account: &Value| {
        with(account.clone(), json!({"imagePullSecrets": [{"name": "token-secret-1"}], "later": 1}))
    };
    let no_uid = annotated("uid", None);
    let recreated = with(token.clone(), json!({"metadata": {"uid": "other"}}));
    for (name, cached, secret, live, expected) in [
        ("without serviceaccount", None, token_secret(), None, vec![]),
        (
            "with serviceaccount with reference",
            Some(&token),
            token_secret(),
            Some(token.clone()),
            vec![ACCOUNT.to_owned(), updates(&none)],
        ),
        (
            "with serviceaccount without reference",
            Some(&none),
            token_secret(),
            Some(none.clone()),
            vec![ACCOUNT.to_owned()],
        ),
        // More than upstream's rows.
        (
            "with one reference of several",
            Some(&several),
            token_secret(),
            Some(with_fields(&several)),
            vec![ACCOUNT.to_owned(), updates(&with_fields(&account(&["a", "b"])))],
        ),
        ("with an account that goes", Some(&token), token_secret(), None, vec![ACCOUNT.to_owned()]),
        (
            "with an account that was replaced",
            Some(&token),
            token_secret(),
            Some(recreated.clone()),
            vec![ACCOUNT.to_owned()],
        ),
        ("of another account", Some(&recreated), token_secret(), Some(recreated.clone()), vec![]),
        (
            "without a uid",
            Some(&token),
            no_uid.clone(),
            Some(token.clone()),
            vec![ACCOUNT.to_owned(), updates(&none)],
        ),
        ("without an account", Some(&token), annotated("name", None), Some(token.clone()), vec![]),
    ] {
        let accounts: Vec<_> = cached.cloned().into_iter().collect();
        let live: Vec<_> = live.into_iter().collect();
        let deleted = Change::Deleted(decode::<TokenSecret>(&secret));
        let found = after(&deleted, &caches(&accounts, &[]), &live);
        assert_eq!(found, expected, "deleted secret {name}");
    }
    let of_nobody = Change::Deleted(decode::<TokenSecret>(&annotated("name", None)));
    let calls = enqueued(&secrets(), &of_nobody, &caches(&[], &[]));
    assert_eq!(calls, "forget default/token-secret-1\n");
    let deleted = Change::Deleted(decode::<TokenSecret>(&token_secret()));
    let there = caches(std::slice::from_ref(&token), &[token_secret()]);
    let calls = enqueued(&secrets(), &deleted, &there);
    assert_eq!(calls, format!("forget default/token-secret-1\nnow {key}\n"));
    let found = requests(&secrets(), &Key::parse(key), &there, &[token]);
    assert_eq!(found, [""; 0], "it is there again");
}

#[test]
fn keys_of_references_can_be_read_again() {
    for uid in ["12345", "", "a/b"] {
        let reference = Reference {
            secret: Key::new("shop", "web.token"),
            account: Key::new("shop", "web"),
            account_uid: uid.into(),
        };
        assert_eq!(Reference::parse(&reference.key()), Some(reference.clone()));
        assert_eq!(Reference::parse(&Key::parse(&reference.key().to_string())), Some(reference));
    }
    assert_eq!(Reference::parse(&Key::new("shop", "web.token")), None);
}

/// `deleteTokens`, `IsServiceAccountToken`: of the account that is deleted, and of no other; one
/// that says no uid is of any account with the name.
#[test]
fn only_the_secrets_of_the_deleted_account_are_deleted() {
    let named = |name: &str, secret: Value| with(secret, json!({ "metadata": { "name": name } }));
    let secrets = [
        named("a", token_secret()),
        named("b", annotated("uid", Some("other"))),
        named("c", annotated("uid", None)),
        named("d", annotated("name", Some("other"))),
        with(named("e", token_secret()), json!({"metadata": {"namespace": "other"}})),
    ];
    let deletes = |names: &[&str]| -> Vec<String> {
        let deletes = names.iter().map(|name| format!("delete secrets default/{name}"));
        [ACCOUNT.to_owned()].into_iter().chain(deletes).collect()
    };
    let recreated = with(account(&[]), json!({"metadata": {"uid": "other"}}));
    for (name, cached, live, expected) in [
        ("gone", vec![], vec![], deletes(&["a", "b", "c"])),
        ("made again", vec![recreated.clone()], vec![recreated.clone()], deletes(&["a"])),
        ("the cache is stale", vec![account(&[])], vec![recreated], vec![ACCOUNT.to_owned()]),
        ("the cache lost it", vec![], vec![account(&[])], deletes(&["b"])),
    ] {
        let fixture = caches(&cached, &secrets);
        let found = requests(&Accounts, &Key::parse("default/default"), &fixture, &live);
        assert_eq!(found, expected, "{name}");
    }
}

/// `generateTokenIfNeeded`: what is written is read live, and must be what the cache shows.
#[test]
fn a_secret_that_changed_meanwhile_is_left_alone() {
    let token = account(&["token-secret-1"]);
    let lacking = with_data("token", None);
    let fixture = caches(std::slice::from_ref(&token), std::slice::from_ref(&lacking));
    let newer = with(lacking.clone(), json!({"metadata": {"resourceVersion": "2"}}));
    for (name, live, is_written) in
        [("the same", lacking, true), ("newer", newer, false), ("complete", token_secret(), false)]
    {
        let key = Key::parse("default/token-secret-1");
        let found = requests(&secrets(), &key, &fixture, &[live]);
        assert_eq!(found.len(), if is_written { 2 } else { 1 }, "{name}: {found:?}");
    }
    let key = Key::parse("default/token-secret-1");
    assert_eq!(requests(&secrets(), &key, &fixture, &[]), [SECRET], "gone");
}

/// `generateTokenIfNeeded`: annotations are set whatever was missing; with the uid of the account
/// as it is, live if the cache does not show it.
#[test]
fn a_secret_without_a_uid_gets_that_of_the_account() {
    let lacking = with(with_data("token", None), annotated("uid", None));
    let lacking = with(
        lacking,
        json!({"metadata": {"annotations": {"kubernetes.io/service-account.uid": null, "x": "y"}},
            "data": {"token": null, "mine": "AA=="}, "immutable": false}),
    );
    let filled = with(
        token_secret(),
        json!({"metadata": {"annotations": {"x": "y"}}, "data": {"mine": "AA=="},
            "immutable": false}),
    );
    let key = Key::parse("default/token-secret-1");
    let live = [account(&[]), lacking.clone()];
    let expected = [SECRET.to_owned(), updates(&filled)];
    let fixture = caches(&[account(&[])], std::slice::from_ref(&lacking));
    assert_eq!(requests(&secrets(), &key, &fixture, &live), expected);
    let found = requests(&secrets(), &key, &caches(&[], &[lacking]), &live);
    assert_eq!(found, [vec![ACCOUNT.to_owned()], expected.to_vec()].concat());
}

/// `secretUpdateNeeded`: without an authority, what a Secret has stays.
#[test]
fn without_an_authority_none_is_written() {
    let controller = Secrets::new(Arc::new(Signer::default()), "");
    let key = Key::parse("default/token-secret-1");
    for data in [None, Some("theirs")] {
        let secret = with_data("ca.crt", data);
        let fixture = caches(&[account(&[])], std::slice::from_ref(&secret));
        assert_eq!(requests(&controller, &key, &fixture, &[secret]), [""; 0]);
        let lacking = with(with_data("ca.crt", data), json!({"data": {"token": null}}));
        let fixture = caches(&[account(&[])], std::slice::from_ref(&lacking));
        let expected = [SECRET.to_owned(), updates(&with_data("ca.crt", data))];
        assert_eq!(requests(&controller, &key, &fixture, &[lacking]), expected);
    }
}

/// `LegacyClaims` and the encoding of upstream's signer: byte by byte.
#[test]
fn claims_are_upstreams_bytes() {
    let golden = concat!(
        r#"{"iss":"kubernetes/serviceaccount","kubernetes.io/serviceaccount/namespace":"shop","#,
        r#""kubernetes.io/serviceaccount/secret.name":"builder-token","#,
        r#""kubernetes.io/serviceaccount/service-account.name":"builder","#,
        r#""kubernetes.io/serviceaccount/service-account.uid":"#,
        r#""9f2c7d04-1b1e-4b0f-8d7c-3f0f3a1c2b11","#,
        r#""sub":"system:serviceaccount:shop:builder"}"#,
    );
    let (account, secret) = ("builder", "builder-token");
    let uid = "9f2c7d04-1b1e-4b0f-8d7c-3f0f3a1c2b11";
    let account = json!({"metadata": {"name": account, "namespace": "shop", "uid": uid}});
    let annotations = json!({"kubernetes.io/service-account.name": "builder",
        "kubernetes.io/service-account.uid": null});
    let secret = with(
        with_data("token", None),
        json!({"metadata": {"name": secret, "namespace": "shop", "annotations": annotations}}),
    );
    let signer = Arc::new(Signer::default());
    let controller = Secrets::new(signer.clone(), "");
    let fixture = caches(&[account], std::slice::from_ref(&secret));
    let key = Key::parse("shop/builder-token");
    let found = requests(&controller, &key, &fixture, &[secret]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(*signer.signed.lock().unwrap(), [golden.as_bytes()]);
}

/// Card: at most ten retries, of errors as well as of conflicts.
#[test]
fn what_fails_is_tried_again() {
    let signer = Arc::new(Signer { refuses: true, ..Signer::default() });
    let controller = Secrets::new(signer, "CA Data");
    let lacking = with_data("token", None);
    let fixture = caches(&[account(&[])], std::slice::from_ref(&lacking));
    let key = Key::parse("default/token-secret-1");
    let snapshot = controller.observe(&key, &fixture.view(), &()).unwrap();
    let query = Query::object(<TokenSecret as api::Kind>::RESOURCE, key.clone());
    let found = answer(&query, &[lacking]);
    let plan = controller.decide(&snapshot, &Facts::from([(query.clone(), found)])).0;
    let expected = "why: lacks token\nerror: cannot sign a token: no randomness\n";
    assert_eq!(plan.to_string(), expected);
    let timeout = |query: &Query| Facts::from([(query.clone(), Answer::Failed("timeout".into()))]);
    let plan = controller.decide(&snapshot, &timeout(&query)).0;
    assert_eq!(plan.error.as_deref(), Some("cannot read secrets default/token-secret-1: timeout"));

    let query =
        Query::object(<ServiceAccount as api::Kind>::RESOURCE, Key::parse("default/default"));
    let unread = Some("cannot read serviceaccounts default/default: timeout");
    let fixture = caches(&[], &[token_secret()]);
    let snapshot = controller.observe(&key, &fixture.view(), &()).unwrap();
    assert_eq!(controller.decide(&snapshot, &timeout(&query)).0.error.as_deref(), unread);
    let snapshot = Accounts.observe(&Key::parse("default/default"), &fixture.view(), &()).unwrap();
    assert_eq!(Accounts.decide(&snapshot, &timeout(&query)).0.error.as_deref(), unread);
    assert_eq!((Accounts::RETRIES_MAX, Secrets::RETRIES_MAX), (Some(10), Some(10)));
}

#[test]
fn summaries_tell_what_a_sync_sees() {
    fn facts<C: Controller<Memory = ()>>(
        controller: &C,
        key: &str,
        fixture: &Fixture,
    ) -> Vec<String> {
        let snapshot = controller.observe(&Key::parse(key), &fixture.view(), &()).unwrap();
        let facts = controller.summary(&snapshot).into_iter();
        facts.map(|(name, value)| format!("{name}: {value}")).collect()
    }
    let lacking = with_data("token", None);
    let fixture = caches(&[account(&[])], std::slice::from_ref(&lacking));
    let expected =
        ["account: \"default\"", "account uid: \"12345\"", "the account is: there", "lacks: token"];
    assert_eq!(facts(&secrets(), "default/token-secret-1", &fixture), expected);
    let expected = ["uid: 12345", "secrets of other accounts with its name: 0"];
    assert_eq!(facts(&Accounts, "default/default", &fixture), expected);
    let expected = ["account: default", "lists: true"];
    let fixture = caches(&[account(&["gone"])], &[]);
    assert_eq!(facts(&secrets(), "default/gone/default/", &fixture), expected);
    let fixture = caches(&[], &[lacking]);
    let expected = ["uid: gone", "secrets of other accounts with its name: 1"];
    assert_eq!(facts(&Accounts, "default/default", &fixture), expected);
}

/// Nothing that prints a controller may show what it signs with.
#[test]
fn a_controller_does_not_show_its_key() {
    assert_eq!(format!("{:?}", secrets()), "Secrets { .. }");
}
