//! Names of images.

/// The default pull policy: always for a tag that moves (`latest`).
pub(crate) fn pull_policy(image: &str) -> &'static str {
    if tag(image) == Some("latest") { "Always" } else { "IfNotPresent" }
}

/// The tag, `latest` if there is neither tag nor digest (ParseImageName). None: there is only a
/// digest, or this is no name of an image.
fn tag(image: &str) -> Option<&str> {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let last = name.rfind('/').map_or(0, |at| at + 1);
    let (repository, tag) = match name[last..].split_once(':') {
        Some((_, tag)) => (&name[..name.len() - tag.len() - 1], Some(tag)),
        None => (name, None),
    };
    let is_hash = repository.len() == 64
        && repository.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_repository(repository) || (is_hash && tag.is_none() && digest.is_none()) {
        return None;
    }
    if !tag.is_none_or(is_tag) || !digest.is_none_or(is_digest) {
        return None;
    }
    tag.or(if digest.is_none() { Some("latest") } else { None })
}

/// Parts in lower case, after a host that may have more.
fn is_repository(name: &str) -> bool {
    let path = match name.split_once('/') {
        Some((host, path)) if is_host(host) => path,
        _ => name,
    };
    path.split('/').all(is_part)
}

fn is_host(part: &str) -> bool {
    let is_likely = part == "localhost"
        || part.contains(['.', ':'])
        || part.bytes().any(|byte| byte.is_ascii_uppercase());
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
    is_likely && part.bytes().all(known)
}

/// Letters and digits, separated by a dot, one or two underscores, or dashes.
fn is_part(part: &str) -> bool {
    let outer = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit();
    let separators = part.split(outer).filter(|it| !it.is_empty());
    let mut separators = separators.map(|it| matches!(it, "." | "_" | "__") || all_dashes(it));
    part.starts_with(outer) && part.ends_with(outer) && separators.all(|valid| valid)
}

fn all_dashes(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'-')
}

fn is_tag(tag: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    (1..=128).contains(&tag.len()) && tag.bytes().all(inner) && !tag.starts_with(['.', '-'])
}

fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(algorithm, hash)| {
        !algorithm.is_empty() && hash.len() >= 32 && hash.bytes().all(|it| it.is_ascii_hexdigit())
    })
}
