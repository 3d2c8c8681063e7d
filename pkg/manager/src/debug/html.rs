//! Pages as HTML: no script, no external content, everything escaped.

use std::fmt::{self, Display, Formatter, Write};

use super::document::{Block, Cell, Page, Table, Tone};

/// A page as HTML.
pub(super) struct Html<'a>(pub(super) &'a Page);

/// Text between tags or in quotes.
pub(super) struct Escaped<'a>(pub(super) &'a str);

/// A text as part of a path or query; `/` stays.
pub(super) struct Encoded<'a>(pub(super) &'a str);

/// A cell of a table with a longer text may be wrapped.
const LINE_BYTES_MAX: usize = 48;

const STYLE: &str = include_str!("style.css");

impl Display for Html<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Page { title, above, blocks } = self.0;
        let title = Escaped(title);
        write!(
            f,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n"
        )?;
        if !above.is_empty() {
            write!(f, "<nav>")?;
            for (name, path) in above {
                write!(f, "<a href=\"{}\">{}</a> / ", Escaped(path), Escaped(name))?;
            }
            writeln!(f, "</nav>")?;
        }
        writeln!(f, "<h1>{title}</h1>\n</header>\n<main>")?;
        blocks.iter().try_for_each(|block| write_block(f, block))?;
        writeln!(f, "</main>\n</body>\n</html>")
    }
}

fn write_block(f: &mut Formatter<'_>, block: &Block) -> fmt::Result {
    match block {
        Block::Heading(text) => writeln!(f, "<h2>{}</h2>", Escaped(text)),
        Block::Note(cell) => {
            writeln!(f, "<p class=\"note{}\">{}</p>", tone(cell.tone), Escaped(&cell.text))
        }
        Block::Facts(facts) => {
            writeln!(f, "<dl>")?;
            for (name, cell) in facts {
                write!(f, "<dt>{}</dt><dd>", Escaped(name))?;
                write_cell(f, cell)?;
                writeln!(f, "</dd>")?;
            }
            writeln!(f, "</dl>")
        }
        Block::Table(table) => write_table(f, table),
        Block::Code(text) => writeln!(f, "<pre>{}</pre>", Escaped(text)),
        Block::Folded(name, text) => writeln!(
            f,
            "<details><summary>{}</summary><pre>{}</pre></details>",
            Escaped(name),
            Escaped(text)
        ),
        Block::AskKey(path) => writeln!(
            f,
            "<form action=\"{}\"><label for=\"key\">Key</label> \
             <input id=\"key\" name=\"key\" required placeholder=\"namespace/name\" \
             autocapitalize=\"off\" autocorrect=\"off\" spellcheck=\"false\"> \
             <button>Explain</button></form>",
            Escaped(path)
        ),
    }
}

fn write_table(f: &mut Formatter<'_>, table: &Table) -> fmt::Result {
    // Focusable, so that the keyboard can scroll it.
    writeln!(f, "<div class=\"scroll\" tabindex=\"0\"><table>\n<thead><tr>")?;
    for column in &table.columns {
        writeln!(f, "<th scope=\"col\">{}</th>", Escaped(column))?;
    }
    writeln!(f, "</tr></thead>\n<tbody>")?;
    for row in &table.rows {
        write!(f, "<tr>")?;
        for cell in row {
            write!(f, "<td{}>", class(&cell.text))?;
            write_cell(f, cell)?;
            write!(f, "</td>")?;
        }
        writeln!(f, "</tr>")?;
    }
    writeln!(f, "</tbody>\n</table></div>")
}

/// The layout of a cell: numbers aligned, sentences over several lines.
fn class(text: &str) -> &'static str {
    if text.len() > LINE_BYTES_MAX {
        " class=\"long\""
    } else if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        " class=\"number\""
    } else {
        ""
    }
}

fn write_cell(f: &mut Formatter<'_>, cell: &Cell) -> fmt::Result {
    let text = Escaped(&cell.text);
    match (&cell.link, cell.tone) {
        (Some(link), _) => write!(f, "<a href=\"{}\">{text}</a>", Escaped(link)),
        (None, Tone::Plain) => write!(f, "{text}"),
        (None, other) => write!(f, "<span class=\"{}\">{text}</span>", tone(other).trim_start()),
    }
}

/// The class of a tone, after a space.
fn tone(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Good => " good",
        Tone::Bad => " bad",
        Tone::Faint => " faint",
    }
}

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            '\'' => f.write_str("&#39;"),
            '\n' | '\t' => f.write_char(c),
            control if control.is_control() => f.write_char('\u{fffd}'),
            other => f.write_char(other),
        })
    }
}

impl Display for Encoded<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.bytes().try_for_each(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                f.write_char(char::from(byte))
            }
            other => write!(f, "%{other:02X}"),
        })
    }
}
