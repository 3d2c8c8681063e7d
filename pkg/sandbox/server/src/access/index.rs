//! Roles and bindings, by their subjects: what a request needs of them is found without looking at
//! those of others.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Key;
use serde_json::Value;

use super::rule::Rule;
use super::{Attributes, User};
use crate::write::fields::{items, text};

/// The tables that roles and bindings are in.
pub(crate) const TABLES: [&str; 4] = [
    "clusterroles.rbac.authorization.k8s.io",
    "roles.rbac.authorization.k8s.io",
    "clusterrolebindings.rbac.authorization.k8s.io",
    "rolebindings.rbac.authorization.k8s.io",
];

/// Roles and bindings.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    /// By namespace and name; ClusterRoles have no namespace.
    roles: BTreeMap<Box<str>, Roles>,
    /// What users have, by their names. Service accounts are users.
    users: BTreeMap<Box<str>, Vec<Grant>>,
    groups: BTreeMap<Box<str>, Vec<Grant>>,
}

/// Rules by the name of their role.
type Roles = BTreeMap<Box<str>, Arc<[Rule]>>;

/// A role that a subject has.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    /// The binding that says so; of a ClusterRoleBinding without a namespace.
    binding: Key,
    /// `ClusterRole` or `Role`.
    kind: Box<str>,
    role: Box<str>,
    /// The subject, as upstream describes it.
    subject: Box<str>,
}

// === impl Index ===

impl Index {
    /// Takes over how an object is now; none: it is deleted. Other tables do not matter.
    pub(super) fn set(&mut self, table: &str, key: &Key, object: Option<&Value>) {
        let [cluster_roles, roles, cluster_bindings, bindings] = TABLES;
        if table == cluster_roles || table == roles {
            self.set_role(key, object);
        } else if table == cluster_bindings || table == bindings {
            self.set_binding(key, object);
        }
    }

    fn set_role(&mut self, key: &Key, role: Option<&Value>) {
        let here = self.roles.entry((*key.namespace).into()).or_default();
        match role {
            Some(role) => {
                let rules = items(role, "/rules").iter().map(Rule::read);
                here.insert((*key.name).into(), rules.collect());
            }
            None => drop(here.remove(&*key.name)),
        }
    }

    fn set_binding(&mut self, key: &Key, binding: Option<&Value>) {
        for all in [&mut self.users, &mut self.groups] {
            all.retain(|_, grants| {
                grants.retain(|grant| grant.binding != *key);
                !grants.is_empty()
            });
        }
        let Some(binding) = binding else { return };
        for subject in items(binding, "/subjects") {
            let (kind, name) = (text(subject, "/kind"), text(subject, "/name"));
            let (of, whom, described) = match kind {
                "User" => (&mut self.users, name.to_owned(), name.to_owned()),
                "Group" => (&mut self.groups, name.to_owned(), name.to_owned()),
                "ServiceAccount" => {
                    // An account of a RoleBinding may leave out that it is of the same namespace.
                    let said = Some(text(subject, "/namespace")).filter(|it| !it.is_empty());
                    let namespace = said.unwrap_or(&key.namespace);
                    if namespace.is_empty() {
                        continue;
                    }
                    let user = User::account(namespace, name).name;
                    (&mut self.users, user, format!("{name}/{namespace}"))
                }
                _ => continue,
            };
            let grant = Grant {
                binding: key.clone(),
                kind: text(binding, "/roleRef/kind").into(),
                role: text(binding, "/roleRef/name").into(),
                subject: format!("{kind} {described:?}").into(),
            };
            of.entry(whom.into()).or_default().push(grant);
        }
    }

    /// What allows something, or what is wrong with what might.
    pub(super) fn find(&self, user: &User, what: &Attributes<'_>) -> Result<&Grant, Vec<String>> {
        let mut faults = Vec::new();
        for grant in self.grants(user, what.namespace()) {
            match self.rules(grant) {
                Some(rules) if rules.iter().any(|rule| rule.allows(what)) => return Ok(grant),
                Some(_) => {}
                None => faults.push(grant.dangles()),
            }
        }
        Err(faults)
    }

    /// All rules that a user has in a namespace, and what is wrong with others.
    pub(super) fn rules_of(&self, user: &User, namespace: &str) -> (Vec<&Rule>, Vec<String>) {
        let (mut found, mut faults) = (Vec::new(), Vec::new());
        for grant in self.grants(user, namespace) {
            match self.rules(grant) {
                Some(rules) => found.extend(rules),
                None => faults.push(grant.dangles()),
            }
        }
        (found, faults)
    }

    /// The rules of a role; none: there is no such role.
    pub(super) fn role(&self, kind: &str, namespace: &str, name: &str) -> Option<&[Rule]> {
        let namespace = match kind {
            "ClusterRole" => "",
            "Role" => namespace,
            _ => return None,
        };
        self.roles.get(namespace)?.get(name).map(|rules| &**rules)
    }

    fn rules(&self, grant: &Grant) -> Option<&[Rule]> {
        self.role(&grant.kind, &grant.binding.namespace, &grant.role)
    }

    /// Those of ClusterRoleBindings first, as upstream looks at them.
    fn grants<'a, 'b>(
        &'a self,
        user: &'b User,
        namespace: &'b str,
    ) -> impl Iterator<Item = &'a Grant> + use<'a, 'b> {
        let of = move |namespace: &'b str| {
            let groups = user.groups.iter().filter_map(|group| self.groups.get(group.as_str()));
            let all = self.users.get(user.name.as_str()).into_iter().chain(groups).flatten();
            all.filter(move |grant| *grant.binding.namespace == *namespace)
        };
        let local = Some(namespace).filter(|namespace| !namespace.is_empty());
        of("").chain(local.into_iter().flat_map(of))
    }
}

// === impl Grant ===

impl Grant {
    /// As `clusterRoleBindingDescriber` and `roleBindingDescriber`.
    pub(super) fn describe(&self) -> String {
        let Self { binding, kind, role, subject } = self;
        let Key { namespace, name } = binding;
        let binding = match &**namespace {
            "" => format!("ClusterRoleBinding {name:?}"),
            namespace => format!("RoleBinding {:?}", format!("{name}/{namespace}")),
        };
        format!("{binding} of {kind} {role:?} to {subject}")
    }

    fn dangles(&self) -> String {
        let kind = self.kind.to_lowercase();
        format!("{kind}.rbac.authorization.k8s.io {:?} not found", self.role)
    }
}
