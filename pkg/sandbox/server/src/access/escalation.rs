//! No user grants more than it holds: refuses roles and bindings whose writer does not hold what
//! they grant (kubernetes' pkg/registry/rbac/*/policybased).

use std::collections::{BTreeMap, BTreeSet};

use api::go;
use serde_json::Value;

use super::rule::{Rule, has, has_or_all, path_covers};
use super::{Access, Attributes, Resource, To, User, aggregate};
use crate::request::Call;
use crate::status::{About, Status};
use crate::write::fields::{items, metadata, set, text};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Refuses a role or a binding that grants more than its writer has. `old`: what it replaces.
pub(crate) fn check(
    access: &Access,
    call: &Call,
    new: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let (group, plural) = (&*call.served.resource.group, &*call.served.resource.plural);
    if group != GROUP || call.user.is_master() || old.is_some_and(|old| same_grants(new, old)) {
        return Ok(());
    }
    let name = text(new, "/metadata/name");
    let refuse = |why: &str| Status::forbidden(About { group, resource: plural, name }, why);
    let place = (call.namespace.as_str(), call.name.as_str());
    match plural {
        "roles" | "clusterroles" => {
            if may(access, &call.user, "escalate", (plural, place)) {
                return Ok(());
            }
            let rules: Vec<_> = items(new, "/rules").iter().map(Rule::read).collect();
            confirm(access, &call.user, place.0, &rules).map_err(|why| refuse(&why))?;
            let sums = |it: &Value| !items(it, "/aggregationRule/clusterRoleSelectors").is_empty();
            if sums(new) || old.is_some_and(sums) {
                let why = "must have cluster-admin privileges to use the aggregationRule";
                confirm(access, &call.user, "", &everything()).map_err(|_| refuse(why))?;
            }
            Ok(())
        }
        "rolebindings" | "clusterrolebindings" => {
            let (kind, role) = (text(new, "/roleRef/kind"), text(new, "/roleRef/name"));
            let roles = if kind == "Role" { "roles" } else { "clusterroles" };
            if may(access, &call.user, "bind", (roles, (place.0, role))) {
                return Ok(());
            }
            let Some(rules) = access.index.role(kind, place.0, role) else {
                return Err(Status::not_found(About { group, resource: roles, name: role }));
            };
            confirm(access, &call.user, place.0, rules).map_err(|why| refuse(&why))
        }
        _ => Ok(()),
    }
}

/// Whether nothing changes but what the garbage collector writes (`IsOnlyMutatingGCFields`).
fn same_grants(new: &Value, old: &Value) -> bool {
    let bare = |object: &Value| {
        let mut object = object.clone();
        for field in ["ownerReferences", "finalizers", "managedFields", "resourceVersion"] {
            set(metadata(&mut object), field, Value::Null);
        }
        object
    };
    bare(new) == bare(old)
}

fn may(access: &Access, user: &User, verb: &str, what: (&str, (&str, &str))) -> bool {
    let (plural, (namespace, name)) = what;
    let resource = Resource { group: GROUP, plural, subresource: "", namespace, name };
    access.judge(user, &Attributes { verb, to: To::Resource(resource) }).is_allowed()
}

fn everything() -> Vec<Rule> {
    let all = || vec!["*".to_owned()];
    let resources = Rule { verbs: all(), groups: all(), resources: all(), ..Rule::default() };
    vec![resources, Rule { verbs: all(), paths: all(), ..Rule::default() }]
}

/// The error if a user does not hold all of these rules (`ConfirmNoEscalation`).
fn confirm(access: &Access, user: &User, namespace: &str, rules: &[Rule]) -> Result<(), String> {
    let (held, faults) = access.rules_of(user, namespace);
    let single = rules.iter().flat_map(singles);
    let missing: Vec<_> = single.filter(|it| !held.iter().any(|rule| covers(rule, it))).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing: BTreeSet<_> = compact(missing).iter().map(describe).collect();
    let missing: Vec<_> = missing.into_iter().collect();
    let mut why = format!(
        "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        user.name,
        quoted(&user.groups),
        missing.join("\n")
    );
    if let Some(faults) = aggregate(&faults) {
        why = format!("{why}; resolution errors: [{faults}]");
    }
    Err(why)
}

/// The rules of one verb on one resource that a rule consists of (`BreakdownRule`).
fn singles(rule: &Rule) -> Vec<Rule> {
    let one = |it: &String| vec![it.clone()];
    let mut all = Vec::new();
    for group in &rule.groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let single = Rule {
                    verbs: one(verb),
                    groups: one(group),
                    resources: one(resource),
                    ..Rule::default()
                };
                if rule.names.is_empty() {
                    all.push(single);
                    continue;
                }
                all.extend(rule.names.iter().map(|it| Rule { names: one(it), ..single.clone() }));
            }
        }
    }
    for path in &rule.paths {
        let of = |verb| Rule { verbs: one(verb), paths: one(path), ..Rule::default() };
        all.extend(rule.verbs.iter().map(of));
    }
    all
}

/// Whether a rule allows all that a single one does (`ruleCovers`).
fn covers(rule: &Rule, single: &Rule) -> bool {
    let resource = |it: &String| {
        let below = it.split_once('/').map(|(_, below)| format!("*/{below}"));
        has_or_all(&rule.resources, it) || below.is_some_and(|below| has(&rule.resources, &below))
    };
    let names = match single.names.as_slice() {
        [] => rule.names.is_empty(),
        names => rule.names.is_empty() || names.iter().all(|it| has(&rule.names, it)),
    };
    names
        && single.verbs.iter().all(|it| has_or_all(&rule.verbs, it))
        && single.groups.iter().all(|it| has_or_all(&rule.groups, it))
        && single.resources.iter().all(resource)
        && single.paths.iter().all(|it| rule.paths.iter().any(|known| path_covers(known, it)))
}

/// The verbs on one resource together (`CompactRules`).
fn compact(rules: Vec<Rule>) -> Vec<Rule> {
    let mut compacted = Vec::new();
    let mut simple: BTreeMap<[Vec<String>; 3], Rule> = BTreeMap::new();
    for rule in rules {
        if !rule.paths.is_empty() {
            compacted.push(rule);
            continue;
        }
        let place = [rule.groups.clone(), rule.resources.clone(), rule.names.clone()];
        match simple.get_mut(&place) {
            Some(known) => known.verbs.extend(rule.verbs),
            None => drop(simple.insert(place, rule)),
        }
    }
    compacted.extend(simple.into_values());
    compacted
}

/// As upstream's `CompactString`.
fn describe(rule: &Rule) -> String {
    let fields = [
        ("APIGroups", &rule.groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.paths),
        ("ResourceNames", &rule.names),
        ("Verbs", &rule.verbs),
    ];
    let said = fields.iter().filter(|(_, values)| !values.is_empty());
    let said: Vec<_> = said.map(|(field, values)| format!("{field}:{}", quoted(values))).collect();
    format!("{{{}}}", said.join(", "))
}

/// Go's `%q` of a list.
fn quoted(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(go::quote).collect();
    format!("[{}]", texts.join(" "))
}
