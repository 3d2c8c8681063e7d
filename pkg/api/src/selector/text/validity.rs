//! What is wrong with a key or a value of a label (apimachinery's `content`).

const KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const NAME_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start \
                         and end with an alphanumeric character";
const PREFIX_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
                           characters, '-' or '.', and must start and end with an alphanumeric \
                           character (e.g. 'example.com', regex used for validation is \
                           '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const NAME_BYTES_MAX: usize = 63;
const PREFIX_BYTES_MAX: usize = 253;

/// As `IsLabelKey`, joined; none: it is fine.
pub(super) fn key_fault(key: &str) -> Option<String> {
    let examples = format!("(e.g. 'MyName',  or 'my.name',  or '123-abc', {})", regex(KEY));
    let mut faults = Vec::new();
    let parts: Vec<_> = key.split('/').collect();
    let name = match *parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            faults.extend(prefix_faults(prefix));
            name
        }
        _ => {
            return Some(format!(
                "a valid label key {NAME_RULE} {examples} with an optional DNS subdomain prefix \
                 and '/' (e.g. 'example.com/MyName')"
            ));
        }
    };
    if name.is_empty() {
        faults.push("name part must be non-empty".to_owned());
    } else if name.len() > NAME_BYTES_MAX {
        faults.push(format!("name part must be no more than {NAME_BYTES_MAX} bytes"));
    }
    if name.is_empty() || !is_name(name) {
        faults.push(format!("name part {NAME_RULE} {examples}"));
    }
    (!faults.is_empty()).then(|| faults.join("; "))
}

/// As `IsLabelValue`, joined; none: it is fine.
pub(super) fn value_fault(value: &str) -> Option<String> {
    let mut faults = Vec::new();
    if value.len() > NAME_BYTES_MAX {
        faults.push(format!("must be no more than {NAME_BYTES_MAX} bytes"));
    }
    if !value.is_empty() && !is_name(value) {
        let regex = regex(&format!("({KEY})?"));
        faults.push(format!(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', \
             '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  \
             or 'my_value',  or '12345', {regex})"
        ));
    }
    (!faults.is_empty()).then(|| faults.join("; "))
}

fn prefix_faults(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let mut faults = Vec::new();
    if prefix.len() > PREFIX_BYTES_MAX {
        faults.push(format!("prefix part must be no more than {PREFIX_BYTES_MAX} bytes"));
    }
    // Its length is looked at above.
    let is_part = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let ends_well = !part.starts_with('-') && !part.ends_with('-');
        !part.is_empty() && part.bytes().all(inner) && ends_well
    };
    if !prefix.split('.').all(is_part) {
        faults.push(format!("prefix part {PREFIX_RULE}"));
    }
    faults
}

fn is_name(name: &str) -> bool {
    let outer = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let bytes = name.as_bytes();
    outer(bytes.first()) && outer(bytes.last()) && bytes.iter().all(inner)
}

fn regex(regex: &str) -> String {
    format!("regex used for validation is '{regex}'")
}
