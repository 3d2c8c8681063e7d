//! What two runs of one script may differ in, taken out.

/// The letters of names that are made up (apimachinery's rand).
const LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
/// How many of them a name has.
const MADE_UP: usize = 5;

/// What stands for a uid.
const UID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

/// `text` with `xxxxx` for the ends of names that were made up.
pub(crate) fn text(text: &str) -> String {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        plain.push_str(&name(word));
        let other = after.find(is_name).unwrap_or(after.len());
        plain.push_str(&after[..other]);
        rest = &after[other..];
    }
    plain
}

/// A name with `xxxxx` for its end, if that was made up; a uid is made up as a whole.
fn name(name: &str) -> String {
    if is_uid(name) {
        return UID.to_owned();
    }
    match name.rsplit_once('-') {
        Some((base, end)) if end.len() == MADE_UP && end.chars().all(|c| LETTERS.contains(c)) => {
            format!("{base}-xxxxx")
        }
        _ => name.to_owned(),
    }
}

fn is_uid(name: &str) -> bool {
    let is_like = |(c, model): (char, char)| (c == '-') == (model == '-');
    name.len() == UID.len()
        && name.chars().zip(UID.chars()).all(is_like)
        && name.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}
