//! The elements of a page, and their form as text.

use std::fmt;
use std::time::Duration;

use api::Time;

/// A page.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) title: String,
    /// The pages above it, outermost first: name and path.
    pub(super) above: Vec<(String, String)>,
    pub(super) blocks: Vec<Block>,
}

#[derive(Debug)]
pub(super) enum Block {
    Heading(&'static str),
    /// A sentence.
    Note(Cell),
    /// Names and values.
    Facts(Vec<(&'static str, Cell)>),
    Table(Table),
    /// Preformatted text.
    Code(String),
    /// The same, folded, and only in browsers.
    Folded(&'static str, String),
    /// A form that asks for a key. In text: the path to request.
    AskKey(String),
}

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) columns: Vec<&'static str>,
    pub(super) rows: Vec<Vec<Cell>>,
}

/// A piece of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) link: Option<String>,
    pub(super) tone: Tone,
}

/// The meaning of a text for an operator who looks for trouble.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tone {
    #[default]
    Plain,
    Good,
    Bad,
    /// Of no interest.
    Faint,
}

/// `12s`, `3m20s`, `5h10m`, `4d2h`.
pub(super) fn length(time: Duration) -> String {
    let seconds = time.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{minutes}m{}s", seconds % 60),
        7200..172_800 => format!("{hours}h{}m", minutes % 60),
        _ => format!("{days}d{}h", hours % 24),
    }
}

/// A moment with its distance from now.
pub(super) fn moment(at: Time, now: Time) -> String {
    if at > now {
        return format!("{at} (in {})", length(at.since(now)));
    }
    format!("{at} ({} ago)", length(now.since(at)))
}

// === impl Cell ===

impl Cell {
    pub(super) fn linked(text: impl Into<String>, link: String) -> Self {
        Self { text: text.into(), link: Some(link), tone: Tone::Plain }
    }

    pub(super) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), link: None, tone }
    }

    /// A number that is bad unless it is zero.
    pub(super) fn trouble(count: impl Into<u64>) -> Self {
        let count = count.into();
        Self::toned(count.to_string(), if count == 0 { Tone::Faint } else { Tone::Bad })
    }

    /// A text that exists only in case of an error.
    pub(super) fn error(text: Option<impl Into<String>>) -> Self {
        text.map_or_else(|| "-".into(), |text| Self::toned(text, Tone::Bad))
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::toned(text, if text == "-" { Tone::Faint } else { Tone::Plain })
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

// === impl Page ===

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", line(&self.title))?;
        let shown = |block: &&Block| !matches!(block, Block::Folded(..));
        let mut below_heading = false;
        for block in self.blocks.iter().filter(shown) {
            if !below_heading {
                writeln!(f)?;
            }
            below_heading = matches!(block, Block::Heading(_));
            write!(f, "{block}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heading(text) => writeln!(f, "{}", text.to_uppercase()),
            Self::Note(cell) => writeln!(f, "{}", line(&cell.text)),
            Self::Facts(facts) => {
                let width = facts.iter().map(|(name, _)| name.len() + 1).max().unwrap_or(0);
                facts.iter().try_for_each(|(name, cell)| {
                    writeln!(f, "{:width$} {}", format!("{name}:"), line(&cell.text))
                })
            }
            Self::Table(table) => write!(f, "{table}"),
            Self::Code(text) => writeln!(f, "{}", text.trim_end()),
            Self::Folded(..) => Ok(()),
            Self::AskKey(path) => writeln!(f, "{path}?key=<namespace>/<name>"),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head: Vec<_> = self.columns.iter().map(|column| column.to_uppercase()).collect();
        let rows = self.rows.iter().map(|row| row.iter().map(|cell| line(&cell.text)).collect());
        let rows: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
        let width = |at: usize| {
            rows.iter().filter_map(|row| row.get(at)).map(|text| text.chars().count()).max()
        };
        let widths: Vec<_> = (0..self.columns.len()).map(|at| width(at).unwrap_or(0)).collect();
        for row in &rows {
            let cells = row.iter().zip(&widths).map(|(text, &width)| format!("{text:width$}"));
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// A text on one line: text from the cluster must not look like our own lines, nor control a
/// terminal.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
