//! What a token says. As `LegacyClaims` in upstream's pkg/serviceaccount/legacy.go.

use std::collections::BTreeMap;

use api::Key;

/// The payload of the token of an account in a Secret: JSON, its fields in the order of upstream's.
pub(super) fn payload(account: &Key, uid: &str, secret: &str) -> Vec<u8> {
    let Key { namespace, name } = account;
    let subject = format!("system:serviceaccount:{namespace}:{name}");
    let claims: BTreeMap<&str, &str> = [
        ("iss", "kubernetes/serviceaccount"),
        ("kubernetes.io/serviceaccount/namespace", namespace),
        ("kubernetes.io/serviceaccount/secret.name", secret),
        ("kubernetes.io/serviceaccount/service-account.name", name),
        ("kubernetes.io/serviceaccount/service-account.uid", uid),
        ("sub", &subject),
    ]
    .into();
    serde_json::to_vec(&claims).expect("texts can be written as JSON")
}
