//! Tables, mirroring upstream's `pkg/controller/resourceclaim/controller_test.go`.

use std::sync::Arc;

use api::{Key, Kind as _, Metadata, Object as _, ResourceClaimTemplate};
use controller::fixture::{self, Fixture, NOW, decode, enqueued, remembered, with};
use controller::{Action, Answer, Change, Controller as _, Facts, Plan, Query, Shared, Step, When};
use serde_json::{Value, json};

use super::*;

const PODS: Pods = Pods { allows_alternatives: true };
const MADE: &str = "why: claims of templates are missing
in order: create resourceclaims.resource.k8s.io in shop\n";
const THERE: &str = "why: the claims are there; the scheduler reserves them\n";
const LOOK: &str = "why: are the pods gone that are not cached?
fetch metadata of pods shop/web\n";

/// Upstream's `testPodWithResource`: a pod `shop/web` with the entry `acme`.
fn with_resource() -> Value {
    pod(&json!([{"name": "acme", "resourceClaimTemplateName": "gpu"}]))
}

fn pod(claims: &Value) -> Value {
    json!({"metadata": {"name": "web", "namespace": "shop", "uid": "uid-web",
        "resourceVersion": "1"}, "spec": {"resourceClaims": claims}})
}

/// Its status names this claim for the entry.
fn named(pod: Value, claim: &str) -> Value {
    let status = json!([{"name": "acme", "resourceClaimName": claim}]);
    with(pod, json!({"status": {"resourceClaimStatuses": status}}))
}

fn on_node(pod: Value) -> Value {
    with(pod, json!({"spec": {"nodeName": "worker"}}))
}

fn succeeded(pod: Value) -> Value {
    with(pod, json!({"status": {"phase": "Succeeded"}}))
}

fn deleted(object: Value) -> Value {
    with(object, json!({"metadata": {"deletionTimestamp": NOW}}))
}

fn template() -> Value {
    json!({"metadata": {"name": "gpu", "namespace": "shop"}, "spec": {
        "metadata": {"labels": {"app": "web"}, "annotations": {"note": "<&>"}},
        "spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "x",
            "allocationMode": "ExactCount", "count": 1}}]}},
    }})
}

/// A claim `shop/<name>` of nobody.
fn claim(name: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
        "resourceVersion": "5"}, "spec": {"devices": {}}, "status": {}})
}

/// A claim that is the pod's.
fn owned(name: &str) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "uid-web",
        "controller": true});
    with(claim(name), json!({"metadata": {"ownerReferences": [owner]}}))
}

/// A claim that was made for the pod's entry.
fn templated(name: &str) -> Value {
    let annotations = json!({"resource.kubernetes.io/pod-claim-name": "acme"});
    with(owned(name), json!({"metadata": {"annotations": annotations}}))
}

fn allocated(claim: Value) -> Value {
    with(claim, json!({"status": {"allocation": {"devices": {}}}}))
}

fn user(name: &str) -> Value {
    json!({"resource": "pods", "name": name, "uid": format!("uid-{name}")})
}

fn reserved(claim: Value, users: &[Value]) -> Value {
    with(claim, json!({"status": {"reservedFor": users}}))
}

/// Upstream's `testClaimReserved`.
fn in_use() -> Value {
    reserved(allocated(owned("acme")), &[user("web")])
}

/// As the scheduler allocates it. Upstream's `structuredParameters`.
fn structured(claim: Value) -> Value {
    with(claim, json!({"metadata": {"finalizers": [ResourceClaim::FINALIZER]}}))
}

fn caches(pods: &[Value], claims: &[Value], templates: &[Value]) -> Fixture {
    let fixture = Fixture::default().holding::<Pod>(pods).holding::<ResourceClaim>(claims);
    fixture.holding::<ResourceClaimTemplate>(templates)
}

fn plan_of_pod(fixture: &Fixture) -> Option<Plan> {
    let snapshot = PODS.observe(&Key::new("shop", "web"), &fixture.view(), &())?;
    Some(PODS.decide(&snapshot, &Facts::default()).0)
}

/// The plans for a claim, one a round: pods that are asked for answer so, and the claim as its last
/// write left it.
fn rounds(fixture: &Fixture, name: &str, pod: &Answer) -> String {
    let (view, departed) = (fixture.view(), Departed::default());
    let snapshot = Claims.observe(&Key::new("shop", name), &view, &departed).unwrap();
    let (mut facts, mut text) = (Facts::default(), String::new());
    loop {
        let (plan, ()) = Claims.decide(&snapshot, &facts);
        text += &plan.to_string();
        let Some(Step::Fetch(queries)) = plan.steps.last() else { return text };
        let written = plan.steps.first().and_then(|step| match step {
            Step::InOrder(actions) => actions.first().and_then(Action::write),
            Step::Together(_) | Step::SlowStart(_) | Step::Chains(_) | Step::Fetch(_) => None,
        });
        for query in queries {
            let is_claim = matches!(query, Query::Get { resource, .. }
                if *resource == ResourceClaim::RESOURCE);
            let answer =
                if is_claim { live(&fixture::body(written.unwrap())) } else { pod.clone() };
            facts.answers.insert(query.clone(), answer);
        }
    }
}

/// The claim as it stands at the API server, a version later.
fn live(claim: &Value) -> Answer {
    let claim = with(claim.clone(), json!({"metadata": {"resourceVersion": "6"}}));
    let claim = decode::<ResourceClaim>(&claim);
    Answer::Found(Box::new((claim.meta.clone(), claim.raw.clone())))
}

fn metadata(pod: &Value) -> Answer {
    let bytes = pod.to_string();
    Answer::Metadata(Box::new(Metadata::decode(api::Codec::Json, bytes.as_bytes()).unwrap()))
}

fn apply(statuses: &str) -> String {
    format!(
        "why: the status does not name the claims that were made
in order: apply pods shop/web status {{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":\
         {{\"name\":\"web\",\"namespace\":\"shop\",\"uid\":\"uid-web\"}},\"status\":\
         {{\"resourceClaimStatuses\":[{statuses}]}}}}\n"
    )
}

fn failed(error: &str) -> String {
    let error = format!("PodResourceClaim acme: {error}");
    format!(
        "why: a claim cannot be made: {error}
in order: event Warning FailedResourceClaimCreation: {error}
error: pod shop/web, {error}\n"
    )
}

/// TestSyncHandler, the keys of pods.
#[test]
fn claims_are_made_named_and_reserved_as_upstream() {
    let missing = failed(
        "resource claim template \"gpu\": resourceclaimtemplate.resource.k8s.io \"gpu\" not found",
    );
    let unsupported = failed(
        "checking for claim before creating it: pod \"shop/web\", spec.resourceClaim \"acme\": \
         none of the supported fields are set",
    );
    let name = apply("{\"name\":\"acme\",\"resourceClaimName\":\"made\"}");
    let reserve = "why: the pod has a node, and allocated claims are not reserved for it
in order: update resourceclaims.resource.k8s.io shop/made status \
                   status.reservedFor=[{\"name\":\"web\",\"resource\":\"pods\",\"uid\":\"uid-web\"}]\n";
    let used = "why: the claims are there, and reserved once they are allocated\n";
    let elsewhere = with(templated("made"), json!({"metadata": {"namespace": "other"}}));
    let made = || named(with_resource(), "made");
    let over = "why: the pod is over, and needs no claim any more\n";
    for (row, pod, claims, templates, expected) in [
        ("create", with_resource(), vec![], vec![template()], MADE),
        ("nop", made(), vec![templated("made")], vec![template()], THERE),
        ("recreate", made(), vec![], vec![template()], MADE),
        ("missing-template", with_resource(), vec![], vec![], &missing),
        ("find-existing-claim-by-label", with_resource(), vec![templated("made")], vec![], &name),
        ("pod-deleted", deleted(with_resource()), vec![], vec![template()], {
            "why: the pod is being deleted\n"
        }),
        ("no-volumes", pod(&json!([])), vec![], vec![], THERE),
        ("create-with-other-claim", with_resource(), vec![elsewhere], vec![template()], MADE),
        ("wrong-claim-owner", with_resource(), vec![claim("web-acme")], vec![], &missing),
        (
            "add-reserved",
            on_node(made()),
            vec![allocated(templated("made"))],
            vec![template()],
            reserve,
        ),
        // More than upstream's rows.
        ("another's claim", made(), vec![claim("made")], vec![template()], MADE),
        ("not allocated", on_node(made()), vec![templated("made")], vec![], used),
        (
            "given, and missing",
            pod(&json!([{"name": "acme", "resourceClaimName": "made"}])),
            { vec![] },
            vec![],
            THERE,
        ),
        ("of an unknown kind", pod(&json!([{"name": "acme"}])), vec![], vec![], &unsupported),
        ("over", succeeded(made()), vec![], vec![template()], over),
        (
            "over, and its claim shared",
            succeeded(on_node(pod(&json!([{"name": "acme", "resourceClaimName": "made"}])))),
            vec![reserved(allocated(claim("made")), &[user("other")])],
            vec![],
            over,
        ),
    ] {
        let plan = plan_of_pod(&caches(&[pod], &claims, &templates));
        assert_eq!(plan.unwrap().to_string(), expected, "{row}");
    }
    assert!(plan_of_pod(&caches(&[], &[], &[])).is_none(), "no-such-pod");
}

/// "create with admin", and the gate of prioritized lists.
#[test]
fn a_template_with_alternatives_needs_the_gate() {
    let requests =
        json!([{"name": "a", "firstAvailable": [{"name": "b", "deviceClassName": "x"}]}]);
    let spec = json!({"spec": {"spec": {"devices": {"requests": requests}}}});
    let fixture = caches(&[with_resource()], &[], &[with(template(), spec)]);
    assert_eq!(plan_of_pod(&fixture).unwrap().to_string(), MADE);
    let pods = Pods { allows_alternatives: false };
    let snapshot = pods.observe(&Key::new("shop", "web"), &fixture.view(), &()).unwrap();
    let (plan, ()) = pods.decide(&snapshot, &Facts::default());
    let error = "template includes a prioritized list of subrequests, but the feature is disabled";
    assert_eq!(plan.to_string(), failed(error));
}

/// The whole claim, by `handleClaim`, and its metrics (TestGetAdminAccessMetricLabel).
#[test]
fn a_claim_is_made_of_its_template() {
    for (admin, label) in [(json!(null), "false"), (json!(false), "false"), (json!(true), "true")] {
        let requests = json!([{"name": "a", "exactly": {"deviceClassName": "x",
            "adminAccess": admin}}]);
        let spec = json!({"devices": {"requests": requests, "newField": [1]}});
        let template = with(template(), json!({"spec": {"spec": spec}}));
        let plan = plan_of_pod(&caches(&[with_resource()], &[], &[template])).unwrap();
        let [Step::InOrder(actions)] = plan.steps.as_slice() else { panic!("{plan}") };
        let [Action::Write(create)] = actions.as_slice() else { panic!("{plan}") };
        let body = fixture::body(create);
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "uid-web",
            "controller": true});
        let annotations = json!({"note": "<&>", "resource.kubernetes.io/pod-claim-name": "acme"});
        let expected = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": {"generateName": "web-acme-", "namespace": "shop", "labels": {"app": "web"},
                "annotations": annotations, "ownerReferences": [owner]},
        });
        assert_eq!(with(body.clone(), json!({"spec": null})), expected);
        assert_eq!(body["spec"]["devices"]["newField"], json!([1]), "also what nobody knows");
        let counts: Vec<_> =
            create.counts.iter().map(|it| (it.labels.join(" "), it.when)).collect();
        let expected =
            [(format!("success {label}"), When::Done), (format!("failure {label}"), When::Failed)];
        assert_eq!(counts, expected);
        // TestSyncHandler, "create-conflict".
        let start = "PodResourceClaim acme: create ResourceClaim : ";
        let [announce] = create.announce.as_slice() else { panic!("{:?}", create.announce) };
        assert_eq!(announce.failed, ("FailedResourceClaimCreation", start.into()));
    }
}

/// `handleClaim`: names of more than 57 bytes lose a part of the pod's and of the entry's.
#[test]
fn long_names_are_cut_in_proportion() {
    assert_eq!(names::prefix("web", "acme"), "web-acme-");
    let (long, short) = ("p".repeat(80), "c".repeat(20));
    let name = names::prefix(&long, &short);
    assert_eq!(name, format!("{}-{}", "p".repeat(44), "c".repeat(11)));
    assert_eq!(names::prefix(&"p".repeat(51), "acme"), format!("{}-acme-", "p".repeat(51)));
    let name = names::prefix(&"p".repeat(52), "acme");
    assert_eq!(name, format!("{}-acm", "p".repeat(51)));
}

/// An apply takes away what it does not send, so it names the claims of earlier syncs too.
#[test]
fn a_status_keeps_what_it_names_already() {
    let claims = json!([
        {"name": "acme", "resourceClaimTemplateName": "gpu"},
        {"name": "first", "resourceClaimTemplateName": "gpu"},
        {"name": "given", "resourceClaimName": "shared"},
        {"name": "needless", "resourceClaimTemplateName": "gpu"},
    ]);
    let statuses = json!([{"name": "first", "resourceClaimName": "one"}, {"name": "needless"}]);
    let pod = with(pod(&claims), json!({"status": {"resourceClaimStatuses": statuses}}));
    let fixture = caches(&[pod], &[owned("one"), templated("made")], &[]);
    let expected = apply(
        "{\"name\":\"acme\",\"resourceClaimName\":\"made\"},{\"name\":\"first\",\
         \"resourceClaimName\":\"one\"},{\"name\":\"needless\"}",
    );
    assert_eq!(plan_of_pod(&fixture).unwrap().to_string(), expected);
}

/// What comes before an entry without a template is made, and what comes after it is not.
#[test]
fn an_entry_without_a_template_stops_those_after_it() {
    let entry =
        |name: &str, template: &str| json!({"name": name, "resourceClaimTemplateName": template});
    let claims = json!([entry("first", "gpu"), entry("acme", "none"), entry("last", "gpu")]);
    let plan = plan_of_pod(&caches(&[pod(&claims)], &[], &[template()])).unwrap().to_string();
    assert_eq!(plan.matches("create resourceclaims").count(), 1, "{plan}");
    assert!(plan.contains("error: pod shop/web, PodResourceClaim acme: "), "{plan}");
}

/// TestSyncHandler, the keys of claims.
#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn reservations_end_as_upstream() {
    let rest = "why: it is used\n";
    let update = "update resourceclaims.resource.k8s.io shop/acme";
    let drop = |left: &str| {
        format!("why: 1 reservations are over\nin order: {update} status status.reservedFor={left}")
    };
    let read = "fetch resourceclaims.resource.k8s.io shop/acme\n";
    let freed = format!(
        "{LOOK}{} status.allocation=null\n{read}why: 1 reservations are over
in order: {update} metadata.finalizers=null\n",
        drop("null")
    );
    let emptied = format!(
        "why: it is being deleted, and reserved for nothing
in order: {update} status status.allocation=null\n{read}\
        why: it is being deleted, and reserved for nothing
in order: {update} metadata.finalizers=null\n"
    );
    let seen = "[{\"name\":\"web\",\"resource\":\"pods\",\"uid\":\"uid-web\"}]\n";
    let foreign = json!({"apiGroup": "foo.com", "resource": "foo", "name": "foo", "uid": "123"});
    let foreign_text =
        "[{\"apiGroup\":\"foo.com\",\"name\":\"foo\",\"resource\":\"foo\",\"uid\":\"123\"}]\n";
    let orphan = || reserved(allocated(claim("acme")), &[user("web")]);
    let twice = || reserved(in_use(), &[user("web"), user("web-II")]);
    let delete = "in order: delete resourceclaims.resource.k8s.io shop/acme\n";
    let looked = metadata(&with_resource());
    let gone = &Answer::NotFound;
    let there = &looked;
    let only = |claim: Value| vec![claim];
    for (row, pods, claims, answer, expected) in [
        ("stay-reserved-seen", only(with_resource()), in_use(), gone, rest.to_owned()),
        ("stay-reserved-not-seen", vec![], in_use(), there, format!("{LOOK}{rest}")),
        ("clear-reserved-structured", vec![], structured(in_use()), gone, freed.clone()),
        (
            "dont-clear-reserved-structured",
            only(with_resource()),
            structured(twice()),
            gone,
            format!("{}{}", LOOK.replace("web", "web-II"), drop(seen)),
        ),
        ("clear-reserved-structured-deleted", vec![], deleted(structured(in_use())), gone, freed),
        (
            "structured-deleted",
            vec![],
            deleted(structured(allocated(owned("acme")))),
            gone,
            emptied,
        ),
        (
            "clear-reserved-when-done",
            only(succeeded(with_resource())),
            orphan(),
            gone,
            drop("null\n"),
        ),
        (
            "remove-reserved",
            only(pod(&json!([]))),
            twice(),
            gone,
            format!("{}{}", LOOK.replace("web", "web-II"), drop(seen)),
        ),
        (
            "delete-claim-when-done",
            only(succeeded(with_resource())),
            in_use(),
            gone,
            format!("{}{delete}", drop("null\n")),
        ),
        (
            "clean up pod reservation with non-pod reservation present",
            only(succeeded(with_resource())),
            reserved(in_use(), &[user("web"), foreign]),
            gone,
            drop(foreign_text),
        ),
    ] {
        assert_eq!(rounds(&caches(&pods, &[claims], &[]), "acme", answer), expected, "{row}");
    }
}

/// More than upstream's rows of claims.
#[test]
fn claims_end_only_for_a_reason() {
    let update = "in order: update resourceclaims.resource.k8s.io shop/acme";
    let replaced = with(with_resource(), json!({"metadata": {"uid": "uid-new"}}));
    let delete = "why: the pod that it was made for is over
in order: delete resourceclaims.resource.k8s.io shop/acme\n";
    let unused = "why: it is not reserved\n";
    let waits = deleted(structured(in_use()));
    let unscheduled = deleted(with_resource());
    let over = succeeded(with_resource());
    let owner_is_over = |claim: Value, pod: &Value| {
        rounds(&caches(std::slice::from_ref(pod), &[claim], &[]), "acme", &Answer::NotFound)
    };
    // Allocated before anything reserves it: the transition counts, not the state.
    let ahead = structured(allocated(claim("acme")));
    assert_eq!(owner_is_over(ahead, &over), unused);
    assert_eq!(owner_is_over(owned("acme"), &over), delete);
    assert_eq!(owner_is_over(owned("acme"), &replaced), unused, "the cached one may be older");
    let not_cached = rounds(&caches(&[], &[in_use()], &[]), "acme", &Answer::NotFound);
    assert_eq!(owner_is_over(in_use(), &replaced), not_cached, "nor does it end a reservation");
    assert_eq!(owner_is_over(owned("acme"), &unscheduled), delete, "deleted before scheduling");
    assert_eq!(owner_is_over(owned("acme"), &on_node(unscheduled.clone())), unused);
    assert_eq!(owner_is_over(deleted(owned("acme")), &over), unused, "not once more");
    assert_eq!(owner_is_over(waits, &on_node(with_resource())), "why: it is used\n");
    // Nothing to write but the finalizer.
    let plan = owner_is_over(deleted(structured(claim("acme"))), &over);
    let why = "why: it is being deleted, and reserved for nothing\n";
    assert_eq!(plan, format!("{why}{update} metadata.finalizers=null\n"));
    // The finalizer and the claim itself.
    let plan = owner_is_over(structured(in_use()), &over);
    let end = format!(
        "{update} metadata.finalizers=null
in order: delete resourceclaims.resource.k8s.io shop/acme\n"
    );
    assert!(plan.ends_with(&end), "{plan}");
    // The pod is not in the cache: the garbage collector's.
    let fixture = caches(&[], &[owned("acme")], &[]);
    assert_eq!(rounds(&fixture, "acme", &Answer::NotFound), unused);
    let fixture = caches(&[], &[in_use()], &[]);
    let refused = Answer::Failed("timed out".into());
    let expected = format!("{LOOK}why: pods cannot be read\nerror: timed out\n");
    assert_eq!(rounds(&fixture, "acme", &refused), expected);
    let fixture = caches(&[], &[], &[]).holding_unreadable::<ResourceClaim>(&in_use(), "no object");
    let expected = "why: the claim cannot be read: no object\n";
    assert_eq!(rounds(&fixture, "acme", &Answer::NotFound), expected);
}

/// Between the two writes somebody may have allocated it again.
#[test]
fn a_claim_that_was_allocated_again_keeps_its_finalizer() {
    let fixture = caches(&[], &[structured(in_use())], &[]);
    let (view, departed) = (fixture.view(), Departed::default());
    let snapshot = Claims.observe(&Key::new("shop", "acme"), &view, &departed).unwrap();
    let pod = Query::metadata(Pod::RESOURCE, Key::new("shop", "web"));
    let read = Query::object(ResourceClaim::RESOURCE, Key::new("shop", "acme"));
    let after = |claim| {
        let facts = Facts::from([(pod.clone(), Answer::NotFound), (read.clone(), claim)]);
        Claims.decide(&snapshot, &facts).0.to_string()
    };
    assert_eq!(after(live(&structured(in_use()))), "why: it was allocated again meanwhile\n");
    assert_eq!(after(Answer::NotFound), "why: it was deleted meanwhile\n");
    let other = with(structured(in_use()), json!({"metadata": {"uid": "other"}}));
    assert_eq!(after(live(&other)), "why: it was deleted meanwhile\n");
}

/// The uid of a deleted pod need not be looked up: `deletedObjects`.
#[test]
fn a_pod_whose_deletion_was_seen_is_not_read() {
    let memory = Shared::<Departed>::default();
    let fixture = caches(&[], &[in_use()], &[]);
    let change = Change::Deleted(decode::<Pod>(&named(with_resource(), "acme")));
    let queue = remembered(&Claims, &memory, &change, &fixture);
    assert_eq!(fixture::lines(&queue), "now shop/acme\n");
    let key = Key::new("shop", "acme");
    let snapshot = Claims.observe(&key, &fixture.view(), &memory.read()).unwrap();
    let (plan, ()) = Claims.decide(&snapshot, &Facts::default());
    assert!(plan.to_string().starts_with("why: 1 reservations are over\n"), "{plan}");
    for number in 0..500 {
        let other = with(with_resource(), json!({"metadata": {"uid": format!("{number}")}}));
        remembered(&Claims, &memory, &Change::Deleted(decode::<Pod>(&other)), &fixture);
    }
    let snapshot = Claims.observe(&key, &fixture.view(), &memory.read()).unwrap();
    assert_eq!(Claims.decide(&snapshot, &Facts::default()).0.to_string(), LOOK, "500 at most");
}

/// TestResourceClaimTemplateEventHandler, TestResourceClaimEventHandler.
#[test]
fn changes_enqueue_pods_and_claims_as_upstream() {
    let fixture = caches(&[with_resource()], &[], &[template()]);
    let template = decode::<ResourceClaimTemplate>(&template());
    let now = "now shop/web\n";
    assert_eq!(enqueued(&PODS, &Change::Added(template.clone()), &fixture), now);
    assert_eq!(enqueued(&PODS, &Change::Deleted(template), &fixture), "");
    let pod = |pod: &Value| decode::<Pod>(pod);
    assert_eq!(enqueued(&PODS, &Change::Added(pod(&with_resource())), &fixture), now);
    let gone = Change::Deleted(pod(&with_resource()));
    assert_eq!(enqueued(&PODS, &gone, &fixture), "forget shop/web\n");
    let idle = pod(&super::tests::pod(&json!([])));
    assert_eq!(enqueued(&PODS, &Change::Added(idle.clone()), &fixture), "");
    assert_eq!(enqueued(&PODS, &Change::Deleted(idle), &fixture), "");
    assert_eq!(enqueued(&PODS, &Change::Added(pod(&deleted(with_resource()))), &fixture), "");

    // The cache may show it before the response to its creation comes.
    let made = Change::Added(decode::<ResourceClaim>(&owned("acme")));
    assert_eq!(enqueued(&PODS, &made, &fixture), now, "its pod does not name it yet");
    let claim = decode::<ResourceClaim>(&in_use());
    let added = Change::Added(claim.clone());
    assert_eq!(enqueued(&Claims, &added, &fixture), "now shop/acme\n");
    let gone = Change::Deleted(claim);
    assert_eq!(enqueued(&Claims, &gone, &fixture), "forget shop/acme\n");
    assert_eq!(enqueued(&PODS, &gone, &fixture), "", "its pod does not name it");
    let named = named(with_resource(), "acme");
    let fixture = caches(std::slice::from_ref(&named), &[], &[]);
    assert_eq!(enqueued(&PODS, &gone, &fixture), now, "to be made again");
    let over = caches(&[succeeded(named)], &[], &[]);
    assert_eq!(enqueued(&PODS, &gone, &over), "", "but not for a pod that is over");
}

/// `podNeedsWork`: a claim that is allocated and not reserved, once the pod has a node.
#[test]
fn a_pod_is_enqueued_for_its_reservation() {
    let enqueues = |pod: Value, claim: Value| {
        let fixture = caches(std::slice::from_ref(&pod), &[claim], &[]);
        enqueued(&PODS, &Change::Added(decode::<Pod>(&pod)), &fixture)
    };
    let scheduled = || on_node(named(with_resource(), "acme"));
    let now = "now shop/web\n";
    assert_eq!(enqueues(scheduled(), allocated(owned("acme"))), now);
    assert_eq!(enqueues(scheduled(), in_use()), "");
    assert_eq!(enqueues(scheduled(), owned("acme")), "");
    assert_eq!(enqueues(scheduled(), allocated(claim("acme"))), "", "it is not the pod's");
    assert_eq!(enqueues(named(with_resource(), "acme"), allocated(owned("acme"))), "");
    assert_eq!(enqueues(succeeded(scheduled()), allocated(owned("acme"))), "");
}

/// TestEnqueuePodExtendedResourceClaims.
#[test]
fn pods_that_are_over_enqueue_their_claims() {
    let extended = |pod: Value| {
        let status = json!({"resourceClaimName": "extended", "requestMappings": []});
        with(pod, json!({"status": {"extendedResourceClaimStatus": status}}))
    };
    let enqueues = |change: Change<Pod>| enqueued(&Claims, &change, &caches(&[], &[], &[]));
    let added = |pod: Value| enqueues(Change::Added(decode::<Pod>(&pod)));
    let plain = || extended(pod(&json!([])));
    let both = || extended(named(with_resource(), "acme"));
    let failed = |pod: Value| with(pod, json!({"status": {"phase": "Failed"}}));
    assert_eq!(added(plain()), "");
    assert_eq!(added(succeeded(pod(&json!([])))), "", "no claims at all");
    assert_eq!(added(succeeded(plain())), "now shop/extended\n");
    assert_eq!(added(failed(plain())), "now shop/extended\n");
    assert_eq!(added(deleted(plain())), "now shop/extended\n", "deleted before scheduling");
    assert_eq!(added(deleted(on_node(plain()))), "", "it still runs");
    assert_eq!(added(succeeded(both())), "now shop/acme\nnow shop/extended\n");
    let gone = Change::Deleted(decode::<Pod>(&plain()));
    assert_eq!(enqueues(gone), "now shop/extended\n");
}

/// TestResourceClaimEventHandler, the metrics.
#[test]
fn claims_are_counted_as_upstream() {
    let admin = json!({"spec": {"devices": {"requests": [{"exactly": {"adminAccess": true}}]}}});
    let extended = json!({"metadata": {"annotations":
        {"resource.kubernetes.io/extended-resource-claim": "true"}}});
    let claims = [
        claim("a"),
        claim("b"),
        allocated(claim("c")),
        allocated(with(templated("d"), admin)),
        with(claim("e"), extended),
    ];
    let fixture = caches(&[], &claims, &[]);
    let gauges = Claims.gauges(&fixture.view(), &Departed::default());
    let gauges: Vec<_> =
        gauges.iter().map(|it| format!("{} {:?}", it.labels.join(","), it.value)).collect();
    let expected = [
        "false,false, Of(2.0)",
        "false,false,extended_resource Of(1.0)",
        "true,false, Of(1.0)",
        "true,true,resource_claim_template Of(1.0)",
    ];
    assert_eq!(gauges, expected);
}

#[test]
fn facts_for_an_operator() {
    let fixture = caches(&[on_node(named(with_resource(), "acme"))], &[in_use()], &[]);
    let view = fixture.view();
    let snapshot = PODS.observe(&Key::new("shop", "web"), &view, &()).unwrap();
    let facts: Vec<_> = PODS.summary(&snapshot).into_iter().map(|(_, fact)| fact).collect();
    let entry = "acme: claim acme, allocated and reserved for the pod";
    assert_eq!(facts, ["false", "worker", entry]);
    let key = Key::new("shop", "acme");
    let snapshot = Claims.observe(&key, &view, &Departed::default()).unwrap();
    let facts: Vec<_> = Claims.summary(&snapshot).into_iter().map(|(_, fact)| fact).collect();
    assert_eq!(facts, ["false", "true", "pods web, which may run", "pod web"]);
    let unused: Arc<Pod> = decode(&with_resource());
    assert!(unused.resource_claims()[0].claim_name().is_none());
}
