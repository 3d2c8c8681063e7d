//! As the rows of Go's golang.org/x/net/http/httpproxy/proxy_test.go.

use http::Uri;

use super::{Environment, Protocol, Proxy, Variable};

fn variable(name: &'static str, value: &str) -> Variable {
    Variable { name, value: value.to_owned() }
}

fn chosen(https: &str, no: &str, server: &str) -> String {
    let environment = Environment {
        http: variable("HTTP_PROXY", "http://plain:1"),
        https: variable("HTTPS_PROXY", https),
        no: variable("NO_PROXY", no),
    };
    let server: Uri = server.parse().unwrap();
    match environment.proxy(&server) {
        Ok(None) => "direct".to_owned(),
        Ok(Some(proxy)) => proxy.to_string(),
        Err((name, why)) => format!("{name}: {why}"),
    }
}

#[test]
fn the_environment_names_a_proxy() {
    for (https, server, expected) in [
        ("", "https://api.test", "direct"),
        ("http://p:3128", "https://api.test", "http://p:3128"),
        ("p:3128", "https://api.test", "http://p:3128"),
        ("p", "https://api.test", "http://p:80"),
        ("https://p", "https://api.test", "https://p:443"),
        ("socks5://u:secret@p", "https://api.test:6443", "socks5://p:1080"),
        // Each scheme has its own.
        ("http://p:3128", "http://api.test", "http://plain:1"),
        ("http://p:3128", "https://localhost:6443", "direct"),
        ("http://p:3128", "https://127.8.0.1", "direct"),
        ("http://p:3128", "https://[::1]:6443", "direct"),
        ("http://p:3128", "https://[::ffff:127.0.0.1]", "direct"),
        (
            "ftp://u:secret@p",
            "https://api.test",
            "HTTPS_PROXY: unsupported scheme \"ftp\", must be http, https, or socks5",
        ),
    ] {
        assert_eq!(chosen(https, "", server), expected, "{https} {server}");
    }
}

#[test]
fn no_proxy_exempts() {
    for (no, server, is_direct) in [
        ("", "example.com", false),
        ("*", "example.com", true),
        ("a, *, b", "1.2.3.4", true),
        ("example.com", "example.com", true),
        ("EXAMPLE.com", "Example.COM:6443", true),
        ("example.com", "www.example.com", true),
        ("example.com", "notexample.com", false),
        (".example.com", "example.com", false),
        (".example.com", "www.example.com", true),
        ("*.example.com", "www.example.com", true),
        ("*.example.com", "example.com", false),
        ("*example.com", "www.example.com", false),
        ("example.com:6443", "example.com:6443", true),
        ("example.com:6443", "example.com", false),
        ("example.com:443", "example.com", true),
        ("x, , example.com ", "example.com", true),
        (":443", "example.com", false),
        ("1.2.3.4", "1.2.3.4:6443", true),
        ("1.2.3.4:443", "1.2.3.4:6443", false),
        ("1.2.3.4", "11.2.3.4", false),
        ("10.0.0.0/8", "10.96.0.1", true),
        ("10.0.0.0/8", "11.0.0.1", false),
        ("0.0.0.0/0", "11.0.0.1", true),
        ("10.0.0.0/33", "10.0.0.1", false),
        ("10.0.0.0/8", "10.0.0.1.example.com", false),
        ("fd00::/8", "[fd00::1]:6443", true),
        ("fd00::/8", "[fe00::1]", false),
        ("[fd00::1]:6443", "[fd00::1]:6443", true),
        ("fd00::1", "[fd00::1]", true),
        ("::/0", "1.2.3.4", false),
        // A name does not match an address.
        ("3.4", "1.2.3.4", false),
    ] {
        let chosen = chosen("http://p:3128", no, &format!("https://{server}"));
        assert_eq!(chosen, if is_direct { "direct" } else { "http://p:3128" }, "{no} {server}");
    }
}

#[test]
fn a_proxy_may_require_credentials() {
    let proxy = Proxy::parse("https://me%40here:p%3Ass@p.test:8443/path").unwrap();
    assert_eq!(proxy.protocol, Protocol::Http);
    assert_eq!(proxy.to_string(), "https://p.test:8443");
    // me@here:p:ss
    assert_eq!(proxy.authorization().unwrap(), "Basic bWVAaGVyZTpwOnNz");
    assert_eq!(Proxy::parse("http://p").unwrap().authorization(), None);
    for (text, error) in [
        ("p:1", "unsupported scheme \"\", must be http, https, or socks5"),
        ("http://%zz:secret@p", "its user is not encoded well"),
    ] {
        assert_eq!(Proxy::parse(text).unwrap_err(), error);
    }
}
