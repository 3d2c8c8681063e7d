//! Alerts and dashboard name only metrics that the manager has: a wrong name is silent for ever.

use super::*;

/// Where upstream's families stand, by name, type and labels.
const FAMILIES: &str = "pkg/metrics/testdata/families.txt";
/// What Prometheus itself adds to each target.
const OF_PROMETHEUS: [&str; 1] = ["up"];

#[test]
fn alerts_and_dashboard_name_metrics_that_there_are() {
    let files = repository();
    let complaints = unknown_metrics(&files);
    all_well(&complaints);
    let named = files.iter().filter(|file| is_deployed(file)).flat_map(|file| metrics(&file.text));
    assert!(named.count() > 20, "the selectors are not found any more");
}

#[test]
fn of_deployed_metrics() {
    let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
    let files = [
        file(FAMILIES, "workqueue_depth gauge name\nlatency_seconds histogram code\n"),
        file("pkg/a/src/metrics.rs", "Family::alpha(\"kcm_panics_total\", \"Panics.\")"),
        file(
            "deploy/prometheus/alerts.yaml",
            "expr: sum(workqueue_depth{a=\"b\"}) + kcm_panics_total{} + up{}\nexpr: kcm_odd{}\n\
             description: A {{ $labels.name }}\n",
        ),
        file("deploy/b.json", "\"rate(latency_seconds_bucket{job=\\\"{{a}}\\\"}) / depth{a}\""),
    ];
    let expected = [
        "deploy/b.json: there is no metric `depth`",
        "deploy/prometheus/alerts.yaml: there is no metric `kcm_odd`",
    ];
    let mut complaints = unknown_metrics(&files);
    complaints.sort();
    assert_eq!(complaints, expected);
}

fn unknown_metrics(files: &[File]) -> Complaints {
    let upstream = find(files, FAMILIES).map_or("", |file| file.text.as_str()).lines();
    let mut known: BTreeSet<String> = OF_PROMETHEUS.map(str::to_owned).into();
    for line in upstream {
        let mut words = line.split(' ').map(str::to_owned);
        let name = words.next().unwrap_or_default();
        if words.next().as_deref() == Some("histogram") {
            known.extend(["bucket", "sum", "count"].map(|part| format!("{name}_{part}")));
        }
        known.insert(name);
    }
    let sources = files.iter().filter(|file| is_rust(file) && file.path.starts_with("pkg/"));
    let ours = sources.flat_map(|file| quoted(&file.text)).filter(|name| name.starts_with("kcm_"));
    known.extend(ours.map(str::to_owned));
    let complain = |file: &File| {
        let unknown = metrics(&file.text).into_iter().filter(|name| !known.contains(name));
        let complaints = unknown.map(|name| format!("{}: there is no metric `{name}`", file.path));
        complaints.collect::<Complaints>()
    };
    files.iter().filter(|file| is_deployed(file)).flat_map(complain).collect()
}

fn is_deployed(file: &File) -> bool {
    file.path.starts_with("deploy/") && has_ending(file, &["json", "yaml"])
}

/// What stands right before the braces of a selector.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before = text.match_indices('{').map(|(at, _)| &text[..at]);
    let names = before.map(|text| text.rsplit(|c| !is_part(c)).next().unwrap_or_default());
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}
