//! Expressions as trees, with macros expanded. As cel-go's common/ast.

use std::rc::Rc;

/// A tree, which may be part of several others.
pub(crate) type Node = Rc<Expr>;

/// An expression.
#[derive(Debug)]
pub(crate) struct Expr {
    /// Its place in a table of all expressions of a source.
    pub(crate) id: usize,
    /// Where it starts, for messages, in code points.
    pub(crate) at: usize,
    /// How many expressions are inside of each other, this one included.
    pub(crate) depth: usize,
    /// What it is.
    pub(crate) kind: Kind,
}

/// What an expression is.
#[derive(Debug)]
pub(crate) enum Kind {
    Literal(Literal),
    Ident(String),
    Select { operand: Node, field: String, presence: Presence },
    Call { function: String, target: Option<Node>, args: Vec<Node> },
    List(Vec<Element>),
    Map(Vec<Entry>),
    Comprehension(Box<Comprehension>),
}

/// A value in the source. Only text can matter for types.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Bool,
    Bytes,
    Double,
    Int,
    Null,
    String(String),
    Uint,
}

/// What a selection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Whether there is such a field: `has(a.b)`.
    Tested,
    /// The field.
    Taken,
}

/// An element of a list.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) value: Node,
    pub(crate) is_optional: bool,
}

/// An entry of a map.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: Node,
    pub(crate) value: Node,
    pub(crate) is_optional: bool,
}

/// A loop over a range, which folds it into an accumulator.
#[derive(Debug)]
pub(crate) struct Comprehension {
    pub(crate) range: Node,
    pub(crate) variable: String,
    pub(crate) second: Option<String>,
    pub(crate) accumulator: String,
    pub(crate) start: Node,
    pub(crate) condition: Node,
    pub(crate) step: Node,
    pub(crate) result: Node,
}

// === impl Kind ===

impl Kind {
    /// The expressions in it, in the order in which cel-go's visitors pass them.
    pub(crate) fn children(&self) -> Vec<&Node> {
        match self {
            Self::Literal(_) | Self::Ident(_) => vec![],
            Self::Select { operand, field: _, presence: _ } => vec![operand],
            Self::Call { function: _, target, args } => target.iter().chain(args).collect(),
            Self::List(elements) => elements.iter().map(|it| &it.value).collect(),
            Self::Map(entries) => entries.iter().flat_map(|it| [&it.key, &it.value]).collect(),
            Self::Comprehension(it) => {
                vec![&it.range, &it.start, &it.condition, &it.step, &it.result]
            }
        }
    }
}
