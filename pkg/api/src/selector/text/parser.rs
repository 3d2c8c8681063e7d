//! The grammar of label selectors: the tokens and the errors are upstream's.

use std::collections::BTreeSet;

use super::Requirement;
use super::validity::{key_fault, value_fault};
use crate::go;

/// As upstream prints the operators that stand between a key and values.
const BINARY: &str = "in, notin, =, ==, !=, gt, lt";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    In,
    NotIn,
    Equals(&'static str),
    NotEquals,
    Greater,
    Less,
    Not,
    Comma,
    Open,
    Close,
    End,
}

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
}

/// All requirements of a selector.
pub(super) fn parse(text: &str) -> Result<Vec<(String, Requirement)>, String> {
    let mut parser = Parser { tokens: scan(text), at: 0 };
    let mut requirements = Vec::new();
    loop {
        match parser.peek() {
            Token::End => return Ok(requirements),
            Token::Word(_) | Token::In | Token::NotIn | Token::Not => {
                let requirement = parser.requirement();
                let requirement =
                    requirement.map_err(|fault| format!("unable to parse requirement: {fault}"))?;
                requirements.push(requirement);
            }
            other => {
                return Err(format!(
                    "found '{}', expected: !, identifier, or 'end of string'",
                    other.text()
                ));
            }
        }
        match parser.next() {
            Token::End => return Ok(requirements),
            Token::Comma => match parser.peek() {
                Token::Word(_) | Token::In | Token::NotIn | Token::Not => {}
                other => {
                    let found = other.text();
                    return Err(format!("found '{found}', expected: identifier after ','"));
                }
            },
            other => {
                let found = other.text();
                return Err(format!("found '{found}', expected: ',' or 'end of string'"));
            }
        }
    }
}

// === impl Parser ===

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens.get(self.at).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn requirement(&mut self) -> Result<(String, Requirement), String> {
        let is_not = self.peek() == Token::Not;
        if is_not {
            self.next();
        }
        let token = self.next();
        let Some(key) = token.word() else {
            return Err(format!("found '{}', expected: identifier", token.text()));
        };
        if let Some(fault) = key_fault(key) {
            return Err(format!("<nil>: Invalid value: {}: {fault}", go::quote(key)));
        }
        let key = key.to_owned();
        if is_not {
            return Ok((key, Requirement::DoesNotExist));
        }
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Ok((key, Requirement::Exists));
        }
        let requirement = self.values(&key)?;
        Ok((key, requirement))
    }

    fn values(&mut self, key: &str) -> Result<Requirement, String> {
        let operator = self.peek();
        let values: Vec<String> = match operator {
            Token::In | Token::NotIn => {
                self.next();
                self.set()?.into_iter().map(str::to_owned).collect()
            }
            Token::Equals(_) | Token::NotEquals | Token::Greater | Token::Less => {
                self.next();
                vec![self.exact()?.to_owned()]
            }
            Token::Word(_)
            | Token::Not
            | Token::Comma
            | Token::Open
            | Token::Close
            | Token::End => return Err(self.no_operator()),
        };
        let mut faults = Vec::new();
        let number = values.first().and_then(|value| value.parse::<i64>().ok());
        if matches!(operator, Token::Greater | Token::Less) && number.is_none() {
            let value = go::quote(values.first().map_or("", String::as_str));
            faults.push(format!(
                "values[0]: Invalid value: {value}: for 'Gt', 'Lt' operators, the value must be \
                 an integer"
            ));
        }
        for (index, value) in values.iter().enumerate() {
            if let Some(fault) = value_fault(value) {
                let value = go::quote(value);
                faults.push(format!("values[{index}][{key}]: Invalid value: {value}: {fault}"));
            }
        }
        match faults.as_slice() {
            [] => {}
            [fault] => return Err(fault.clone()),
            _ => return Err(format!("[{}]", faults.join(", "))),
        }
        Ok(match operator {
            Token::NotIn | Token::NotEquals => Requirement::NotIn(values),
            Token::Greater => Requirement::GreaterThan(number.unwrap_or_default()),
            Token::Less => Requirement::LessThan(number.unwrap_or_default()),
            _ => Requirement::In(values),
        })
    }

    /// `(a, b)`, where values may be empty.
    fn set(&mut self) -> Result<BTreeSet<&'a str>, String> {
        let open = self.next();
        if open != Token::Open {
            return Err(format!("found '{}' expected: '('", open.text()));
        }
        match self.peek() {
            Token::Close => {
                self.next();
                return Ok(BTreeSet::from([""]));
            }
            Token::Comma => {}
            other if other.word().is_some() => {}
            other => {
                let found = other.text();
                return Err(format!("found '{found}', expected: ',', ')' or identifier"));
            }
        }
        let mut values = BTreeSet::new();
        loop {
            let token = self.next();
            if let Some(word) = token.word() {
                values.insert(word);
                match self.peek() {
                    Token::Comma => continue,
                    Token::Close => break,
                    other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
                }
            }
            if token != Token::Comma {
                return Err(format!("found '{}', expected: ',', or identifier", token.text()));
            }
            if values.is_empty() || matches!(self.peek(), Token::Close | Token::Comma) {
                values.insert("");
            }
            if self.peek() == Token::Close {
                break;
            }
        }
        self.next();
        Ok(values)
    }

    /// One value, which may be empty.
    fn exact(&mut self) -> Result<&'a str, String> {
        if matches!(self.peek(), Token::End | Token::Comma) {
            return Ok("");
        }
        let token = self.next();
        let fault = || format!("found '{}', expected: identifier", token.text());
        token.word().ok_or_else(fault)
    }

    fn no_operator(&self) -> String {
        format!("found '{}', expected: {BINARY}", self.peek().text())
    }
}

// === impl Token ===

impl<'a> Token<'a> {
    /// What it says where a key or a value stands.
    fn word(self) -> Option<&'a str> {
        match self {
            Self::Word(word) => Some(word),
            Self::In => Some("in"),
            Self::NotIn => Some("notin"),
            _ => None,
        }
    }

    fn text(self) -> &'a str {
        match self {
            Self::Word(word) => word,
            Self::In => "in",
            Self::NotIn => "notin",
            Self::Equals(text) => text,
            Self::NotEquals => "!=",
            Self::Greater => ">",
            Self::Less => "<",
            Self::Not => "!",
            Self::Comma => ",",
            Self::Open => "(",
            Self::Close => ")",
            Self::End => "",
        }
    }
}

fn scan(text: &str) -> Vec<Token<'_>> {
    const SPECIAL: [char; 7] = ['=', '!', '(', ')', ',', '>', '<'];
    const SPACE: [char; 4] = [' ', '\t', '\r', '\n'];
    const SYMBOLS: [(&str, Token<'static>); 9] = [
        ("==", Token::Equals("==")),
        ("!=", Token::NotEquals),
        ("=", Token::Equals("=")),
        ("!", Token::Not),
        ("(", Token::Open),
        (")", Token::Close),
        (",", Token::Comma),
        (">", Token::Greater),
        ("<", Token::Less),
    ];
    // A zero byte ends the text, as upstream's lexer has it.
    let mut rest = text.split('\0').next().unwrap_or_default().trim_start_matches(SPACE);
    let mut tokens = Vec::new();
    while !rest.is_empty() {
        let symbol = SYMBOLS.iter().find(|(symbol, _)| rest.starts_with(symbol));
        let (token, length) = if let Some((symbol, token)) = symbol {
            (*token, symbol.len())
        } else {
            let ends = |char| SPECIAL.contains(&char) || SPACE.contains(&char);
            let length = rest.find(ends).unwrap_or(rest.len());
            let word = rest.get(..length).unwrap_or_default();
            let token = match word {
                "in" => Token::In,
                "notin" => Token::NotIn,
                _ => Token::Word(word),
            };
            (token, length)
        };
        tokens.push(token);
        rest = rest.get(length..).unwrap_or_default().trim_start_matches(SPACE);
    }
    tokens
}
