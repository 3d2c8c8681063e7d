//! The bundle with the authority of the API server.

use serde_json::Value;

use super::fields::text;
use super::{Judged, Oracle};
use crate::bundles::{AUTHORITY, BUNDLES, NAME, SIGNER};

pub(super) const ACCOUNT: &str = "kube-apiserver-serving-clustertrustbundle-publisher";
const KIND: &str = "ClusterTrustBundle";

impl Oracle {
    /// Why a bundle is not to be written.
    pub(super) fn publishes_else(&self, it: &Judged<'_>) -> Option<&'static str> {
        if it.method != "DELETE" {
            let is_right = text(it.got, "/metadata/name") == NAME && is_right(it.got);
            return (!is_right).then_some("it is not the authority");
        }
        let bundle = it.before.as_deref()?;
        if text(bundle, "/spec/signerName") != SIGNER || it.target.name == NAME {
            return Some("it is to stay");
        }
        // Somebody may have deleted it just now.
        let seen = self.knowledge.seen_of_parts(&self.decider, BUNDLES);
        let mut was = self.objects.before(seen).filter(|(key, _)| key.0 == KIND && key.2 == NAME);
        let is_there = self.objects.get(KIND, "", NAME).is_some();
        let is_known = is_there || was.any(|(_, before)| before.is_some());
        (!is_known).then_some("the authority is not there yet")
    }

    /// At the end the authority is there, and nothing else of its signer.
    pub(super) fn bundle_lacks(bundle: &Value) -> Option<String> {
        if text(bundle, "/spec/signerName") != SIGNER {
            return None;
        }
        if text(bundle, "/metadata/name") != NAME {
            return Some("is not of the authority".to_owned());
        }
        (!is_right(bundle)).then(|| "is not the authority".to_owned())
    }

    /// At the end there is one if there is the kind.
    pub(super) fn kind_of_bundles_lacks(&self, definition: &Value) -> Option<String> {
        let is_it = text(definition, "/spec/names/plural") == BUNDLES;
        let lacks = is_it && self.objects.get(KIND, "", NAME).is_none();
        lacks.then(|| "has no bundle with the authority".to_owned())
    }
}

fn is_right(bundle: &Value) -> bool {
    text(bundle, "/spec/signerName") == SIGNER && text(bundle, "/spec/trustBundle") == AUTHORITY
}
