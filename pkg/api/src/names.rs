//! What the API server accepts as names and labels.

const LABEL_LENGTH_MAX: usize = 63;
const SUBDOMAIN_LENGTH_MAX: usize = 253;

/// Whether `name` can name a pod and most other objects: parts of lower-case letters, digits and
/// inner dashes, joined by dots. As upstream's `IsDNS1123Subdomain`.
pub fn is_subdomain(name: &str) -> bool {
    let part_is_valid = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !part.is_empty()
            && part.bytes().all(inner)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    name.len() <= SUBDOMAIN_LENGTH_MAX && name.split('.').all(part_is_valid)
}

/// Whether `key` can be the key of a label: `name` or `sub.domain/name`. As upstream's
/// `IsLabelKey`.
pub fn is_label_key(key: &str) -> bool {
    match key.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_label_name(name),
        None => is_label_name(key),
    }
}

/// Whether `value` can be the value of a label. As upstream's `IsValidLabelValue`.
pub fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_label_name(value)
}

fn is_label_name(name: &str) -> bool {
    let outer = |byte: &u8| byte.is_ascii_alphanumeric();
    let inner = |byte: &u8| outer(byte) || matches!(byte, b'-' | b'_' | b'.');
    let bytes = name.as_bytes();
    bytes.len() <= LABEL_LENGTH_MAX
        && bytes.iter().all(inner)
        && bytes.first().is_some_and(outer)
        && bytes.last().is_some_and(outer)
}
