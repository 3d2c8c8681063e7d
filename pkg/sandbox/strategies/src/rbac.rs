//! The kinds of rbac.authorization.k8s.io.

use api::Time;
use serde_json::Value;

use crate::formats::{dns_subdomain, path_segment};
use crate::selector::{self, Values};
use crate::semantic::same_at;
use crate::table::{AGE, CREATED, NAME, age, created_row, heading, name, wide};
use crate::value::{fill_zero, get, items, items_mut, or_null, section, text};
use crate::{Cell, Column, Invalid, NameRule, Path, Strategy};

const GROUP: &str = "rbac.authorization.k8s.io";
const COLUMNS: &[Column] =
    &[NAME, heading("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")];

/// What may be done in a namespace.
pub struct Role;

/// What may be done.
pub struct ClusterRole;

/// The subjects of a role.
pub struct Binding(Reach);

/// Whether rules and subjects are of one namespace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Namespace,
    Cluster,
}

// === impl Role, ClusterRole ===

impl Strategy for Role {
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        rules(object, Reach::Namespace)
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        CREATED
    }

    fn row(&self, object: &Value, _now: Time) -> Vec<Cell> {
        created_row(object)
    }
}

impl Strategy for ClusterRole {
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        let mut wrongs = rules(object, Reach::Cluster);
        let Some(rule) = get(object, "/aggregationRule") else { return wrongs };
        let path = Path::new("aggregationRule").child("clusterRoleSelectors");
        let selectors = items(rule, "/clusterRoleSelectors");
        if selectors.is_empty() {
            let wrong = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            wrongs.push(path.required(wrong));
        }
        let selectors = selectors.iter().enumerate();
        wrongs.extend(selectors.flat_map(|(index, labels)| {
            selector::validate(labels, Values::Checked, &path.index(index))
        }));
        wrongs
    }

    fn validate_update(&self, new: &Value, _old: &Value) -> Vec<Invalid> {
        self.validate_create(new)
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        CREATED
    }

    fn row(&self, object: &Value, _now: Time) -> Vec<Cell> {
        created_row(object)
    }
}

// === impl Binding ===

impl Binding {
    /// In a namespace: a RoleBinding.
    pub const OF_ROLE: Self = Self(Reach::Namespace);
    /// A ClusterRoleBinding.
    pub const OF_CLUSTER_ROLE: Self = Self(Reach::Cluster);
}

impl Strategy for Binding {
    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn default(&self, object: &mut Value) {
        default_binding(object);
    }

    fn validate_create(&self, object: &Value) -> Vec<Invalid> {
        binding(object, self.0)
    }

    fn validate_update(&self, new: &Value, old: &Value) -> Vec<Invalid> {
        binding_update(new, old, self.0)
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn columns(&self) -> &'static [Column] {
        COLUMNS
    }

    fn row(&self, object: &Value, now: Time) -> Vec<Cell> {
        binding_row(object, now)
    }
}

/// ValidatePolicyRule of each.
fn rules(object: &Value, reach: Reach) -> Vec<Invalid> {
    let mut wrongs = Vec::new();
    for (index, rule) in items(object, "/rules").iter().enumerate() {
        let path = Path::new("rules").index(index);
        let has = |name: &str| !items(rule, &format!("/{name}")).is_empty();
        if !has("verbs") {
            wrongs.push(path.child("verbs").required("verbs must contain at least one value"));
        }
        if has("nonResourceURLs") {
            let (path, urls) = (path.child("nonResourceURLs"), or_null(rule, "/nonResourceURLs"));
            if reach == Reach::Namespace {
                let wrong = "namespaced rules cannot apply to non-resource URLs";
                wrongs.push(path.invalid(urls.clone(), wrong));
            }
            if ["apiGroups", "resources", "resourceNames"].into_iter().any(has) {
                let wrong = "rules cannot apply to both regular resources and non-resource URLs";
                wrongs.push(path.invalid(urls, wrong));
            }
            continue;
        }
        if !has("apiGroups") {
            let wrong = "resource rules must supply at least one api group";
            wrongs.push(path.child("apiGroups").required(wrong));
        }
        if !has("resources") {
            let wrong = "resource rules must supply at least one resource";
            wrongs.push(path.child("resources").required(wrong));
        }
    }
    wrongs
}

fn default_binding(object: &mut Value) {
    fill_zero(section(object, "roleRef"), "apiGroup", GROUP);
    for subject in items_mut(object, "subjects") {
        if ["Group", "User"].contains(&text(subject, "/kind")) {
            fill_zero(subject, "apiGroup", GROUP);
        }
    }
}

fn binding(object: &Value, reach: Reach) -> Vec<Invalid> {
    let path = Path::new("roleRef");
    let kinds: &[&str] = match reach {
        Reach::Namespace => &["Role", "ClusterRole"],
        Reach::Cluster => &["ClusterRole"],
    };
    let (group, kind) = (text(object, "/roleRef/apiGroup"), text(object, "/roleRef/kind"));
    let role = text(object, "/roleRef/name");
    let mut wrongs = Vec::new();
    if group != GROUP {
        wrongs.push(path.child("apiGroup").not_supported(group, &[GROUP]));
    }
    if !kinds.contains(&kind) {
        wrongs.push(path.child("kind").not_supported(kind, kinds));
    }
    if role.is_empty() {
        wrongs.push(path.child("name").required(""));
    } else {
        wrongs.extend(path.child("name").refuse(role, path_segment(role)));
    }
    let subjects = items(object, "/subjects").iter().enumerate();
    let path = Path::new("subjects");
    wrongs.extend(subjects.flat_map(|(index, it)| subject_wrongs(it, reach, &path.index(index))));
    wrongs
}

/// ValidateRoleBindingSubject.
fn subject_wrongs(subject: &Value, reach: Reach, path: &Path) -> Vec<Invalid> {
    let (name, group) = (text(subject, "/name"), text(subject, "/apiGroup"));
    let mut wrongs = Vec::new();
    if name.is_empty() {
        wrongs.push(path.child("name").required(""));
    }
    match text(subject, "/kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                wrongs.extend(path.child("name").refuse(name, dns_subdomain(name)));
            }
            if !group.is_empty() {
                wrongs.push(path.child("apiGroup").not_supported(group, &[""]));
            }
            if reach == Reach::Cluster && text(subject, "/namespace").is_empty() {
                wrongs.push(path.child("namespace").required(""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                wrongs.push(path.child("apiGroup").not_supported(group, &[GROUP]));
            }
        }
        kind => {
            let known = ["ServiceAccount", "User", "Group"];
            wrongs.push(path.child("kind").not_supported(kind, &known));
        }
    }
    wrongs
}

fn binding_update(new: &Value, old: &Value, reach: Reach) -> Vec<Invalid> {
    let mut wrongs = binding(new, reach);
    if !same_at(new, old, "/roleRef") {
        let role = or_null(new, "/roleRef");
        wrongs.push(Path::new("roleRef").invalid(role, "cannot change roleRef"));
    }
    wrongs
}

fn binding_row(object: &Value, now: Time) -> Vec<Cell> {
    let subjects = |kind: &str| -> Cell {
        let subjects = items(object, "/subjects").iter();
        let named = subjects.filter(|subject| text(subject, "/kind") == kind).map(|subject| {
            let name = text(subject, "/name");
            match kind {
                "ServiceAccount" => format!("{}/{name}", text(subject, "/namespace")),
                _ => name.to_owned(),
            }
        });
        named.collect::<Vec<_>>().join(", ").into()
    };
    let role = format!("{}/{}", text(object, "/roleRef/kind"), text(object, "/roleRef/name"));
    vec![
        name(object),
        role.into(),
        age(object, now),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}
