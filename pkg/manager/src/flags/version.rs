//! Versions as k8s.io/apimachinery/pkg/util/version reads them; errors have its words.

/// The numbers of a version, at least two: `v1.36`, `1.36.3`. The rest is ignored.
pub(crate) fn generic(text: &str) -> Result<Vec<u64>, String> {
    let (numbers, _) = split(text)?;
    if numbers.len() < 2 {
        return Err(format!("illegal version string {text:?}"));
    }
    zero_prefixed(text, numbers[0])?;
    components(text, &numbers)
}

/// The three numbers of a semantic version; the rest must be well-formed.
pub(crate) fn semantic(text: &str) -> Result<Vec<u64>, String> {
    let (numbers, extra) = split(text)?;
    if numbers.len() != 3 {
        return Err(format!("illegal version string {text:?}"));
    }
    numbers.iter().try_for_each(|number| zero_prefixed(text, number))?;
    let components = components(text, &numbers)?;
    let pre = pre_release(extra.trim_end()).ok_or_else(|| {
        format!("could not parse pre-release/metadata ({extra}) in version {text:?}")
    })?;
    let mut numeric = pre.split('.').filter(|part| part.parse::<u64>().is_ok());
    numeric.try_for_each(|part| zero_prefixed(text, part))?;
    Ok(components)
}

/// The numbers, separated by dots, and the rest.
fn split(text: &str) -> Result<(Vec<&str>, &str), String> {
    let start = text.trim_start();
    let start = start.strip_prefix('v').unwrap_or(start);
    let is_digit = |at: usize| start.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    // A dot counts only if a number follows.
    while is_digit(end) || end > 0 && start[end..].starts_with('.') && is_digit(end + 1) {
        end += 1;
    }
    if end == 0 {
        return Err(format!("could not parse {text:?} as version"));
    }
    let (numbers, extra) = start.split_at(end);
    Ok((numbers.split('.').collect(), extra))
}

fn zero_prefixed(text: &str, number: &str) -> Result<(), String> {
    if number.starts_with('0') && number != "0" {
        return Err(format!("illegal zero-prefixed version component {number:?} in {text:?}"));
    }
    Ok(())
}

fn components(text: &str, numbers: &[&str]) -> Result<Vec<u64>, String> {
    let number = |part: &&str| {
        let what = format!("illegal non-numeric version component {part:?} in {text:?}");
        let range = format!("strconv.ParseUint: parsing {part:?}: value out of range");
        part.parse().map_err(|_| format!("{what}: {range}"))
    };
    numbers.iter().map(number).collect()
}

/// The pre-release of `-pre.release+meta.data`; none if that is not well-formed.
fn pre_release(extra: &str) -> Option<&str> {
    let (pre, build) = match extra.split_once('+') {
        Some((pre, build)) => (pre, Some(build)),
        None => (extra, None),
    };
    let is_good = |text: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        text.split('.').all(|part| !part.is_empty() && part.bytes().all(allowed))
    };
    let pre = match pre.strip_prefix('-') {
        Some(pre) if is_good(pre) => pre,
        None if pre.is_empty() => pre,
        _ => return None,
    };
    build.is_none_or(is_good).then_some(pre)
}
