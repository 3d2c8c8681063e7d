//! Text from outside, in quotes.

use std::fmt::Write;

/// As Go's `strconv.Quote`: what is no text or has no shape is written as an escape.
pub(crate) fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|char| push(&mut out, char));
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
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
        char if char.is_ascii_control() => {
            let _ = write!(out, "\\x{:02x}", u32::from(char));
            return;
        }
        char if char.is_control() => {
            let _ = write!(out, "\\u{:04x}", u32::from(char));
            return;
        }
        char => {
            out.push(char);
            return;
        }
    };
    out.push_str(escape);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_go_does() {
        let rows: [(&[u8], &str); 6] = [
            (b"", r#""""#),
            (b"leaderElection", r#""leaderElection""#),
            (b"a\"b\\c", r#""a\"b\\c""#),
            (b"\x07\x08\x0c\n\r\t\x0b\x00\x7f", r#""\a\b\f\n\r\t\v\x00\x7f""#),
            ("\u{e9}\u{85}".as_bytes(), "\"\u{e9}\\u0085\""),
            (b"a\xff\xc3b", r#""a\xff\xc3b""#),
        ];
        for (bytes, text) in rows {
            assert_eq!(quoted(bytes), text);
        }
    }
}
