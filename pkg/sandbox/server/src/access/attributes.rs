//! What is asked for, as roles name it.

/// What a request does to what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes<'a> {
    /// Such as `deletecollection`; of a path the method, in small letters.
    pub(crate) verb: &'a str,
    pub(crate) to: To<'a>,
}

/// What it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To<'a> {
    Resource(Resource<'a>),
    /// A path that names no resource.
    Path(&'a str),
}

/// A resource, or one object of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resource<'a> {
    /// Empty: core.
    pub(crate) group: &'a str,
    /// The plural.
    pub(crate) plural: &'a str,
    /// Empty: none.
    pub(crate) subresource: &'a str,
    /// Empty: all.
    pub(crate) namespace: &'a str,
    /// Empty: all.
    pub(crate) name: &'a str,
}

// === impl Attributes ===

impl Attributes<'_> {
    /// The namespace whose bindings count; empty: none.
    pub(super) fn namespace(&self) -> &str {
        match self.to {
            To::Resource(resource) => resource.namespace,
            To::Path(_) => "",
        }
    }

    /// That a user cannot do it, in the words of apiserver's `forbiddenMessage`.
    pub(crate) fn refused(&self, user: &str) -> String {
        let verb = self.verb;
        let resource = match self.to {
            To::Path(path) => {
                return escaped(&format!("User {user:?} cannot {verb} path {path:?}"));
            }
            To::Resource(resource) => resource,
        };
        let Resource { group, plural, subresource, namespace, .. } = resource;
        let slash = if subresource.is_empty() { "" } else { "/" };
        let place = match namespace {
            "" => "at the cluster scope".to_owned(),
            namespace => format!("in the namespace {namespace:?}"),
        };
        escaped(&format!(
            "User {user:?} cannot {verb} resource \"{plural}{slash}{subresource}\" in API group \
             {group:?} {place}"
        ))
    }
}

/// Nothing that a browser takes for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
