//! The types of flags: their syntax, and how their values print. Both are as in pflag and Go's
//! strconv, including error texts.

use std::net::IpAddr;
use std::num::IntErrorKind;

use apimachinery::Quantity;

use super::duration::GoDuration;
use super::version::semantic;
use crate::options::KUBERNETES_VERSION;

/// The type of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `--x`, `--x=false`.
    Bool,
    /// Any text.
    Text,
    /// Texts, comma-separated and quoted as in CSV; a repeated flag adds to them.
    Texts,
    /// See [`GoDuration`].
    Duration,
    /// A number of 64 bits, also as `0x10`, `0o10` or `0b10`.
    Int,
    /// The same of 32 bits.
    Int32,
    /// Several of them, comma-separated; a repeated flag adds to them.
    Int32s,
    /// A number with decimals, single precision.
    Float32,
    /// The same with double precision.
    Float64,
    /// An IP address.
    Ip,
    /// `certificate,key[:domain,...]`; may be repeated.
    CertKeys,
    /// `[component:]name=value`, comma-separated; a repeated flag adds to them.
    Gates,
    /// `key=value`; may be repeated, the last value of a key counts.
    Pairs,
    /// A number of bytes, with a suffix such as `Ki`.
    Quantity,
    /// A level of detail, 0 or more.
    Level,
    /// `pattern=level`, comma-separated.
    Patterns,
    /// `true`, `raw`, or the version to report.
    Version,
}

/// The value of a flag.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`Kind::Bool`].
    Bool(bool),
    /// Of the kinds that are text or are kept as written.
    Text(String),
    /// Of the kinds that can be repeated.
    List(Vec<String>),
    /// Of [`Kind::Duration`].
    Duration(GoDuration),
    /// Of the kinds that are whole numbers.
    Int(i64),
    /// Of [`Kind::Float32`].
    Float32(f32),
    /// Of [`Kind::Float64`].
    Float64(f64),
}

/// Reads one type of values; another one is a bug in this crate and panics.
macro_rules! reader {
    ($name:ident, $variant:ident, $type:ty, $value:ident => $result:expr) => {
        pub(crate) fn $name(&self) -> $type {
            match self {
                Self::$variant($value) => $result,
                _ => unreachable!("{self:?} is of another type"),
            }
        }
    };
}

impl Value {
    reader!(switch, Bool, bool, value => *value);
    reader!(text, Text, &str, value => value);
    reader!(list, List, &[String], value => value);
    reader!(int, Int, i64, value => *value);
    reader!(float32, Float32, f32, value => *value);
    reader!(float64, Float64, f64, value => *value);
    reader!(duration, Duration, GoDuration, value => *value);
}

impl Kind {
    /// The name in upstream's help.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Text => "string",
            Self::Texts => "strings",
            Self::Duration => "duration",
            Self::Int => "int",
            Self::Int32 => "int32",
            Self::Int32s => "int32Slice",
            Self::Float32 => "float32",
            Self::Float64 => "float",
            Self::Ip => "ip",
            Self::CertKeys => "namedCertKey",
            Self::Gates => "colonSeparatedMultimapStringString",
            Self::Pairs => "stringToString",
            Self::Quantity => "quantity",
            Self::Level => "Level",
            Self::Patterns => "pattern=N,...",
            Self::Version => "version[=true]",
        }
    }

    /// Whether `--x` alone means `--x=true`.
    pub const fn is_switch(self) -> bool {
        matches!(self, Self::Bool | Self::Version)
    }

    /// Parses a value from the command line. The error describes what is wrong with `text`, with
    /// upstream's words.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        let as_is = || Value::Text(text.to_owned());
        Ok(match self {
            Self::Bool => Value::Bool(boolean(text)?),
            Self::Text => as_is(),
            Self::Texts => Value::List(csv(text)?),
            Self::Duration => Value::Duration(GoDuration::parse(text)?),
            Self::Int => Value::Int(integer(text, 64)?),
            Self::Int32 => Value::Int(integer(text, 32)?),
            Self::Int32s => {
                let numbers = text.split(',').map(|part| integer(part, 32).map(|n| n.to_string()));
                Value::List(numbers.collect::<Result<_, _>>()?)
            }
            Self::Float32 => Value::Float32(single(text)?),
            Self::Float64 => Value::Float64(double(text)?),
            Self::Ip if text.is_empty() => as_is(),
            Self::Ip => {
                let ip = text.trim().parse::<IpAddr>();
                Value::Text(ip.map_err(|_| format!("failed to parse IP: {text:?}"))?.to_string())
            }
            Self::CertKeys => Value::List(vec![cert_key(text)?]),
            Self::Gates => {
                let gates = text.split(',').map(str::trim).filter(|gate| !gate.is_empty());
                Value::List(gates.map(str::to_owned).collect())
            }
            Self::Pairs => Value::List(pairs(text)?),
            Self::Quantity => {
                Quantity::parse(text)?;
                as_is()
            }
            Self::Level => Value::Int(level(text)?),
            Self::Patterns => {
                let mut parts = text.split(',').filter(|part| !part.is_empty());
                parts.try_for_each(pattern)?;
                as_is()
            }
            Self::Version => version(text)?,
        })
    }

    /// Parses a default from the table, which is in the form in which it prints.
    pub(super) fn parse_default(self, text: &str) -> Result<Value, String> {
        let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
        match (self, inner) {
            (Self::Texts, Some(inner)) => csv(inner).map(Value::List),
            (Self::Int32s | Self::CertKeys | Self::Pairs, Some("")) => Ok(Value::List(Vec::new())),
            _ => self.parse(text),
        }
    }

    /// Adds another value of a repeated flag: lists grow, all else is replaced.
    pub(super) fn add(self, old: &mut Value, new: Value) {
        match (old, new) {
            (Value::List(old), Value::List(new)) => {
                if self == Self::Pairs {
                    let key = |pair: &str| pair.split('=').next().map(str::to_owned);
                    let keys: Vec<_> = new.iter().map(|pair| key(pair)).collect();
                    old.retain(|pair| !keys.contains(&key(pair)));
                }
                old.extend(new);
            }
            (old, new) => *old = new,
        }
    }

    /// The value as upstream prints it in its start-up dump.
    pub fn show(self, value: &Value) -> String {
        match value {
            Value::Bool(value) => value.to_string(),
            Value::Text(value) => value.clone(),
            Value::List(values) => match self {
                Self::Gates => gates(values),
                Self::CertKeys => format!("[{}]", values.join(";")),
                _ => {
                    let fields: Vec<_> = values.iter().map(|field| quoted(field)).collect();
                    format!("[{}]", fields.join(","))
                }
            },
            Value::Duration(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float32(value) => float(&format!("{value:e}"), &value.to_string()),
            Value::Float64(value) => float(&format!("{value:e}"), &value.to_string()),
        }
    }
}

/// Go's `%g`: `scientific` if the exponent is small or large, else `plain`.
fn float(scientific: &str, plain: &str) -> String {
    let Some((digits, exponent)) = scientific.split_once('e') else { return plain.to_owned() };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ => plain.to_owned(),
    }
}

/// strconv.ParseBool.
pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(strconv("ParseBool", text, "invalid syntax")),
    }
}

fn strconv(function: &str, text: &str, what: &str) -> String {
    format!("strconv.{function}: parsing {text:?}: {what}")
}

/// strconv.ParseInt with base 0.
fn integer(text: &str, bits: u32) -> Result<i64, String> {
    let bad = |what| strconv("ParseInt", text, what);
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match (lower.get(..2), lower.strip_prefix('0')) {
        (Some("0x"), _) => (16, &lower[2..]),
        (Some("0o"), _) => (8, &lower[2..]),
        (Some("0b"), _) => (2, &lower[2..]),
        (Some(_), Some(octal)) => (8, octal),
        _ => (10, lower.as_str()),
    };
    if digits.starts_with(['+', '-']) {
        return Err(bad("invalid syntax"));
    }
    let number = i64::from_str_radix(&format!("{sign}{digits}"), radix);
    let number = number.map_err(|error| match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => bad("value out of range"),
        _ => bad("invalid syntax"),
    })?;
    let fits = bits == 64 || i32::try_from(number).is_ok();
    if fits { Ok(number) } else { Err(bad("value out of range")) }
}

/// strconv.ParseUint, as logging takes its level.
fn level(text: &str) -> Result<i64, String> {
    let bad = |what| strconv("ParseUint", text, what);
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(bad("invalid syntax"));
    }
    text.parse::<i32>().map(i64::from).map_err(|_| bad("value out of range"))
}

fn double(text: &str) -> Result<f64, String> {
    let bad = |what| strconv("ParseFloat", text, what);
    let number: f64 = text.parse().map_err(|_| bad("invalid syntax"))?;
    let overflows = number.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit());
    if overflows { Err(bad("value out of range")) } else { Ok(number) }
}

fn single(text: &str) -> Result<f32, String> {
    let finite = double(text)?.is_finite();
    match text.parse::<f32>() {
        Ok(number) if number.is_finite() || !finite => Ok(number),
        _ => Err(strconv("ParseFloat", text, "value out of range")),
    }
}

/// The fields of one line of CSV, as Go's encoding/csv reads it: a field may be in double quotes.
fn csv(text: &str) -> Result<Vec<String>, String> {
    let bad = |column: usize, what| format!("parse error on line 1, column {column}: {what}");
    let extraneous = "extraneous or missing \" in quoted-field";
    let mut fields = Vec::new();
    let mut rest = text;
    loop {
        let column = text.len() - rest.len() + 1;
        let field;
        if let Some(inner) = rest.strip_prefix('"') {
            let end = closing_quote(inner).ok_or_else(|| bad(text.len() + 1, extraneous))?;
            field = inner[..end].replace("\"\"", "\"");
            rest = &inner[end + 1..];
            if !rest.is_empty() && !rest.starts_with(',') {
                return Err(bad(column + 1 + end, extraneous));
            }
        } else {
            let (plain, after) = rest.split_at(rest.find(',').unwrap_or(rest.len()));
            if let Some(quote) = plain.find('"') {
                return Err(bad(column + quote, "bare \" in non-quoted-field"));
            }
            field = plain.to_owned();
            rest = after;
        }
        fields.push(field);
        match rest.strip_prefix(',') {
            Some(next) => rest = next,
            None if text.is_empty() => return Ok(Vec::new()),
            None => return Ok(fields),
        }
    }
}

/// The position of the unescaped closing quote.
fn closing_quote(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text[at..].find('"')?;
        if !text[at + 1..].starts_with('"') {
            return Some(at);
        }
        at += 2;
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

fn cert_key(text: &str) -> Result<String, String> {
    let files = text.split(':').next().unwrap_or_default();
    let missing = || "expected comma separated certificate and key file paths".to_owned();
    if files.matches(',').count() == 1 { Ok(text.to_owned()) } else { Err(missing()) }
}

/// With more than one `=` the text is a list of pairs, as in pflag.
fn pairs(text: &str) -> Result<Vec<String>, String> {
    let several = text.matches('=').count() > 1;
    let pairs = if several { csv(text)? } else { vec![text.trim_matches('"').to_owned()] };
    match pairs.iter().find(|pair| !pair.contains('=')) {
        Some(bad) => Err(format!("{bad} must be formatted as key=value")),
        None => Ok(pairs),
    }
}

fn pattern(part: &str) -> Result<(), String> {
    let is_pair = |(pattern, number): &(&str, &str)| !pattern.is_empty() && !number.contains('=');
    match part.split_once('=').filter(is_pair) {
        Some((_, number)) => {
            level(number).map_err(|error| format!("parsing verbosity in {part:?}: {error}"))?;
            Ok(())
        }
        None => Err(format!("{part:?} does not have the pattern=N format")),
    }
}

/// component-base/version/verflag: a version must be ours, optionally with a suffix.
fn version(text: &str) -> Result<Value, String> {
    if text == "raw" {
        return Ok(Value::Text(text.to_owned()));
    }
    if !text.starts_with('v') {
        return Ok(Value::Text(boolean(text)?.to_string()));
    }
    let ours = KUBERNETES_VERSION;
    if semantic(text)? == semantic(ours)? {
        Ok(Value::Text(text.to_owned()))
    } else {
        Err(format!("version {text:?} must match major/minor/patch of default version {ours:?}"))
    }
}

/// The settings with their component before a colon, grouped by component.
fn gates(settings: &[String]) -> String {
    let split = |setting: &String| {
        let (component, setting) = setting.split_once(':').unwrap_or(("", setting));
        (component.trim().to_owned(), setting.trim().to_owned())
    };
    let mut settings: Vec<_> = settings.iter().map(split).collect();
    settings.sort_by(|(a, _), (b, _)| a.cmp(b));
    let shown = settings.iter().map(|(component, setting)| format!("{component}:{setting}"));
    shown.collect::<Vec<_>>().join(",")
}
