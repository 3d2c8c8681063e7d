//! Requests that a browser sends because a page of another site has it do so. Whoever reaches the
//! port may do everything, so any page that its user visits could; programs send no such headers.

use std::net::IpAddr;

use axum::body::Body;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderMap, StatusCode, header};

const REFUSAL: &str = "refused: a page of another site asks for this, or the sandbox was opened by \
    another name than an address or localhost\n";

/// Refuses them, and serves all others.
pub(super) async fn refuse(request: Request, next: Next) -> Response {
    if is_foreign(request.headers()) {
        let mut response = Response::new(Body::from(REFUSAL));
        *response.status_mut() = StatusCode::FORBIDDEN;
        return response;
    }
    next.run(request).await
}

/// Whether a browser sends this, and for a page that is not the sandbox's own. A name can be made
/// to lead here by whoever owns it (DNS rebinding), an address cannot.
fn is_foreign(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).map(|it| it.to_str().unwrap_or("?"));
    let (site, origin) = (text("sec-fetch-site"), text(header::ORIGIN.as_str()));
    let host = text(header::HOST.as_str()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(
        host,
        |(name, port)| {
            if port.ends_with(']') { host } else { name }
        },
    );
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let is_address = name == "localhost" || name.parse::<IpAddr>().is_ok();
    let is_by_browser = site.is_some() || origin.is_some();
    let is_own_site = site.is_none_or(|site| ["none", "same-origin"].contains(&site));
    let is_own_origin = origin.is_none_or(|origin| origin.strip_prefix("http://") == Some(host));
    is_by_browser && !(is_own_site && is_own_origin && is_address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn only_its_own_page_may_have_a_browser_ask() {
        let rows: &[(&[(&str, &str)], bool)] = &[
            (&[], false),
            (&[("host", "sandbox.example.com:8001")], false),
            (&[("host", "127.0.0.1:8001"), ("sec-fetch-site", "none")], false),
            (&[("host", "127.0.0.1:8001"), ("sec-fetch-site", "same-origin")], false),
            (&[("host", "[::1]:8001"), ("origin", "http://[::1]:8001")], false),
            (&[("host", "[::1]"), ("origin", "http://[::1]")], false),
            (&[("host", "localhost"), ("origin", "http://localhost")], false),
            (&[("host", "127.0.0.1:8001"), ("sec-fetch-site", "cross-site")], true),
            (&[("host", "127.0.0.1:8001"), ("sec-fetch-site", "same-site")], true),
            (&[("host", "127.0.0.1:8001"), ("origin", "http://127.0.0.1:9000")], true),
            (&[("host", "127.0.0.1:8001"), ("origin", "null")], true),
            (&[("host", "evil.example:8001"), ("sec-fetch-site", "same-origin")], true),
            (&[("host", "evil.example:8001"), ("origin", "http://evil.example:8001")], true),
            (&[("origin", "http://evil.example")], true),
        ];
        for (given, expected) in rows {
            let mut headers = HeaderMap::new();
            for &(name, value) in *given {
                headers.insert(name, HeaderValue::from_static(value));
            }
            assert_eq!(is_foreign(&headers), *expected, "{given:?}");
        }
    }
}
