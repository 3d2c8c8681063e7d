//! Where a kind lives on the API server.

use std::borrow::Cow;
use std::fmt::{self, Write as _};

use mutant::Mutant;

use crate::Key;

/// A kind and its place in the API. Constants for the built-in kinds stand with their views; custom
/// kinds are made while running. Prints as upstream's `GroupResource`: `pods`, `replicasets.apps`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// Empty for the core group.
    pub group: Cow<'static, str>,
    /// Such as `v1`.
    pub version: Cow<'static, str>,
    /// Plural, as in paths: `pods`.
    pub plural: Cow<'static, str>,
    /// Such as `Pod`.
    pub kind: Cow<'static, str>,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
}

/// A name or a namespace that no path can hold, in client-go's words. The API server takes no
/// object of such a name, so there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidName {
    text: String,
    is_absent: bool,
}

impl Resource {
    /// A built-in, namespaced kind.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        Self {
            group: Cow::Borrowed(group),
            version: Cow::Borrowed(version),
            plural: Cow::Borrowed(plural),
            kind: Cow::Borrowed(kind),
            namespaced: true,
        }
    }

    /// A built-in kind outside namespaces.
    pub const fn cluster_scoped(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        let mut resource = Self::namespaced(group, version, plural, kind);
        resource.namespaced = false;
        resource
    }

    /// `v1` or `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            return self.version.clone().into_owned();
        }
        format!("{}/{}", self.group, self.version)
    }

    /// The path of all objects, over all namespaces if `namespace` is empty.
    pub fn collection_path(&self, namespace: &str) -> String {
        let mut path = if self.group.is_empty() { "/api" } else { "/apis" }.to_owned();
        let within = if namespace.is_empty() { "" } else { "namespaces" };
        let segments = [&*self.group, &*self.version, within, namespace, &*self.plural];
        for segment in segments.into_iter().filter(|segment| !segment.is_empty()) {
            push_segment(&mut path, segment);
        }
        path
    }

    /// The path of one object. Names are escaped: those of RBAC's kinds may hold nearly anything,
    /// and what an owner reference names need not exist. As client-go's `Request.Name` and
    /// `Request.Namespace`, it is an error if one cannot be a segment of a path.
    pub fn object_path(&self, key: &Key) -> Result<String, InvalidName> {
        if key.name.is_empty() {
            let text = "resource name may not be empty".to_owned();
            return Err(InvalidName { text, is_absent: false });
        }
        check_segment("namespace", &key.namespace)?;
        check_segment("resource name", &key.name)?;
        let mut path = self.collection_path(&key.namespace);
        push_segment(&mut path, &key.name);
        Ok(path)
    }
}

/// As `IsPathSegmentName` in k8s.io/apimachinery pkg/api/validate/content/path.go.
fn check_segment(what: &str, text: &str) -> Result<(), InvalidName> {
    let why = match text {
        "." | ".." => format!("may not be '{text}'"),
        _ => {
            let said = |part| text.contains(part).then(|| format!("may not contain '{part}'"));
            ["/", "%"].into_iter().filter_map(said).collect::<Vec<_>>().join(" ")
        }
    };
    if why.is_empty() {
        return Ok(());
    }
    let quoted = crate::go::quote(text);
    let is_absent = text == ".." || text.contains('/');
    Err(InvalidName { text: format!("invalid {what} {quoted}: [{why}]"), is_absent })
}

/// Appends a slash and `text`, with the bytes as `%XX` that Go's `net/url` escapes in a path too:
/// what upstream's clients send, byte for byte.
fn push_segment(path: &mut String, text: &str) {
    path.push('/');
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => path.push(char::from(byte)),
            b'-' | b'_' | b'.' | b'~' | b'$' | b'&' | b'+' | b',' | b':' | b';' | b'=' | b'@' => {
                path.push(char::from(byte));
            }
            _ if mutant::is(Mutant::NamesNotEscaped) => path.push(char::from(byte)),
            _ => write!(path, "%{byte:02X}").expect("a String takes all text"),
        }
    }
}

impl InvalidName {
    /// Whether upstream's controllers find that there is no such object: they send a name with a
    /// slash and `..` as parts of the path, and the API server answers 404. It refuses other
    /// invalid names, which says nothing about the object.
    pub fn is_absent(&self) -> bool {
        self.is_absent
    }
}

impl fmt::Display for InvalidName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for InvalidName {}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            return f.write_str(&self.plural);
        }
        write!(f, "{}.{}", self.plural, self.group)
    }
}
