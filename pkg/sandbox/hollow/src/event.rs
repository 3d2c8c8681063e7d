//! Events, as the API's core group has them.

use api::{Key, Time};
use serde_json::{Value, json};

use crate::fields::text;
use crate::kinds::{EVENTS, target};
use crate::{Request, Target, span};

/// The component that reports.
pub(crate) struct Reporter<'a> {
    /// Such as `kubelet`.
    pub(crate) component: &'a str,
    /// The node, or the name of the process.
    pub(crate) instance: &'a str,
}

/// What happened.
pub(crate) struct Happening<'a> {
    /// `Normal` or `Warning`.
    pub(crate) kind: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
}

/// The object that an event is about.
pub(crate) fn about(kind: &str, object: &Value, path: &str) -> Value {
    let mut about = json!({
        "apiVersion": "v1",
        "kind": kind,
        "name": text(object, "/metadata/name"),
        "uid": text(object, "/metadata/uid"),
    });
    for (name, field) in
        [("namespace", "/metadata/namespace"), ("resourceVersion", "/metadata/resourceVersion")]
    {
        let value = text(object, field);
        if !value.is_empty() {
            about[name] = json!(value);
        }
    }
    if !path.is_empty() {
        about["fieldPath"] = json!(path);
    }
    about
}

/// Where an event lives. `number` distinguishes Events of one moment.
pub(crate) fn place(about: &Value, now: Time, number: u64) -> Target {
    let namespace = match text(about, "/namespace") {
        "" => "default",
        namespace => namespace,
    };
    let stamp = now.unix_nanos().cast_unsigned().wrapping_add(number);
    target(&EVENTS, &Key::new(namespace, &format!("{}.{stamp:x}", text(about, "/name"))), "")
}

/// The first of its kind, as client-go's older recorder writes it.
pub(crate) fn first(
    place: Target,
    about: &Value,
    now: Time,
    what: &Happening<'_>,
    who: &Reporter<'_>,
) -> Request {
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": &*place.key.name, "namespace": &*place.key.namespace },
        "involvedObject": about,
        "type": what.kind,
        "reason": what.reason,
        "message": what.message,
        "source": { "component": who.component, "host": who.instance },
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "eventTime": null,
        "reportingComponent": who.component,
        "reportingInstance": who.instance,
    });
    Request::Create(place, event)
}

/// It happened again.
pub(crate) fn again(place: Target, now: Time, count: u64) -> Request {
    Request::Patch(place, json!({ "count": count, "lastTimestamp": now }))
}

/// The first of its kind, as client-go's newer recorder writes it.
pub(crate) fn acted(
    place: Target,
    about: &Value,
    now: Time,
    what: &Happening<'_>,
    action: (&str, &Reporter<'_>),
) -> Request {
    let (action, who) = action;
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "name": &*place.key.name, "namespace": &*place.key.namespace },
        "involvedObject": about,
        "type": what.kind,
        "reason": what.reason,
        "message": what.message,
        "action": action,
        "source": {},
        "firstTimestamp": null,
        "lastTimestamp": null,
        "eventTime": span::micro(now),
        "reportingComponent": who.component,
        "reportingInstance": who.instance,
    });
    Request::Create(place, event)
}

/// It happened again, and the newer recorder keeps count.
pub(crate) fn acted_again(place: Target, now: Time, count: u64) -> Request {
    let series = json!({ "count": count, "lastObservedTime": span::micro(now) });
    Request::Patch(place, json!({ "series": series }))
}
