//! What the expressions of a policy are warned of. As `Check` of k8s.io/apiserver's
//! pkg/admission/plugin/policy/validating/typechecking.go.

use std::collections::{BTreeMap, BTreeSet};

use api::PolicyExpressions;
use cel::{Declarations, Document, Failure, Missing, Policy, Type, Variables};
use controller::{Facts, Refused};

use super::kinds::{Documents, VersionedKind};

/// The most steps for all expressions of a policy. The worst ones that are known take a tenth of a
/// second for them, on a thread that others wait for; usual ones take a few hundred each.
const STEPS_MAX: usize = 250_000;

/// The longest object that etcd takes, less what is for its other fields: those of the managers.
const OBJECT_BYTES_MAX: usize = (1024 + 512 - 64) * 1024;

/// What was found out.
pub(super) struct Checked {
    /// What is warned of.
    pub(super) warnings: Vec<Warning>,
    /// The kinds that were left out, and why.
    pub(super) left_out: BTreeSet<String>,
}

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

/// Checks all expressions of a policy over all kinds. The documents of all of them were asked for.
pub(super) fn check(
    policy: &PolicyExpressions,
    kinds: &BTreeSet<VersionedKind>,
    params: Option<&VersionedKind>,
    mut schemas: Schemas<'_>,
) -> Result<Checked, Unchecked> {
    let (declarations, mut steps) = (Declarations::load(), STEPS_MAX);
    // Parameters without a schema can be anything.
    let params = match params {
        Some(kind) => Some(schemas.type_of(kind, "1")?.unwrap_or(Type::Dyn)),
        None => None,
    };
    let mut checkers = Vec::new();
    for kind in kinds {
        // A kind without a schema is left out.
        let Some(object) = schemas.type_of(kind, "0")? else { continue };
        let about = Variables { object, params: params.clone(), own: &policy.variables };
        let checker = Policy::new(&declarations, about, &mut steps);
        checkers.push((kind, checker.map_err(|_| too_much("a variable"))?));
    }
    let left_out = schemas.left_out;
    let (mut warnings, mut bytes) = (Vec::new(), policy.bytes);
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
                bytes += text.as_ref().map_or(0, |text| text.len() + field.len());
                if bytes > OBJECT_BYTES_MAX {
                    let why = "the warnings are too long to be stored with the policy";
                    return Err(Unchecked::Unknown(why.to_owned()));
                }
                texts.extend(text);
            }
            if !texts.is_empty() {
                warnings.push(Warning { field, text: texts.join("\n") });
            }
        }
    }
    Ok(Checked { warnings, left_out })
}

fn too_much(field: &str) -> Unchecked {
    Unchecked::Unknown(format!("{field} is too long or too deep, or says what is unknown here"))
}

/// The schemas of kinds, as they were read.
pub(super) struct Schemas<'a> {
    documents: &'a Documents,
    facts: &'a Facts,
    /// By group and version.
    parsed: BTreeMap<(&'a str, &'a str), Result<Document<'a>, Missing>>,
    left_out: BTreeSet<String>,
}

// === impl Schemas ===

impl<'a> Schemas<'a> {
    pub(super) fn new(documents: &'a Documents, facts: &'a Facts) -> Self {
        Self { documents, facts, parsed: BTreeMap::new(), left_out: BTreeSet::new() }
    }

    /// The type of a kind; none: there is no schema of it. As upstream's, which takes a kind whose
    /// schema it cannot read for one without.
    fn type_of(&mut self, kind: &VersionedKind, suffix: &str) -> Result<Option<Type>, Unchecked> {
        let place = (kind.group.clone(), kind.version.clone());
        let Some(((group, version), query)) = self.documents.get_key_value(&place) else {
            return Ok(None);
        };
        let Some(answer) = self.facts.get(query) else {
            return Err(Unchecked::Unread(query.to_string()));
        };
        let text = match answer.document() {
            Ok(text) => text,
            Err(refused) if refused.code == Some(404) => return Ok(None),
            Err(refused) if kind.is_built_in() => return Err(unread(kind, refused)),
            Err(refused) => return Ok(self.without(kind, &refused.text)),
        };
        // Kinds of one group and version share theirs.
        let parsed = self.parsed.entry((group, version));
        let document = parsed.or_insert_with(|| Document::parse(text.as_bytes()));
        let name = &*kind.kind;
        let found = match document {
            Ok(document) => document.kind(group, version, name, &format!("{name}{suffix}")),
            Err(missing) => Err(missing.clone()),
        };
        match found {
            Ok(found) => Ok(Some(found)),
            Err(Missing::Kind) => Ok(None),
            Err(missing @ Missing::Schema(_)) if !kind.is_built_in() => {
                Ok(self.without(kind, &missing.to_string()))
            }
            Err(missing) => Err(Unchecked::Unknown(format!("{kind}: {missing}"))),
        }
    }

    fn without(&mut self, kind: &VersionedKind, why: &str) -> Option<Type> {
        self.left_out.insert(format!("{kind}: {why}"));
        None
    }
}

/// Why nothing is known of a kind that upstream's always knows: if nobody will be let read it soon,
/// its policies stay unchecked.
fn unread(kind: &VersionedKind, refused: &Refused) -> Unchecked {
    match refused.code {
        Some(401 | 403 | 406 | 410) => Unchecked::Unknown(format!("{kind}: {}", refused.text)),
        _ => Unchecked::Unread(refused.text.clone()),
    }
}
