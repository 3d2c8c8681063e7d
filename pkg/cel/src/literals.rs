//! Rules for lists, maps and formats that are written out, which hold once all types are known. As
//! `ValidateHomogeneousAggregateLiterals` of cel-go's cel/validator.go, and as ext/formatting.go.

use crate::ast::{Kind, Literal, Node};
use crate::checker::Checker;
use crate::types::Type;

/// What takes lists of different types.
const FORMAT: &str = "format";

/// Why a format does not fit, and where: at the call, if nowhere else.
type Misfit = (Option<usize>, String);

/// Reports what is wrong with the literals of an expression.
pub(crate) fn validate(checker: &mut Checker<'_>, root: &Node) {
    let mut found = Found::default();
    collect(checker, root, Within::Anything, &mut found);
    for list in &found.lists {
        one_type(checker, list);
    }
    for map in &found.maps {
        one_type_each(checker, map);
    }
    for call in &found.formats {
        formatted(checker, call);
    }
}

/// Where a literal is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Anything,
    Format,
}

/// The expressions that have rules, in upstream's order.
#[derive(Default)]
struct Found {
    lists: Vec<Node>,
    maps: Vec<Node>,
    formats: Vec<Node>,
}

fn collect(checker: &mut Checker<'_>, node: &Node, within: Within, found: &mut Found) {
    if !checker.unifier.step() {
        return;
    }
    let is_format = matches!(&node.kind, Kind::Call { function, .. } if function == FORMAT);
    let inside = if is_format { Within::Format } else { within };
    for child in node.kind.children() {
        collect(checker, child, inside, found);
    }
    match &node.kind {
        Kind::List(_) if within == Within::Anything => found.lists.push(node.clone()),
        Kind::Map(_) if within == Within::Anything => found.maps.push(node.clone()),
        Kind::Call { target: Some(target), args, .. } if is_format => {
            let is_constant = matches!(target.kind, Kind::Literal(Literal::String(_)));
            if is_constant && matches!(&**args, [list] if matches!(list.kind, Kind::List(_))) {
                found.formats.push(node.clone());
            }
        }
        _ => {}
    }
}

/// All elements of a list have one type.
fn one_type(checker: &mut Checker<'_>, list: &Node) {
    let Kind::List(elements) = &list.kind else { return };
    let mut first: Option<Type> = None;
    for element in elements {
        let of = inner(checker.type_of(&element.value), element.is_optional);
        match &first {
            None => first = Some(of),
            Some(expected) if checker.unifier.exact(expected, &of) => {}
            Some(expected) => {
                checker.mismatch(element.value.at, expected, &of);
                return;
            }
        }
    }
}

/// All keys of a map have one type, and all values.
fn one_type_each(checker: &mut Checker<'_>, map: &Node) {
    let Kind::Map(entries) = &map.kind else { return };
    let mut first: Option<(Type, Type)> = None;
    for entry in entries {
        let key = checker.type_of(&entry.key);
        let value = inner(checker.type_of(&entry.value), entry.is_optional);
        let Some((keys, values)) = &first else {
            first = Some((key, value));
            continue;
        };
        for (node, expected, of) in [(&entry.key, keys, &key), (&entry.value, values, &value)] {
            if !checker.unifier.exact(expected, of) {
                checker.mismatch(node.at, expected, of);
            }
        }
    }
}

/// The type in an optional one, where the literal asks for what is in it.
fn inner(of: Type, is_optional: bool) -> Type {
    match of.unwrapped() {
        Some(inner) if is_optional => inner.clone(),
        Some(_) | None => of,
    }
}

/// The arguments of a format fit its clauses.
fn formatted(checker: &mut Checker<'_>, call: &Node) {
    let Kind::Call { target: Some(target), args, .. } = &call.kind else { return };
    let Kind::Literal(Literal::String(format)) = &target.kind else { return };
    let Some(Kind::List(elements)) = args.first().map(|it| &it.kind) else { return };
    let args: Vec<&Node> = elements.iter().map(|it| &it.value).collect();
    match clauses(checker, format.as_bytes(), &args) {
        Ok(seen) if args.len() > seen => {
            let start = "too many arguments supplied to string.format";
            let text = format!("{start} (expected {seen}, got {})", args.len());
            checker.report.add(call.at, text);
        }
        Ok(_) => {}
        Err((at, text)) => checker.report.add(at.unwrap_or(call.at), text),
    }
}

/// How many arguments the clauses take. `parseFormatString`.
fn clauses(checker: &mut Checker<'_>, format: &[u8], args: &[&Node]) -> Result<usize, Misfit> {
    let (mut rest, mut seen) = (format, 0);
    while let Some((char, after)) = rest.split_first() {
        rest = after;
        if *char != b'%' {
            continue;
        }
        if let Some((b'%', after)) = rest.split_first() {
            rest = after;
            continue;
        }
        if rest.is_empty() {
            return Err((None, "unexpected end of string".to_owned()));
        }
        let Some(arg) = args.get(seen) else {
            return Err((None, format!("index {seen} out of range")));
        };
        let (clause, after) = clause(rest)
            .map_err(|text| (None, format!("could not parse formatting clause: {text}")))?;
        rest = after;
        seen += 1;
        fitting(checker, clause, arg)
            .map_err(|(at, text)| (Some(at), format!("error during formatting: {text}")))?;
    }
    Ok(seen)
}

/// A clause after its percent sign, without its precision, and what follows it.
fn clause(format: &[u8]) -> Result<(u8, &[u8]), String> {
    let mut rest = format;
    if let Some((b'.', after)) = format.split_first() {
        let digits = after.iter().take_while(|it| it.is_ascii_digit()).count();
        let (digits, after) = after.split_at(digits);
        let wrong = |text: String| format!("error while parsing precision: {text}");
        if after.is_empty() {
            return Err(wrong("could not find end of precision specifier".to_owned()));
        }
        let text = String::from_utf8_lossy(digits);
        if text.parse::<i64>().is_err() {
            let why = if text.is_empty() { "invalid syntax" } else { "value out of range" };
            let text = format!("strconv.Atoi: parsing \"{text}\": {why}");
            return Err(wrong(format!("error while converting precision to integer: {text}")));
        }
        rest = after;
    }
    match rest.split_first() {
        Some((clause @ (b's' | b'd' | b'f' | b'e' | b'b' | b'x' | b'X' | b'o'), after)) => {
            Ok((*clause, after))
        }
        Some((other, _)) => {
            Err(format!("unrecognized formatting clause \"{}\"", char::from(*other)))
        }
        None => Err("unexpected end of string".to_owned()),
    }
}

/// Whether an argument has a type that the clause takes; else where it has not, and why.
fn fitting(checker: &mut Checker<'_>, clause: u8, arg: &Node) -> Result<(), (usize, String)> {
    if clause == b's' {
        return printable(checker, arg);
    }
    let of = checker.type_of(arg);
    let (rule, fits) = match clause {
        b'd' => (
            "decimal clause can only be used on integers",
            matches!(of, Type::Int | Type::Uint | Type::Dyn),
        ),
        b'f' => (
            "fixed-point clause can only be used on doubles",
            matches!(of, Type::Double | Type::String | Type::Dyn),
        ),
        b'e' => (
            "scientific clause can only be used on doubles",
            matches!(of, Type::Double | Type::String | Type::Dyn),
        ),
        b'b' => (
            "only integers and bools can be formatted as binary",
            matches!(of, Type::Int | Type::Uint | Type::Bool | Type::Dyn),
        ),
        b'o' => (
            "octal clause can only be used on integers",
            matches!(of, Type::Int | Type::Uint | Type::Dyn),
        ),
        _ => (
            "only integers, byte buffers, and strings can be formatted as hex",
            matches!(of, Type::Int | Type::Uint | Type::String | Type::Bytes | Type::Dyn),
        ),
    };
    if fits { Ok(()) } else { Err((arg.at, format!("{rule}, was given {}", of.name()))) }
}

/// As text, with all that is in it. `verifyString`.
fn printable(checker: &mut Checker<'_>, arg: &Node) -> Result<(), (usize, String)> {
    let of = checker.type_of(arg);
    match of {
        Type::Any | Type::Error | Type::Opaque(_) | Type::Struct(_) => {
            let rule = "string clause can only be used on strings, bools, bytes, ints, doubles, \
                        maps, lists, types, durations, and timestamps";
            return Err((arg.at, format!("{rule}, was given {}", of.name())));
        }
        _ => {}
    }
    match &arg.kind {
        Kind::List(_) | Kind::Map(_) => {
            arg.kind.children().into_iter().try_for_each(|it| printable(checker, it))
        }
        _ => Ok(()),
    }
}
