//! Text as Go writes it, where users or other programs see the difference.

use std::fmt::Write;

/// As `strconv.Quote` and `%q`: what is no text or has no shape is written as an escape.
pub fn quote(bytes: impl AsRef<[u8]>) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.as_ref().utf8_chunks() {
        chunk.valid().chars().for_each(|char| push(&mut out, char));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

/// JSON as `encoding/json` writes it: with nothing in it that a browser could take for HTML, or old
/// JavaScript for the end of a line.
pub fn escape_html(json: String) -> String {
    const ESCAPES: [(char, &str); 5] = [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ];
    // In JSON these stand in strings only.
    ESCAPES.iter().fold(
        json,
        |json, (char, escape)| {
            if json.contains(*char) { json.replace(*char, escape) } else { json }
        },
    )
}

fn push(out: &mut String, char: char) {
    let escape = match char {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\x07' => "\\a",
        '\x08' => "\\b",
        '\x0c' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\x0b' => "\\v",
        ' '..='~' => return out.push(char),
        _ if is_printable(char) => return out.push(char),
        _ => {
            let number = u32::from(char);
            let _ = match number {
                0..0x80 => write!(out, "\\x{number:02x}"),
                0x80..0x1_0000 => write!(out, "\\u{number:04x}"),
                _ => write!(out, "\\U{number:08x}"),
            };
            return;
        }
    };
    out.push_str(escape);
}

/// Rust and Go agree on it, but that alone Rust does not print a mark that combines with a letter.
fn is_printable(char: char) -> bool {
    ["a", char.encode_utf8(&mut [0; 4])].concat().escape_debug().count() == 2
}
