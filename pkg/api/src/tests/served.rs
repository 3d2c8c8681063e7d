//! What is served: look-ups, the text of failures, and the content that is kept from an older
//! result.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::*;

/// A row of a result: `group/version plural Kind`, with `*` in front if it is preferred.
fn kind(row: &str) -> ServedKind {
    let words: Vec<&str> = row.trim_start_matches('*').split(' ').collect();
    let (group, version) = words[0].split_once('/').unwrap_or(("", words[0]));
    let own = |text: &str| text.to_owned().into();
    let (group, version) = (own(group), own(version));
    let (plural, kind) = (own(words[1]), own(words[2]));
    let resource = Resource { group, version, plural, kind, namespaced: true };
    let (verbs, subresources) = ([Verb::List].into(), Box::default());
    ServedKind { resource, verbs, preferred: row.starts_with('*'), subresources }
}

fn served(rows: &[&str], failed: &[&str]) -> Served {
    let failed = failed.iter().map(|group| ((*group).to_owned(), "down".to_owned()));
    Served::new(rows.iter().map(|row| kind(row)).collect(), failed.collect())
}

fn rows(served: &Served) -> Vec<String> {
    let row = |kind: &ServedKind| {
        let Resource { plural, kind: name, .. } = &kind.resource;
        let star = if kind.preferred { "*" } else { "" };
        format!("{star}{} {plural} {name}", kind.resource.api_version())
    };
    served.kinds.iter().map(row).collect()
}

/// client-go's NewDiscoveryRESTMapper and apimachinery's DefaultRESTMapper and ParseGroupVersion.
#[test]
fn kinds_are_found_as_a_rest_mapping_finds_them() {
    let served = served(
        &[
            "*v1 pods Pod",
            "*apps/v1 deployments Deployment",
            "apps/v1beta1 deployments Deployment",
            "*x.io/v1 firsts Twin",
            "*x.io/v1 seconds Twin",
            "*x.io/v1 exacts case",
            "*x.io/v1 others Case",
        ],
        &[],
    );
    for (api_version, kind, found) in [
        ("v1", "Pod", Some("v1 pods")),
        ("/v1", "Pod", Some("v1 pods")),
        ("apps/v1", "Deployment", Some("apps/v1 deployments")),
        ("apps/v1beta1", "Deployment", Some("apps/v1beta1 deployments")),
        // AddSpecific with the kind in lower case; no other case.
        ("apps/v1", "deployment", Some("apps/v1 deployments")),
        ("apps/v1", "DEPLOYMENT", None),
        ("x.io/v1", "case", Some("x.io/v1 exacts")),
        ("x.io/v1", "Case", Some("x.io/v1 others")),
        // AddSpecific writes over what was there.
        ("x.io/v1", "Twin", Some("x.io/v1 seconds")),
        // A version that is named and not served has no mapping, whatever else is served.
        ("apps/v2", "Deployment", None),
        ("v1", "Deployment", None),
        ("apps/v1", "Pod", None),
        ("apps/v1/x", "Deployment", None),
        ("apps", "Deployment", None),
        ("", "Pod", None),
        ("", "", None),
    ] {
        let got = served.find(api_version, kind);
        let got = got.map(|it| format!("{} {}", it.api_version(), it.plural));
        assert_eq!(got.as_deref(), found, "{api_version} {kind}");
    }
    assert_eq!(Served::default().find("v1", "Pod"), None);
}

/// apimachinery's DefaultRESTMapper without a version: that of the priority mapper, from discovery.
#[test]
fn a_kind_without_a_version_is_the_preferred_one() {
    let served = served(
        &[
            "*v1 pods Pod",
            "v1beta1 pods Pod",
            "autoscaling/v1 horizontalpodautoscalers HorizontalPodAutoscaler",
            "*autoscaling/v2 horizontalpodautoscalers HorizontalPodAutoscaler",
            "*x.io/v1 firsts Twin",
            "*x.io/v2 seconds Twin",
            "y.io/v1 lonely Lonely",
        ],
        &[],
    );
    for (group, kind, found) in [
        ("", "Pod", Some("v1 pods")),
        ("", "pod", Some("v1 pods")),
        ("autoscaling", "HorizontalPodAutoscaler", Some("autoscaling/v2 horizontalpodautoscalers")),
        ("x.io", "Twin", Some("x.io/v2 seconds")),
        // Served in an older version alone, while the preferred one is not known.
        ("y.io", "Lonely", None),
        ("apps", "Pod", None),
        ("", "", None),
    ] {
        let got = served.find_kind(group, kind).map(|it| &it.resource);
        let got = got.map(|it| format!("{} {}", it.api_version(), it.plural));
        assert_eq!(got.as_deref(), found, "{group} {kind}");
    }
}

#[test]
fn a_part_of_a_kind_says_what_can_be_done_with_it() {
    let scale = Subresource { name: "scale".into(), verbs: [Verb::Get, Verb::Update].into() };
    let kind = ServedKind { subresources: [scale].into(), ..kind("*v1 pods Pod") };
    assert_eq!(kind.subresource("scale"), Some(&[Verb::Get, Verb::Update][..]));
    assert_eq!(kind.subresource("status"), None);
}

/// client-go's ErrGroupDiscoveryFailed: whole entries are sorted, and `-` comes before `:`.
#[test]
fn failures_are_reported_as_upstream() {
    let start = "unable to retrieve the complete list of server APIs: ";
    for (failed, expected) in [
        (&[][..], None),
        (&["v1"], Some("v1: down")),
        (&["b.io/v1", "a.io/v2"], Some("a.io/v2: down, b.io/v1: down")),
        (&["a/v1", "a/v1-x", "a/v1beta1"], Some("a/v1-x: down, a/v1: down, a/v1beta1: down")),
    ] {
        let expected = expected.map(|text| format!("{start}{text}"));
        assert_eq!(served(&[], failed).failure(), expected);
    }
}

/// Issue: the last good discovery is kept for a group that fails. A removed group is not kept.
#[test]
fn failed_groups_are_kept_and_removed_ones_are_not() {
    let old = &["*v1 pods Pod", "*m.io/v2 nodes Node", "m.io/v1 nodes Node", "*m.io/v1 pods Pod"];
    for (now, failed, expected) in [
        (&old[..], &[][..], &old[..]),
        (&["*v1 pods Pod"], &[], &["*v1 pods Pod"]),
        (&["*v1 pods Pod"], &["m.io/v2", "m.io/v1"], old),
        // The one version fails: the other one is preferred, where it has the resource.
        (
            &["*v1 pods Pod", "*m.io/v1 nodes Node", "*m.io/v1 pods Pod"],
            &["m.io/v2"],
            &["*v1 pods Pod", "*m.io/v1 nodes Node", "*m.io/v1 pods Pod", "m.io/v2 nodes Node"],
        ),
        (
            &["*m.io/v2 nodes Node"],
            &["m.io/v1"],
            &["*m.io/v2 nodes Node", "m.io/v1 nodes Node", "*m.io/v1 pods Pod"],
        ),
        // A group that was unknown before too, and one with the same version in another group.
        (&[], &["n.io/v1"], &[]),
        (&[], &["v2", "m.io/v3"], &[]),
        // What the failed version still shows is not there twice.
        (&["m.io/v1 nodes Node"], &["m.io/v1"], &["m.io/v1 nodes Node", "*m.io/v1 pods Pod"]),
    ] {
        let now = served(now, failed);
        let kept = now.keeping(&served(old, &["v9"]));
        assert_eq!(rows(&kept), expected, "{now:?}");
        assert_eq!(kept.failed, now.failed);
        let again = now.keeping(&kept);
        assert_eq!(again, kept, "what was kept is kept on");
    }
}

proptest! {
    /// The index finds what a search through all kinds finds.
    #[test]
    fn every_kind_is_found_by_its_name(
        names in prop::collection::vec(("[ab]?", "v[12]", "[ab]{1,2}", "[AaBb]{1,2}"), 0..20),
        group in "[ab]?", version in "v[12]", wanted in "[AaBb]{1,2}",
    ) {
        let kinds: Vec<_> = names.iter().map(|(group, version, plural, name)| {
            kind(&format!("{group}/{version} {plural} {name}"))
        }).collect();
        let served = Served::new(kinds, BTreeMap::new());
        let by = |fits: &dyn Fn(&str) -> bool| {
            let all = served.kinds.iter().map(|kind| &kind.resource).rev();
            all.into_iter().find(|it| it.group == group && it.version == version && fits(&it.kind))
        };
        let expected = by(&|it| it == wanted).or_else(|| by(&|it| it.to_lowercase() == wanted));
        let found = served.find(&format!("{group}/{version}"), &wanted);
        prop_assert_eq!(found, expected);
    }

    /// For any sequence of results: no resource is there twice, none is preferred in two versions,
    /// nothing of the newest result is lost, and all else belongs to groups that failed in it.
    #[test]
    fn keeping_never_doubles(
        answers in prop::collection::vec(
            (
                prop::collection::btree_map(("[ab]", "v[123]", "[xy]"), any::<bool>(), 0..12),
                prop::collection::btree_set("[ab]/v[123]", 0..4),
            ),
            1..6,
        ),
    ) {
        let mut last = Served::default();
        for (kinds, failed) in &answers {
            let mut preferred = std::collections::BTreeSet::new();
            let kinds = kinds.iter().map(|((group, version, plural), star)| {
                let star = *star && preferred.insert((group, plural));
                let star = if star { "*" } else { "" };
                format!("{star}{group}/{version} {plural} Kind")
            });
            let kinds: Vec<String> = kinds.collect();
            let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
            let failed: Vec<&str> = failed.iter().map(String::as_str).collect();
            let now = served(&kinds, &failed);
            last = now.keeping(&last);
            let got = rows(&last);
            prop_assert_eq!(&got[..kinds.len()], &kinds[..]);
            let mut names: Vec<_> = got.iter().map(|row| row.trim_start_matches('*')).collect();
            names.sort_unstable();
            prop_assert!(names.is_sorted_by(|a, b| a < b), "{:?}", got);
            let mut stars: Vec<_> =
                last.preferred(&[]).map(|it| (it.group.clone(), it.plural.clone())).collect();
            stars.sort();
            prop_assert!(stars.is_sorted_by(|a, b| a < b), "{:?}", got);
            for kind in &last.kinds[kinds.len()..] {
                prop_assert!(last.failed.contains_key(&kind.resource.api_version()));
            }
        }
    }
}
