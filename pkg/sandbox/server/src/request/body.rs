//! What a body may be.

use bytes::Bytes;
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use schema::from_protobuf;

use super::{Call, Verb};
use crate::status::Status;

/// How bodies of patches may be written.
const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    STRATEGIC,
    "application/apply-patch+yaml",
];
const STRATEGIC: &str = "application/strategic-merge-patch+json";
/// How other bodies may be written. What custom resources are written as in protobuf is not known.
const OBJECTS: [&str; 3] = [JSON, "application/yaml", PROTOBUF];
const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Refuses bodies in formats that the server cannot read, and turns protobuf into JSON.
pub(crate) fn check(call: &mut Call) -> Result<(), Status> {
    let media = call.headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    let media = media.unwrap_or_default().split(';').next().unwrap_or_default();
    let media = media.trim().to_ascii_lowercase();
    let custom = call.served.custom;
    let known: Vec<_> = match call.verb {
        Verb::Get | Verb::List | Verb::Watch => return Ok(()),
        Verb::Delete | Verb::DeleteCollection if call.body.is_empty() => return Ok(()),
        // What custom resources are made of is not known well enough to merge by it.
        Verb::Patch => PATCHES.into_iter().filter(|it| !(custom && *it == STRATEGIC)).collect(),
        Verb::Create | Verb::Update | Verb::Delete | Verb::DeleteCollection => {
            OBJECTS.into_iter().filter(|it| !(custom && *it == PROTOBUF)).collect()
        }
    };
    let media = if media.is_empty() && call.verb != Verb::Patch { JSON } else { &media };
    if !known.contains(&media) {
        let known = known.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: \
             {known}"
        );
        return Err(Status::new(415, "UnsupportedMediaType", message));
    }
    if media == PROTOBUF {
        call.body = json(call)?;
        call.headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    }
    Ok(())
}

/// A body in protobuf as JSON.
fn json(call: &Call) -> Result<Bytes, Status> {
    let resource = &call.served.resource;
    let (group, version, kind) = (&*resource.group, &*resource.version, &*resource.kind);
    let object = from_protobuf(&call.body, (group, version, kind)).map_err(|why| {
        Status::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
        ))
    })?;
    Ok(object.to_string().into())
}
