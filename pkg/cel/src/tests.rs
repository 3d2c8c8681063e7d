//! What upstream's own checker says, case by case: `make cel` has written it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::checker::DOTTED_BYTES_MAX;
use crate::declarations::TABLE;
use crate::{Declarations, Document, Failure, Missing, Policy, Type, Variables, excerpt};

const PACKED: &[u8] = include_bytes!("../testdata/warnings.json.gz");
const FUEL: usize = 1_000_000;

#[derive(Deserialize)]
struct Recorded {
    document: Box<RawValue>,
    kinds: Vec<Kind>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Kind {
    group: String,
    version: String,
    #[serde(rename = "kind")]
    name: String,
}

#[derive(Deserialize)]
struct Case {
    kind: usize,
    params: Option<usize>,
    #[serde(default)]
    variables: Vec<(String, String)>,
    expression: String,
    #[serde(default)]
    warning: String,
}

fn recorded() -> Recorded {
    let mut text = String::new();
    flate2::read::GzDecoder::new(PACKED).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What is said of a case, and how many steps that took.
fn said(
    declarations: &Declarations,
    document: &mut Document<'_>,
    kinds: &[Kind],
    case: &Case,
) -> (Result<Option<String>, Failure>, usize) {
    let mut fuel = FUEL;
    let mut type_of = |place: usize, suffix: usize| {
        let Kind { group, version, name } = &kinds[place];
        document.kind(group, version, name, &format!("{name}{suffix}")).unwrap()
    };
    let about = Variables {
        object: type_of(case.kind, 0),
        params: case.params.map(|place| type_of(place, 1)),
        own: &case.variables,
    };
    let said = Policy::new(declarations, about, &mut fuel)
        .and_then(|policy| policy.issues(&case.expression, &mut fuel));
    (said, FUEL - fuel)
}

fn warning(kind: &Kind, issues: &str) -> String {
    let Kind { group, version, name } = kind;
    format!("{group}/{version}, Kind={name}: {issues}\n")
}

#[test]
fn warnings_are_upstream_s_byte_for_byte() {
    let recorded = recorded();
    let declarations = Declarations::load();
    let mut document = Document::parse(recorded.document.get().as_bytes()).unwrap();
    let (mut wrong, mut unknown, mut steps) = (Vec::new(), Vec::new(), 0);
    for case in &recorded.cases {
        let (said, taken) = said(&declarations, &mut document, &recorded.kinds, case);
        steps = steps.max(taken);
        match said {
            Ok(issues) => {
                let kind = &recorded.kinds[case.kind];
                let issues = issues.map(|it| warning(kind, &it)).unwrap_or_default();
                if issues != case.warning {
                    wrong.push((case, issues));
                }
            }
            Err(Failure::Unknown) => unknown.push(&case.expression),
            Err(Failure::Issues(_)) => unreachable!(),
        }
    }
    let mut text = String::new();
    for (case, said) in wrong.iter().take(20) {
        let Case { expression, variables, warning, .. } = case;
        writeln!(text, "{expression}\n{variables:?}\n{said}was\n{warning}").unwrap();
    }
    assert!(wrong.is_empty(), "{text}{} of {}", wrong.len(), recorded.cases.len());
    assert!(unknown.is_empty(), "{unknown:#?}");
    assert!(steps < 10_000, "{steps}");
}

/// What is said of an expression over an object that can be anything.
fn said_of(expression: &str) -> Result<Option<String>, Failure> {
    with_variables(expression, &[])
}

fn with_variables(expression: &str, own: &[(String, String)]) -> Result<Option<String>, Failure> {
    let (declarations, mut fuel) = (Declarations::load(), 100_000);
    let about = Variables { object: Type::Dyn, params: None, own };
    Policy::new(&declarations, about, &mut fuel)?.issues(expression, &mut fuel)
}

/// A call that has a macro upstream has none here that is declared as a function, and the other way
/// round: else a loop would be taken for an unknown function.
#[test]
fn the_macros_are_upstream_s() {
    let mut count = 0;
    for line in TABLE.lines().filter_map(|line| line.strip_prefix("macro ")) {
        let parts: Vec<_> = line.split(':').collect();
        let [name, arguments, is_member] = parts[..] else { panic!("{line}") };
        let names = ["x", "y", "z", "w"];
        // Where a macro stands for something longer, its names are no references.
        let arguments = names[..arguments.parse().unwrap()].join(", ");
        let call = match is_member {
            "true" => format!("dyn(1).{name}({arguments})"),
            _ => format!("{name}(object.a)"),
        };
        let issues = said_of(&call).unwrap().unwrap_or_default();
        assert!(!issues.contains(&format!("'{name}'")), "{issues}");
        assert!(!issues.contains("reference to 'x'"), "{issues}");
        count += 1;
    }
    assert_eq!(count, 20);
}

/// Nothing here is a verdict: the API server takes none of these, or they are beyond a limit.
#[test]
fn what_does_not_parse_or_is_too_large_is_unknown() {
    let nested = |count: usize| format!("{}1{}", "(".repeat(count), ")".repeat(count));
    let optional = |count: usize| format!("optional.of(1){}", ".optMap(x, x)".repeat(count));
    for (expression, is_known) in [
        ("1", true),
        ("", false),
        ("  ", false),
        ("1 1", false),
        ("'a", false),
        ("'\\z'", false),
        ("'a\n'", false),
        ("'\\ud800'", false),
        ("b'\\u0041'", false),
        ("'\\400'", false),
        ("9223372036854775808", false),
        ("-9223372036854775808", true),
        ("18446744073709551616u", false),
        ("1.", false),
        ("a.5", false),
        ("- !true", false),
        ("if", false),
        ("object.if", true),
        ("object.in", false),
        ("object.`a`", false),
        ("object.?a(1)", false),
        ("a{b: 1}", false),
        ("has(a)", false),
        ("[1].map(1, 2)", false),
        ("[1].map(__result__, 2)", false),
        ("[1].all(x, x, true)", false),
        ("'a'.sortBy(x, x)", false),
        ("[1,,2]", false),
        ("{1}", false),
        ("1 ? 2", false),
        ("#", false),
        ("\u{e9}", false),
        ("google.protobuf.NullValue.NULL_VALUE", false),
        (&nested(99), true),
        (&nested(100), false),
        (&format!("object{}", ".a".repeat(290)), true),
        (&format!("object{}", ".a".repeat(300)), false),
        (&format!("1{}", " + 1".repeat(290)), true),
        (&format!("1{}", " + 1".repeat(300)), false),
        (&format!("true{}", " && true".repeat(5000)), true),
        (&format!("{}1", "-".repeat(50_000)), true),
        (&format!("'{}'", "a".repeat(99_998)), true),
        (&format!("'{}'", "a".repeat(99_999)), false),
        (&optional(8), true),
        // Each doubles what is checked.
        (&optional(30), false),
        (&format!("{}x{}", "[1].map(x, true, ".repeat(60), ")".repeat(60)), true),
        (&format!("{}x{}", "[1].map(x, true, ".repeat(90), ")".repeat(90)), false),
    ] {
        let said = said_of(expression);
        let shown: String = expression.chars().take(40).collect();
        assert_eq!(said != Err(Failure::Unknown), is_known, "{shown}: {said:?}");
    }
}

/// Types that are as large as their names are many, and types that are deep.
#[test]
fn types_of_variables_have_limits() {
    let own = |count: usize, of: fn(usize) -> String| -> Vec<_> {
        (0..count).map(|place| (format!("v{place}"), of(place))).collect()
    };
    let before = |place: usize| match place {
        0 => "1".to_owned(),
        place => format!("variables.v{}", place - 1),
    };
    let doubled = |place: usize| {
        let before = match place {
            0 => "1".to_owned(),
            place => format!("variables.v{}", place - 1),
        };
        format!("{{{before}: {before}}}")
    };
    assert_eq!(with_variables("variables.v40 == 1", &own(41, before)), Ok(None));
    let listed = |place: usize| match place {
        0 => "[1]".to_owned(),
        place => format!("[variables.v{}]", place - 1),
    };
    let issues = with_variables("variables.v9 == 'a'", &own(10, listed)).unwrap().unwrap();
    assert!(issues.contains("(list(list(list(list(list(list(list(list(list(list(int"), "{issues}");
    for (count, of) in [(40, doubled as fn(usize) -> String), (400, listed)] {
        let last = format!("variables.v{} == 'a'", count - 1);
        assert_eq!(with_variables(&last, &own(count, of)), Err(Failure::Unknown));
    }
}

/// No name with dots that the table has is longer than those that are looked for.
#[test]
fn names_with_dots_are_looked_for() {
    let mut count = 0;
    for line in TABLE.lines() {
        let mut words =
            line.split(' ').filter(|it| matches!(*it, "fn" | "var") || it.contains('.'));
        if let (Some("fn" | "var"), Some(name)) = (words.next(), words.next()) {
            assert!(name.len() <= DOTTED_BYTES_MAX, "{name}");
            count += 1;
        }
    }
    assert!(count > 10, "{count}");
}

/// What takes time or memory takes steps, whatever it is: parsing, fields, issues, names of types.
#[test]
fn all_work_takes_steps() {
    let wide: BTreeMap<_, _> =
        (0..20_000).map(|place| (format!("f{place}"), json!({"type": "string"}))).collect();
    let far = "a".repeat(2_000);
    let mut deep = json!({"type": "object", "properties": {"x": {"type": "string"}}});
    for _ in 0..4 {
        deep = json!({"type": "object", "properties": {&far: deep}});
    }
    let mut properties = serde_json::to_value(&wide).unwrap();
    properties["deep"] = deep;
    let text = json!({"components": {"schemas": {"A": {
        "type": "object", "properties": properties,
        "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "A"}],
    }}}});
    let text = text.to_string();
    let mut document = Document::parse(text.as_bytes()).unwrap();
    let object = document.kind("", "v1", "A", "A0").unwrap();
    let declarations = Declarations::load();
    let taken = |expression: &str| {
        let (mut fuel, about) =
            (FUEL, Variables { object: object.clone(), params: None, own: &[] });
        let policy = Policy::new(&declarations, about, &mut fuel).unwrap();
        let issues = policy.issues(expression, &mut fuel);
        (issues.map(|it| it.is_some()), FUEL - fuel)
    };
    let chain = |count: usize| format!("object.deep{}", format!(".{far}").repeat(count));
    let doubled =
        |of: &str| (0..18).fold(of.to_owned(), |of, _| format!("[{of}].map(x, {{x: x}})"));
    for (name, expression, expected) in [
        ("a comment", format!("1 //{}", " ".repeat(90_000)), (Ok(false), 22_000..24_000)),
        ("a field of many", "object.f19999 == ''".to_owned(), (Ok(false), 10..100)),
        ("a chain", format!("object{}", ".a".repeat(290)), (Ok(true), 900..1_200)),
        ("a name of some length", format!("{} == 1", chain(1)), (Ok(true), 250..1_000)),
        (
            "a name that is too long",
            format!("{} == 1", chain(3)),
            (Err(Failure::Unknown), 250..2_000),
        ),
        (
            "a type that is too long",
            format!("{} + 1", doubled("1")),
            (Err(Failure::Unknown), FUEL..FUEL + 1),
        ),
        (
            "many issues, each with a long source",
            format!("[{}]//{}", "a,".repeat(100), " ".repeat(60_000)),
            (Ok(true), 100_000..120_000),
        ),
    ] {
        let (said, steps) = taken(&expression);
        assert_eq!(said, expected.0, "{name}");
        assert!(expected.1.contains(&steps), "{name}: {steps}");
    }
}

/// `ToDisplayString` of cel-go's common/errors.go and common/error.go.
#[test]
fn issues_are_printed_in_order_and_up_to_a_limit() {
    let many: Vec<_> = (0..103).map(|place| format!("a{place}")).collect();
    let issues = said_of(&format!("[{}]", many.join(",\n"))).unwrap().unwrap();
    assert_eq!(issues.matches("undeclared reference").count(), 100);
    assert!(issues.ends_with("\n3 more errors were truncated"), "{issues}");
    let long = format!("a || '{}' == 'b'", "\u{e9}".repeat(9000));
    let expected = "ERROR: <input>:1:1: undeclared reference to 'a' (in container '')";
    assert_eq!(said_of(&long), Ok(Some(expected.to_owned())));
    let lines = "\ttrue &&\r\n\t'\u{e9}' == b";
    let expected = "ERROR: <input>:2:9: undeclared reference to 'b' (in container '')\n \
                    |  '\u{e9}' == b\n | ..\u{ff0e}.....^";
    assert_eq!(said_of(lines), Ok(Some(expected.to_owned())));
}

/// `ClientDiscoveryResolver` of k8s.io/apiserver's pkg/cel/openapi/resolver.
#[test]
fn documents_have_kinds_or_not() {
    let kind = json!([{"group": "", "version": "v1", "kind": "A"}]);
    let own = |schemas: serde_json::Value| json!({"components": {"schemas": schemas}}).to_string();
    let root = |mut schema: serde_json::Value| {
        schema["x-kubernetes-group-version-kind"] = kind.clone();
        own(json!({"a\"b": schema, "B": {"type": "string"}}))
    };
    let reference = |to: &str| json!({"$ref": format!("#/components/schemas/{to}")});
    let property = |of: serde_json::Value| root(json!({"properties": {"a": of}}));
    let broken = |text: &str| Err(Missing::Schema(text.to_owned()));
    for (text, expected) in [
        (own(json!({})), Err(Missing::Kind)),
        (own(json!({"A": {"type": "object"}})), Err(Missing::Kind)),
        (root(json!({"type": "string"})), Ok("string")),
        (root(json!({"type": ["integer", "null"]})), Ok("int")),
        (root(json!({"type": "array", "items": reference("B")})), Ok("list(string)")),
        (root(json!({"type": "array", "items": [{"type": "string"}]})), Ok("dyn")),
        (root(json!({"type": "array", "items": {"allOf": [reference("B")]}})), Ok("list(string)")),
        (root(json!({"type": "object", "additionalProperties": false})), Ok("A0")),
        (property(json!({"x-kubernetes-int-or-string": "yes"})), Ok("dyn")),
        (property(reference("C")), broken("there is no schema \"C\"")),
        (property(json!({"type": {}})), broken("invalid type: map, expected a word or a list")),
        ("{".to_owned(), broken("EOF while parsing")),
        ("{}".to_owned(), Err(Missing::Kind)),
        ("null".to_owned(), Err(Missing::Kind)),
        (json!({"components": null}).to_string(), Err(Missing::Kind)),
        (json!({"components": {"schemas": null}}).to_string(), Err(Missing::Kind)),
        (
            own(json!({"A": null, "B": {"x-kubernetes-group-version-kind": null}})),
            Err(Missing::Kind),
        ),
        (root(json!({"type": null, "properties": null, "allOf": null, "format": null})), Ok("dyn")),
        (root(json!({"type": "array", "items": null})), Ok("dyn")),
        (root(json!({"type": "object", "additionalProperties": null})), Ok("A0")),
        (property(json!(null)), Ok("dyn")),
        (own(json!([])), broken("invalid type")),
    ] {
        let found =
            Document::parse(text.as_bytes()).and_then(|mut it| it.kind("", "v1", "A", "A0"));
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found.to_string(), expected, "{text}"),
            (Err(Missing::Kind), Err(Missing::Kind)) => {}
            (Err(Missing::Schema(found)), Err(Missing::Schema(expected))) => {
                assert!(found.starts_with(&expected), "{text}: {found}");
            }
            (found, expected) => panic!("{text}: {found:?}, not {expected:?}"),
        }
    }
}

/// An excerpt says of its kinds what the document says.
#[test]
fn an_excerpt_has_what_its_kinds_are_made_of() {
    let recorded = recorded();
    let text = recorded.document.get();
    for Kind { group, version, name } in &recorded.kinds {
        let kept = excerpt(text.as_bytes(), group, version, &[name.clone(), "None".to_owned()]);
        assert!(kept.len() < text.len(), "{name}: {}", kept.len());
        let [of_kept, of_all] = [&*kept, text].map(|text| {
            let mut document = Document::parse(text.as_bytes()).unwrap();
            assert_eq!(document.kind(group, version, "None", "A0").unwrap_err(), Missing::Kind);
            document.kind(group, version, name, "A0").unwrap().to_string()
        });
        assert_eq!(of_kept, of_all, "{name}");
        assert_eq!(excerpt(kept.as_bytes(), group, version, std::slice::from_ref(name)), kept);
    }
    for text in ["{", "[5]", "{\"components\": 5}"] {
        let why = Document::parse(text.as_bytes()).unwrap_err();
        let kept = excerpt(text.as_bytes(), "", "v1", &["A".to_owned()]);
        assert_eq!(Document::parse(kept.as_bytes()).unwrap_err(), why, "{text}");
    }
    let broken = json!({"components": {"schemas": {
        "A": {"$ref": "#/components/schemas/B", "x-kubernetes-group-version-kind":
            [{"group": "", "version": "v1", "kind": "A"}]},
        "C": {},
    }}});
    let kept = excerpt(broken.to_string().as_bytes(), "", "v1", &["A".to_owned()]);
    let why = Document::parse(kept.as_bytes()).unwrap().kind("", "v1", "A", "A0").unwrap_err();
    assert_eq!(why.to_string(), "its schema cannot be read: there is no schema \"B\"");
}

const WORDS: [&str; 60] = [
    "object",
    "x",
    "y",
    "true",
    "null",
    "1",
    "-1",
    "1u",
    "1.5",
    "'a'",
    "b'a'",
    "[",
    "]",
    "[?",
    "{",
    "}",
    "(",
    ")",
    ".",
    ".?",
    ",",
    ":",
    "?",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "<",
    ">=",
    "==",
    "!=",
    "&&",
    "||",
    " in ",
    ".all(x, ",
    ".map(x, ",
    ".filter(y, ",
    ".exists(x, y, ",
    ".optMap(x, ",
    ".transformMap(x, y, ",
    ".sortBy(x, ",
    "has(",
    "size(",
    "type(",
    "dyn(",
    "optional.of(",
    "optional.none()",
    "'%s'.format([",
    "timestamp(",
    ".orValue(",
    "variables.a",
    "request.",
    "google.protobuf.",
    "list",
    "int",
    "\n",
    "//",
    "\u{e9}",
];

proptest! {
    /// No panic, and an end: whatever stands there.
    #[test]
    fn no_text_breaks_a_check(text in any::<String>()) {
        let _ = said_of(&text);
    }

    /// The same of what looks like an expression.
    #[test]
    fn no_words_break_a_check(words in prop::collection::vec(prop::sample::select(&WORDS), 0..60)) {
        let _ = said_of(&words.concat());
    }

    /// The same of documents.
    #[test]
    fn no_document_breaks_a_check(text in any::<Vec<u8>>()) {
        let _ = Document::parse(&text).and_then(|mut it| it.kind("", "v1", "A", "A0"));
    }
}
