//! Which field of a JSON text an error is about.
//!
//! Decoded types cannot tell the place of an error: a deserializer that tracks it is compiled once
//! more for each type. The text can, since an error has its position.

use std::fmt::{self, Write as _};

use serde::Deserializer;
use serde::de::{Error, Visitor};
use serde_json::error::Category;

/// Where an open map or list is read: at a field, or at an item.
enum Step {
    Field(String),
    Item(usize),
}

/// The path of the value at which `error` was found, such as `items[0].metadata.name`. Empty if it
/// is the whole text. An error that a map or list raises about one of its values is one of the map.
pub(crate) fn path(json: &[u8], error: &serde_json::Error) -> String {
    let steps = match (up_to(json, error), error.classify()) {
        // The value that ends here, not the last one inside.
        ([read @ .., b'}' | b']'], Category::Data) => {
            let mut steps = walk(read);
            steps.pop();
            steps
        }
        // What was not expected is not read.
        ([read @ .., _], Category::Syntax) | (read, _) => walk(read),
    };
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Field(name) if path.is_empty() || name.is_empty() => path.push_str(&name),
            Step::Field(name) => {
                path.push('.');
                path.push_str(&name);
            }
            // A String takes all that is written.
            Step::Item(index) => drop(write!(path, "[{index}]")),
        }
    }
    path
}

/// A text as `parse` reads it, at once: an error that comes later is one of the map around it.
pub(crate) fn parsed<'de, D: Deserializer<'de>, T>(
    deserializer: D,
    parse: fn(&str) -> Result<T, String>,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(Parsed(parse))
}

struct Parsed<T>(fn(&str) -> Result<T, String>);

impl<T> Visitor<'_> for Parsed<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).map_err(E::custom)
    }
}

/// What was read when the error was found.
fn up_to<'j>(json: &'j [u8], error: &serde_json::Error) -> &'j [u8] {
    let lines = json.split_inclusive(|byte| *byte == b'\n');
    let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
    json.get(..before + error.column()).unwrap_or(json)
}

/// The maps and lists that are open at the end of `json`.
fn walk(json: &[u8]) -> Vec<Step> {
    let (mut steps, mut text) = (Vec::new(), String::new());
    let mut rest = json.iter();
    while let Some(byte) = rest.next() {
        match (byte, steps.last_mut()) {
            (b'"', _) => text = string(&mut rest),
            (b'{', _) => steps.push(Step::Field(String::new())),
            (b'[', _) => steps.push(Step::Item(0)),
            (b'}' | b']', _) => drop(steps.pop()),
            (b':', Some(Step::Field(name))) => name.clone_from(&text),
            (b',', Some(Step::Field(name))) => name.clear(),
            (b',', Some(Step::Item(index))) => *index += 1,
            _ => {}
        }
    }
    steps
}

/// The rest of a string as it is written, without its end.
fn string<'j>(json: &mut impl Iterator<Item = &'j u8>) -> String {
    let mut bytes = Vec::new();
    while let Some(byte) = json.next()
        && *byte != b'"'
    {
        bytes.push(*byte);
        if *byte == b'\\' {
            bytes.extend(json.next());
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
