//! Users that a front proxy authenticates in headers, as pkg/authentication/request/headerrequest.

use std::collections::BTreeMap;

use http::HeaderMap;

use crate::User;
use crate::percent;

/// The headers in which a front proxy names the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Headers {
    /// The common names of proxies; empty: every proxy with a certificate of the CA.
    pub(crate) allowed_names: Vec<String>,
    pub(crate) username: Vec<String>,
    pub(crate) uid: Vec<String>,
    pub(crate) group: Vec<String>,
    /// The prefixes of headers with extras; the rest of a name is the key.
    pub(crate) extra_prefix: Vec<String>,
}

impl Headers {
    /// Whether a proxy with this common name may authenticate users.
    pub(crate) fn allows(&self, common_name: &str) -> bool {
        self.allowed_names.is_empty() || self.allowed_names.iter().any(|name| name == common_name)
    }

    /// The user that the headers name, if any. The caller has verified the sender.
    pub(crate) fn user(&self, headers: &HeaderMap) -> Option<User> {
        let name = first(headers, &self.username)?;
        let groups = self.group.iter().flat_map(|name| headers.get_all(name.trim()));
        let groups = groups.map(text).filter(|group| !group.is_empty()).collect();
        let uid = first(headers, &self.uid).unwrap_or_default();
        Some(User { name, uid, groups, extra: self.extra(headers) })
    }

    fn extra(&self, headers: &HeaderMap) -> BTreeMap<String, Vec<String>> {
        let mut extra = BTreeMap::<String, Vec<String>>::new();
        // An empty prefix would expose every header, the credentials too.
        let prefixes = self.extra_prefix.iter().map(|prefix| prefix.trim().to_ascii_lowercase());
        for prefix in prefixes.filter(|prefix| !prefix.is_empty()) {
            for (name, value) in headers {
                if let Some(key) = name.as_str().strip_prefix(&*prefix) {
                    let key = percent::decoded(key).unwrap_or_else(|| key.to_owned());
                    extra.entry(key).or_default().push(text(value));
                }
            }
        }
        extra
    }
}

/// The value of the first of these headers that is not empty.
fn first(headers: &HeaderMap, names: &[String]) -> Option<String> {
    let values = names.iter().filter_map(|name| headers.get(name.trim())).map(text);
    values.into_iter().find(|value| !value.is_empty())
}

fn text(value: &http::HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}
