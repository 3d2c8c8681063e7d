//! HorizontalPodAutoscalers, mirroring upstream's TestSetDefaultsForHorizontalPodAutoscaler's
//! behaviors, and the selectors of metrics as `labels.Selector.String` prints them.

use serde_json::{Value, json};

use super::labels;
use crate::*;

fn autoscaler(spec: &Value) -> HorizontalPodAutoscaler {
    let json = json!({"metadata": {"name": "web", "namespace": "shop"}, "spec": spec});
    HorizontalPodAutoscaler::decode(Codec::Json, json.to_string().as_bytes()).unwrap()
}

#[test]
fn behaviors_have_upstreams_defaults() {
    assert_eq!(autoscaler(&json!({})).behavior, None);
    let found = autoscaler(&json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled",
        "tolerance": "50m"}}}));
    let policy = |kind, value| ScalingPolicy { kind, value, period_seconds: 15 };
    let all = policy(ScalingPolicyKind::Percent, 100);
    let expected = Behavior {
        up: ScalingRules {
            stabilization_window_seconds: Some(0),
            select_policy: SelectPolicy::Max,
            policies: vec![policy(ScalingPolicyKind::Pods, 4), all],
            tolerance: None,
        },
        down: ScalingRules {
            stabilization_window_seconds: None,
            select_policy: SelectPolicy::Disabled,
            policies: vec![all],
            tolerance: Some(0.05),
        },
    };
    assert_eq!(found.behavior, Some(expected));
}

#[test]
fn selectors_of_metrics_are_text() {
    let expression = |key: &str, operator: &str, values: &[&str]| {
        json!({
            "key": key, "operator": operator, "values": values,
        })
    };
    for (selector, text) in [
        (json!(null), Ok("")),
        (json!({}), Ok("")),
        (json!({"matchLabels": {"b": "2", "a": "1"}}), Ok("a=1,b=2")),
        (
            json!({"matchLabels": {"c": "x"}, "matchExpressions": [
                expression("b", "In", &["z", "y"]), expression("a", "Exists", &[]),
                expression("d", "NotIn", &["v"]), expression("e", "DoesNotExist", &[])]}),
            Ok("a,b in (y,z),c=x,d notin (v),!e"),
        ),
        (
            json!({"matchExpressions": [expression("a", "Odd", &[])]}),
            Err("\"Odd\" is not a valid label selector operator"),
        ),
    ] {
        let metric = json!({"type": "External",
            "external": {"metric": {"name": "m", "selector": selector}}});
        let found = autoscaler(&json!({"metrics": [metric]}));
        let Some(MetricSource::External { metric, .. }) = &found.metrics[0].source else {
            panic!("another source")
        };
        let found = metric.selector.as_deref().map_err(ToString::to_string);
        assert_eq!(found, text.map_err(str::to_owned), "{selector}");
    }
}

/// The source must be of the type; an unknown type has none.
#[test]
fn metrics_have_the_source_of_their_type() {
    let resource = json!({"name": "cpu", "target": {"averageUtilization": 3}});
    let spec = json!({"metrics": [
        {"type": "Resource", "resource": resource},
        {"type": "Pods", "resource": resource},
        {"type": "Cheddar", "resource": resource},
    ]});
    let found = autoscaler(&spec);
    let has_source: Vec<_> = found.metrics.iter().map(|metric| metric.source.is_some()).collect();
    assert_eq!(has_source, [true, false, false]);
}

/// Rows of TestSelectorMatches of apimachinery; the sandbox has more.
#[test]
fn selectors_as_text_match_labels() {
    for (selector, pod, matched) in [
        ("", labels(&[]), true),
        ("x=y", labels(&[("x", "y")]), true),
        ("x=y,z=w", labels(&[("x", "y")]), false),
        ("x in (a,b),!z", labels(&[("x", "b")]), true),
        ("x>3", labels(&[("x", "4")]), true),
        ("x notin (a)", labels(&[("x", "a")]), false),
    ] {
        let parsed = SelectorText::parse(selector).unwrap();
        assert_eq!(parsed.matches(&pod), matched, "{selector}");
    }
    assert!(SelectorText::parse("cheddar cheese").is_err());
}
