//! Series that are added and removed.

use std::collections::BTreeMap;

use api::{Kind as _, Pod, Resource, Served, ServedKind};
use metrics::Registry;

use super::Metrics;

fn custom(plural: &'static str) -> Resource {
    Resource::namespaced("example.com", "v1", plural, "Custom")
}

/// Kinds of CRDs are added and removed for as long as the process lives, and so are their series.
#[test]
fn a_removed_kind_leaves_no_series() {
    let registry = Registry::default();
    let metrics = Metrics::new(&registry).unwrap();
    let shown = || {
        let page = registry.page("").body;
        let lines = page.lines().filter(|line| line.starts_with("kcm_writes_total{"));
        let of = |line: &str| line.split('"').nth(5).unwrap_or_default().to_owned();
        lines.map(of).collect::<Vec<_>>()
    };
    let count = |resource: &Resource| {
        for code in ["ok", "409"] {
            metrics.count_write(["gc", "delete", &resource.to_string(), code]);
        }
    };
    let (one, two) = (custom("ones"), custom("twos"));
    [&one, &two, &Pod::RESOURCE].into_iter().for_each(count);
    metrics.forget(&one);
    assert_eq!(shown(), ["pods", "twos.example.com", "pods", "twos.example.com"]);

    let kind = |resource| ServedKind {
        resource,
        verbs: Box::default(),
        preferred: true,
        subresources: Box::default(),
    };
    let unknown = BTreeMap::from([("example.com/v1".to_owned(), "no answer".to_owned())]);
    metrics.keep(&Served::new(vec![kind(Pod::RESOURCE)], unknown));
    assert_eq!(shown().len(), 4, "a kind that cannot be discovered keeps its series");
    metrics.keep(&Served::new(vec![kind(Pod::RESOURCE)], BTreeMap::new()));
    assert_eq!(shown(), ["pods", "pods"]);
    // It may be added again.
    count(&two);
    assert_eq!(shown().len(), 4);
}
