//! Which requests a signer signs. As `getCSRVerificationFuncForSignerName` of upstream's
//! `pkg/controller/certificates/signer/signer.go`.

use api::{CertificateRequest, Text};

/// A signer of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// What kubelets show as servers.
    KubeletServing,
    /// What kubelets show as clients.
    KubeletClient,
    /// What other clients show to the API server.
    ApiServerClient,
    /// Anything. No new request can name it: the API server has none of it since v1.
    LegacyUnknown,
}

// === impl Profile ===

impl Profile {
    /// All signers.
    pub const ALL: [Self; 4] =
        [Self::KubeletServing, Self::KubeletClient, Self::ApiServerClient, Self::LegacyUnknown];

    /// `spec.signerName` of the requests for it.
    pub const fn signer_name(self) -> &'static str {
        match self {
            Self::KubeletServing => "kubernetes.io/kubelet-serving",
            Self::KubeletClient => "kubernetes.io/kube-apiserver-client-kubelet",
            Self::ApiServerClient => "kubernetes.io/kube-apiserver-client",
            Self::LegacyUnknown => "kubernetes.io/legacy-unknown",
        }
    }

    /// The signer with this name.
    pub fn named(signer_name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.signer_name() == signer_name)
    }

    /// Why it does not sign the request, in upstream's words; none: it does.
    pub fn refuses(self, request: &CertificateRequest, usages: &[Text]) -> Option<String> {
        match self {
            Self::KubeletServing => request.no_kubelet_serving(usages).map(str::to_owned),
            Self::KubeletClient => request.no_kubelet_client(usages).map(str::to_owned),
            Self::ApiServerClient => no_client(usages),
            Self::LegacyUnknown => None,
        }
    }
}

/// As `validAPIServerClientUsages`.
fn no_client(usages: &[Text]) -> Option<String> {
    let is_known =
        |usage: &str| matches!(usage, "client auth" | "digital signature" | "key encipherment");
    if let Some(other) = usages.iter().find(|usage| !is_known(usage)) {
        return Some(format!("invalid usage for client certificate: {other}"));
    }
    let is_client = usages.iter().any(|usage| &**usage == "client auth");
    let missing = "missing required usage for client certificate: client auth";
    (!is_client).then(|| missing.to_owned())
}
