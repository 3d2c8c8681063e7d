//! Sizes that autoscalers give.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::fields::{at, list, number, text, uid};
use super::{Judged, Oracle, Target};
use crate::autoscaling::{SET, loads};

const ACCOUNT: &str = "horizontal-pod-autoscaler";
const KIND: &str = "HorizontalPodAutoscaler";
/// `--horizontal-pod-autoscaler-downscale-stabilization`.
const WINDOW: Duration = Duration::from_mins(5);

/// By uid of an autoscaler: the life that made its target larger last, to what, and when that was
/// decided.
#[derive(Default)]
pub(super) struct Grown(BTreeMap<String, (String, i64, Duration)>);

/// By namespace and name of a target: up to which revision the sync that read its scale last can
/// know it and the metrics, which are read live, and the pods, which are cached.
#[derive(Default)]
pub(super) struct Looks(BTreeMap<(String, String), (u64, u64)>);

impl Oracle {
    /// An autoscaler has read the scale of a target: it looks at all that it decides by.
    pub(super) fn heard_scale(&mut self, life: &str, target: &Target) {
        let known = (self.revision, self.knowledge.told(life, "pods"));
        self.scales.0.insert((target.namespace.clone(), target.name.clone()), known);
    }

    /// Whether an autoscaler has looked since something changed that it decides by. It looks each
    /// 15 seconds, and its recommendations count for minutes.
    fn has_looked(&self, scaler: &Value, target: &Value) -> bool {
        let changed = |kind: &str| self.changed.get(kind).copied().unwrap_or(0);
        let name = [text(target, "/metadata/namespace"), text(target, "/metadata/name")];
        let Some((live, pods)) = self.scales.0.get(&(name[0].to_owned(), name[1].to_owned()))
        else {
            return false;
        };
        let edited = self.touched.get(uid(scaler)).copied().unwrap_or(0);
        let read_live = changed("PodMetrics").max(changed("StatefulSet")).max(edited);
        *live >= read_live && *pods >= changed("Pod")
    }

    /// The size that an autoscaler gives, with its target and itself; none: it is no such write, or
    /// the autoscaler has changed, which may not be known.
    fn scaled<'a>(&'a self, it: &'a Judged<'_>) -> Option<(i64, &'a Value, &'a Arc<Value>)> {
        let is_scale = it.account == ACCOUNT && it.target.sub == "scale";
        let target = it.before.as_deref().filter(|_| is_scale)?;
        let is_of_it = |scaler: &&Arc<Value>| {
            text(scaler, "/spec/scaleTargetRef/name") == it.target.name
                && text(scaler, "/metadata/namespace") == it.target.namespace
        };
        let scaler = self.objects.of_kind(KIND).find(is_of_it)?;
        let born = self.born.get(uid(scaler)).copied().unwrap_or(u64::MAX);
        let touched = self.touched.get(uid(scaler)).copied().unwrap_or(0);
        let is_known = self.knows(KIND, born.max(touched));
        is_known.then(|| (number(it.sent, "/spec/replicas"), target, scaler))
    }

    /// A size is not within the bounds.
    pub(super) fn scales_beyond(&self, it: &Judged<'_>) -> Option<String> {
        let (size, _, scaler) = self.scaled(it)?;
        let (min, max) = bounds(scaler);
        (!(min..=max).contains(&size)).then(|| format!("{it}: {size}, not {min} to {max}"))
    }

    /// A target shrinks although its autoscaler has made it larger within the window.
    pub(super) fn shrinks_early(&self, it: &Judged<'_>) -> Option<String> {
        let (size, target, scaler) = self.scaled(it)?;
        let (life, grown, at) = self.grown.0.get(uid(scaler))?;
        let is_early = life == it.life && it.at < *at + WINDOW;
        // Users may have given it another size since.
        let before = number(target, "/spec/replicas").min(*grown);
        let shrinks = size < before && size < bounds(scaler).1;
        (is_early && shrinks).then(|| format!("{it}: {size}, and {grown} at {at:?}"))
    }

    /// A target has another size.
    pub(super) fn learn_growth(&mut self, it: &Judged<'_>) {
        let Some((size, target, scaler)) = self.scaled(it) else { return };
        let (scaler, is_larger) = (uid(scaler).to_owned(), size > number(target, "/spec/replicas"));
        // Without load it grows by a recommendation of the past, and that ends sooner, as with
        // upstream's `stabilizeRecommendation` (horizontal.go).
        if is_larger && self.load() == "180m" {
            self.grown.0.insert(scaler, (it.life.to_owned(), size, self.decider.begun));
        }
    }

    /// What an autoscaler still has to do.
    pub(super) fn scaler_lacks(&self, scaler: &Value) -> Option<String> {
        let target = self.target_of(scaler)?;
        if !self.has_looked(scaler, target) {
            return Some("something has changed since it looked last".to_owned());
        }
        let size = number(target, "/spec/replicas");
        let (min, max) = bounds(scaler);
        let wanted = match self.load() {
            "6m" => min..=min,
            "180m" => max..=max,
            _ => min..=max,
        };
        if size != 0 && !wanted.contains(&size) {
            return Some(format!("its target has {size}, not {wanted:?}"));
        }
        let shown = number(scaler, "/status/currentReplicas");
        if shown != size {
            return Some(format!("its target has {size}, and it shows {shown}"));
        }
        let conditions = list(scaler, "/status/conditions");
        let able = conditions.iter().find(|it| text(it, "/type") == "AbleToScale")?;
        // It becomes another one when recommendations are too old to count.
        let is_new = ["SucceededRescale", "ScaleDownStabilized"].contains(&text(able, "/reason"));
        is_new.then(|| text(able, "/message").to_owned())
    }

    fn target_of(&self, scaler: &Value) -> Option<&Arc<Value>> {
        let name = text(scaler, "/spec/scaleTargetRef/name");
        self.objects.get("StatefulSet", text(scaler, "/metadata/namespace"), name)
    }

    /// What each of its pods uses; empty: there are no metrics.
    fn load(&self) -> &str {
        let metrics = self.objects.get("PodMetrics", "default", &format!("{SET}-0"));
        metrics.map_or("", |metrics| text(metrics, "/containers/0/usage/cpu"))
    }

    /// An autoscaler that has no target goes, and one without metrics gets some: it would fail for
    /// ever.
    pub(super) fn scaler_repairs(&self, scaler: &Value) -> Vec<String> {
        if self.target_of(scaler).is_none() {
            return vec![format!("> delete horizontalpodautoscaler/{SET}\n")];
        }
        if self.load().is_empty() { loads("60m") } else { Vec::new() }
    }
}

fn bounds(scaler: &Value) -> (i64, i64) {
    let min = at(scaler, "/spec/minReplicas").as_i64().unwrap_or(1);
    (min, number(scaler, "/spec/maxReplicas"))
}
