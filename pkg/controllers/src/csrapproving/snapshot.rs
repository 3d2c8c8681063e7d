//! What a sync of a request looks at.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{CertificateRequest, CertificateSigningRequest, Key, RequestError};
use controller::View;

/// A wish for a certificate.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The object.
    pub csr: Arc<CertificateSigningRequest>,
    /// What the certificate should say; none: that does not matter any more.
    pub request: Option<Result<CertificateRequest, RequestError>>,
}

pub(super) fn observe(key: &Key, view: &View<'_>) -> Option<Snapshot> {
    let csr = view.of::<CertificateSigningRequest>().get(key)?;
    let is_over = csr.issued || csr.is_approved() || csr.is_denied() || csr.unreadable.is_some();
    let request = (!is_over).then(|| csr.request());
    Some(Snapshot { csr, request })
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn summary(&self) -> Vec<(&'static str, String)> {
        let list = |texts: Vec<&str>| match texts.as_slice() {
            [] => "none".to_owned(),
            texts => texts.join(", "),
        };
        let csr = &self.csr;
        let usages: BTreeSet<_> = csr.usages.iter().map(|usage| &**usage).collect();
        let mut facts = vec![
            ("signer", csr.signer_name.to_string()),
            ("usages", list(usages.into_iter().collect())),
            ("conditions", list(csr.conditions.iter().map(|kind| &**kind).collect())),
        ];
        // The user's name is only for readers that may get the request, from the API server.
        if let Some(Ok(request)) = &self.request {
            let is_own = csr.requestor.username == request.subject.common_name;
            let author = if is_own { "the node that it is for" } else { "another user" };
            facts.push(("requested by", author.to_owned()));
        }
        facts
    }
}
