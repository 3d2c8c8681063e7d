//! The responses, byte by byte as a kube-controller-manager 1.36.3 gave them.

use http::{Method, Version};
use serde_json::json;

use super::{Ask, World, failure, get, run, settings};

struct Answer {
    code: u16,
    headers: Vec<String>,
    body: String,
}

/// The response if the API server returns this SubjectAccessReview.
async fn answer(ask: Ask, access: super::Reply) -> Answer {
    let world = World::new();
    world.api(|api| api.access = Some(access));
    let guard = world.guard(&settings()).await.unwrap();
    let (parts, body) = ask.of(&guard).await.unwrap_err().into_parts();
    let headers = parts.headers.iter().map(|(name, value)| {
        let value = value.to_str().unwrap();
        format!("{name}: {value}")
    });
    let body = String::from_utf8(body.to_vec()).unwrap();
    Answer { code: parts.status.as_u16(), headers: headers.collect(), body }
}

async fn forbidden(ask: Ask) -> Answer {
    answer(ask, (201, json!({"status": {}}))).await
}

#[test]
fn a_machine_gets_one_line() {
    run(async {
        let answer = forbidden(get("/metrics")).await;
        let body = concat!(
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"#,
            r#""forbidden: User \"system:anonymous\" cannot get path \"/metrics\"","#,
            r#""reason":"Forbidden","details":{},"code":403}"#,
            "\n"
        );
        assert_eq!((answer.code, &*answer.body), (403, body));
        let headers = [
            "cache-control: no-cache, private",
            "content-type: application/json",
            "x-content-type-options: nosniff",
        ];
        assert_eq!(answer.headers, headers);

        let answer = forbidden(get("/metrics").bearer("bad")).await;
        let body = concat!(
            r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"#,
            r#""Unauthorized","reason":"Unauthorized","code":401}"#,
            "\n"
        );
        assert_eq!((answer.code, &*answer.body), (401, body));
        assert_eq!(answer.headers, headers[..2]);
    });
}

#[test]
fn a_human_gets_it_indented() {
    let indented = concat!(
        "{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {},\n",
        "  \"status\": \"Failure\",\n",
        r#"  "message": "forbidden: User \"system:anonymous\" cannot get path "#,
        r#"\"/a\u0026amp;b\u0026lt;x\u0026gt;\\\"y\"","#,
        "\n  \"reason\": \"Forbidden\",\n  \"details\": {},\n  \"code\": 403\n}"
    );
    let scrape = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5,*/*;q=0.1";
    let statusz = "application/json;v=v1beta1;g=config.k8s.io;as=Statusz";
    let path = "/a%26b%3Cx%3E%22y";
    let rows = [
        ("plain", get(path), false),
        ("curl", get(path).header("user-agent", "curl/8.5.0"), true),
        ("a browser", get(path).header("user-agent", "Mozilla/5.0 (X11)"), true),
        ("Prometheus", get(path).header("accept", scrape), false),
        ("text", get(path).header("accept", "text/plain"), true),
        ("another kind", get(path).header("accept", statusz), true),
        ("asked for in Accept", get(path).header("accept", "application/json;pretty=1"), true),
        ("YAML", get(path).header("accept", "application/yaml"), false),
        ("asked for", get("/a%26b%3Cx%3E%22y?x=1&pretty=true"), true),
        (
            "asked not to",
            get("/a%26b%3Cx%3E%22y?pretty=0").header("user-agent", "curl/8.5.0"),
            false,
        ),
    ];
    for (name, ask, is_indented) in rows {
        let answer = run(forbidden(ask));
        let body = if is_indented {
            indented.to_owned()
        } else {
            let lines: String =
                indented.lines().map(|line| line.trim().replacen("\": ", "\":", 1)).collect();
            lines + "\n"
        };
        assert_eq!(answer.body, body, "{name}");
        assert_eq!(answer.headers[1], "content-type: application/json", "{name}");
    }
}

#[test]
fn the_reason_and_the_verb_are_said() {
    run(async {
        let ask = Ask { method: Method::PUT, ..get("/debug/flags/v") };
        let answer = answer(ask, (201, json!({"status": {"reason": "no rule <x>"}}))).await;
        let message = r#"cannot put path \"/debug/flags/v\": no rule \u003cx\u003e","reason""#;
        assert!(answer.body.contains(message), "{}", answer.body);
    });
}

#[test]
fn a_failed_review_is_an_internal_error() {
    run(async {
        let error = failure(403, "Forbidden", "you <may> not ask");
        let answer = answer(get("/metrics?x=%3C"), error).await;
        let body = "Internal Server Error: \"/metrics?x=%3C\": you &lt;may&gt; not ask\n";
        assert_eq!((answer.code, &*answer.body), (500, body));
        let headers = [
            "cache-control: no-cache, private",
            "content-type: text/plain; charset=utf-8",
            "x-content-type-options: nosniff",
        ];
        assert_eq!(answer.headers, headers);
    });
}

/// filters/authentication.go, UnauthenticatedHTTP2DOSMitigation: over HTTP/2 the connection of an
/// anonymous user ends with the response.
#[test]
fn anonymous_users_cannot_keep_an_http2_connection() {
    let rows = [
        ("unknown, HTTP/1.1", get("/metrics"), Version::HTTP_11, false),
        ("unknown, HTTP/2", get("/metrics"), Version::HTTP_2, true),
        ("refused, HTTP/2", get("/metrics").bearer("bad"), Version::HTTP_2, true),
        ("refused, HTTP/1.1", get("/metrics").bearer("bad"), Version::HTTP_11, false),
        ("known, HTTP/2", get("/metrics").bearer("good"), Version::HTTP_2, false),
    ];
    for (name, ask, version, closes) in rows {
        run(async {
            let world = World::new();
            world.api(|api| api.tokens.insert("good".to_owned(), super::owner_of("alice")));
            let guard = world.guard(&settings()).await.unwrap();
            let answer = Ask { version, ..ask }.of(&guard).await.unwrap_err();
            let connection = answer.headers().get("connection");
            assert_eq!(connection.is_some_and(|value| value == "close"), closes, "{name}");
        });
    }
}

/// Go's `%q`, which upstream prints names and paths with.
#[test]
fn strange_names_are_quoted_as_in_go() {
    run(async {
        let answer = forbidden(get("/%01%09%0a%5c'%7f%c3%a9%e2%80%a8%f0%9f%98%80")).await;
        let path = r#"path \"/\\x01\\t\\n\\\\'\\x7fé\\u2028😀\""#;
        assert!(answer.body.contains(path), "{}", answer.body);
    });
}
