//! What upstream's own checker says, case by case: `make cel` has written it.

use std::fmt::Write as _;
use std::io::Read as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::declarations::TABLE;
use crate::{Declarations, Document, Failure, Policy, Variables};

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
    kind: String,
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
    let other = std::env::var("CEL_W").ok().map(|p| std::fs::read(p).unwrap());
    flate2::read::GzDecoder::new(other.as_deref().unwrap_or(PACKED))
        .read_to_string(&mut text)
        .unwrap();
    serde_json::from_str(&text).unwrap()
}

/// What is said of a case, and how many steps that took.
fn said(
    declarations: &Declarations,
    document: &Document<'_>,
    kinds: &[Kind],
    case: &Case,
) -> (Result<Option<String>, Failure>, usize) {
    let mut fuel = FUEL;
    let type_of = |place: usize, suffix: usize| {
        let Kind { group, version, kind } = &kinds[place];
        document.kind(group, version, kind, &format!("{kind}{suffix}")).unwrap()
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
    let Kind { group, version, kind } = kind;
    format!("{group}/{version}, Kind={kind}: {issues}\n")
}

#[test]
fn warnings_are_upstream_s_byte_for_byte() {
    let recorded = recorded();
    let declarations = Declarations::load();
    let document = Document::parse(recorded.document.get().as_bytes()).unwrap();
    let (mut wrong, mut unknown, mut steps) = (Vec::new(), Vec::new(), 0);
    for case in &recorded.cases {
        let (said, taken) = said(&declarations, &document, &recorded.kinds, case);
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
    println!("{unknown:#?} {steps}");
    assert_eq!(unknown.len(), 0);
}
