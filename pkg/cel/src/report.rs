//! What is wrong with an expression, and where, in words. As cel-go's common/error.go and
//! common/errors.go.

/// The most issues that are printed.
const ISSUES_MAX: usize = 100;
/// The longest line that is shown, in bytes.
const SNIPPET_BYTES_MAX: usize = 16_384;

/// The issues of an expression.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Where each is, in code points, and what.
    issues: Vec<(usize, String)>,
    /// How many there are beyond those.
    more: usize,
}

// === impl Report ===

impl Report {
    pub(crate) fn add(&mut self, at: usize, text: String) {
        if self.issues.len() < ISSUES_MAX {
            self.issues.push((at, text));
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    /// How many are printed.
    pub(crate) fn len(&self) -> usize {
        self.issues.len()
    }

    /// The issues in the order of the source.
    pub(crate) fn print(mut self, source: &[char]) -> String {
        self.issues.sort_by_key(|(at, _)| *at);
        let mut lines: Vec<_> =
            self.issues.iter().map(|(at, text)| issue(source, *at, text)).collect();
        if self.more > 0 {
            lines.push(format!("{} more errors were truncated", self.more));
        }
        lines.join("\n")
    }
}

fn issue(source: &[char], at: usize, text: &str) -> String {
    let before = source.get(..at).unwrap_or(source);
    let line = before.iter().filter(|char| **char == '\n').count();
    let start = before.iter().rposition(|char| *char == '\n').map_or(0, |place| place + 1);
    let column = at - start;
    let head = format!("ERROR: <input>:{}:{}: {text}", line + 1, column + 1);
    let rest = source.get(start..).unwrap_or_default();
    let shown: String = rest
        .iter()
        .take_while(|char| **char != '\n')
        .map(|char| if *char == '\t' { ' ' } else { *char })
        .collect();
    if source.is_empty() || shown.len() > SNIPPET_BYTES_MAX {
        return head;
    }
    let wide = |char: char| char.len_utf8() > 1;
    let mut pointer: String =
        shown.chars().take(column).map(|char| if wide(char) { '\u{ff0e}' } else { '.' }).collect();
    let is_wide = shown.chars().nth(column).is_some_and(wide);
    pointer.push(if is_wide { '\u{ff3e}' } else { '^' });
    format!("{head}\n | {shown}\n | {pointer}")
}
