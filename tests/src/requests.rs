//! What the API server was asked for, by its own count (`apiserver_request_total`).

use std::collections::BTreeMap;

/// How often each kind of request got a response.
pub type Requests = BTreeMap<Request, u64>;

/// One kind of request; the labels that are not here (version, scope, …) are summed up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// The API group, empty for the core group.
    pub group: String,
    /// The resource and the subresource, if any: `pods`, `pods/status`. Empty outside of the API.
    pub resource: String,
    /// The verb as the API server reports it: `GET`, `LIST`, `WATCH`, `POST`, `PUT`, `PATCH`,
    /// `APPLY`, `DELETE`, `CONNECT`.
    pub verb: String,
    /// The HTTP status of the response: 403 for a verb that RBAC does not grant.
    pub code: u16,
}

impl Request {
    /// Whether it asked for a change, refused or not.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "POST" | "PUT" | "PATCH" | "APPLY" | "DELETE")
    }

    /// Whether kwok and the scheduler send such requests with no manager around. A manager may send
    /// some of them too (the status of a lost node's pods). Not among them, since they cannot be
    /// distinguished: one `DELETE pods` of kwok's for each pod that ends, the scheduler's events.
    pub fn is_fake_clusters_own(&self) -> bool {
        let own = ["leases", "nodes/status", "pods/binding", "pods/status"];
        own.contains(&self.resource.as_str())
    }
}

/// What was added between two counts.
pub fn since(earlier: &Requests, later: &Requests) -> Requests {
    let added = later.iter().map(|(request, count)| {
        (request.clone(), count - earlier.get(request).copied().unwrap_or(0).min(*count))
    });
    added.filter(|(_, count)| *count > 0).collect()
}

/// The number of writes that pass the filter, for example
/// `|request| !request.is_fake_clusters_own()`.
pub fn writes(requests: &Requests, filter: impl Fn(&Request) -> bool) -> u64 {
    let counted = requests.iter().filter(|(request, _)| request.is_write() && filter(request));
    counted.map(|(_, count)| count).sum()
}

/// Ensures that the roles allowed each of these.
pub fn none_forbidden(requests: &Requests) -> anyhow::Result<()> {
    let forbidden: Vec<_> = requests.keys().filter(|request| request.code == 403).collect();
    anyhow::ensure!(forbidden.is_empty(), "{forbidden:?}");
    Ok(())
}

/// Reads the API server's /metrics; lines it does not know are skipped.
pub(crate) fn parse(metrics: &str) -> Requests {
    let mut requests = Requests::new();
    for (request, count) in metrics.lines().filter_map(series) {
        *requests.entry(request).or_default() += count;
    }
    requests
}

/// Reads the watches that are open from the API server's /metrics, by `<resource>.<group>`.
pub(crate) fn parse_watches(metrics: &str) -> BTreeMap<String, u64> {
    let mut watches = BTreeMap::new();
    for line in metrics.lines() {
        let Some((labels, open)) = sample(line, "apiserver_longrunning_requests") else { continue };
        let label = |name: &str| label(labels, name).unwrap_or_default();
        if label("verb") == "WATCH" && open > 0 {
            *watches.entry(format!("{}.{}", label("resource"), label("group"))).or_default() +=
                open;
        }
    }
    watches
}

/// How often a resource was read in one version, by list or watch, and that was refused, from the
/// API server's /metrics.
pub(crate) fn parse_refused_reads(metrics: &str, resource: &str, version: &str) -> u64 {
    let samples = metrics.lines().filter_map(|line| sample(line, "apiserver_request_total"));
    let refused = samples.filter(|(labels, _)| {
        let label = |name: &str| label(labels, name).unwrap_or_default();
        label("resource") == resource
            && label("version") == version
            && matches!(label("verb"), "LIST" | "WATCH")
            && label("code") >= "400"
    });
    refused.map(|(_, count)| count).sum()
}

fn series(line: &str) -> Option<(Request, u64)> {
    let (labels, count) = sample(line, "apiserver_request_total")?;
    let label = |name: &str| label(labels, name);
    let resource = match (label("resource")?, label("subresource")?) {
        (resource, "") => resource.to_owned(),
        (resource, subresource) => format!("{resource}/{subresource}"),
    };
    let request = Request {
        group: label("group")?.to_owned(),
        resource,
        verb: label("verb")?.to_owned(),
        code: label("code")?.parse().ok()?,
    };
    Some((request, count))
}

/// The labels and the value of a line of this metric.
fn sample<'a>(line: &'a str, metric: &str) -> Option<(&'a str, u64)> {
    let rest = line.strip_prefix(metric)?.strip_prefix('{')?;
    let (labels, value) = rest.rsplit_once("} ")?;
    Some((labels, count(value)?))
}

/// The value of a label, none of which holds a quote or a comma here.
fn label<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = labels.split(',').filter_map(|label| label.split_once('='));
    let (_, value) = pairs.find(|(key, _)| *key == name)?;
    Some(value.trim_matches('"'))
}

/// A counter's value, which Prometheus writes as a float: 1e+06 from a million on.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are whole, positive and far below 2^53"
)]
fn count(value: &str) -> Option<u64> {
    value.parse::<f64>().ok().map(|count| count as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    // As a 1.36.3 API server writes them.
    const METRICS: &str = r#"
# TYPE apiserver_request_total counter
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="POST",version="v1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="status",verb="PATCH",version="v1"} 4
apiserver_request_total{code="200",component="apiserver",dry_run="",group="apps",resource="replicasets",scope="cluster",subresource="",verb="LIST",version="v1"} 1
apiserver_request_total{code="200",component="apiserver",dry_run="",group="apps",resource="replicasets",scope="namespace",subresource="",verb="LIST",version="v1"} 1e+06
apiserver_request_duration_seconds_count{verb="LIST"} 7
"#;

    #[test]
    fn watches_are_summed_by_resource_and_closed_ones_left_out() {
        const METRICS: &str = r#"
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="cluster",subresource="",verb="WATCH",version="v1"} 3
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="resource",subresource="log",verb="GET",version="v1"} 1
apiserver_longrunning_requests{component="apiserver",group="apps",resource="daemonsets",scope="cluster",subresource="",verb="WATCH",version="v1"} 0
apiserver_longrunning_requests{component="apiserver",group="",resource="pods",scope="namespace",subresource="",verb="WATCH",version="v1"} 1
"#;
        assert_eq!(parse_watches(METRICS), BTreeMap::from([("pods.".to_owned(), 4)]));
    }

    fn texts(requests: &Requests) -> Vec<String> {
        let text = |(r, count): (&Request, &u64)| {
            format!("{} {}.{} {} {count}", r.verb, r.resource, r.group, r.code)
        };
        requests.iter().map(text).collect()
    }

    #[test]
    fn series_are_summed_over_the_other_labels() {
        let expected =
            ["POST pods. 201 3", "PATCH pods/status. 200 4", "LIST replicasets.apps 200 1000001"];
        assert_eq!(texts(&parse(METRICS)), expected);
    }

    #[test]
    fn writes_pass_the_filter() {
        let requests = parse(METRICS);
        assert_eq!(writes(&requests, |_| true), 7);
        assert_eq!(writes(&requests, |request| !request.is_fake_clusters_own()), 3);
    }

    #[test]
    fn since_keeps_what_grew() {
        let earlier = parse(METRICS);
        let later = parse(&METRICS.replace("} 3", "} 5"));
        assert_eq!(texts(&since(&earlier, &later)), ["POST pods. 201 2"]);
    }
}
