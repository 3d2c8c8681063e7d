//! `/token` of service accounts.

use std::time::Duration;

use serde_json::Value;
use strategies::Path;

use super::body::{Wanted, put_in_namespace};
use super::fields::{map, metadata, number, text, texts};
use super::options::{Of, Options};
use super::{Written, found};
use crate::access::AUDIENCE;
use crate::admission::{self, Attributes, Operation};
use crate::request::Call;
use crate::server::State;
use crate::status::{About, Status};
use crate::surface;

/// The kind of the documents.
const REQUEST: (&str, &str, &str) = ("authentication.k8s.io", "v1", "TokenRequest");
const LIFETIME_SECONDS_DEFAULT: i64 = 3600;
const LIFETIME_SECONDS_MIN: i64 = 600;
const LIFETIME_SECONDS_MAX: i64 = 1 << 32;

/// Handles a POST.
pub(super) fn create(state: &mut State, call: &Call) -> Result<Written, Status> {
    let options = Options::read(call, Of::Create)?;
    let decoded = Wanted::document(REQUEST, options.strictness).read(call)?;
    let mut request = decoded.object;
    put_in_namespace(&mut request, call)?;
    let attributes = Attributes::of(call, Operation::Create);
    admission::admit(state, &attributes, &mut request, None)?;
    let said = text(&request, "/metadata/name");
    if !said.is_empty() && said != call.name {
        return Err(Status::bad_request(format!(
            "service account name in URL ({}) does not match name in TokenRequest ({said})",
            call.name
        )));
    }
    let account = found(state, call)?;
    let asked = number(&request, "/spec/expirationSeconds");
    let seconds = asked.unwrap_or(LIFETIME_SECONDS_DEFAULT);
    let path = Path::new("spec").child("expirationSeconds");
    let fault = match seconds {
        ..LIFETIME_SECONDS_MIN => {
            Some(path.invalid(seconds, "may not specify a duration less than 10 minutes"))
        }
        LIFETIME_SECONDS_MAX.. => {
            Some(path.invalid(seconds, "may not specify a duration larger than 2^32 seconds"))
        }
        _ => None,
    };
    if let Some(fault) = fault {
        let about = About { group: REQUEST.0, resource: REQUEST.2, name: said };
        return Err(Status::invalid(about, &[fault]));
    }
    map(&mut request, &["spec"]).insert("expirationSeconds".to_owned(), seconds.into());
    let fields: [(&str, Value); 3] = [
        ("name", call.name.clone().into()),
        ("namespace", call.namespace.clone().into()),
        ("creationTimestamp", call.now.to_string().into()),
    ];
    for (field, value) in fields {
        metadata(&mut request).insert(field.to_owned(), value);
    }
    let expires = call.now + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    let mut audiences = texts(&request, "/spec/audiences");
    if audiences.is_empty() {
        audiences.push(AUDIENCE.to_owned());
        map(&mut request, &["spec"]).insert("audiences".to_owned(), audiences.clone().into());
    }
    let uid = text(&account, "/metadata/uid");
    let token = surface::token::issue_token(&call.namespace, &call.name, uid, &audiences, expires);
    let status = map(&mut request, &["status"]);
    status.insert("token".to_owned(), token.into());
    status.insert("expirationTimestamp".to_owned(), expires.to_string().into());
    Ok(Written { code: 201, document: request.into(), warnings: decoded.warnings })
}
