//! Sources to trees. As the grammar of cel-go's parser/gen/CEL.g4 and its parser/parser.go, with
//! the options of Kubernetes: optional syntax, no escaped names.
//!
//! Names of messages with fields in braces are not parsed: no policy has a use for them.

mod macros;

use std::rc::Rc;

use crate::ast::{Element, Entry, Expr, Kind, Literal, Node, Presence};
use crate::lexer::{self, Token, Word};

/// As upstream's limit.
pub(crate) const CODE_POINTS_MAX: usize = 100_000;
/// How deep expressions may be inside of each other in a source; upstream takes 250.
const NESTED_MAX: usize = 100;
/// How deep a tree may be, macros expanded.
const DEPTH_MAX: usize = 300;

/// Names that no variable can have.
pub(crate) const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "namespace",
    "null",
    "package",
    "return",
    "true",
    "var",
    "void",
    "while",
];
const RELATIONS: [(&str, &str); 7] = [
    ("<", "_<_"),
    ("<=", "_<=_"),
    (">=", "_>=_"),
    (">", "_>_"),
    ("==", "_==_"),
    ("!=", "_!=_"),
    ("in", "@in"),
];
const SUMS: [(&str, &str); 2] = [("+", "_+_"), ("-", "_-_")];
const PRODUCTS: [(&str, &str); 3] = [("*", "_*_"), ("/", "_/_"), ("%", "_%_")];

/// A source as a tree.
pub(crate) struct Parsed {
    /// The expression.
    pub(crate) root: Node,
    /// How many places a table of all expressions has.
    pub(crate) ids: usize,
}

/// The tree of a source; none: it is no expression, or one that is too large.
pub(crate) fn parse(source: &[char]) -> Option<Parsed> {
    if source.len() > CODE_POINTS_MAX {
        return None;
    }
    let mut parser = Parser { tokens: lexer::words(source)?, at: 0, nested: 0, ids: 0 };
    let root = parser.expr()?;
    (parser.peek(0) == &Word::End).then_some(Parsed { root, ids: parser.ids })
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    nested: usize,
    ids: usize,
}

// === impl Parser ===

impl Parser {
    fn peek(&self, ahead: usize) -> &Word {
        self.tokens.get(self.at + ahead).map_or(&Word::End, |token| &token.word)
    }

    fn is_next(&self, sign: &str) -> bool {
        matches!(self.peek(0), Word::Sign(it) if *it == sign)
    }

    /// Where the next word starts.
    fn place(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |token| token.at)
    }

    /// The place of this sign, if it is next.
    fn take(&mut self, sign: &str) -> Option<usize> {
        let place = self.place();
        self.is_next(sign).then(|| {
            self.at += 1;
            place
        })
    }

    fn name(&mut self) -> Option<String> {
        let Word::Name(name) = self.peek(0).clone() else { return None };
        self.at += 1;
        Some(name)
    }

    /// An expression that starts there; none: the tree is too deep.
    fn node(&mut self, at: usize, kind: Kind) -> Option<Node> {
        let below = kind.children().into_iter().map(|it| it.depth).max().unwrap_or(0);
        let (id, depth) = (self.ids, below + 1);
        self.ids += 1;
        (depth <= DEPTH_MAX).then(|| Rc::new(Expr { id, at, depth, kind }))
    }

    fn call(&mut self, at: usize, function: &str, args: Vec<Node>) -> Option<Node> {
        self.node(at, Kind::Call { function: function.to_owned(), target: None, args })
    }

    fn expr(&mut self) -> Option<Node> {
        self.nested += 1;
        if self.nested > NESTED_MAX {
            return None;
        }
        let mut expr = self.logic("||", "_||_")?;
        if let Some(at) = self.take("?") {
            let then = self.logic("||", "_||_")?;
            self.take(":")?;
            let otherwise = self.expr()?;
            expr = self.call(at, "_?_:_", vec![expr, then, otherwise])?;
        }
        self.nested -= 1;
        Some(expr)
    }

    /// A chain of `||`, or of `&&`.
    fn logic(&mut self, sign: &str, function: &str) -> Option<Node> {
        let (mut terms, mut places) = (Vec::new(), Vec::new());
        loop {
            terms.push(match sign {
                "||" => self.logic("&&", "_&&_")?,
                _ => self.relation()?,
            });
            match self.take(sign) {
                Some(place) => places.push(place),
                None => break,
            }
        }
        self.balanced(function, &terms, &places)
    }

    /// The chain as a tree that is as flat as can be. As `balancedTree` of parser/helper.go.
    fn balanced(&mut self, function: &str, terms: &[Node], places: &[usize]) -> Option<Node> {
        if places.is_empty() {
            return terms.first().cloned();
        }
        let middle = places.len() / 2;
        let left = self.balanced(function, terms.get(..=middle)?, places.get(..middle)?)?;
        let rest = middle + 1;
        let right = self.balanced(function, terms.get(rest..)?, places.get(rest..)?)?;
        self.call(*places.get(middle)?, function, vec![left, right])
    }

    fn relation(&mut self) -> Option<Node> {
        self.chain(&RELATIONS, |it| it.chain(&SUMS, |it| it.chain(&PRODUCTS, Self::unary)))
    }

    /// Operators of one precedence, from the left.
    fn chain(
        &mut self,
        signs: &[(&str, &str)],
        term: impl Fn(&mut Self) -> Option<Node>,
    ) -> Option<Node> {
        let mut left = term(self)?;
        while let Some((sign, function)) = signs.iter().find(|(sign, _)| self.is_next(sign)) {
            let at = self.take(sign)?;
            let right = term(self)?;
            left = self.call(at, function, vec![left, right])?;
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Node> {
        for (sign, function) in [("!", "!_"), ("-", "-_")] {
            if !self.is_next(sign) || self.is_negative_number() {
                continue;
            }
            let (at, mut count) = (self.place(), 0);
            while self.take(sign).is_some() {
                count += 1;
            }
            let operand = self.member()?;
            // Two of them cancel each other out.
            return if count % 2 == 0 {
                Some(operand)
            } else {
                self.call(at, function, vec![operand])
            };
        }
        self.member()
    }

    /// Whether a literal with its sign is next.
    fn is_negative_number(&self) -> bool {
        self.is_next("-") && matches!(self.peek(1), Word::Int(_) | Word::Double)
    }

    fn member(&mut self) -> Option<Node> {
        let mut node = self.primary()?;
        loop {
            if let Some(at) = self.take(".") {
                node = self.selected(at, node)?;
            } else if let Some(at) = self.take("[") {
                let is_optional = self.take("?").is_some();
                let index = self.expr()?;
                self.take("]")?;
                let function = if is_optional { "_[?_]" } else { "_[_]" };
                node = self.call(at, function, vec![node, index])?;
            } else {
                return Some(node);
            }
        }
    }

    /// What stands after a dot.
    fn selected(&mut self, at: usize, operand: Node) -> Option<Node> {
        let is_optional = self.take("?").is_some();
        let named = self.place();
        let field = self.name()?;
        if is_optional {
            let field = self.node(named, Kind::Literal(Literal::String(field)))?;
            return self.call(at, "_?._", vec![operand, field]);
        }
        let Some(open) = self.take("(") else {
            return self.node(at, Kind::Select { operand, field, presence: Presence::Taken });
        };
        let args = self.args()?;
        self.expanded(open, field, Some(operand), args)
    }

    /// The arguments of a call, after the bracket.
    fn args(&mut self) -> Option<Vec<Node>> {
        let mut args = Vec::new();
        if self.take(")").is_some() {
            return Some(args);
        }
        loop {
            args.push(self.expr()?);
            if self.take(",").is_none() {
                return self.take(")").map(|_| args);
            }
        }
    }

    fn primary(&mut self) -> Option<Node> {
        let at = self.place();
        if self.take("(").is_some() {
            let inner = self.expr()?;
            return self.take(")").map(|_| inner);
        }
        if self.take("[").is_some() {
            return self.list(at);
        }
        if self.take("{").is_some() {
            return self.map(at);
        }
        let dot = if self.take(".").is_some() { "." } else { "" };
        let named = self.place();
        if let Some(name) = self.name() {
            if RESERVED.contains(&&*name) {
                return None;
            }
            let name = format!("{dot}{name}");
            return match self.take("(") {
                Some(open) => {
                    let args = self.args()?;
                    self.expanded(open, name, None, args)
                }
                None => self.node(named, Kind::Ident(name)),
            };
        }
        if !dot.is_empty() {
            return None;
        }
        let literal = self.literal()?;
        self.node(at, Kind::Literal(literal))
    }

    fn literal(&mut self) -> Option<Literal> {
        let sign = if self.is_negative_number() { "-" } else { "" };
        self.at += sign.len();
        let literal = match self.peek(0) {
            Word::Int(digits) => is_int(sign, digits).then_some(Literal::Int)?,
            Word::Uint(digits) => is_uint(digits).then_some(Literal::Uint)?,
            Word::Double => Literal::Double,
            Word::String(text) => Literal::String(text.clone()),
            Word::Bytes => Literal::Bytes,
            Word::Sign("true" | "false") => Literal::Bool,
            Word::Sign("null") => Literal::Null,
            Word::Sign(_) | Word::Name(_) | Word::End => return None,
        };
        self.at += 1;
        Some(literal)
    }

    fn list(&mut self, at: usize) -> Option<Node> {
        let mut elements = Vec::new();
        self.items("]", |parser, is_optional| {
            elements.push(Element { value: parser.expr()?, is_optional });
            Some(())
        })?;
        self.node(at, Kind::List(elements))
    }

    fn map(&mut self, at: usize) -> Option<Node> {
        let mut entries = Vec::new();
        self.items("}", |parser, is_optional| {
            let key = parser.expr()?;
            parser.take(":")?;
            let value = parser.expr()?;
            entries.push(Entry { key, value, is_optional });
            Some(())
        })?;
        self.node(at, Kind::Map(entries))
    }

    /// What stands between brackets: items, which may each have a question mark before them, and
    /// commas, also one after the last item or one on its own.
    fn items(
        &mut self,
        end: &str,
        mut item: impl FnMut(&mut Self, bool) -> Option<()>,
    ) -> Option<()> {
        if self.take(",").is_some() {
            return self.take(end).map(drop);
        }
        while !self.is_next(end) {
            let is_optional = self.take("?").is_some();
            item(self, is_optional)?;
            if self.take(",").is_none() {
                break;
            }
        }
        self.take(end).map(drop)
    }
}

fn is_int(sign: &str, digits: &str) -> bool {
    let (digits, base) = based(digits);
    i64::from_str_radix(&format!("{sign}{digits}"), base).is_ok()
}

fn is_uint(digits: &str) -> bool {
    let (digits, base) = based(digits);
    u64::from_str_radix(digits, base).is_ok()
}

fn based(digits: &str) -> (&str, u32) {
    digits.strip_prefix("0x").map_or((digits, 10), |digits| (digits, 16))
}
