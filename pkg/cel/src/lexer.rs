//! Words of a source. As the lexer rules of cel-go's parser/gen/CEL.g4.

/// A word, and where it starts in code points.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) at: usize,
    pub(crate) word: Word,
}

/// A word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word {
    /// An operator, a bracket or a keyword that no name can be.
    Sign(&'static str),
    /// A name, which may be reserved.
    Name(String),
    Int(String),
    Uint(String),
    Double,
    String(String),
    Bytes,
    /// The end of the source.
    End,
}

/// Longer ones first.
const SIGNS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!",
    "?", ":", "+", "*", "/", "%",
];
/// Names that the grammar has words of their own for.
const KEYWORDS: [&str; 4] = ["in", "true", "false", "null"];

/// The words of a source; none: one of them is wrong.
pub(crate) fn words(source: &[char]) -> Option<Vec<Token>> {
    let mut lexer = Lexer { source, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blank();
        let at = lexer.at;
        let word = lexer.word()?;
        let is_end = word == Word::End;
        tokens.push(Token { at, word });
        if is_end {
            return Some(tokens);
        }
    }
}

struct Lexer<'a> {
    source: &'a [char],
    at: usize,
}

// === impl Lexer ===

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.source.get(self.at + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(place, char)| self.peek(place) == Some(char))
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(char) = self.peek(0).filter(|char| is_part(*char)) {
            text.push(char);
            self.at += 1;
        }
        text
    }

    /// White space and comments.
    fn skip_blank(&mut self) {
        loop {
            self.take_while(|char| matches!(char, '\t' | ' ' | '\r' | '\n' | '\u{c}'));
            if !self.starts_with("//") {
                return;
            }
            self.take_while(|char| char != '\n');
        }
    }

    fn word(&mut self) -> Option<Word> {
        let Some(first) = self.peek(0) else { return Some(Word::End) };
        if let Some(prefix) = self.string_prefix() {
            return self.string(prefix);
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let name = self.take_while(|char| char.is_ascii_alphanumeric() || char == '_');
            let keyword = KEYWORDS.into_iter().find(|it| *it == name);
            return Some(keyword.map_or(Word::Name(name), Word::Sign));
        }
        let is_fraction = first == '.' && self.peek(1).is_some_and(|it| it.is_ascii_digit());
        if first.is_ascii_digit() || is_fraction {
            return Some(self.number());
        }
        let sign = SIGNS.into_iter().find(|sign| self.starts_with(sign))?;
        self.at += sign.chars().count();
        Some(Word::Sign(sign))
    }

    fn number(&mut self) -> Word {
        let is_hex = |char: Option<char>| char.is_some_and(|it| it.is_ascii_hexdigit());
        let digits = if self.starts_with("0x") && is_hex(self.peek(2)) {
            self.at += 2;
            format!("0x{}", self.take_while(|char| char.is_ascii_hexdigit()))
        } else {
            let digits = self.take_while(|char| char.is_ascii_digit());
            if self.fraction() | self.exponent() {
                return Word::Double;
            }
            digits
        };
        if matches!(self.peek(0), Some('u' | 'U')) {
            self.at += 1;
            return Word::Uint(digits);
        }
        Word::Int(digits)
    }

    /// Whether there was one.
    fn fraction(&mut self) -> bool {
        let is_one =
            self.peek(0) == Some('.') && self.peek(1).is_some_and(|it| it.is_ascii_digit());
        if is_one {
            self.at += 1;
            self.take_while(|char| char.is_ascii_digit());
        }
        is_one
    }

    /// Whether there was one.
    fn exponent(&mut self) -> bool {
        if !matches!(self.peek(0), Some('e' | 'E')) {
            return false;
        }
        let sign = usize::from(matches!(self.peek(1), Some('+' | '-')));
        let is_one = self.peek(1 + sign).is_some_and(|it| it.is_ascii_digit());
        if is_one {
            self.at += 1 + sign;
            self.take_while(|char| char.is_ascii_digit());
        }
        is_one
    }

    /// The letters before a quote: `r`, `b` or both.
    fn string_prefix(&self) -> Option<Prefix> {
        let (raw, bytes) = (|char| matches!(char, 'r' | 'R'), |char| matches!(char, 'b' | 'B'));
        let is_bytes = self.peek(0).is_some_and(bytes);
        let after = usize::from(is_bytes);
        let is_raw = self.peek(after).is_some_and(raw);
        let len = after + usize::from(is_raw);
        matches!(self.peek(len), Some('"' | '\'')).then_some(Prefix { is_bytes, is_raw, len })
    }

    fn string(&mut self, prefix: Prefix) -> Option<Word> {
        self.at += prefix.len;
        let quote = self.peek(0)?;
        let triple: String = [quote; 3].into_iter().collect();
        let is_triple = self.starts_with(&triple);
        let end = if is_triple { triple } else { quote.to_string() };
        self.at += end.len();
        let mut text = String::new();
        while !self.starts_with(&end) {
            let char = self.peek(0)?;
            if !is_triple && matches!(char, '\n' | '\r') {
                return None;
            }
            self.at += 1;
            text.push(match char {
                '\\' if !prefix.is_raw => self.escaped(prefix)?,
                char => char,
            });
        }
        self.at += end.len();
        Some(if prefix.is_bytes { Word::Bytes } else { Word::String(text) })
    }

    /// What stands after a backslash. As cel-go's parser/unescape.go.
    fn escaped(&mut self, prefix: Prefix) -> Option<char> {
        let char = self.peek(0)?;
        self.at += 1;
        let code = |text: String, base| u32::from_str_radix(&text, base).ok();
        let value = match char {
            'a' => 7,
            'b' => 8,
            't' => 9,
            'n' => 10,
            'v' => 11,
            'f' => 12,
            'r' => 13,
            '"' | '\'' | '\\' | '?' | '`' => u32::from(char),
            'x' | 'X' => code(self.digits(2)?, 16)?,
            'u' if !prefix.is_bytes => code(self.digits(4)?, 16)?,
            'U' if !prefix.is_bytes => code(self.digits(8)?, 16)?,
            '0'..='3' => code(format!("{char}{}", self.digits(2)?), 8)?,
            _ => return None,
        };
        char::from_u32(value)
    }

    fn digits(&mut self, count: usize) -> Option<String> {
        let digits: String = self.source.get(self.at..self.at + count)?.iter().collect();
        self.at += count;
        digits.chars().all(|it| it.is_ascii_hexdigit()).then_some(digits)
    }
}

#[derive(Clone, Copy)]
struct Prefix {
    is_bytes: bool,
    is_raw: bool,
    len: usize,
}
