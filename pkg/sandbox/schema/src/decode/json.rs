//! JSON as it stands in a body: fields that are there twice, and numbers as they are written.
//! Faults are said in the words of Go's parser, which clients print.

use std::borrow::Cow;

use serde_json::{Number, Value};

/// How deep arrays and objects may lie in each other. Go allows 10,000; nothing real has more than
/// this, and what handles the result afterwards is recursive.
const DEPTH_MAX: usize = 128;

/// A value, as it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json<'a> {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// As it is written.
    Number(Cow<'a, str>),
    /// Without escapes.
    String(Cow<'a, str>),
    /// An array.
    List(Vec<Json<'a>>),
    /// An object, in its order, with what is there twice.
    Map(Vec<(Cow<'a, str>, Json<'a>)>),
}

/// Reads one value.
pub(super) fn parse(text: &[u8]) -> Result<Json<'_>, String> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    parser.skip_space();
    let value = parser.value()?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.unexpected("after top-level value")),
    }
}

/// A value that was read before. The error is that of [`parse`].
pub(super) fn of(value: &Value) -> Result<Json<'_>, String> {
    nested(value, 0)
}

fn nested(value: &Value, depth: usize) -> Result<Json<'_>, String> {
    if depth == DEPTH_MAX && (value.is_object() || value.is_array()) {
        let byte = if value.is_object() { b'{' } else { b'[' };
        return Err(format!("invalid character {} exceeded max depth", quoted(byte)));
    }
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(it) => Json::Bool(*it),
        Value::Number(it) => Json::Number(it.to_string().into()),
        Value::String(text) => Json::String(text.into()),
        Value::Array(items) => {
            let items = items.iter().map(|item| nested(item, depth + 1));
            Json::List(items.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, it)| nested(it, depth + 1).map(|it| (Cow::Borrowed(key.as_str()), it)));
            Json::Map(fields.collect::<Result<_, _>>()?)
        }
    })
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

// === impl Json ===

impl Json<'_> {
    /// As Go's errors call it.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::List(_) => "array",
            Self::Map(_) => "object",
        }
    }

    /// Without a type: of what is there twice, the last.
    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(it) => (*it).into(),
            Self::Number(text) => number(text).map_or(Value::Null, Value::Number),
            Self::String(text) => text.as_ref().into(),
            Self::List(items) => items.iter().map(Self::to_value).collect(),
            Self::Map(fields) => {
                fields.iter().map(|(key, it)| (key.to_string(), it.to_value())).collect()
            }
        }
    }
}

/// A number without a type: a whole one stays whole, as Go prints it. None: it is too large.
pub(super) fn number(text: &str) -> Option<Number> {
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    let float = text.parse::<f64>().ok().filter(|it| it.is_finite())?;
    let whole = format!("{float:.0}").parse::<i64>().ok();
    let is_whole = float.fract() == 0.0 && float.abs() < 1e15;
    match whole.filter(|_| is_whole) {
        Some(whole) => Some(whole.into()),
        None => Number::from_f64(float),
    }
}

// === impl Parser ===

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn unexpected(&self, context: &str) -> String {
        match self.peek() {
            Some(byte) => format!("invalid character {} {context}", quoted(byte)),
            None => "unexpected end of JSON input".to_owned(),
        }
    }

    fn value(&mut self) -> Result<Json<'a>, String> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(Json::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal("true", Json::Bool(true)),
            Some(b'f') => self.literal("false", Json::Bool(false)),
            Some(b'n') => self.literal("null", Json::Null),
            Some(_) | None => Err(self.unexpected("looking for beginning of value")),
        }
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<Json<'a>, String>,
    ) -> Result<Json<'a>, String> {
        if self.depth == DEPTH_MAX {
            return Err(self.unexpected("exceeded max depth"));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Json<'a>, String> {
        let mut fields = Vec::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Map(fields));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("looking for beginning of object key string"));
            }
            let key = self.string()?;
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected("after object key"));
            }
            self.at += 1;
            self.skip_space();
            fields.push((key, self.value()?));
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::Map(fields));
                }
                Some(_) | None => return Err(self.unexpected("after object key:value pair")),
            }
            self.skip_space();
        }
    }

    fn array(&mut self) -> Result<Json<'a>, String> {
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value()?);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::List(items));
                }
                Some(_) | None => return Err(self.unexpected("after array element")),
            }
            self.skip_space();
        }
    }

    fn literal(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, String> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                let expected = quoted(expected);
                return Err(self.unexpected(&format!("in literal {word} (expecting {expected})")));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Json<'a>, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits("in numeric literal")?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        Ok(Json::Number(std::str::from_utf8(text).unwrap_or_default().into()))
    }

    fn digits(&mut self, context: &str) -> Result<(), String> {
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.unexpected(context));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, String> {
        self.at += 1;
        let start = self.at;
        let mut unescaped: Option<Vec<u8>> = None;
        loop {
            let byte = self.peek();
            match byte {
                Some(b'"') => break,
                Some(b'\\') => {
                    let text = self.text.get(start..self.at).unwrap_or_default();
                    let into = unescaped.get_or_insert_with(|| text.to_vec());
                    self.at += 1;
                    let mut buffer = [0; 4];
                    into.extend(self.escape()?.encode_utf8(&mut buffer).bytes());
                }
                Some(0x20..) => {
                    self.at += 1;
                    unescaped.as_mut().into_iter().for_each(|into| into.extend(byte));
                }
                Some(_) | None => return Err(self.unexpected("in string literal")),
            }
        }
        let text = self.text.get(start..self.at).unwrap_or_default();
        self.at += 1;
        Ok(match unescaped {
            None => String::from_utf8_lossy(text),
            Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }

    /// What follows a backslash. Half a surrogate pair is U+FFFD.
    fn escape(&mut self) -> Result<char, String> {
        let Some(byte) = self.peek() else { return Err(self.unexpected("")) };
        let simple = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.unexpected("in string escape code")),
        };
        self.at += 1;
        Ok(simple)
    }

    fn unicode(&mut self) -> Result<char, String> {
        self.at += 1;
        let high = self.hex()?;
        let replaced = char::REPLACEMENT_CHARACTER;
        let is_high = (0xd800..0xdc00).contains(&high);
        let pair = self.text.get(self.at..self.at + 2) == Some(b"\\u");
        if !is_high || !pair {
            return Ok(char::from_u32(high).unwrap_or(replaced));
        }
        let back = self.at;
        self.at += 2;
        let low = self.hex()?;
        if (0xdc00..0xe000).contains(&low) {
            let both = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
            return Ok(char::from_u32(both).unwrap_or(replaced));
        }
        self.at = back;
        Ok(replaced)
    }

    fn hex(&mut self) -> Result<u32, String> {
        let mut value = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let context = "in \\u hexadecimal character escape";
            value = value * 16 + digit.ok_or_else(|| self.unexpected(context))?;
            self.at += 1;
        }
        Ok(value)
    }
}

/// As Go quotes a byte.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => "'\\\\'".to_owned(),
        0x07 => "'\\a'".to_owned(),
        0x08 => "'\\b'".to_owned(),
        0x0c => "'\\f'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        0x0b => "'\\v'".to_owned(),
        0x20..=0x7e | 0xa1..=0xac | 0xae.. => format!("'{}'", char::from(byte)),
        0x7f | ..0x20 => format!("'\\x{byte:02x}'"),
        _ => format!("'\\u{byte:04x}'"),
    }
}
