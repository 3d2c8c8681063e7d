//! Columns and cells of tables.

use api::Time;
use serde_json::Value;

use crate::value::{items, text, texts};
use crate::{Cell, Column};

/// The heading of [`name`].
pub(crate) const NAME: Column =
    Column { name: "Name", kind: "string", format: "name", wide: false };

/// The heading of [`age`].
pub(crate) const AGE: Column = heading("Age");

/// The headings of a workload's pods.
pub(crate) const CONTAINERS: Column = wide("Containers");
pub(crate) const IMAGES: Column = wide("Images");
pub(crate) const SELECTOR: Column = wide("Selector");

/// The columns of [`created_row`].
pub(crate) const CREATED: &[Column] = &[NAME, column("Created At", "date")];

/// Name and age.
pub(crate) fn row(object: &Value, now: Time) -> Vec<Cell> {
    vec![name(object), age(object, now)]
}

/// A heading of text.
pub(crate) const fn heading(name: &'static str) -> Column {
    column(name, "string")
}

/// A heading of whole numbers.
pub(crate) const fn integer(name: &'static str) -> Column {
    column(name, "integer")
}

/// A heading of truths.
pub(crate) const fn boolean(name: &'static str) -> Column {
    column(name, "boolean")
}

/// A heading of text that only `-o wide` shows.
pub(crate) const fn wide(name: &'static str) -> Column {
    Column { wide: true, ..heading(name) }
}

const fn column(name: &'static str, kind: &'static str) -> Column {
    Column { name, kind, format: "", wide: false }
}

/// Name and creation, as the API server prints kinds without a printer.
pub(crate) fn created_row(object: &Value) -> Vec<Cell> {
    let created = object.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    vec![name(object), created.unwrap_or("0001-01-01T00:00:00Z").into()]
}

/// `metadata.name`.
pub(crate) fn name(object: &Value) -> Cell {
    cell(object, "/metadata/name")
}

/// The text at a JSON pointer.
pub(crate) fn cell(object: &Value, pointer: &str) -> Cell {
    text(object, pointer).into()
}

/// The same, or `otherwise` if it is empty.
pub(crate) fn cell_or(object: &Value, pointer: &str, otherwise: &str) -> Cell {
    match text(object, pointer) {
        "" => otherwise.into(),
        text => text.into(),
    }
}

/// The cells of [`CONTAINERS`] and [`IMAGES`] (layoutContainerCells).
pub(crate) fn container_cells(template: &Value) -> [Cell; 2] {
    let containers = items(template, "/spec/containers");
    ["name", "image"].map(|field| {
        let texts: Vec<_> = containers.iter().map(|container| text(container, field)).collect();
        texts.join(",").into()
    })
}

/// The first `most` of a list and how many more there are (listWithMoreString).
pub(crate) fn some(list: &[String], most: usize, none: &str) -> String {
    match list.len().checked_sub(most) {
        _ if list.is_empty() => none.to_owned(),
        Some(more @ 1..) => format!("{} + {more} more...", list[..most].join(",")),
        _ => list.join(","),
    }
}

/// The addresses that a load balancer gave (loadBalancerStatusStringer).
pub(crate) fn load_balancer(object: &Value) -> String {
    let given = items(object, "/status/loadBalancer/ingress").iter();
    let addresses: std::collections::BTreeSet<_> = given
        .map(|given| match text(given, "/ip") {
            "" => text(given, "/hostname"),
            ip => ip,
        })
        .filter(|address| !address.is_empty())
        .collect();
    addresses.into_iter().collect::<Vec<_>>().join(",")
}

/// Access modes by their short names (GetAccessModesAsString).
pub(crate) fn access_modes(object: &Value, pointer: &str) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let modes = texts(object, pointer);
    let short = SHORT.iter().filter(|(mode, _)| modes.contains(mode)).map(|(_, short)| *short);
    short.collect::<Vec<_>>().join(",")
}

/// How long ago it was created, as upstream's printers write it: `5d`, `3m20s`, `<unknown>`.
pub(crate) fn age(object: &Value, now: Time) -> Cell {
    let created = object.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    since(created, now).into()
}

/// How long ago an RFC 3339 time was (duration.HumanDuration of apimachinery).
pub(crate) fn since(moment: Option<&str>, now: Time) -> String {
    let Some(moment) = moment.and_then(|text| Time::parse(text).ok()) else {
        return "<unknown>".to_owned();
    };
    human(now.unix_nanos().saturating_sub(moment.unix_nanos()) / 1_000_000_000)
}

/// As duration.HumanDuration.
pub(crate) fn human(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |big: i64, unit: &str, small: i64, part: &str| match small {
        0 => format!("{big}{unit}"),
        _ => format!("{big}{unit}{small}{part}"),
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => two(years, "y", days % 365, "d"),
        _ => format!("{years}y"),
    }
}
