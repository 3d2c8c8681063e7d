//! Calls that stand for something longer. As cel-go's parser/macro.go, its cel/library.go (optMap)
//! and its ext/comprehensions.go and ext/lists.go.

use std::rc::Rc;

use crate::ast::{Comprehension, Element, Kind, Literal, Node, Presence};

use super::Parser;

/// The accumulator of a macro, which no source can name.
const RESULT: &str = "@result";
/// What `sortBy` sorts.
const INPUT: &str = "@__sortBy_input__";
/// The variable of a loop over nothing.
const UNUSED: &str = "#unused";

/// The parts of a loop besides its range and variables.
struct Fold {
    start: Node,
    condition: Node,
    step: Node,
    result: Node,
}

// === impl Parser ===

impl Parser {
    /// A call, or what its macro stands for; none: the arguments are none that the macro has.
    pub(super) fn expanded(
        &mut self,
        at: usize,
        function: String,
        target: Option<Node>,
        args: Vec<Node>,
    ) -> Option<Node> {
        let mut makers = Makers { parser: self, at };
        match (&target, &*function, &*args) {
            (None, "has", [field]) => makers.has(field),
            (Some(range), "all" | "exists" | "exists_one", [name, test]) => {
                let fold = makers.quantifier(&function, test)?;
                makers.one_variable(range, name, fold)
            }
            (Some(range), "map", [name, to]) => {
                let fold = makers.list(None, to)?;
                makers.one_variable(range, name, fold)
            }
            (Some(range), "map", [name, test, to]) => {
                let fold = makers.list(Some(test), to)?;
                makers.one_variable(range, name, fold)
            }
            (Some(range), "filter", [name, test]) => {
                let fold = makers.list(Some(test), name)?;
                makers.one_variable(range, name, fold)
            }
            (Some(range), "all" | "exists" | "existsOne" | "exists_one", [one, two, test]) => {
                let fold = makers.quantifier(&function, test)?;
                makers.two_variables(range, one, two, fold)
            }
            (Some(range), "transformList" | "transformMap" | "transformMapEntry", _)
                if matches!(args.len(), 3 | 4) =>
            {
                makers.transform(&function, range, &args)
            }
            (Some(target), "optMap" | "optFlatMap", [name, to]) => {
                makers.optional(&function, target, name, to)
            }
            (Some(target), "sortBy", [name, key]) => makers.sort_by(target, name, key),
            _ => makers.parser.node(at, Kind::Call { function, target, args }),
        }
    }
}

/// Makes expressions, all at the place of the macro.
struct Makers<'a> {
    parser: &'a mut Parser,
    at: usize,
}

// === impl Makers ===

impl Makers<'_> {
    fn node(&mut self, kind: Kind) -> Option<Node> {
        self.parser.node(self.at, kind)
    }

    fn call(&mut self, function: &str, args: Vec<Node>) -> Option<Node> {
        self.parser.call(self.at, function, args)
    }

    fn member(&mut self, function: &str, target: Node, args: Vec<Node>) -> Option<Node> {
        self.node(Kind::Call { function: function.to_owned(), target: Some(target), args })
    }

    fn ident(&mut self, name: &str) -> Option<Node> {
        self.node(Kind::Ident(name.to_owned()))
    }

    fn literal(&mut self, literal: Literal) -> Option<Node> {
        self.node(Kind::Literal(literal))
    }

    fn elements(&mut self, values: Vec<Node>) -> Option<Node> {
        let element = |value| Element { value, is_optional: false };
        self.node(Kind::List(values.into_iter().map(element).collect()))
    }

    fn has(&mut self, field: &Node) -> Option<Node> {
        let Kind::Select { operand, field, presence: _ } = &field.kind else { return None };
        let (operand, field) = (operand.clone(), field.clone());
        self.node(Kind::Select { operand, field, presence: Presence::Tested })
    }

    fn quantifier(&mut self, function: &str, test: &Node) -> Option<Fold> {
        let (start, condition, step, result);
        match function {
            "all" => {
                start = self.literal(Literal::Bool)?;
                let so_far = self.ident(RESULT)?;
                condition = self.call("@not_strictly_false", vec![so_far])?;
                let so_far = self.ident(RESULT)?;
                step = self.call("_&&_", vec![so_far, test.clone()])?;
                result = self.ident(RESULT)?;
            }
            "exists" => {
                start = self.literal(Literal::Bool)?;
                let so_far = self.ident(RESULT)?;
                let not_yet = self.call("!_", vec![so_far])?;
                condition = self.call("@not_strictly_false", vec![not_yet])?;
                let so_far = self.ident(RESULT)?;
                step = self.call("_||_", vec![so_far, test.clone()])?;
                result = self.ident(RESULT)?;
            }
            _ => {
                start = self.literal(Literal::Int)?;
                condition = self.literal(Literal::Bool)?;
                let (so_far, one) = (self.ident(RESULT)?, self.literal(Literal::Int)?);
                let more = self.call("_+_", vec![so_far, one])?;
                step = self.either(Some(test), more)?;
                let (so_far, one) = (self.ident(RESULT)?, self.literal(Literal::Int)?);
                result = self.call("_==_", vec![so_far, one])?;
            }
        }
        Some(Fold { start, condition, step, result })
    }

    /// This step where the test holds, or else nothing new.
    fn either(&mut self, test: Option<&Node>, step: Node) -> Option<Node> {
        let Some(test) = test else { return Some(step) };
        let so_far = self.ident(RESULT)?;
        self.call("_?_:_", vec![test.clone(), step, so_far])
    }

    fn list(&mut self, test: Option<&Node>, to: &Node) -> Option<Fold> {
        let start = self.elements(vec![])?;
        let condition = self.literal(Literal::Bool)?;
        let (so_far, added) = (self.ident(RESULT)?, self.elements(vec![to.clone()])?);
        let step = self.call("_+_", vec![so_far, added])?;
        let step = self.either(test, step)?;
        Some(Fold { start, condition, step, result: self.ident(RESULT)? })
    }

    fn transform(&mut self, function: &str, range: &Node, args: &[Node]) -> Option<Node> {
        let ([one, two, test @ ..], to) = args.split_last().map(|(to, rest)| (rest, to))? else {
            return None;
        };
        let test = test.first();
        if function == "transformList" {
            let fold = self.list(test, to)?;
            return self.two_variables(range, one, two, fold);
        }
        let mut inserted = vec![self.ident(RESULT)?];
        if function == "transformMap" {
            inserted.push(self.ident(&named(one)?)?);
        }
        inserted.push(to.clone());
        let step = self.call("cel.@mapInsert", inserted)?;
        let step = self.either(test, step)?;
        let start = self.node(Kind::Map(vec![]))?;
        let condition = self.literal(Literal::Bool)?;
        let fold = Fold { start, condition, step, result: self.ident(RESULT)? };
        self.two_variables(range, one, two, fold)
    }

    fn one_variable(&mut self, range: &Node, name: &Node, fold: Fold) -> Option<Node> {
        self.comprehension(range, named(name)?, None, fold)
    }

    fn two_variables(&mut self, range: &Node, one: &Node, two: &Node, fold: Fold) -> Option<Node> {
        let (one, two) = (named(one)?, named(two)?);
        if one == two {
            return None;
        }
        self.comprehension(range, one, Some(two), fold)
    }

    fn comprehension(
        &mut self,
        range: &Node,
        variable: String,
        second: Option<String>,
        fold: Fold,
    ) -> Option<Node> {
        let Fold { start, condition, step, result } = fold;
        let (range, accumulator) = (range.clone(), RESULT.to_owned());
        self.node(Kind::Comprehension(Box::new(Comprehension {
            range,
            variable,
            second,
            accumulator,
            start,
            condition,
            step,
            result,
        })))
    }

    /// A name for a value, as a loop over nothing.
    fn bound(&mut self, name: &str, value: Node, result: Node) -> Option<Node> {
        let range = self.elements(vec![])?;
        let condition = self.literal(Literal::Bool)?;
        let step = self.ident(name)?;
        self.node(Kind::Comprehension(Box::new(Comprehension {
            range,
            variable: UNUSED.to_owned(),
            second: None,
            accumulator: name.to_owned(),
            start: value,
            condition,
            step,
            result,
        })))
    }

    fn optional(&mut self, function: &str, target: &Node, name: &Node, to: &Node) -> Option<Node> {
        let Kind::Ident(name) = &name.kind else { return None };
        let has_value = self.member("hasValue", Rc::clone(target), vec![])?;
        let value = self.member("value", Rc::clone(target), vec![])?;
        let mut mapped = self.bound(name, value, to.clone())?;
        if function == "optMap" {
            mapped = self.call("optional.of", vec![mapped])?;
        }
        let none = self.call("optional.none", vec![])?;
        self.call("_?_:_", vec![has_value, mapped, none])
    }

    fn sort_by(&mut self, target: &Node, name: &Node, key: &Node) -> Option<Node> {
        match target.kind {
            Kind::Literal(_) | Kind::Map(_) => return None,
            Kind::Ident(_)
            | Kind::Select { .. }
            | Kind::Call { .. }
            | Kind::List(_)
            | Kind::Comprehension(_) => {}
        }
        let input = self.ident(INPUT)?;
        let fold = self.list(None, key)?;
        let keys = self.one_variable(&input, name, fold)?;
        let sorted = self.member("@sortByAssociatedKeys", input, vec![keys])?;
        self.bound(INPUT, target.clone(), sorted)
    }
}

/// The name of a variable that a macro may declare.
fn named(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Ident(name) if name != RESULT && name != "__result__" => Some(name.clone()),
        _ => None,
    }
}
