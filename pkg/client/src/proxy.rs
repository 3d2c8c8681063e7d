//! The proxy through which the API server is reached.
//!
//! From `proxy-url` of the kubeconfig's cluster, else from the environment, by the rules of Go's
//! golang.org/x/net/http/httpproxy, which client-go follows (transport/cache.go).

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;

use http::{HeaderValue, Uri};

use crate::encoding::{base64, percent_decoded};

/// `HTTPS_PROXY` and related variables at the start of the process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    pub(crate) http: Variable,
    pub(crate) https: Variable,
    pub(crate) no: Variable,
}

/// A variable's value, and the spelling that was set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) value: String,
}

/// A proxy, to which connections are opened instead of to the API server.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Proxy {
    pub(crate) protocol: Protocol,
    /// Scheme, host and port.
    pub(crate) address: Uri,
    pub(crate) user: Option<User>,
}

/// The protocol of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP, over TLS if the address says `https`.
    Http,
    /// SOCKS 5; names are resolved by the proxy.
    Socks5,
}

/// The credentials for a proxy.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) password: String,
}

// === impl Environment ===

impl Environment {
    /// The variables that are set. Lower case takes precedence over upper case, and an empty one
    /// counts as not set.
    pub(crate) fn read() -> Self {
        let first = |names: [&'static str; 2]| {
            let read = |name| {
                let value = std::env::var(name).unwrap_or_default();
                Some(Variable { name, value }).filter(|it| !it.value.is_empty())
            };
            names.into_iter().find_map(read).unwrap_or_default()
        };
        Self {
            http: first(["http_proxy", "HTTP_PROXY"]),
            https: first(["https_proxy", "HTTPS_PROXY"]),
            no: first(["no_proxy", "NO_PROXY"]),
        }
    }

    /// The proxy for this server; an error names the variable with the mistake.
    pub(crate) fn proxy(&self, server: &Uri) -> Result<Option<Proxy>, (&'static str, String)> {
        let (variable, port) = match server.scheme_str() {
            Some("https") => (&self.https, 443),
            _ => (&self.http, 80),
        };
        let host = server.host().unwrap_or_default();
        let port = server.port_u16().unwrap_or(port);
        if variable.value.is_empty() || is_exempt(&self.no.value, host, port) {
            return Ok(None);
        }
        // As Go: a value without a scheme is a host.
        let has_scheme = variable.value.contains("://");
        let text =
            if has_scheme { variable.value.clone() } else { format!("http://{}", variable.value) };
        Proxy::parse(&text).map(Some).map_err(|why| (variable.name, why))
    }
}

/// Whether a server is reached without a proxy: because it is local, or because of `NO_PROXY`
/// (`useProxy` and `init` of httpproxy).
fn is_exempt(no_proxy: &str, host: &str, port: u16) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']').to_lowercase();
    let address = host.parse::<IpAddr>().ok().map(|address| address.to_canonical());
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    no_proxy.split(',').map(|rule| rule.trim().to_lowercase()).any(|rule| match rule.as_str() {
        "" => false,
        "*" => true,
        rule => matches(rule, &host, address, port),
    })
}

fn matches(rule: &str, host: &str, address: Option<IpAddr>, port: u16) -> bool {
    if let Some((network, bits)) = network(rule) {
        return address.is_some_and(|address| is_in(address, network, bits));
    }
    let (name, of_port) = split_port(rule);
    if !of_port.is_empty() && of_port != port.to_string() {
        return false;
    }
    match (name.parse::<IpAddr>(), address) {
        (Ok(ip), Some(address)) => return ip.to_canonical() == address,
        (Ok(_), None) | (Err(_), Some(_)) => return false,
        (Err(_), None) => {}
    }
    let name = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(name);
    match name.strip_prefix('.') {
        // Only subdomains.
        Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
        None if name.is_empty() => false,
        None => host.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
    }
}

/// `10.0.0.0/8`, or the same for IPv6.
fn network(rule: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = rule.split_once('/')?;
    let (address, bits) = (address.parse::<IpAddr>().ok()?, bits.parse::<u32>().ok()?);
    (bits <= if address.is_ipv4() { 32 } else { 128 }).then_some((address, bits))
}

fn is_in(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let same = |one: u128, other: u128, all: u32| {
        let shift = all - bits;
        shift == 128 || one >> shift == other >> shift
    };
    match (address, network) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            same(u32::from(one).into(), u32::from(other).into(), 32)
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => same(one.into(), other.into(), 128),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
    }
}

/// As Go's `net.SplitHostPort`; what that refuses has no port.
fn split_port(rule: &str) -> (&str, &str) {
    if let Some((host, port)) = rule.strip_prefix('[').and_then(|rest| rest.split_once("]:")) {
        return (host, port);
    }
    match rule.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, port),
        Some(_) | None => (rule, ""),
    }
}

// === impl Proxy ===

impl Proxy {
    /// As `parseProxyURL` of client-go's tools/clientcmd/helpers.go. An error contains neither the
    /// user nor the password that may be in the text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let uri: Uri = text.parse().map_err(|error| format!("no URL: {error}"))?;
        let scheme = uri.scheme_str().unwrap_or_default();
        let (protocol, port) = match scheme {
            "http" => (Protocol::Http, 80),
            "https" => (Protocol::Http, 443),
            "socks5" | "socks5h" => (Protocol::Socks5, 1080),
            other => {
                return Err(format!(
                    "unsupported scheme {other:?}, must be http, https, or socks5"
                ));
            }
        };
        let host = uri.host().filter(|host| !host.is_empty()).ok_or("no host")?;
        let authority = format!("{host}:{}", uri.port_u16().unwrap_or(port));
        let dialed = if scheme == "https" { "https" } else { "http" };
        let address = Uri::builder().scheme(dialed).authority(authority).path_and_query("/");
        let address = address.build().map_err(|error| format!("no URL: {error}"))?;
        let user = uri.authority().and_then(|it| it.as_str().rsplit_once('@'));
        let user = user.map(|(user, _)| {
            let (name, password) = user.split_once(':').unwrap_or((user, ""));
            let decoded = |text| percent_decoded(text).ok_or("its user is not encoded well");
            Ok::<_, String>(User { name: decoded(name)?, password: decoded(password)? })
        });
        Ok(Self { protocol, address, user: user.transpose()? })
    }

    /// `Proxy-Authorization`.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        let User { name, password } = self.user.as_ref()?;
        let encoded = base64(format!("{name}:{password}").as_bytes());
        let mut value = HeaderValue::try_from(format!("Basic {encoded}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Without its credentials.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.protocol {
            Protocol::Http => self.address.scheme_str().unwrap_or_default(),
            Protocol::Socks5 => "socks5",
        };
        let authority = self.address.authority().map_or("", http::uri::Authority::as_str);
        write!(f, "{scheme}://{authority}")
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
