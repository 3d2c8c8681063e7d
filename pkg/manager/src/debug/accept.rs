//! The format that a request asks for.

/// The format of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Html,
    Json,
    Text,
}

/// The format that the header `Accept` prefers: the highest `q`, of equal ones the first. Text if
/// the client leaves the choice open or asks only for unknown types, since curl sends `*/*`.
pub(super) fn choose(accept: &str) -> Format {
    let mut best = (0, Format::Text);
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let format = match parts.next().unwrap_or_default().to_ascii_lowercase().as_str() {
            "text/html" | "application/xhtml+xml" => Format::Html,
            "application/json" | "application/*" => Format::Json,
            "text/plain" | "text/*" | "*/*" => Format::Text,
            _ => continue,
        };
        let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(1000, thousandths);
        if weight > best.0 {
            best = (weight, format);
        }
    }
    best.1
}

/// A weight in the syntax of RFC 9110; one that cannot be parsed counts as zero.
fn thousandths(text: &str) -> u32 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 3 {
        return 0;
    }
    match (whole, format!("{fraction:0<3}").parse::<u32>()) {
        ("0", Ok(fraction)) => fraction,
        ("1", Ok(0)) => 1000,
        _ => 0,
    }
}
