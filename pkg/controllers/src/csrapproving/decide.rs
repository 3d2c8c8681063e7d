//! Whether a request is approved. As `handle` in upstream's
//! `pkg/controller/certificates/approver/sarapprove.go`.

use api::{CertificateRequest, CertificateSigningRequest, Edit, Kind, Resource, go};
use controller::{Answer, Facts, ObjectRef, Plan, Query, Refused, Step, Write};
use mutant::Mutant;
use serde_json::{Value, json};

use super::snapshot::Snapshot;

/// Upstream's `KubeAPIServerClientKubeletSignerName`.
const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const REVIEW: Resource = Resource::cluster_scoped(
    "authorization.k8s.io",
    "v1",
    "subjectaccessreviews",
    "SubjectAccessReview",
);

/// A reason to approve. Upstream's `csrRecognizer`.
struct Recognizer {
    /// What the author must be allowed to create.
    subresource: &'static str,
    /// What the review is about.
    about: &'static str,
    /// What the condition says.
    message: &'static str,
}

const SELF_NODE_CLIENT: Recognizer = Recognizer {
    subresource: "selfnodeclient",
    about: "may its author create certificatesigningrequests/selfnodeclient?",
    message: "Auto approving self kubelet client certificate after SubjectAccessReview.",
};
const NODE_CLIENT: Recognizer = Recognizer {
    subresource: "nodeclient",
    about: "may its author create certificatesigningrequests/nodeclient?",
    message: "Auto approving kubelet client certificate after SubjectAccessReview.",
};

pub(super) fn decide(s: &Snapshot, facts: &Facts) -> Plan {
    let csr = &*s.csr;
    let Some(request) = &s.request else {
        return Plan::rest(settled(csr));
    };
    // First, otherwise than upstream, which reads what the API server has read the same way.
    if *csr.signer_name != *SIGNER {
        return Plan::rest("it is for another signer: other approvers decide");
    }
    let name = go::quote(&*csr.meta.key.name);
    let request = match request {
        Ok(request) => request,
        Err(error) => {
            let error = format!("unable to parse csr {name}: {error}");
            return Plan::failed("the request cannot be read", error);
        }
    };
    if let Some(why) = request.no_kubelet_client(&csr.usages) {
        return Plan::rest(format!("other approvers decide: {why}"));
    }
    let mut tried = Vec::new();
    for recognizer in recognizers(csr, request) {
        let query = review(csr, &recognizer);
        let Some(answer) = facts.get(&query) else {
            return Plan::fetch(recognizer.about, vec![query]);
        };
        match is_allowed(answer) {
            Ok(true) => return approve(csr, &recognizer),
            Ok(false) => tried.push(recognizer.subresource),
            Err(error) => return Plan::failed("the review failed", error.to_string()),
        }
    }
    let tried = tried.join(" ");
    let error =
        format!("recognized csr {name} as [{tried}] but subject access review was not approved");
    Plan::failed_quietly("its author may not have it", error)
}

/// Why there is nothing to decide.
fn settled(csr: &CertificateSigningRequest) -> String {
    match &csr.unreadable {
        Some(error) => format!("the object cannot be read: {error}"),
        None if csr.issued => "the certificate is there".to_owned(),
        None if csr.is_denied() => "it is denied".to_owned(),
        None => "it is approved".to_owned(),
    }
}

/// The reasons to approve the request of a kubelet, the strongest first.
fn recognizers(csr: &CertificateSigningRequest, request: &CertificateRequest) -> Vec<Recognizer> {
    if csr.requestor.username == request.subject.common_name {
        vec![SELF_NODE_CLIENT, NODE_CLIENT]
    } else {
        vec![NODE_CLIENT]
    }
}

/// As `authorize`.
fn review(csr: &CertificateSigningRequest, recognizer: &Recognizer) -> Query {
    let who = &csr.requestor;
    let body = json!({
        "apiVersion": REVIEW.api_version(),
        "kind": REVIEW.kind,
        "spec": {
            "user": who.username,
            "uid": who.uid,
            "groups": who.groups,
            "extra": who.extra,
            "resourceAttributes": {
                "verb": "create",
                "group": CertificateSigningRequest::RESOURCE.group,
                "version": "*",
                "resource": CertificateSigningRequest::RESOURCE.plural,
                "subresource": recognizer.subresource,
            },
        },
    });
    Query::review(REVIEW, recognizer.about, &body)
}

/// What the review says; that it says nothing is no.
fn is_allowed(answer: &Answer) -> Result<bool, &Refused> {
    let answer = answer.json()?;
    let is_allowed = answer.pointer("/status/allowed").and_then(Value::as_bool).unwrap_or(false);
    Ok(is_allowed || mutant::is(Mutant::ReviewIgnored))
}

/// As `appendApprovalCondition`. The API server adds the times.
fn approve(csr: &CertificateSigningRequest, recognizer: &Recognizer) -> Plan {
    let status = csr.raw.field("status").map(|status| serde_json::from_str(status.get()));
    let status: Value = status.and_then(Result::ok).unwrap_or_default();
    let mut conditions = match status.get("conditions") {
        Some(Value::Array(conditions)) => conditions.clone(),
        _ => Vec::new(),
    };
    conditions.push(json!({
        "type": "Approved",
        "status": "True",
        "reason": "AutoApproved",
        "message": recognizer.message,
    }));
    let object = ObjectRef::new(&CertificateSigningRequest::RESOURCE, &csr.meta);
    let edits = vec![Edit::new(["status", "conditions"], conditions.into())];
    let update = Write::update(object, csr.raw.clone(), edits).at("approval");
    let why = format!("its author may create {}", recognizer.subresource);
    Plan::one(why, Step::InOrder(vec![update.into()]))
}
