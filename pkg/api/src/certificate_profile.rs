//! What the requests of kubelets must say. As upstream's pkg/apis/certificates/helpers.go.

use std::collections::BTreeSet;

use crate::{CertificateRequest, Text};

const ORGANIZATION: &str = "subject organization is not system:nodes";
const COMMON_NAME: &str = "subject common name does not begin with system:node:";
const EMAIL: &str = "Email subjectAltNames are not allowed";
const URI: &str = "URI subjectAltNames are not allowed";

// === impl CertificateRequest ===

impl CertificateRequest {
    /// What keeps it from being the request of a kubelet for the certificate that it shows as a
    /// client; none: it is one. As `ValidateKubeletClientCSR`.
    pub fn no_kubelet_client(&self, usages: &[Text]) -> Option<&'static str> {
        let names = &self.alternatives;
        first(&[
            (!self.is_of_nodes(), ORGANIZATION),
            (!names.dns.is_empty(), "DNS subjectAltNames are not allowed"),
            (!names.emails.is_empty(), EMAIL),
            (!names.addresses.is_empty(), "IP subjectAltNames are not allowed"),
            (!names.uris.is_empty(), URI),
            (!self.names_node(), COMMON_NAME),
            (
                !is_usual(usages, "client auth"),
                "usages did not match [client auth digital signature key encipherment]",
            ),
        ])
    }

    /// The same of the certificate that it shows as a server. As `ValidateKubeletServingCSR`.
    pub fn no_kubelet_serving(&self, usages: &[Text]) -> Option<&'static str> {
        let names = &self.alternatives;
        let is_nowhere = names.dns.is_empty() && names.addresses.is_empty();
        first(&[
            (!self.is_of_nodes(), ORGANIZATION),
            (is_nowhere, "DNS or IP subjectAltName is required"),
            (!names.emails.is_empty(), EMAIL),
            (!names.uris.is_empty(), URI),
            (
                !is_usual(usages, "server auth"),
                "usages did not match [digital signature key encipherment server auth]",
            ),
            (!self.names_node(), COMMON_NAME),
        ])
    }

    fn is_of_nodes(&self) -> bool {
        self.subject.organizations == ["system:nodes"]
    }

    fn names_node(&self) -> bool {
        self.subject.common_name.starts_with("system:node:")
    }
}

/// Whether the usages are these: a digital signature and `purpose`; and, for an RSA key, key
/// encipherment.
fn is_usual(usages: &[Text], purpose: &str) -> bool {
    let usages: BTreeSet<&str> = usages.iter().map(|usage| &**usage).collect();
    let least = BTreeSet::from(["digital signature", purpose]);
    let most = BTreeSet::from(["digital signature", "key encipherment", purpose]);
    usages == least || usages == most
}

fn first(rules: &[(bool, &'static str)]) -> Option<&'static str> {
    rules.iter().find_map(|(is_broken, why)| is_broken.then_some(*why))
}
