//! Which taints a pod stays with, and for how long.

use std::sync::Arc;

use prost::Message;
use serde::Deserialize;

use super::WireSpec;
use crate::intern::intern_tolerations;
use crate::wire::{from_text, text};
use crate::{Effect, Toleration};

/// The tolerations that may be of a taint with the effect `NoExecute`. Shared by the pods that have
/// the same ones, which is most of them: admission adds two.
pub(super) fn of(spec: &WireSpec) -> Arc<[Toleration]> {
    let tolerations = spec.tolerations.iter().map(WireToleration::view);
    let matters = |it: &Toleration| it.effect.is_empty() || it.effect == Effect::NoExecute.as_str();
    let tolerations: Vec<_> = tolerations.filter(matters).collect();
    intern_tolerations(&tolerations)
}

/// `v1.Toleration`. Its texts are validated, but not in every pod that etcd has.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct WireToleration {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(deserialize_with = "from_text")]
    key: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(deserialize_with = "from_text")]
    operator: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    #[serde(deserialize_with = "from_text")]
    value: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(deserialize_with = "from_text")]
    effect: Vec<u8>,
    #[prost(int64, optional, tag = "5")]
    toleration_seconds: Option<i64>,
}

impl WireToleration {
    fn view(&self) -> Toleration {
        Toleration {
            key: text(&self.key).into(),
            operator: text(&self.operator).into(),
            value: text(&self.value).into(),
            effect: text(&self.effect).into(),
            seconds: self.toleration_seconds,
        }
    }
}
