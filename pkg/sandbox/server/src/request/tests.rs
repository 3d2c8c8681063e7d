//! Requests in, calls or refusals out.

use api::Time;
use http::HeaderMap;
use proptest::prelude::*;
use runtime::Runtime;
use serde_json::{Value, json};

use super::*;
use crate::server::{Options, Server};

fn server() -> Server {
    Server::empty(&Runtime::simulated(Time::EPOCH, 1), Options::default())
}

fn method(name: &str) -> Method {
    name.parse().unwrap()
}

fn ask(method: &str, path: &str) -> Result<Asked, Status> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut request = Request::new(self::method(method), path, query);
    if method == "PATCH" {
        request.headers = headers(&[("content-type", "application/merge-patch+json")]);
    }
    request.ask(&server().state())
}

/// A call as text: the verb, `group/version/plural`, namespace, name, subresource.
fn show(asked: Result<Asked, Status>) -> String {
    match asked {
        Ok(Asked::Page(_)) => "page".to_owned(),
        Ok(Asked::Call(call)) => {
            let resource = &call.served.resource;
            let Call { verb, namespace, name, subresource, .. } = &*call;
            let (verb, version) = (verb.name(), resource.api_version());
            format!("{verb} {version}/{} {namespace}|{name}|{subresource}", resource.plural)
        }
        Err(status) => format!("{} {}", status.code, status.reason),
    }
}

/// Rows of upstream's TestGetAPIRequestInfo, and of the routes that api/installer.go makes.
#[test]
fn paths_and_methods() {
    let rows = [
        ("GET", "/", "page"),
        ("GET", "/api", "page"),
        ("GET", "/api/v1", "page"),
        ("GET", "/apis/apps", "page"),
        ("GET", "/apis/apps/v1/", "page"),
        ("GET", "/healthz/a/b/c", "page"),
        ("GET", "/api/v1/namespaces", "list v1/namespaces ||"),
        ("GET", "/api/v1/namespaces/other", "get v1/namespaces |other|"),
        ("GET", "/api/v1/namespaces/other/status", "get v1/namespaces |other|status"),
        ("PUT", "/api/v1/namespaces/other/finalize", "update v1/namespaces |other|finalize"),
        ("GET", "/api/v1/namespaces/other/finalize", "405 MethodNotAllowed"),
        ("GET", "/api/v1/namespaces/other/pods", "list v1/pods other||"),
        ("GET", "/api/v1/namespaces/other/pods/foo", "get v1/pods other|foo|"),
        ("GET", "/api/v1/namespaces/other/pods/foo/", "get v1/pods other|foo|"),
        ("PATCH", "/api/v1/namespaces/other/pods/foo", "patch v1/pods other|foo|"),
        ("PATCH", "/api/v1/namespaces/other/pods/foo/status", "patch v1/pods other|foo|status"),
        ("DELETE", "/api/v1/namespaces/other/pods/foo", "delete v1/pods other|foo|"),
        ("DELETE", "/api/v1/namespaces/other/pods", "deletecollection v1/pods other||"),
        ("POST", "/api/v1/namespaces/other/pods", "create v1/pods other||"),
        ("POST", "/api/v1/namespaces/other/pods/a/binding", "create v1/pods other|a|binding"),
        ("GET", "/api/v1/pods", "list v1/pods ||"),
        ("GET", "/api/v1/pods?watch=true", "watch v1/pods ||"),
        ("GET", "/api/v1/pods?watch=1", "watch v1/pods ||"),
        ("GET", "/api/v1/pods?watch", "watch v1/pods ||"),
        ("GET", "/api/v1/pods?watch=0", "list v1/pods ||"),
        ("GET", "/api/v1/pods?watch=False", "list v1/pods ||"),
        ("GET", "/api/v1/watch/pods", "watch v1/pods ||"),
        ("GET", "/api/v1/watch/namespaces/other/pods", "watch v1/pods other||"),
        ("GET", "/api/v1/watch/namespaces/other/pods/foo", "watch v1/pods other|foo|"),
        ("GET", "/api/v1/watch/namespaces", "watch v1/namespaces ||"),
        ("POST", "/api/v1/watch/pods", "405 MethodNotAllowed"),
        (
            "GET",
            "/apis/apps/v1/namespaces/a/deployments/d/scale",
            "get apps/v1/deployments a|d|scale",
        ),
        ("GET", "/api/v1/namespaces/a%2Db/pods/f%6Fo", "get v1/pods a-b|foo|"),
        ("GET", "/api/v1/namespaces/a/pods/f%2", "400 BadRequest"),
        // A slash stays one, as Go decodes before it splits.
        ("GET", "/api/v1/namespaces/a/pods/f%2Fstatus", "get v1/pods a|f|status"),
        ("GET", "/api/v1/foos", "404 NotFound"),
        ("GET", "/api/v2/pods", "404 NotFound"),
        ("GET", "/apis/apps/v1/pods", "404 NotFound"),
        ("GET", "/api/v1/pods/foo", "404 NotFound"),
        ("GET", "/api/v1/namespaces/a/nodes", "404 NotFound"),
        ("GET", "/api/v1/namespaces/a/pods/foo/nothing", "404 NotFound"),
        ("GET", "/api/v1/namespaces/a/pods/foo/status/more", "404 NotFound"),
        ("GET", "/api/v1/proxy/namespaces/a/pods/foo", "404 NotFound"),
        ("POST", "/api/v1/namespaces/a/pods/foo", "405 MethodNotAllowed"),
        ("POST", "/api/v1/pods", "405 MethodNotAllowed"),
        ("DELETE", "/api/v1/pods", "405 MethodNotAllowed"),
        ("PUT", "/api/v1/namespaces/a/pods", "405 MethodNotAllowed"),
        ("PATCH", "/api/v1/namespaces/a/pods", "405 MethodNotAllowed"),
        ("BREW", "/api/v1/namespaces/a/pods", "405 MethodNotAllowed"),
        ("DELETE", "/api/v1/namespaces", "405 MethodNotAllowed"),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "405 MethodNotAllowed"),
    ];
    for (method, path, want) in rows {
        assert_eq!(show(ask(method, path)), want, "{method} {path}");
    }
}

#[test]
fn refusals_say_what_was_asked_for() {
    let status = ask("GET", "/apis/apps/v1/namespaces/a/foos/b").err().unwrap();
    assert_eq!(status.message, "the server could not find the requested resource");
    assert_eq!(status.details, json!({"name": "b", "group": "apps", "kind": "foos"}));
    let status = ask("POST", "/api/v1/pods").err().unwrap();
    assert_eq!(status.message, "the server does not allow this method on the requested resource");
    assert_eq!(status.details, json!({"kind": "pods"}));
}

fn labels(pairs: &str) -> Value {
    let pairs = pairs.split(',').filter_map(|pair| pair.split_once('='));
    let labels: serde_json::Map<_, _> =
        pairs.map(|(key, value)| (key.to_owned(), json!(value))).collect();
    json!({"metadata": {"labels": labels}})
}

/// Rows of upstream's TestSelectorMatches, TestSetSelectorParser and
/// TestRequirementSelectorMatching.
#[test]
fn label_selectors_match() {
    let rows = [
        ("", "x=y", true),
        ("x=y", "x=y", true),
        ("x==y", "x=y", true),
        ("x=y,z=w", "x=y,z=w", true),
        ("x!=y,z!=w", "x=z,z=a", true),
        ("notin=in", "notin=in", true),
        ("x", "x=z", true),
        ("!x", "y=z", true),
        ("x>1", "x=2", true),
        ("x<1", "x=0", true),
        ("x=z", "", false),
        ("x=y", "x=z", false),
        ("x=y,z=w", "x=w,z=w", false),
        ("x!=y,z!=w", "x=z,z=w", false),
        ("x", "y=z", false),
        ("!x", "x=z", false),
        ("x>1", "x=0", false),
        ("x<1", "x=2", false),
        ("x>1", "x=abc", false),
        ("foo in (bar,baz)", "foo=baz", true),
        ("foo in (bar,baz)", "foo=blah", false),
        ("foo in (bar,baz)", "", false),
        ("foo notin (bar,baz)", "foo=blah", true),
        ("foo notin (bar,baz)", "foo=bar", false),
        ("foo notin (bar,baz)", "", true),
        ("x in (),y", "x=,y=1", true),
        ("x in (a,),y", "x=,y=1", true),
        ("x in (,a)", "x=a", true),
        ("x in (,a)", "x=", true),
        ("x notin (),y", "y=1", true),
        ("value in (in)", "value=in", true),
        (" x = y , ! z ", "x=y", true),
        ("x=", "x=", true),
        ("x=,z= ", "x=,z=", true),
        ("a.example.com/b-c=d_e", "a.example.com/b-c=d_e", true),
    ];
    for (selector, pairs, want) in rows {
        let parsed = Labels::parse(selector).unwrap_or_else(|error| panic!("{selector}: {error}"));
        assert_eq!(parsed.match_object(&labels(pairs)), want, "{selector:?} {pairs:?}");
    }
}

/// The errors of TestSelectorParse and TestSetSelectorParser, read off upstream's grammar.
#[test]
fn label_selectors_that_are_none() {
    let key = "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
               '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let name = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                with an alphanumeric character";
    let rows = [
        (
            "x=a||y=b",
            "unable to parse requirement: values[0][x]: Invalid value: \"a||y\": a valid label \
             must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
             must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  \
             or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
                .to_owned(),
        ),
        ("x==a==b", "found '==', expected: ',' or 'end of string'".to_owned()),
        ("!x=a", "found '=', expected: ',' or 'end of string'".to_owned()),
        (
            "x<a",
            "unable to parse requirement: values[0]: Invalid value: \"a\": for 'Gt', 'Lt' \
                 operators, the value must be an integer"
                .to_owned(),
        ),
        ("x=y,", "found '', expected: identifier after ','".to_owned()),
        (",", "found ',', expected: !, identifier, or 'end of string'".to_owned()),
        ("x,,y", "found ',', expected: identifier after ','".to_owned()),
        ("x in", "unable to parse requirement: found '' expected: '('".to_owned()),
        ("x in a", "unable to parse requirement: found 'a' expected: '('".to_owned()),
        ("x in (a", "unable to parse requirement: found '', expected: ',' or ')'".to_owned()),
        (
            "x in (=)",
            "unable to parse requirement: found '=', expected: ',', ')' or identifier".to_owned(),
        ),
        (
            "x in (,=)",
            "unable to parse requirement: found '=', expected: ',', or identifier".to_owned(),
        ),
        (
            "x y",
            "unable to parse requirement: found 'y', expected: in, notin, =, ==, !=, gt, lt"
                .to_owned(),
        ),
        ("!", "unable to parse requirement: found '', expected: identifier".to_owned()),
        ("x=(", "unable to parse requirement: found '(', expected: identifier".to_owned()),
        (
            "a/b/c=1",
            format!(
                "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid \
             label key {name} \
             {key} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ),
        ),
        (
            "-a=1",
            format!(
                "unable to parse requirement: <nil>: Invalid value: \"-a\": name part {name} {key}"
            ),
        ),
        (
            "/a=1",
            "unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part must be \
                  non-empty"
                .to_owned(),
        ),
    ];
    for (selector, want) in rows {
        assert_eq!(Labels::parse(selector), Err(want), "{selector}");
    }
}

fn fields(selector: &str, plural: &str) -> Result<Fields, String> {
    let server = server();
    let state = server.state();
    let groups = [("", "v1"), ("apps", "v1"), ("batch", "v1")];
    let mut found = groups.iter().filter_map(|(group, v)| state.registry.get(group, v, plural));
    Fields::parse(selector, found.next().unwrap()).map_err(|status| status.message)
}

/// Rows of upstream's TestSelectorParse, TestDeterministicParse and TestUnescapeValue (fields).
#[test]
fn field_selectors() {
    let object = json!({"metadata": {"name": "a,b", "namespace": "c"}});
    let server = server();
    let pods = server.state().registry.get("", "v1", "configmaps").unwrap().clone();
    let rows = [
        ("", Ok(true)),
        ("metadata.name=a\\,b", Ok(true)),
        ("metadata.name==a\\,b,metadata.namespace=c", Ok(true)),
        ("metadata.name!=a", Ok(true)),
        ("metadata.name=a", Ok(false)),
        ("metadata.name!=a\\,b", Ok(false)),
        (",metadata.namespace=c,", Ok(true)),
        ("x", Err("invalid selector: 'x'; can't understand 'x'")),
        ("metadata.name=a=b", Err("invalid field selector: unescaped character in value: 61")),
        ("metadata.name=a\\", Err("invalid field selector: invalid escape sequence: \\")),
        ("metadata.name=\\a", Err("invalid field selector: invalid escape sequence: \\a")),
        (
            "spec.foo=a",
            Err("\"spec.foo\" is not a known field selector: only \"metadata.name\", \
                 \"metadata.namespace\""),
        ),
    ];
    for (selector, want) in rows {
        let matched =
            fields(selector, "configmaps").map(|fields| fields.match_object(&object, &pods));
        assert_eq!(matched, want.map_err(str::to_owned), "{selector}");
    }
    assert_eq!(
        fields("spec.foo=a", "jobs"),
        Err("field label \"spec.foo\" not supported for Job".to_owned())
    );
}

fn options(path: &str) -> Result<ListOptions, Status> {
    match ask("GET", path)? {
        Asked::Call(call) => ListOptions::of(&call),
        Asked::Page(_) => panic!("{path}"),
    }
}

/// Rows of upstream's TestValidateListOptions and TestValidateWatchOptions: the fields at fault.
#[test]
fn list_options_that_contradict_each_other() {
    let rows = [
        ("resourceVersion=1&resourceVersionMatch=Exact", ""),
        ("resourceVersion=1&resourceVersionMatch=NotOlderThan", ""),
        ("resourceVersionMatch=Exact", "Forbidden"),
        ("resourceVersion=1&resourceVersionMatch=Odd", "NotSupported"),
        ("resourceVersion=0&resourceVersionMatch=Exact", "Forbidden"),
        ("resourceVersion=1&resourceVersionMatch=Exact&continue=x", "Forbidden"),
        ("sendInitialEvents=true", "Forbidden"),
        ("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", ""),
        ("watch=1&sendInitialEvents=true", "Forbidden"),
        ("watch=1&resourceVersion=1&resourceVersionMatch=NotOlderThan", "Forbidden"),
        ("watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", "Forbidden NotSupported"),
        ("watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&continue=x", "Forbidden"),
    ];
    for (query, want) in rows {
        let faults = options(&format!("/api/v1/pods?{query}")).err().map(|status| {
            assert_eq!((status.code, status.reason), (422, "Invalid"));
            assert_eq!(status.details["kind"], "ListOptions");
            let causes = status.details["causes"].as_array().unwrap().clone();
            let reasons = causes.iter().map(|it| it["reason"].as_str().unwrap().to_owned());
            let reasons = reasons.map(|it| it.trim_start_matches("FieldValue").to_owned());
            reasons.collect::<Vec<_>>().join(" ")
        });
        assert_eq!(faults.unwrap_or_default(), want, "{query}");
    }
}

/// Parameters as upstream's conversions read them.
#[test]
fn parameters_that_cannot_be_read() {
    let rows = [
        ("limit=abc", "strconv.ParseInt: parsing \"abc\": invalid syntax"),
        ("limit=", "strconv.ParseInt: parsing \"\": invalid syntax"),
        (
            "timeoutSeconds=99999999999999999999",
            "strconv.ParseInt: parsing \"99999999999999999999\": value out of range",
        ),
        ("labelSelector=a%3D%3D%3D", "found '=', expected: identifier"),
        ("fieldSelector=a", "invalid selector: 'a'; can't understand 'a'"),
    ];
    for (query, want) in rows {
        let status = options(&format!("/api/v1/pods?{query}")).err().unwrap();
        assert_eq!(status.code, 400, "{query}");
        assert_eq!(status.message.trim_start_matches("unable to parse requirement: "), want);
    }
    let read = options("/api/v1/pods?limit=-5&timeoutSeconds=7&labelSelector=a+in+(b)").unwrap();
    assert_eq!((read.limit, read.timeout_seconds), (0, Some(7)));
    assert_eq!(read.labels, Labels::parse("a in (b)").unwrap());
    let version = options("/api/v1/pods?resourceVersion=-1").unwrap().version().err().unwrap();
    assert_eq!(
        version.message,
        "invalid resource version: resourceVersion: Invalid value: \"-1\": strconv.ParseUint: \
         parsing \"-1\": invalid syntax"
    );
}

/// SetListOptionsDefaults: a watch from anywhere begins with what is there.
#[test]
fn watches_from_anywhere_send_initial_events() {
    let rows = [
        ("watch=1", Some(true), Match::NotOlderThan),
        ("watch=1&resourceVersion=0", Some(true), Match::NotOlderThan),
        ("watch=1&resourceVersion=1", None, Match::Unset),
        (
            "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
            Some(false),
            Match::NotOlderThan,
        ),
        ("resourceVersion=0", None, Match::Unset),
    ];
    for (query, sends, version_match) in rows {
        let options = options(&format!("/api/v1/pods?{query}")).unwrap();
        let found = (options.send_initial_events, options.version_match);
        assert_eq!(found, (sends, version_match), "{query}");
    }
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(*name, value.parse().unwrap());
    }
    headers
}

/// Rows in the manner of upstream's TestNegotiate.
#[test]
fn forms() {
    use super::media::Version::{V1, V1beta1};
    let table = |include| Ok(Form::Table(V1, include));
    let none = Err(406);
    let as_table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let rows = [
        ("", "", Ok(Form::Whole)),
        ("*/*", "", Ok(Form::Whole)),
        ("application/*", "", Ok(Form::Whole)),
        ("application/json, */*", "", Ok(Form::Whole)),
        ("application/vnd.kubernetes.protobuf,application/json", "", Ok(Form::Whole)),
        ("application/vnd.kubernetes.protobuf", "", none),
        ("text/html", "", none),
        (
            "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            "",
            table(Include::Metadata),
        ),
        (as_table, "includeObject=None", table(Include::Nothing)),
        (as_table, "includeObject=Object", table(Include::Object)),
        (as_table, "includeObject=Odd", Err(400)),
        (
            "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
            "",
            Ok(Form::Table(V1beta1, Include::Metadata)),
        ),
        ("application/json;as=Table;v=v2;g=meta.k8s.io", "", none),
        ("application/json;as=Table;v=v2;g=meta.k8s.io, application/json", "", Ok(Form::Whole)),
        ("application/json;as=Chair;v=v1;g=meta.k8s.io", "", none),
        (
            "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            "",
            Ok(Form::Metadata(V1)),
        ),
        (
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
            "",
            Ok(Form::MetadataList(V1)),
        ),
        ("application/json;stream=watch", "", Ok(Form::Whole)),
        (
            "application/json;q=0.1;as=Table;v=v1;g=meta.k8s.io,application/json",
            "",
            Ok(Form::Whole),
        ),
    ];
    for (accept, query, want) in rows {
        let mut request = Request::new(Method::GET, "/api/v1/pods", query);
        request.headers = headers(&[("accept", accept)]);
        let Ok(Asked::Call(call)) = request.ask(&server().state()) else { panic!("{accept}") };
        assert_eq!(negotiate(&call).map_err(|status| status.code), want, "{accept}");
    }
}

#[test]
fn bodies_in_unknown_formats() {
    let rows = [
        ("POST", "application/json", Ok(())),
        ("POST", "application/json; charset=utf-8", Ok(())),
        ("POST", "application/vnd.kubernetes.protobuf", Err(400)),
        ("POST", "application/x-www-form-urlencoded", Err(415)),
        ("PATCH", "application/apply-patch+yaml", Ok(())),
        ("PATCH", "application/strategic-merge-patch+json", Ok(())),
        ("PATCH", "text/plain", Err(415)),
        ("PATCH", "application/json", Err(415)),
        ("DELETE", "application/vnd.kubernetes.protobuf", Err(400)),
    ];
    for (method, media, want) in rows {
        let path = "/api/v1/namespaces/a/pods";
        let path = if method == "POST" { path.to_owned() } else { format!("{path}/b") };
        let mut request = Request::new(method.parse().unwrap(), &path, "");
        request.headers = headers(&[("content-type", media)]);
        request.body = "{}".into();
        let asked = request.ask(&server().state());
        assert_eq!(asked.map(|_| ()).map_err(|status| status.code), want, "{method} {media}");
    }
}

#[test]
fn people_get_pretty_json() {
    let rows = [
        ("", "kubectl/v1.36", false),
        ("", "curl/8", true),
        ("pretty=false", "curl/8", false),
        ("pretty=true", "kubectl/v1.36", true),
        ("a=b&pretty=1", "", true),
        ("pretty=odd", "curl/8", false),
    ];
    for (query, agent, want) in rows {
        assert_eq!(
            wants_pretty(query, &headers(&[("user-agent", agent)])),
            want,
            "{query} {agent}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No text makes a parser panic.
    #[test]
    fn nothing_panics(text in ".{0,60}", symbols in "[ a=!(),<>\\\\%&;/-]{0,40}") {
        for text in [&text, &symbols] {
            let _ = Labels::parse(text);
            let _ = fields(text, "configmaps");
            let _ = show(ask("GET", &format!("/api/v1/{text}")));
            let _ = show(ask("GET", &format!("/api/v1/pods?{text}")));
        }
    }
}
