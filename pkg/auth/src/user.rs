//! The user of a request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use api::wire::null_is_empty;

/// The user of a request without credentials.
const ANONYMOUS: &str = "system:anonymous";
/// The group of all authenticated users.
const AUTHENTICATED: &str = "system:authenticated";
/// The group of all others.
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// The user of a request, as in `authentication.k8s.io/v1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct User {
    /// The name, never empty.
    #[serde(rename = "username")]
    pub name: String,
    /// Distinguishes a user from an earlier one with the same name; may be empty.
    pub uid: String,
    /// The groups that the user is in, in the order in which they were found.
    #[serde(deserialize_with = "null_is_empty")]
    pub groups: Vec<String>,
    /// Further facts for an authorizer.
    #[serde(deserialize_with = "null_is_empty")]
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Whether the request was not authenticated. Upstream closes the HTTP/2 connection of such a
    /// user after the response (UnauthenticatedHTTP2DOSMitigation).
    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS || self.is_in(UNAUTHENTICATED)
    }

    pub(crate) fn anonymous() -> Self {
        let groups = vec![UNAUTHENTICATED.to_owned()];
        Self { name: ANONYMOUS.to_owned(), groups, ..Self::default() }
    }

    /// Adds the group of authenticated users, as pkg/authentication/group.
    pub(crate) fn authenticated(mut self) -> Self {
        if !self.is_anonymous() && !self.is_in(AUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|name| name == group)
    }
}
