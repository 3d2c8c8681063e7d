//! Kubeconfigs, as client-go reads them (tools/clientcmd: loader.go, client_config.go,
//! validation.go).
//!
//! A flag names one file. Upstream's manager ignores the environment variable `KUBECONFIG` and the
//! file in the home directory, and so do we; only programs for people merge several files. The
//! providers of `auth-provider` are compiled only into `kubectl`; they are refused here as in
//! upstream's manager.

mod fields;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use http::{HeaderName, HeaderValue, Uri};
use rustls::pki_types::ServerName;
use serde_yaml::Value as Yaml;

pub(crate) use fields::Fields;

use crate::config::{Config, Source, User, read_file};
use crate::encoding::percent_encoded_unless;
use crate::encoding::{basic, bearer};
use crate::plugin::Plugin;
use crate::proxy::Proxy;

const CURRENT: &str = "current-context";
const NO_PATHS: &[&str] = &[];
/// The lists with entries that name files, what each entry holds, and its fields that are paths.
const PATHS: &[(&str, &str, &[&str])] = &[
    ("clusters", "cluster", &["certificate-authority"]),
    ("users", "user", &["client-certificate", "client-key", "tokenFile"]),
];

/// A kubeconfig.
pub(crate) struct Kubeconfig {
    document: Yaml,
    /// Where its relative paths start.
    folder: PathBuf,
}

// === impl Kubeconfig ===

impl Kubeconfig {
    /// Reads a file. Errors name the place in it, and contain nothing that may be secret.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let bytes = read_file(path).map_err(|error| error.to_string())?;
        Self::parse(&bytes, path.parent().unwrap_or(Path::new("")).to_owned())
    }

    /// Reads a file, and others that have what it lacks, as client-go merges the files of the
    /// environment variable (loader.go, `Load`): of entries with one name the first counts.
    /// Relative paths start at the file that has them. An error comes with its file.
    pub(crate) fn merged(path: &Path, more: &[PathBuf]) -> Result<Self, (PathBuf, String)> {
        let read = |path: &Path| Self::read(path).map_err(|error| (path.to_owned(), error));
        let mut merged = read(path)?;
        for path in more {
            merged.resolve();
            let mut next = read(path)?;
            next.resolve();
            merged.complete(next);
        }
        Ok(merged)
    }

    /// Makes relative paths absolute.
    fn resolve(&mut self) {
        let folder = &self.folder;
        let join = |value: &mut Yaml, is_path: fn(&str) -> bool| {
            if let Yaml::String(text) = value
                && is_path(text)
            {
                *text = folder.join(&*text).to_string_lossy().into_owned();
            }
        };
        for (list, kind, names) in PATHS {
            let entries = self.document.get_mut(list).and_then(Yaml::as_sequence_mut);
            for fields in entries.into_iter().flatten().filter_map(|entry| entry.get_mut(kind)) {
                for name in *names {
                    if let Some(value) = fields.get_mut(name) {
                        join(value, |text| !text.is_empty());
                    }
                }
                let command = fields.get_mut("exec").and_then(|exec| exec.get_mut("command"));
                if let Some(command) = command {
                    // Without a slash it is looked for in PATH.
                    join(command, |text| text.contains('/'));
                }
            }
        }
    }

    /// Takes from another one what this one lacks.
    fn complete(&mut self, other: Self) {
        let Yaml::Mapping(mut theirs) = other.document else { return };
        let Yaml::Mapping(ours) = &mut self.document else {
            self.document = Yaml::Mapping(theirs);
            return;
        };
        for (list, ..) in PATHS.iter().chain(&[("contexts", "context", NO_PATHS)]) {
            let Some(Yaml::Sequence(more)) = theirs.remove(list) else { continue };
            match ours.get_mut(list) {
                Some(Yaml::Sequence(known)) => {
                    let names: Vec<_> = known.iter().map(|it| it.get("name").cloned()).collect();
                    known.extend(more.into_iter().filter(|it| {
                        let name = it.get("name");
                        !names.iter().any(|known| known.as_ref() == name)
                    }));
                }
                Some(Yaml::Null) | None => drop(ours.insert((*list).into(), more.into())),
                // It is refused when it is read.
                Some(_) => {}
            }
        }
        let current = ours.get(CURRENT).and_then(Yaml::as_str).unwrap_or_default();
        if current.is_empty()
            && let Some(current) = theirs.remove(CURRENT)
        {
            ours.insert(CURRENT.into(), current);
        }
    }

    fn parse(bytes: &[u8], folder: PathBuf) -> Result<Self, String> {
        let kubeconfig = Self { document: document(&utf8(bytes)?)?, folder };
        let root = Fields::of(&kubeconfig.document)?;
        for (name, expected) in [("apiVersion", "v1"), ("kind", "Config")] {
            if root.text(name)?.is_some_and(|text| text != expected) {
                return Err(root.wrong(name, &format!("must be {expected:?}")));
            }
        }
        Ok(kubeconfig)
    }

    /// The server of a context (none: the current one), and our credentials for it. `master` is
    /// another address for that server.
    pub(crate) fn config(
        &self,
        master: Option<Uri>,
        context: Option<&str>,
    ) -> Result<Config, String> {
        let Some(context) = self.context(context)? else {
            // As upstream: an address is enough.
            return master.map(Config::of).ok_or("current-context: it is not set".to_owned());
        };
        let (cluster, user) = (self.cluster(&context)?, self.user(&context)?);
        if let (None, Some(name)) = (&user, context.text("user")?) {
            let error = context.wrong("user", &format!("there is no user {name:?}"));
            tracing::warn!(error, "requests are sent without credentials");
        }
        let user = user.unwrap_or_default();
        let mut config = self.server(&cluster, master)?;
        config.user.impersonation = impersonation(&user)?;
        if config.is_encrypted() {
            self.identify(&user, &cluster, &mut config.user)?;
        } else if user.entries()?.iter().any(|(name, _)| !name.starts_with("as")) {
            let server = &config.server;
            tracing::warn!(%server, "credentials are sent over TLS only, so not to this server");
        }
        Ok(config)
    }

    /// The `certificate-authority-data` of the cluster, PEM.
    pub(crate) fn authority_data(&self) -> Result<Option<Vec<u8>>, String> {
        // As upstream, the rest of the file need not be valid.
        let Ok(Some(context)) = self.context(None) else { return Ok(None) };
        let Ok(cluster) = self.cluster(&context) else { return Ok(None) };
        cluster.bytes("certificate-authority-data")
    }

    /// The certificate of the user, PEM; none also if it cannot be read.
    pub(crate) fn client_certificate(&self) -> Option<Vec<u8>> {
        let user = self.user(&self.context(None).ok()??).ok()??;
        self.source(&user, "client-certificate").ok()??.read("").ok()
    }

    /// The namespace of a context (none: the current one), if it has one.
    pub(crate) fn namespace(&self, context: Option<&str>) -> Result<Option<String>, String> {
        let Some(context) = self.context(context)? else { return Ok(None) };
        Ok(context.text("namespace")?.map(str::to_owned))
    }

    /// The one of this name; without a name the current one, if there is one.
    fn context(&self, name: Option<&str>) -> Result<Option<Fields<'_>>, String> {
        let root = Fields::of(&self.document)?;
        let (place, name) = match (name, root.text("current-context")?) {
            (Some(name), _) => ("contexts", name),
            (None, Some(name)) => ("current-context", name),
            (None, None) => return Ok(None),
        };
        match self.named("contexts", name, "context")? {
            Some(context) => Ok(Some(context)),
            None => Err(format!("{place}: there is no context {name:?}")),
        }
    }

    fn cluster(&self, context: &Fields<'_>) -> Result<Fields<'_>, String> {
        let name = context.text("cluster")?.unwrap_or_default();
        let cluster = self.named("clusters", name, "cluster")?;
        cluster.ok_or_else(|| context.wrong("cluster", &format!("there is no cluster {name:?}")))
    }

    /// None: as upstream, a missing user is anonymous.
    fn user(&self, context: &Fields<'_>) -> Result<Option<Fields<'_>>, String> {
        self.named("users", context.text("user")?.unwrap_or_default(), "user")
    }

    fn server(&self, cluster: &Fields<'_>, master: Option<Uri>) -> Result<Config, String> {
        // `tls-server-name` belongs to the address beside it.
        let (server, server_name) = match (master, cluster.text("server")?) {
            (Some(master), _) => (master, None),
            (None, Some(server)) => {
                let server = parse_server(server).map_err(|why| cluster.wrong("server", &why))?;
                (server, cluster.text("tls-server-name")?)
            }
            (None, None) => return Err(cluster.wrong("server", "it is not set")),
        };
        let server_name = server_name.map(|name| ServerName::try_from(name.to_owned())).transpose();
        let server_name =
            server_name.map_err(|error| cluster.wrong("tls-server-name", &error.to_string()))?;
        let is_insecure = cluster.flag("insecure-skip-tls-verify")?;
        let authority = self.source(cluster, "certificate-authority")?;
        if is_insecure && authority.is_some() {
            let what = "must not be true beside a certificate-authority";
            return Err(cluster.wrong("insecure-skip-tls-verify", what));
        }
        let proxy = cluster.text("proxy-url")?.map(Proxy::parse).transpose();
        let proxy = proxy.map_err(|why| cluster.wrong("proxy-url", &why))?;
        Ok(Config { server_name, is_insecure, authority, proxy, ..Config::of(server) })
    }

    fn identify(
        &self,
        user: &Fields<'_>,
        cluster: &Fields<'_>,
        who: &mut User,
    ) -> Result<(), String> {
        if user.has("auth-provider") {
            let name = user.fields("auth-provider")?.text("name")?.unwrap_or_default();
            let instead = "a plugin named by exec can stand for one, or a token";
            let what = format!("there is no provider {name:?}; {instead}");
            return Err(user.wrong("auth-provider", &what));
        }
        let identity = match self.source(user, "client-certificate")? {
            None => None,
            Some(certificate) => match self.source(user, "client-key")? {
                Some(key) => Some((certificate, key)),
                None => return Err(user.wrong("client-key", "client-certificate needs it")),
            },
        };
        let authorization = authorization(user)?;
        let token_file = user.text("tokenFile")?.map(|file| self.folder.join(file));
        let exec = user.has("exec").then(|| user.fields("exec")).transpose()?;
        let plugin = exec.map(|exec| Plugin::read(&exec, cluster, &self.folder));
        // As upstream: a plugin runs only if there are no other credentials.
        let is_known = identity.is_some() || authorization.is_some() || token_file.is_some();
        let plugin = plugin.transpose()?.filter(|_| !is_known);
        let impersonation = std::mem::take(&mut who.impersonation);
        *who = User { identity, authorization, token_file, plugin, impersonation };
        Ok(())
    }

    /// The entry of this name in a list such as `clusters`.
    fn named(&self, list: &str, name: &str, kind: &str) -> Result<Option<Fields<'_>>, String> {
        let mut found = None;
        for entry in Fields::of(&self.document)?.list(list)? {
            if entry.text("name")?.unwrap_or_default() != name {
                continue;
            }
            if found.is_some() {
                return Err(entry.wrong("name", &format!("{name:?} is there twice")));
            }
            found = Some(entry.fields(kind)?);
        }
        Ok(found)
    }

    /// A field with data, or another one that names the file.
    fn source(&self, fields: &Fields<'_>, name: &str) -> Result<Option<Source>, String> {
        if let Some(data) = fields.bytes(&format!("{name}-data"))? {
            return Ok(Some(Source::Data(data)));
        }
        Ok(fields.text(name)?.map(|file| Source::File(self.folder.join(file))))
    }
}

/// As go-yaml: a byte order mark at the start means UTF-16.
fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>, String> {
    let narrow = |unit: fn([u8; 2]) -> u16| {
        let pairs = bytes.chunks_exact(2).skip(1);
        let units: Vec<u16> = pairs.map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map(Cow::Owned).map_err(|error| error.to_string())
    };
    match bytes {
        [0xff, 0xfe, ..] => narrow(u16::from_le_bytes),
        [0xfe, 0xff, ..] => narrow(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => {
            str::from_utf8(rest).map(Cow::Borrowed).map_err(|error| error.to_string())
        }
    }
}

/// The first document, with `<<` merged.
pub(crate) fn document(text: &str) -> Result<Yaml, String> {
    let Some(document) = serde_yaml::Deserializer::from_str(text).next() else {
        return Ok(Yaml::Null);
    };
    let document: Result<Yaml, _> = serde::Deserialize::deserialize(document);
    let mut document = document.map_err(|error| error.to_string())?;
    document.apply_merge().map_err(|error| error.to_string())?;
    Ok(document)
}

/// The address of a server; without a scheme it is plain HTTP.
pub(crate) fn parse_server(text: &str) -> Result<Uri, String> {
    let with_scheme = if text.contains("://") { text } else { &format!("http://{text}") };
    let url: Uri = with_scheme.parse().map_err(|error| format!("no URL: {error}"))?;
    match url.scheme_str() {
        Some("http" | "https") => Ok(url),
        _ => Err("the scheme must be http or https".to_owned()),
    }
}

fn authorization(user: &Fields<'_>) -> Result<Option<HeaderValue>, String> {
    let (name, password) = (user.text("username")?, user.text("password")?);
    let is_basic = name.is_some() || password.is_some();
    let token = user.text("token")?;
    if is_basic && (token.is_some() || user.has("tokenFile")) {
        return Err(user.wrong("username", "there is a token too, and only one can be sent"));
    }
    let unfit = |name| user.wrong(name, "it cannot be sent in a header");
    if let Some(token) = token {
        return bearer(token.as_bytes()).map(Some).ok_or_else(|| unfit("token"));
    }
    if !is_basic {
        return Ok(None);
    }
    let header = basic(name.unwrap_or_default(), password.unwrap_or_default());
    header.map(Some).ok_or_else(|| unfit("username"))
}

/// transport/round_trippers.go, `NewImpersonatingRoundTripper`.
fn impersonation(user: &Fields<'_>) -> Result<Vec<(HeaderName, HeaderValue)>, String> {
    let (uid, groups) = (user.text("as-uid")?, user.texts("as-groups")?);
    let extra = user.fields("as-user-extra")?;
    let Some(name) = user.text("as")? else {
        let lonely = [
            ("as-uid", uid.is_none()),
            ("as-groups", groups.is_empty()),
            ("as-user-extra", extra.entries()?.is_empty()),
        ];
        return match lonely.into_iter().find(|(_, is_absent)| !is_absent) {
            Some((field, _)) => Err(user.wrong(field, "must have an \"as\" beside it")),
            None => Ok(Vec::new()),
        };
    };
    let header = |field: &str, name: &str, value: &str| {
        let both = (HeaderName::try_from(name), HeaderValue::try_from(value));
        let (Ok(name), Ok(value)) = both else {
            return Err(user.wrong(field, "it cannot be sent in a header"));
        };
        Ok((name, value))
    };
    let mut headers = vec![header("as", "impersonate-user", name)?];
    if let Some(uid) = uid {
        headers.push(header("as-uid", "impersonate-uid", uid)?);
    }
    for group in groups {
        headers.push(header("as-groups", "impersonate-group", &group)?);
    }
    for (key, _) in extra.entries()? {
        let name = format!("impersonate-extra-{}", percent_encoded_unless(key, is_in_names));
        for value in extra.texts(key)? {
            headers.push(header("as-user-extra", &name, &value)?);
        }
    }
    Ok(headers)
}

/// The characters allowed in the name of a header (RFC 9110), apart from `%`.
fn is_in_names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$&'*+-.^_`|~".contains(&byte)
}
