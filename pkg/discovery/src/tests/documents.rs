//! The content of documents: client-go's tables (discovery, aggregated_discovery_test.go and
//! discovery_client_test.go), Kubernetes' recording, and the rules in its code.

use std::collections::{BTreeMap, BTreeSet};

use api::{Served, Verb};
use bytes::Bytes;
use client::{ApiError, Document};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{aggregated, rows};
use crate::document::{self, AGGREGATED, Form, Page};

const RECORDED: &str = include_str!("../../testdata/aggregated.json");

fn document(content_type: &str, body: &str) -> Document {
    let body = Bytes::copy_from_slice(body.as_bytes());
    Document { content_type: content_type.to_owned(), etag: None, body }
}

/// The kinds in these two aggregated documents.
fn served(core: &str, groups: &str) -> Result<Served, ApiError> {
    let core = Page::parse("/api", &document(AGGREGATED, core))?;
    let groups = Page::parse("/apis", &document(AGGREGATED, groups))?;
    Ok(document::aggregated([core, groups]))
}

/// A row: the name of the test, what `/api` and `/apis` have, the kinds and what failed.
type Row<'a> = (
    &'a str,
    &'a [(&'a str, &'a [&'a str])],
    &'a [(&'a str, &'a [&'a str])],
    &'a [&'a str],
    &'a [&'a str],
);

/// TestSplitGroupsAndResources (and ...V2Beta1, which has the same rows).
const SPLIT: [Row<'_>; 8] = [
    ("core/v1 group and pod resource", &[("", &["v1: pods/Pod"])], &[], &["*v1 pods Pod"], &[]),
    (
        "1 group/2 versions/1 resources at /apis",
        &[],
        &[("apps", &["v2: deployments/Deployment", "v1: deployments/Deployment"])],
        &["*apps/v2 deployments Deployment", "apps/v1 deployments Deployment"],
        &[],
    ),
    (
        "1 group/2 resources at /api, 1 group/2 resources at /apis",
        &[("", &["v1: pods/Pod services/Service"])],
        &[("apps", &["v1: deployments/Deployment statefulsets/StatefulSet"])],
        &[
            "*v1 pods Pod",
            "*v1 services Service",
            "*apps/v1 deployments Deployment",
            "*apps/v1 statefulsets StatefulSet",
        ],
        &[],
    ),
    (
        "multiple groups with cluster-scoped resources",
        &[("", &["v1: pods/Pod namespaces/Namespace/cluster"])],
        &[("rbac.io", &["v1: roles/Role/cluster clusterroles/ClusterRole/cluster"])],
        &[
            "*v1 pods Pod",
            "*v1 namespaces Namespace (cluster)",
            "*rbac.io/v1 roles Role (cluster)",
            "*rbac.io/v1 clusterroles ClusterRole (cluster)",
        ],
        &[],
    ),
    (
        "with single subresource and parent missing GVK",
        &[],
        &[("external.metrics.k8s.io", &["v1beta1: *"])],
        &[],
        &[],
    ),
    ("single failed GV at /api", &[("", &["!v1: pods/Pod services/Service"])], &[], &[], &["v1"]),
    (
        "single failed GV at /apis",
        &[],
        &[("apps", &["!v1: deployments/Deployment statefulsets/StatefulSet"])],
        &[],
        &["apps/v1"],
    ),
    (
        "1 group/2 versions/1 failed GV at /apis",
        &[],
        &[("apps", &["!v2: daemonsets/DaemonSet", "v1: deployments/Deployment"])],
        &["*apps/v1 deployments Deployment"],
        &["apps/v2"],
    ),
];

/// TestAggregatedServerPreferredResources, and further rules of ServerPreferredResources.
const PREFERRED: [Row<'_>; 6] = [
    (
        "only resources from preferred apps/v2 group/version",
        &[("", &["v1: pods/Pod"])],
        &[("apps", &["v2: deployments/Deployment", "v1: deployments/Deployment"])],
        &["*v1 pods Pod", "*apps/v2 deployments Deployment", "apps/v1 deployments Deployment"],
        &[],
    ),
    (
        "stale Group/Version can not produce preferred version",
        &[("", &["v1: pods/Pod"])],
        &[("apps", &["!v2: deployments/Deployment", "v1: deployments/Deployment"])],
        &["*v1 pods Pod", "*apps/v1 deployments Deployment"],
        &["apps/v2"],
    ),
    (
        "resources from only preferred group versions for batch group",
        &[],
        &[
            ("apps", &["v1: deployments/Deployment", "!v1beta1: deployments/Deployment"]),
            ("batch", &["v1: jobs/Job cronjobs/CronJob", "v1beta1: jobs/Job cronjobs/CronJob"]),
        ],
        &[
            "*apps/v1 deployments Deployment",
            "*batch/v1 jobs Job",
            "*batch/v1 cronjobs CronJob",
            "batch/v1beta1 jobs Job",
            "batch/v1beta1 cronjobs CronJob",
        ],
        &["apps/v1beta1"],
    ),
    (
        "the first version that has it, where the preferred one has not",
        &[],
        &[("g", &["v3: a/A", "v2: b/B", "v1: b/B a/A"])],
        &["*g/v3 a A", "*g/v2 b B", "g/v1 b B", "g/v1 a A"],
        &[],
    ),
    (
        "the names of versions are what they are",
        &[],
        &[("g", &["v: a/A", "v1a: b/B", "v1beta12: c/C"])],
        &["*g/v a A", "*g/v1a b B", "*g/v1beta12 c C"],
        &[],
    ),
    (
        "resources are distinguished by group, versions by place and not by name",
        &[],
        &[("g", &["v1: a/A", "v2: a/A"]), ("h", &["v2: a/A", "v1: a/A"])],
        &["*g/v1 a A", "g/v2 a A", "*h/v2 a A", "h/v1 a A"],
        &[],
    ),
];

#[test]
fn aggregated_documents_mean_what_they_mean_upstream() {
    for (name, core, groups, kinds, failed) in SPLIT.iter().chain(&PREFERRED) {
        let (core, groups) = (aggregated(core).to_string(), aggregated(groups).to_string());
        let served = served(&core, &groups).unwrap();
        assert_eq!(rows(&served), *kinds, "{name}");
        let stale =
            |group: &&str| ((*group).to_owned(), format!("stale GroupVersion discovery: {group}"));
        assert_eq!(served.failed, failed.iter().map(stale).collect::<BTreeMap<_, _>>(), "{name}");
    }
}

/// Rows of TestSplitGroupsAndResources about the description of a resource, and convertAPIResource.
#[test]
fn resources_mean_what_they_mean_upstream() {
    use Verb::{Create, Delete, DeleteCollection, Get, List, Watch};
    let deployments = json!({
        "resource": "deployments", "singularResource": "deployment", "scope": "Namespaced",
        "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
        "verbs": ["watch", "create", "list", "delete", "deletecollection", "list"],
        "categories": ["all"], "shortNames": ["deploy"],
        "subresources": [{"subresource": "scale", "verbs": ["get"],
            "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}}],
    });
    let with = |field: &str, value: Value| {
        let mut resource = deployments.clone();
        resource[field] = value;
        resource
    };
    let all = &[Create, Delete, DeleteCollection, List, Watch][..];
    let get = &[Get][..];
    let none = &[][..];
    let usual = "*apps/v1 deployments Deployment";
    for (resource, expected) in [
        (deployments.clone(), Some((usual, all))),
        (with("verbs", json!(null)), Some((usual, none))),
        (with("verbs", json!(["parentverb1", "get"])), Some((usual, get))),
        (with("verbs", json!(["List"])), Some((usual, none))),
        (with("responseKind", json!(null)), None),
        (with("responseKind", json!({})), None),
        (with("responseKind", json!({"group": "", "version": "", "kind": ""})), None),
        // Something is given, so it counts; that it is not the kind does not matter.
        (with("responseKind", json!({"version": "v1"})), Some(("*apps/v1 deployments ", all))),
        // As the API server writes kinds of the group version itself.
        (
            with("responseKind", json!({"group": "", "version": "", "kind": "X"})),
            Some(("*apps/v1 deployments X", all)),
        ),
        (with("scope", json!("")), Some(("*apps/v1 deployments Deployment (cluster)", all))),
        (with("resource", json!("a/b")), None),
        (with("resource", json!("")), None),
        (with("resource", json!("caf\u{e9}\n")), Some(("*apps/v1 caf\u{e9}\n Deployment", all))),
    ] {
        let versions = json!([{"version": "v1", "resources": [resource]}]);
        let groups = json!({"items": [{"metadata": {"name": "apps"}, "versions": versions}]});
        let served = served("{}", &groups.to_string()).unwrap();
        let rows = rows(&served);
        let got = served.kinds.first().map(|kind| (&*rows[0], &*kind.verbs));
        assert_eq!((got, rows.len()), (expected, expected.iter().len()), "{groups}");
    }
}

/// The API server's `/apis/apps/v1`, in both forms: a subresource belongs to its kind, in any
/// order, and is dropped if its kind is missing.
#[test]
fn parts_belong_to_their_kinds_in_both_forms() {
    let part = |name, verbs: &[&str]| json!({"subresource": name, "verbs": verbs});
    let parts = [part("scale", &["get", "patch", "update", "get"]), part("", &["get"])];
    let aggregated = json!({"items": [{"metadata": {"name": "apps"}, "versions": [{
        "version": "v1", "resources": [{
            "resource": "deployments", "scope": "Namespaced",
            "responseKind": {"group": "", "version": "", "kind": "Deployment"},
            "verbs": ["get", "unknown"], "subresources": parts,
        }, {
            "resource": "lonely", "subresources": [part("scale", &["get"])],
        }],
    }]}]});
    let plain = |name, verbs: &[&str]| json!({"name": name, "kind": "Any", "verbs": verbs});
    let plain = json!({"resources": [
        plain("lonely/scale", &["get"]),
        plain("deployments/scale", &["get", "patch", "update", "get"]),
        plain("deployments", &["get", "unknown"]),
        plain("deployments/", &["get"]),
    ]});
    let plain = document::resources("/apis/apps/v1", "apps", "v1", plain.to_string().as_bytes());
    let aggregated = served("{}", &aggregated.to_string()).unwrap().kinds;
    for kinds in [plain.unwrap(), aggregated] {
        let [kind] = &kinds[..] else { panic!("one kind: {kinds:?}") };
        assert_eq!((&*kind.resource.plural, &*kind.verbs), ("deployments", &[Verb::Get][..]));
        let scale = &[Verb::Get, Verb::Patch, Verb::Update][..];
        assert_eq!((kind.subresource("scale"), kind.subresources.len()), (Some(scale), 1));
    }
}

/// Kubernetes' api/discovery/aggregated_v2.json; the numbers are counted in the plain documents.
#[test]
fn the_recorded_document_is_read() {
    let served = served("{}", RECORDED).unwrap();
    assert_eq!(served.failed, BTreeMap::new());
    let all = &[][..];
    let collected = &[Verb::Delete, Verb::List, Verb::Watch][..];
    let counts = [all, collected].map(|verbs| served.preferred(verbs).count());
    assert_eq!((served.kinds.len(), counts), (78, [59, 53]));
    let other: Vec<String> = served
        .preferred(&[])
        .filter(|it| it.version != "v1")
        .map(|it| format!("{} {}", it.api_version(), it.plural))
        .collect();
    let expected = [
        "autoscaling/v2 horizontalpodautoscalers",
        "certificates.k8s.io/v1beta1 clustertrustbundles",
        "certificates.k8s.io/v1beta1 podcertificaterequests",
        "scheduling.k8s.io/v1alpha2 podgroups",
        "scheduling.k8s.io/v1alpha2 workloads",
        "coordination.k8s.io/v1beta1 leasecandidates",
        "resource.k8s.io/v1beta2 devicetaintrules",
        "resource.k8s.io/v1alpha3 resourcepoolstatusrequests",
        "internal.apiserver.k8s.io/v1alpha1 storageversions",
        "storagemigration.k8s.io/v1beta1 storageversionmigrations",
    ];
    assert_eq!(other, expected);
    let found = served.find("rbac.authorization.k8s.io/v1", "ClusterRole").unwrap();
    assert_eq!((&*found.plural, found.namespaced), ("clusterroles", false));
    assert_eq!(served.find("autoscaling/v1", "Scale"), None, "subresources are no kinds");
}

/// TestDiscoveryContentTypeVersion; v2beta1 works as well.
#[test]
fn the_content_type_decides_the_form() {
    for (content_type, form) in [
        ("application/json; g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", true),
        ("application/json; v=v2;as=APIGroupDiscoveryList;g=apidiscovery.k8s.io", true),
        ("application/json; as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2", true),
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;charset=u", true),
        ("Application/JSON;G=apidiscovery.k8s.io; v=\"v2\";as=APIGroupDiscoveryList", true),
        ("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList", true),
        ("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList", false),
        ("application/json;g=other;v=v2;as=APIGroupDiscoveryList", false),
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=Table", false),
        ("text/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", false),
        ("application/json", false),
        ("application/json; charset=UTF-8", false),
        ("text/json", false),
        ("text/html", false),
        ("", false),
    ] {
        let page = Page::parse("/apis", &document(content_type, "{}")).unwrap();
        assert_eq!(page.form == Form::Aggregated, form, "{content_type}");
    }
}

/// Go writes empty lists as null, and later versions may have more fields.
#[test]
fn what_is_missing_is_empty_and_what_is_unknown_is_skipped() {
    for body in [
        r#"{"items":null}"#,
        r#"{"items":[],"later":{"a":[1]}}"#,
        r#"{"items":[{"metadata":null,"versions":null}]}"#,
        r#"{"items":[{"versions":[{"version":"v1","resources":null,"freshness":"Soon"}]}]}"#,
    ] {
        assert_eq!(served("{}", body).unwrap(), Served::default(), "{body}");
    }
    for (path, body) in [
        ("/api", r#"{"versions":null}"#),
        ("/apis", r#"{"groups":null,"later":1}"#),
        ("/apis", r#"{"groups":[{"name":"a","versions":null,"preferredVersion":null}]}"#),
    ] {
        let page = Page::parse(path, &document("application/json", body)).unwrap();
        assert!(page.groups.iter().all(|group| group.versions.is_empty()), "{body}");
    }
    assert_eq!(document::resources("/x", "g", "v1", br#"{"resources":null}"#), Ok(Vec::new()));
}

/// Issue: bad input gives an error that names the object.
#[test]
fn a_broken_document_is_named() {
    for (body, expected) in [
        ("", "/apis: EOF while parsing"),
        ("<html>", "/apis: expected value"),
        (r#"{"items":["#, "/apis: items[0]: EOF"),
        (r#"{"items":{}}"#, "/apis: items: invalid type: map, expected a sequence"),
        (r#"{"items":[{"metadata":{"name":7}}]}"#, "/apis: items[0].metadata.name: invalid type"),
        (
            r#"{"items":[{"versions":[{"resources":[{"verbs":["get",7]}]}]}]}"#,
            "/apis: items[0].versions[0].resources[0].verbs[1]: ",
        ),
    ] {
        let error = served("{}", body).unwrap_err();
        assert!(matches!(error, ApiError::Decode(_)), "{error:?}");
        assert!(error.to_string().starts_with(expected), "{body}: {error}");
    }
    let error = document::resources("/apis/g/v1", "g", "v1", b"{\"resources\":7}").unwrap_err();
    assert!(error.to_string().starts_with("/apis/g/v1: resources: invalid type"), "{error}");
}

proptest! {
    /// For any set of kinds: nothing is lost, a resource is preferred in the preferred version of
    /// its group if that has it, else in the first that has it, and never in two.
    #[test]
    fn every_resource_is_preferred_once(
        groups in prop::collection::btree_map(
            "[ab]",
            prop::collection::vec(
                (any::<bool>(), prop::collection::btree_set("[xyz]", 0..3)),
                0..4,
            ),
            0..3,
        ),
    ) {
        let (mut wanted, mut count) = (BTreeSet::new(), 0);
        let items = groups.iter().map(|(name, versions)| {
            let mut taken = BTreeSet::new();
            let versions = versions.iter().enumerate().map(|(n, (stale, resources))| {
                let mut words = vec![format!("{}v{n}:", if *stale { "!" } else { "" })];
                for resource in resources {
                    words.push(format!("{resource}/Kind"));
                    if !stale {
                        count += 1;
                        if taken.insert(resource) {
                            wanted.insert(format!("{name}/v{n} {resource}"));
                        }
                    }
                }
                words.join(" ")
            });
            (name.as_str(), versions.collect::<Vec<String>>())
        });
        let items: Vec<_> = items.collect();
        let items: Vec<(&str, Vec<&str>)> = items
            .iter()
            .map(|(name, versions)| (*name, versions.iter().map(String::as_str).collect()))
            .collect();
        let items: Vec<_> = items.iter().map(|(name, versions)| (*name, &versions[..])).collect();
        let served = served("{}", &aggregated(&items).to_string()).unwrap();
        prop_assert_eq!(served.kinds.len(), count);
        let preferred = served.preferred(&[]);
        let preferred = preferred.map(|it| format!("{} {}", it.api_version(), it.plural));
        let preferred: Vec<String> = preferred.collect();
        prop_assert_eq!(preferred.len(), wanted.len());
        prop_assert_eq!(preferred.into_iter().collect::<BTreeSet<_>>(), wanted);
    }
}
