//! What names, labels, ports and addresses look like, each check with what it says of a bad one, in
//! the words of apimachinery's util/validation and api/validate/content.

use ::core::net::{IpAddr, Ipv6Addr};

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_LENGTH_MAX: usize = 63;
const SUBDOMAIN_LENGTH_MAX: usize = 253;
const NO_IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const NO_CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// What is wrong with a value, a sentence each.
pub(crate) type Wrongs = Vec<String>;

/// IsDNS1123Label.
pub(crate) fn dns_label(value: &str) -> Wrongs {
    let mut wrongs = too_long(value, LABEL_LENGTH_MAX);
    if !is_label(value) {
        wrongs.push(if is_subdomain(value) {
            "must not contain dots".to_owned()
        } else {
            regex_error(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
                 '-', and must start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    wrongs
}

/// IsDNS1035Label.
pub(crate) fn dns_label_1035(value: &str) -> Wrongs {
    let mut wrongs = too_long(value, LABEL_LENGTH_MAX);
    if !(is_label(value) && value.starts_with(|char: char| char.is_ascii_lowercase())) {
        wrongs.push(regex_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start \
             with an alphabetic character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    wrongs
}

/// IsDNS1123Subdomain.
pub(crate) fn dns_subdomain(value: &str) -> Wrongs {
    let mut wrongs = too_long(value, SUBDOMAIN_LENGTH_MAX);
    if !is_subdomain(value) {
        wrongs.push(no_subdomain());
    }
    wrongs
}

/// IsQualifiedName, which is IsLabelKey.
pub(crate) fn label_key(value: &str) -> Wrongs {
    let rule = || {
        let rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                    end with an alphanumeric character";
        regex_error(rule, LABEL_KEY, &["MyName", "my.name", "123-abc"])
    };
    let mut wrongs = Wrongs::new();
    let name = match value.split('/').collect::<Vec<_>>().as_slice() {
        [name] => *name,
        [prefix, name] => {
            if prefix.is_empty() {
                wrongs.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > SUBDOMAIN_LENGTH_MAX {
                    let most = SUBDOMAIN_LENGTH_MAX;
                    wrongs.push(format!("prefix part must be no more than {most} bytes"));
                }
                if !is_subdomain(prefix) {
                    wrongs.push(format!("prefix part {}", no_subdomain()));
                }
            }
            name
        }
        _ => {
            let with = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {} {with}", rule())];
        }
    };
    if name.is_empty() {
        wrongs.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_LENGTH_MAX {
        wrongs.push(format!("name part must be no more than {LABEL_LENGTH_MAX} bytes"));
    }
    if !is_label_key(name) {
        wrongs.push(format!("name part {}", rule()));
    }
    wrongs
}

/// IsValidLabelValue.
pub(crate) fn label_value(value: &str) -> Wrongs {
    let mut wrongs = Wrongs::new();
    if value.len() > LABEL_LENGTH_MAX {
        wrongs.push(format!("must be no more than {LABEL_LENGTH_MAX} bytes"));
    }
    if !value.is_empty() && !is_label_key(value) {
        wrongs.push(regex_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' \
             or '.', and must start and end with an alphanumeric character",
            &format!("({LABEL_KEY})?"),
            &["MyValue", "my_value", "12345"],
        ));
    }
    wrongs
}

/// IsPathSegmentName.
pub(crate) fn path_segment(value: &str) -> Wrongs {
    if matches!(value, "." | "..") {
        return vec![format!("may not be '{value}'")];
    }
    path_segment_prefix(value)
}

/// IsPathSegmentPrefix.
pub(crate) fn path_segment_prefix(value: &str) -> Wrongs {
    let illegal = ["/", "%"].into_iter().filter(|part| value.contains(part));
    illegal.map(|part| format!("may not contain '{part}'")).collect()
}

/// IsConfigMapKey.
pub(crate) fn config_key(value: &str) -> Wrongs {
    let mut wrongs = too_long(value, SUBDOMAIN_LENGTH_MAX);
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if value.is_empty() || !value.bytes().all(fits) {
        wrongs.push(regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match value {
        "." => wrongs.push("must not be '.'".to_owned()),
        ".." => wrongs.push("must not be '..'".to_owned()),
        _ if value.starts_with("..") => wrongs.push("must not start with '..'".to_owned()),
        _ => {}
    }
    wrongs
}

/// IsValidPortNum.
pub(crate) fn port_number(port: i64) -> Option<String> {
    in_range(port, 1, 65_535)
}

/// IsInRange: both ends are in it.
pub(crate) fn in_range(value: i64, low: i64, high: i64) -> Option<String> {
    let is_in = (low..=high).contains(&value);
    (!is_in).then(|| format!("must be between {low} and {high}, inclusive"))
}

/// IsValidPortName.
pub(crate) fn port_name(value: &str) -> Wrongs {
    let mut wrongs = too_long(value, 15);
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let mut wrong = |is_wrong: bool, detail: &str| {
        if is_wrong {
            wrongs.push(detail.to_owned());
        }
    };
    wrong(
        value.is_empty() || !value.bytes().all(fits),
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    );
    let has_letter = value.bytes().any(|byte| byte.is_ascii_lowercase());
    wrong(!has_letter, "must contain at least one letter (a-z)");
    wrong(value.contains("--"), "must not contain consecutive hyphens");
    let hyphen = value.starts_with('-') || value.ends_with('-');
    wrong(hyphen, "must not begin or end with a hyphen");
    wrongs
}

/// IsValidPercent.
pub(crate) fn percent(value: &str) -> Wrongs {
    let digits = value.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Wrongs::new();
    }
    let rule = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![regex_error(rule, "[0-9]+%", &["1%", "93%"])]
}

/// IsRelaxedEnvVarName.
pub(crate) fn variable_name(value: &str) -> Wrongs {
    let mut wrongs = Wrongs::new();
    if value.is_empty() {
        wrongs.push("environment variable name must be non-empty".to_owned());
    }
    if value.chars().any(|char| !matches!(char, ' '..='~') || char == '=') {
        let wrong = "a valid environment variable name must consist only of printable ASCII \
                     characters other than '='";
        wrongs.push(wrong.to_owned());
    }
    wrongs
}

/// IsHTTPHeaderName.
pub(crate) fn http_header(value: &str) -> Wrongs {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if !value.is_empty() && value.bytes().all(fits) {
        return Wrongs::new();
    }
    let rule = "a valid HTTP header must consist of alphanumeric characters or '-'";
    vec![regex_error(rule, "[-A-Za-z0-9]+", &["X-Header-Name"])]
}

/// IsValidIPForLegacyField, strictly: not necessarily in canonical form.
pub(crate) fn legacy_ip(value: &str) -> Wrongs {
    match value.parse::<IpAddr>() {
        Ok(ip) if is_mapped(ip) => vec!["must not be an IPv4-mapped IPv6 address".to_owned()],
        Ok(_) => Wrongs::new(),
        Err(_) if without_zeros(value).parse::<IpAddr>().is_ok() => {
            vec!["must not have leading 0s".to_owned()]
        }
        Err(_) => vec![NO_IP.to_owned()],
    }
}

/// IsValidIP: in canonical form.
pub(crate) fn ip(value: &str) -> Wrongs {
    let wrongs = legacy_ip(value);
    match value.parse::<IpAddr>() {
        Ok(ip) if wrongs.is_empty() && ip.to_string() != value => {
            vec![format!("must be in canonical form (\"{ip}\")")]
        }
        _ => wrongs,
    }
}

/// ValidateEndpointIP: an address that endpoints can have.
pub(crate) fn endpoint_ip(value: &str) -> Wrongs {
    let Ok(ip) = value.parse::<IpAddr>() else {
        return vec!["must be a valid IP address".to_owned()];
    };
    let (local, local_multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), ip.segments()[0] == 0xff02),
    };
    let ranges = [
        (ip.is_unspecified(), format!("may not be unspecified ({value})")),
        (ip.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()),
        (local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()),
        (
            local_multicast,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned(),
        ),
    ];
    ranges.into_iter().filter(|(is_in, _)| *is_in).map(|(_, wrong)| wrong).collect()
}

/// IsValidCIDRForLegacyField, strictly.
pub(crate) fn legacy_cidr(value: &str) -> Wrongs {
    let Some((ip, bits)) = parts(value) else { return vec![NO_CIDR.to_owned()] };
    if is_mapped(ip) {
        return vec!["must not have an IPv4-mapped IPv6 address".to_owned()];
    }
    if network(ip, bits) != ip {
        return vec!["must not have bits set beyond the prefix length".to_owned()];
    }
    Wrongs::new()
}

/// IsValidCIDR: in canonical form.
pub(crate) fn cidr(value: &str) -> Wrongs {
    let wrongs = legacy_cidr(value);
    match parts(value) {
        Some((ip, bits)) if wrongs.is_empty() && format!("{ip}/{bits}") != value => {
            vec![format!("must be in canonical form (\"{ip}/{bits}\")")]
        }
        _ => wrongs,
    }
}

/// An address and the length of its prefix.
pub(crate) fn parts(cidr: &str) -> Option<(IpAddr, u32)> {
    let (ip, bits) = cidr.split_once('/')?;
    let ip: IpAddr = ip.parse().ok()?;
    let most = if ip.is_ipv4() { 32 } else { 128 };
    let plain = bits.bytes().all(|byte| byte.is_ascii_digit());
    let bits: u32 = bits.parse().ok().filter(|bits| plain && *bits <= most)?;
    Some((ip, bits))
}

fn network(ip: IpAddr, bits: u32) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - bits.min(32)).unwrap_or_default();
            IpAddr::V4((u32::from(ip) & mask).into())
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - bits.min(128)).unwrap_or_default();
            IpAddr::V6((u128::from(ip) & mask).into())
        }
    }
}

fn is_mapped(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(_) => false,
        IpAddr::V6(ip) => Ipv6Addr::to_ipv4_mapped(&ip).is_some(),
    }
}

fn without_zeros(ip: &str) -> String {
    let octet = |octet: &str| match octet.trim_start_matches('0') {
        "" if !octet.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    ip.split('.').map(octet).collect::<Vec<_>>().join(".")
}

fn is_label(value: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !value.is_empty()
        && value.bytes().all(inner)
        && !value.starts_with('-')
        && !value.ends_with('-')
}

fn is_subdomain(value: &str) -> bool {
    value.split('.').all(is_label)
}

fn is_label_key(name: &str) -> bool {
    let outer = |byte: &u8| byte.is_ascii_alphanumeric();
    let bytes = name.as_bytes();
    bytes.iter().all(|byte| outer(byte) || matches!(byte, b'-' | b'_' | b'.'))
        && bytes.first().is_some_and(outer)
        && bytes.last().is_some_and(outer)
}

fn no_subdomain() -> String {
    regex_error(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
         '.', and must start and end with an alphanumeric character",
        SUBDOMAIN,
        &["example.com"],
    )
}

fn too_long(value: &str, most: usize) -> Wrongs {
    if value.len() <= most {
        return Wrongs::new();
    }
    vec![format!("must be no more than {most} characters")]
}

/// RegexError.
pub(crate) fn regex_error(rule: &str, regex: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{rule} (regex used for validation is '{regex}')");
    }
    let examples: Vec<_> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{rule} (e.g. {}regex used for validation is '{regex}')", examples.join(" or "))
}
