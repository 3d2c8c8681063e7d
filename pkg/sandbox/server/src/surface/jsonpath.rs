//! The part of client-go's JSONPath that columns of custom resources use: `.spec.replicas`,
//! `.metadata.annotations.example\.org/owner`, `['a']`, `[0]`, `[*]`,
//! `[?(@.type=="Ready")]`.

use serde_json::Value;

/// A path, or what of it could be read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonPath(Vec<Step>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    /// From the end if negative.
    Index(i64),
    /// Each item, or each value.
    All,
    /// The items whose value at the path is this.
    Where(Vec<Step>, Value),
}

// === impl JsonPath ===

impl JsonPath {
    /// Reads a path; none: it is of a form that is not known here.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('$').unwrap_or(text);
        steps(text).map(Self)
    }

    /// The first value at the path.
    pub(super) fn first<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        find(&self.0, object)
    }
}

fn steps(text: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if first == '.' {
            let (field, after) = field(&rest[1..]);
            match field.as_str() {
                // Before a bracket.
                "" => {}
                "*" => steps.push(Step::All),
                _ => steps.push(Step::Field(field)),
            }
            rest = after;
        } else if let Some(inner) = rest.strip_prefix('[') {
            let (step, after) = bracket(inner)?;
            steps.push(step);
            rest = after;
        } else {
            return None;
        }
    }
    Some(steps)
}

/// A name up to the next step; a backslash takes the meaning of what follows.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => name.extend(chars.next().map(|(_, char)| char)),
            '.' | '[' => return (name, &text[at..]),
            _ => name.push(char),
        }
    }
    (name, "")
}

fn bracket(text: &str) -> Option<(Step, &str)> {
    if let Some(filter) = text.strip_prefix("?(") {
        let (filter, after) = filter.split_once(")]")?;
        let (path, value) = filter.split_once("==")?;
        let path = steps(path.trim().strip_prefix('@')?)?;
        let value = value.trim();
        let quoted = ['"', '\''].into_iter().find_map(|quote| {
            value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote))
        });
        let value = match quoted {
            Some(text) => text.into(),
            None => serde_json::from_str(value).ok()?,
        };
        return Some((Step::Where(path, value), after));
    }
    for quote in ["'", "\""] {
        if let Some(name) = text.strip_prefix(quote) {
            let (name, after) = name.split_once(&format!("{quote}]"))?;
            return Some((Step::Field(name.replace('\\', "")), after));
        }
    }
    let (index, after) = text.split_once(']')?;
    match index {
        "*" => Some((Step::All, after)),
        index => Some((Step::Index(index.parse().ok()?), after)),
    }
}

fn find<'a>(steps: &[Step], value: &'a Value) -> Option<&'a Value> {
    let Some((step, rest)) = steps.split_first() else { return Some(value) };
    match step {
        Step::Field(name) => find(rest, value.get(name)?),
        Step::Index(index) => {
            let items = value.as_array()?;
            let length = i64::try_from(items.len()).ok()?;
            let at = if *index < 0 { index + length } else { *index };
            find(rest, items.get(usize::try_from(at).ok()?)?)
        }
        Step::All => match value {
            Value::Array(items) => items.iter().find_map(|item| find(rest, item)),
            Value::Object(fields) => fields.values().find_map(|item| find(rest, item)),
            _ => None,
        },
        Step::Where(path, wanted) => {
            let mut items = value.as_array()?.iter();
            items.find_map(|item| {
                let is_it = find(path, item) == Some(wanted);
                is_it.then(|| find(rest, item)).flatten()
            })
        }
    }
}
