//! Types of expressions. As cel-go's checker/checker.go.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use crate::ast::{Comprehension, Element, Entry, Kind, Literal, Node, Presence};
use crate::declarations::{Declarations, Overload, Style};
use crate::literals;
use crate::parser::{self, RESERVED};
use crate::report::Report;
use crate::types::{Field, Fields, Struct, Type};
use crate::unify::{Open, Unifier, instantiated, open_in};

/// Names that begin so are of upstream's types. What is not known of them is no issue.
const FOREIGN: [&str; 3] = ["google", "kubernetes", "net"];

/// The longest name with dots that anything has, in bytes: a test holds it to the table. Chains of
/// fields that are longer are no such names, and nobody looks for them.
pub(crate) const DOTTED_BYTES_MAX: usize = 64;
/// How many characters are parsed in a step.
const CHARS_PER_STEP: usize = 4;
/// How much text is written in a step, in bytes.
const TEXT_BYTES_PER_STEP: usize = 64;

/// What an expression may use.
#[derive(Debug)]
pub struct Environment<'a> {
    /// In all expressions.
    pub declarations: &'a Declarations,
    /// In this one.
    pub variables: BTreeMap<String, Type>,
}

/// Why an expression has no type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It is wrong. In upstream's words.
    Issues(String),
    /// It cannot be said: it does not parse, it is too large, or it uses what is not known here.
    Unknown,
}

/// The type of an expression. Takes steps of `fuel`; when there are none left, nothing is known.
///
/// Not checked: the texts of constant times, durations and regular expressions. The API server
/// takes no expression in which one is wrong.
pub fn check(
    source: &str,
    environment: &Environment<'_>,
    fuel: &mut usize,
) -> Result<Type, Failure> {
    // Each takes four bytes, each byte at most one.
    let source: Vec<char> = source.chars().take(parser::CODE_POINTS_MAX + 1).collect();
    if !spend(fuel, source.len() / CHARS_PER_STEP) {
        return Err(Failure::Unknown);
    }
    let parsed = parser::parse(&source).ok_or(Failure::Unknown)?;
    let mut checker = Checker {
        environment,
        scopes: Vec::new(),
        types: vec![None; parsed.ids],
        unifier: Unifier::new(fuel),
        report: Report::default(),
        is_known: true,
    };
    let found = checker.check(&parsed.root);
    let found = checker.unifier.substitute(&found, Open::Dyn);
    if checker.report.is_empty() {
        literals::validate(&mut checker, &parsed.root);
    }
    let Checker { report, is_known, unifier, .. } = checker;
    drop(unifier);
    // Each issue looks for its line.
    let printing = report.len().saturating_mul(source.len()) / TEXT_BYTES_PER_STEP;
    if !is_known || !spend(fuel, printing + 1) {
        return Err(Failure::Unknown);
    }
    if report.is_empty() { Ok(found) } else { Err(Failure::Issues(report.print(&source))) }
}

/// Takes steps; false: there are none left.
fn spend(fuel: &mut usize, steps: usize) -> bool {
    *fuel = fuel.saturating_sub(steps);
    *fuel > 0
}

/// The state of a check.
pub(crate) struct Checker<'a> {
    environment: &'a Environment<'a>,
    /// The variables of macros, the innermost last.
    scopes: Vec<(String, Type)>,
    /// By the ids of expressions.
    types: Vec<Option<Type>>,
    pub(crate) unifier: Unifier<'a>,
    pub(crate) report: Report,
    is_known: bool,
}

/// A call, and what it is applied to.
struct Applied<'a> {
    at: usize,
    args: &'a [Node],
    /// A target comes first.
    types: Vec<Type>,
    style: Style,
}

// === impl Checker ===

impl Checker<'_> {
    /// The type that was found of an expression, with nothing open in it.
    pub(crate) fn type_of(&mut self, node: &Node) -> Type {
        match self.types.get(node.id).cloned().flatten() {
            Some(found) => self.unifier.substitute(&found, Open::Dyn),
            None => Type::Error,
        }
    }

    /// The type as text, which takes steps: it can be much longer than the type is large.
    pub(crate) fn printed(&mut self, of: &Type) -> String {
        let mut text = Limited { text: String::new(), bytes_left: self.unifier.steps_left() };
        text.bytes_left = text.bytes_left.saturating_mul(TEXT_BYTES_PER_STEP);
        let is_whole = write!(text, "{of}").is_ok();
        let steps = text.text.len() / TEXT_BYTES_PER_STEP + 1;
        if !self.unifier.steps(steps) || !is_whole {
            self.unifier.give_up();
        }
        text.text
    }

    pub(crate) fn mismatch(&mut self, at: usize, expected: &Type, found: &Type) {
        let (expected, found) = (self.printed(expected), self.printed(found));
        self.report.add(at, format!("expected type '{expected}' but found '{found}'"));
    }

    fn check(&mut self, node: &Node) -> Type {
        if !self.unifier.step() {
            return Type::Error;
        }
        let found = match &node.kind {
            Kind::Literal(literal) => of_literal(literal),
            Kind::Ident(name) => self.ident(node, name),
            Kind::Select { operand, field, presence } => {
                self.select(node, operand, field, *presence)
            }
            Kind::Call { function, target, args } => {
                self.call(node, function, target.as_ref(), args)
            }
            Kind::List(elements) => self.list(elements),
            Kind::Map(entries) => self.map(entries),
            Kind::Comprehension(it) => self.comprehension(it),
        };
        if let Some(place) = self.types.get_mut(node.id) {
            *place = Some(found.clone());
        }
        found
    }

    fn lookup(&self, name: &str) -> Option<&Type> {
        let name = name.strip_prefix('.').unwrap_or(name);
        let local = self.scopes.iter().rev().find(|(it, _)| it == name).map(|(_, of)| of);
        local
            .or_else(|| self.environment.variables.get(name))
            .or_else(|| self.environment.declarations.variable(name))
    }

    fn undeclared(&mut self, at: usize, name: &str) -> Type {
        let first = name.trim_start_matches('.').split('.').next().unwrap_or_default();
        self.is_known &= !FOREIGN.contains(&first);
        let text = format!("undeclared reference to '{name}' (in container '')");
        self.report.add(at, text);
        Type::Error
    }

    fn ident(&mut self, node: &Node, name: &str) -> Type {
        let found = self.lookup(name).cloned();
        found.unwrap_or_else(|| self.undeclared(node.at, name))
    }

    fn select(&mut self, node: &Node, operand: &Node, field: &str, presence: Presence) -> Type {
        if presence == Presence::Taken
            && let Some(name) = qualified(node, DOTTED_BYTES_MAX)
            && let Some(found) = self.lookup(&name)
        {
            return found.clone();
        }
        let found = self.field(node, operand, field, Asked::Plainly);
        match presence {
            Presence::Tested => Type::Bool,
            Presence::Taken => self.unifier.substitute(&found, Open::Stays),
        }
    }

    /// `checkSelectField`.
    fn field(&mut self, node: &Node, operand: &Node, field: &str, asked: Asked) -> Type {
        let within = self.check(operand);
        let within = self.unifier.substitute(&within, Open::Stays);
        let target = within.unwrapped();
        let is_optional = asked == Asked::Optionally || target.is_some();
        let found = match target.unwrap_or(&within) {
            Type::Map(it) => it.1.clone(),
            Type::Struct(it) => self.field_of(node.at, it, field),
            open @ Type::Variable(_) => {
                self.unifier.fits(&Type::Dyn, open);
                Type::Dyn
            }
            other => {
                if !other.is_dyn_or_error() {
                    let of = self.printed(other);
                    let text = format!("type '{of}' does not support field selection");
                    self.report.add(node.at, text);
                }
                Type::Dyn
            }
        };
        if is_optional { Type::optional(found) } else { found }
    }

    /// `lookupFieldType`. Words that are reserved name fields, too.
    fn field_of(&mut self, at: usize, within: &Struct, field: &str) -> Type {
        let mut found = self.find_field(at, within, field);
        if matches!(found, Field::Missing) && RESERVED.contains(&field) {
            found = self.find_field(at, within, &format!("__{field}__"));
        }
        match found {
            Field::Is(found) => found,
            Field::Missing => {
                self.report.add(at, format!("undefined field '{field}'"));
                Type::Error
            }
            Field::Unknown => Type::Error,
        }
    }

    fn find_field(&mut self, at: usize, within: &Struct, field: &str) -> Field {
        let found = match &within.fields {
            Fields::Declared => {
                let Some(fields) = self.environment.declarations.fields(&within.name) else {
                    let text = format!("unexpected failed resolution of '{}'", within.name);
                    self.report.add(at, text);
                    return Field::Is(Type::Error);
                };
                fields.get(field).cloned().map_or(Field::Missing, Field::Is)
            }
            Fields::Known(fields) => fields.get(field).cloned().map_or(Field::Missing, Field::Is),
            Fields::Schema(object) => object.field(&within.name, field),
        };
        self.is_known &= !matches!(found, Field::Unknown);
        found
    }

    fn call(&mut self, node: &Node, function: &str, target: Option<&Node>, args: &[Node]) -> Type {
        if let ("_?._", None, [operand, field]) = (function, target, args)
            && let Kind::Literal(Literal::String(name)) = &field.kind
        {
            let found = self.field(node, operand, name, Asked::Optionally);
            return self.unifier.substitute(&found, Open::Stays);
        }
        let types = args.iter().map(|arg| self.check(arg)).collect();
        let mut call = Applied { at: node.at, args, types, style: Style::Global };
        let Some(target) = target else { return self.resolve(function, &call) };
        if let Some(prefix) = qualified(target, DOTTED_BYTES_MAX) {
            let name = format!("{prefix}.{function}");
            if self.functions_of(&name).is_some() {
                return self.resolve(&name, &call);
            }
        }
        call.types.insert(0, self.check(target));
        call.style = Style::Member;
        self.resolve(function, &call)
    }

    fn functions_of(&self, name: &str) -> Option<&[Overload]> {
        self.environment.declarations.function(name.strip_prefix('.').unwrap_or(name))
    }

    /// The result of the overload that takes these types. `resolveOverload`.
    fn resolve(&mut self, function: &str, call: &Applied<'_>) -> Type {
        let environment = self.environment;
        let name = function.strip_prefix('.').unwrap_or(function);
        let Some(overloads) = environment.declarations.function(name) else {
            return self.undeclared(call.at, function);
        };
        let mut result: Option<Type> = None;
        for overload in overloads.iter().filter(|it| it.style == call.style) {
            if !self.unifier.step() {
                return Type::Error;
            }
            if matches!(name, "_&&_" | "_||_") {
                return self.logic(call);
            }
            let mut open = Vec::new();
            overload.types.iter().for_each(|it| open_in(it, &mut open));
            let fresh: Vec<_> =
                open.into_iter().map(|name| (name, self.unifier.variable())).collect();
            let candidate: Vec<_> =
                overload.types.iter().map(|it| instantiated(it, &fresh)).collect();
            let Some((returned, wanted)) = candidate.split_first() else { continue };
            if !self.unifier.all_fit(&call.types, wanted) {
                continue;
            }
            let returned = self.unifier.substitute(returned, Open::Stays);
            // The first one that fits says what the result is.
            result = Some(match result {
                None => returned,
                Some(before) if before.is_dyn() || self.unifier.exact(&returned, &before) => before,
                Some(_) => Type::Dyn,
            });
        }
        result.unwrap_or_else(|| self.no_overload(name, call))
    }

    fn logic(&mut self, call: &Applied<'_>) -> Type {
        let mut result = Type::Bool;
        for (arg, of) in call.args.iter().zip(&call.types) {
            if !self.unifier.fits(of, &Type::Bool) {
                self.mismatch(arg.at, &Type::Bool, of);
                result = Type::Error;
            }
        }
        result
    }

    fn no_overload(&mut self, name: &str, call: &Applied<'_>) -> Type {
        let mut texts = Vec::new();
        for of in &call.types {
            let of = self.unifier.substitute(of, Open::Dyn);
            texts.push(self.printed(&of));
        }
        let target = match call.style {
            Style::Member if !texts.is_empty() => format!("{}.", texts.remove(0)),
            Style::Member | Style::Global => String::new(),
        };
        let applied = format!("{target}({})", texts.join(", "));
        let text = format!("found no matching overload for '{name}' applied to '{applied}'");
        self.report.add(call.at, text);
        Type::Error
    }

    /// What is in an optional value, where one must stand.
    fn unwrapped(&mut self, node: &Node, of: Type) -> Type {
        if let Some(inner) = of.unwrapped() {
            return inner.clone();
        }
        if !of.is_dyn() {
            self.mismatch(node.at, &Type::optional(of.clone()), &of);
        }
        of
    }

    fn list(&mut self, elements: &[Element]) -> Type {
        let mut joined = None;
        for element in elements {
            let mut of = self.check(&element.value);
            if element.is_optional {
                of = self.unwrapped(&element.value, of);
            }
            joined = Some(self.join(joined, of));
        }
        Type::list(joined.unwrap_or_else(|| self.unifier.variable()))
    }

    fn map(&mut self, entries: &[Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let key = self.check(&entry.key);
            keys = Some(self.join(keys, key));
            let mut value = self.check(&entry.value);
            if entry.is_optional {
                value = self.unwrapped(&entry.value, value);
            }
            values = Some(self.join(values, value));
        }
        let key = keys.unwrap_or_else(|| self.unifier.variable());
        Type::map(key, values.unwrap_or_else(|| self.unifier.variable()))
    }

    /// The more general one of two types. `joinTypes`.
    fn join(&mut self, before: Option<Type>, of: Type) -> Type {
        let Some(before) = before else { return of };
        if !self.unifier.fits(&before, &of) {
            return Type::Dyn;
        }
        if self.unifier.is_less_specific(&before, &of) { before } else { of }
    }

    fn comprehension(&mut self, it: &Comprehension) -> Type {
        let range = self.check(&it.range);
        let accumulated = self.check(&it.start);
        let range = self.unifier.substitute(&range, Open::Stays);
        let outside = self.scopes.len();
        self.scopes.push((it.accumulator.clone(), accumulated.clone()));
        let inside = self.scopes.len();
        let (one, two) = self.iterated(it, &range);
        self.scopes.push((it.variable.clone(), one));
        if let Some(second) = &it.second {
            self.scopes.push((second.clone(), two));
        }
        for (node, expected) in [(&it.condition, &Type::Bool), (&it.step, &accumulated)] {
            let found = self.check(node);
            if !self.unifier.fits(expected, &found) {
                self.mismatch(node.at, expected, &found);
            }
        }
        self.scopes.truncate(inside);
        let result = self.check(&it.result);
        self.scopes.truncate(outside);
        self.unifier.substitute(&result, Open::Stays)
    }

    /// The types of the two variables of a loop; the second one counts only if there are two.
    fn iterated(&mut self, it: &Comprehension, range: &Type) -> (Type, Type) {
        match range {
            Type::List(element) if it.second.is_some() => (Type::Int, (**element).clone()),
            Type::List(element) => ((**element).clone(), Type::Error),
            Type::Map(of) => (of.0.clone(), of.1.clone()),
            Type::Dyn | Type::Error | Type::Variable(_) => {
                self.unifier.fits(&Type::Dyn, range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let of = self.printed(other);
                let rule = "cannot be range of a comprehension (must be list, map, or dynamic)";
                self.report.add(it.range.at, format!("expression of type '{of}' {rule}"));
                (Type::Error, Type::Error)
            }
        }
    }
}

/// How a field is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// `a.b`.
    Plainly,
    /// `a.?b`.
    Optionally,
}

fn of_literal(literal: &Literal) -> Type {
    match literal {
        Literal::Bool => Type::Bool,
        Literal::Bytes => Type::Bytes,
        Literal::Double => Type::Double,
        Literal::Int => Type::Int,
        Literal::Null => Type::Null,
        Literal::String(_) => Type::String,
        Literal::Uint => Type::Uint,
    }
}

/// Names with dots between them, if they are not longer than this. `ToQualifiedName`.
fn qualified(node: &Node, bytes_max: usize) -> Option<String> {
    match &node.kind {
        Kind::Ident(name) => (name.len() <= bytes_max).then(|| name.clone()),
        Kind::Select { operand, field, presence: Presence::Taken } => {
            let rest = bytes_max.checked_sub(field.len() + 1)?;
            Some(format!("{}.{field}", qualified(operand, rest)?))
        }
        _ => None,
    }
}

/// Text that ends when it is too long.
struct Limited {
    text: String,
    bytes_left: usize,
}

// === impl Limited ===

impl fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes_left = self.bytes_left.checked_sub(text.len()).ok_or(fmt::Error)?;
        self.text.push_str(text);
        Ok(())
    }
}
