//! What the expressions of a policy are warned of. As `Check` of k8s.io/apiserver's
//! pkg/admission/plugin/policy/validating/typechecking.go.

use std::collections::BTreeMap;

use api::PolicyExpressions;
use cel::{Declarations, Document, Failure, Missing, Policy, Type, Variables};
use controller::{Facts, Query};

use super::kinds::VersionedKind;

/// The most steps for all expressions of a policy: about a second.
const STEPS_MAX: usize = 1_000_000;

/// The most text of all warnings of a policy. A longer status the API server could not store.
const BYTES_MAX: usize = 1024 * 1024;

/// A warning about an expression.
pub(super) struct Warning {
    /// Where the expression is.
    pub(super) field: String,
    /// What is wrong with it, for each kind over which it is.
    pub(super) text: String,
}

/// Why a policy is not checked.
pub(super) enum Unchecked {
    /// A document could not be read, now.
    Unread(String),
    /// Some expression cannot be checked, and why.
    Unknown(String),
}

/// The documents that were parsed.
type Documents<'a> = BTreeMap<Query, Result<Document<'a>, Missing>>;

/// Checks all expressions of a policy over all kinds. The documents of all of them were asked for.
pub(super) fn warnings(
    policy: &PolicyExpressions,
    kinds: &[VersionedKind],
    params: Option<&VersionedKind>,
    facts: &Facts,
) -> Result<Vec<Warning>, Unchecked> {
    let (declarations, mut steps) = (Declarations::load(), STEPS_MAX);
    let mut documents = Documents::new();
    // Parameters without a schema can be anything.
    let params = match params {
        Some(kind) => Some(type_of(kind, "1", facts, &mut documents)?.unwrap_or(Type::Dyn)),
        None => None,
    };
    let mut checkers = Vec::new();
    for kind in kinds {
        // A kind without a schema is left out.
        let Some(object) = type_of(kind, "0", facts, &mut documents)? else { continue };
        let about = Variables { object, params: params.clone(), own: &policy.variables };
        let checker = Policy::new(&declarations, about, &mut steps);
        checkers.push((kind, checker.map_err(|_| too_much("a variable"))?));
    }
    let (mut all, mut bytes) = (Vec::new(), 0);
    for (place, validation) in policy.validations.iter().enumerate() {
        let both = [
            ("expression", &validation.expression),
            ("messageExpression", &validation.message_expression),
        ];
        for (name, expression) in both {
            if name == "messageExpression" && expression.is_empty() {
                continue;
            }
            let field = format!("spec.validations[{place}].{name}");
            let mut texts = Vec::new();
            for (kind, checker) in &checkers {
                let issues = checker.issues(expression, &mut steps);
                let issues = issues.map_err(|_: Failure| too_much(&field))?;
                let text = issues.map(|issues| format!("{kind}: {issues}\n"));
                bytes += text.as_ref().map_or(0, String::len);
                if bytes > BYTES_MAX {
                    return Err(Unchecked::Unknown("the warnings are too long".to_owned()));
                }
                texts.extend(text);
            }
            if !texts.is_empty() {
                all.push(Warning { field, text: texts.join("\n") });
            }
        }
    }
    Ok(all)
}

fn too_much(field: &str) -> Unchecked {
    Unchecked::Unknown(format!("{field} is too long or too deep, or says what is unknown here"))
}

/// The type of a kind; none: there is no schema of it.
fn type_of<'a>(
    kind: &VersionedKind,
    suffix: &str,
    facts: &'a Facts,
    documents: &mut Documents<'a>,
) -> Result<Option<Type>, Unchecked> {
    let Some(query) = kind.document() else { return Ok(None) };
    let Some(answer) = facts.get(&query) else { return Err(Unchecked::Unread(query.to_string())) };
    let text = match answer.document() {
        Ok(text) => text,
        Err(refused) if refused.code == Some(404) => return Ok(None),
        // Who may not read it now will not soon; upstream's takes the kind for none.
        Err(refused) if matches!(refused.code, Some(401 | 403 | 406 | 410)) => {
            return Err(Unchecked::Unknown(format!("{kind}: {}", refused.text)));
        }
        Err(refused) => return Err(Unchecked::Unread(refused.text.clone())),
    };
    let VersionedKind { group, version, kind: name } = kind;
    // Kinds of one group and version share theirs.
    let document = documents.entry(query).or_insert_with(|| Document::parse(text));
    let found = match document {
        Ok(document) => document.kind(group, version, name, &format!("{name}{suffix}")),
        Err(missing) => Err(missing.clone()),
    };
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Missing::Kind) => Ok(None),
        Err(missing @ Missing::Schema(_)) => Err(Unchecked::Unknown(format!("{kind}: {missing}"))),
    }
}
