//! Whether a request is signed. As `handle` of upstream's
//! `pkg/controller/certificates/signer/signer.go`.

use std::time::Duration;

use api::{CertificateRequest, CertificateSigningRequest, Edit, Kind, go};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use controller::{ObjectRef, Plan, Retry, Step, Write};
use serde_json::{Value, json};

use super::certificate::{Validity, duration, issue};
use super::snapshot::{Snapshot, Task};
use super::usages::Usages;

/// The characters in a line of a PEM text.
const PEM_LINE: usize = 64;

pub(super) fn decide(s: &Snapshot, duration_max: Duration) -> Plan {
    let task = match &s.task {
        Ok(task) => task,
        Err(why) => return Plan::rest(why.clone()),
    };
    let request = match &task.request {
        Ok(request) => request,
        Err(error) => {
            let name = go::quote(&*s.csr.meta.key.name);
            let error = format!("unable to parse csr {name}: {error}");
            return Plan::failed("the request cannot be read", error);
        }
    };
    if let Some(why) = task.profile.refuses(request, &s.csr.usages) {
        return fail(s, &why);
    }
    match certificate(s, task, request, duration_max) {
        Ok(der) => {
            let certificate = STANDARD.encode(pem(&der));
            let edit = Edit::new(["status", "certificate"], json!(certificate));
            let name = task.profile.signer_name();
            write(&s.csr, format!("{name} signs what is approved"), edit)
        }
        Err(error) => {
            let error = format!("error auto signing csr: {error}");
            Plan::failed("it cannot be signed", error)
        }
    }
}

/// As `sign`.
fn certificate(
    s: &Snapshot,
    task: &Task,
    request: &CertificateRequest,
    duration_max: Duration,
) -> Result<Vec<u8>, String> {
    let issuer = task.issuer.as_ref().map_err(Clone::clone)?;
    let verified = issuer.signer.verify(request);
    verified.map_err(|error| format!("unable to verify certificate request signature: {error}"))?;
    let usages = Usages::of(&s.csr.usages)?;
    let duration = duration(s.csr.expiration_seconds, duration_max);
    let validity = Validity::new(s.now, duration, issuer.not_after)?;
    let issued = issue(request, &usages, validity, issuer);
    issued.map_err(|error| format!("failed to sign certificate: {error}"))
}

/// Gives a request up.
fn fail(s: &Snapshot, why: &str) -> Plan {
    let status = s.csr.raw.field("status").map(|status| serde_json::from_str(status.get()));
    let status: Value = status.and_then(Result::ok).unwrap_or_default();
    let mut conditions = match status.get("conditions") {
        Some(Value::Array(conditions)) => conditions.clone(),
        _ => Vec::new(),
    };
    conditions.push(json!({
        "type": "Failed",
        "status": "True",
        "reason": "SignerValidationFailure",
        "message": why,
        "lastUpdateTime": s.now,
    }));
    let edit = Edit::new(["status", "conditions"], conditions.into());
    write(&s.csr, format!("this signer does not sign it: {why}"), edit)
}

fn write(csr: &CertificateSigningRequest, why: String, edit: Edit) -> Plan {
    let object = ObjectRef::new(&CertificateSigningRequest::RESOURCE, &csr.meta);
    let update = Write::status(object, csr.raw.clone(), vec![edit], Retry::Never);
    Plan::one(why, Step::InOrder(vec![update.into()]))
}

/// A certificate as a PEM text.
fn pem(der: &[u8]) -> String {
    const LABEL: &str = "CERTIFICATE-----\n";
    let base64 = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {LABEL}");
    let mut rest = &*base64;
    while !rest.is_empty() {
        let (line, next) = rest.split_at(rest.len().min(PEM_LINE));
        text.push_str(line);
        text.push('\n');
        rest = next;
    }
    text + "-----END " + LABEL
}
