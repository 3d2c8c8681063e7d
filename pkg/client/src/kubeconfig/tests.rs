//! Rows of client-go's tools/clientcmd (client_config_test.go, validation_test.go, loader_test.go)
//! and plugin/pkg/client/auth/exec/exec_test.go, and what the fields are documented to do.

use std::path::PathBuf;

use super::*;

/// The configuration of a kubeconfig with one entry of each kind, whose cluster and user have these
/// fields.
fn config(cluster: &str, user: &str) -> Result<Config, String> {
    kubeconfig(cluster, user).config(None, None)
}

fn kubeconfig(cluster: &str, user: &str) -> Kubeconfig {
    let text = format!(
        "apiVersion: v1\nkind: Config\npreferences: {{}}\ncurrent-context: x\n\
         contexts:\n- {{name: x, context: {{cluster: c, user: u, namespace: n}}}}\n\
         clusters:\n- {{name: other, cluster: {{server: https://other}}}}\n\
         - {{name: c, cluster: {{{cluster}}}}}\n\
         users:\n- {{name: u, user: {{{user}}}}}\n"
    );
    parsed(&text)
}

fn parsed(text: &str) -> Kubeconfig {
    Kubeconfig::parse(text.as_bytes(), PathBuf::from("/etc/kubernetes")).unwrap()
}

const HTTPS: &str = "server: https://api.test:6443";

fn error(cluster: &str, user: &str) -> String {
    config(cluster, user).err().unwrap_or_else(|| panic!("it is taken: {cluster} {user}"))
}

fn shown(source: &Source) -> String {
    match source {
        Source::Data(bytes) => String::from_utf8(bytes.clone()).unwrap(),
        Source::File(path) => path.display().to_string(),
    }
}

/// `GetClusterFileReferences`, `GetAuthInfoFileReferences` and `ResolvePaths` of loader.go: a path
/// is relative to the file. Data takes precedence over a file.
#[test]
fn files_and_data_are_found() {
    let authority = |fields: &str| {
        let config = config(&format!("{HTTPS}{fields}"), "").unwrap();
        config.authority.as_ref().map(shown)
    };
    assert_eq!(authority(""), None);
    assert_eq!(authority(", certificate-authority: ''"), None);
    assert_eq!(authority(", certificate-authority: null"), None);
    assert_eq!(authority(", certificate-authority: pki/ca").unwrap(), "/etc/kubernetes/pki/ca");
    assert_eq!(authority(", certificate-authority: /pki/ca").unwrap(), "/pki/ca");
    let both = ", certificate-authority: /pki/ca, certificate-authority-data: UEVN";
    assert_eq!(authority(both).unwrap(), "PEM");
    // Go's base64 leaves out line breaks.
    assert_eq!(authority(", certificate-authority-data: \"UE\\nVN\\n\"").unwrap(), "PEM");

    for (user, expected) in [
        ("client-certificate: c, client-key: k", ("/etc/kubernetes/c", "/etc/kubernetes/k")),
        ("client-certificate-data: UEVN, client-key: /k", ("PEM", "/k")),
        ("client-certificate: /c, client-key-data: UEVN, client-key: k", ("/c", "PEM")),
    ] {
        let (cert, key) = config(HTTPS, user).unwrap().user.identity.unwrap();
        assert_eq!((&*shown(&cert), &*shown(&key)), expected, "{user}");
    }
    let user = config(HTTPS, "tokenFile: token").unwrap().user;
    assert_eq!(user.token_file.unwrap(), Path::new("/etc/kubernetes/token"));
}

/// Our credentials, as headers.
#[test]
fn tokens_passwords_and_impersonation_are_sent() {
    for (user, authorization) in [
        ("token: t", "Bearer t"),
        ("token: ' t '", "Bearer t"),
        // Both: the file takes precedence, but its content is not known here.
        ("token: t, tokenFile: f", "Bearer t"),
        ("username: me, password: 'p:ss'", "Basic bWU6cDpzcw=="),
        ("username: me", "Basic bWU6"),
    ] {
        let header = config(HTTPS, user).unwrap().user.authorization.unwrap();
        assert_eq!(header, authorization, "{user}");
        assert!(header.is_sensitive());
    }
    let user = "as: jane, as-uid: '7', as-groups: [a, b], as-user-extra: {'Scopes/x%': [one, two]}";
    let headers = config(HTTPS, user).unwrap().user.impersonation;
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    let expected = [
        "impersonate-user: jane",
        "impersonate-uid: 7",
        "impersonate-group: a",
        "impersonate-group: b",
        "impersonate-extra-scopes%2fx%25: one",
        "impersonate-extra-scopes%2fx%25: two",
    ];
    assert_eq!(headers, expected);
}

/// client_config.go, `ClientConfig`: "only try to read the auth information if we are secure".
#[test]
fn credentials_are_for_tls_only() {
    for server in ["server: http://api.test", "server: api.test:8080"] {
        let fields = "token: t, client-certificate: /c, client-key: /k, as: jane";
        let config = config(server, fields).unwrap();
        assert_eq!(config.server.scheme_str(), Some("http"));
        let User { identity, authorization, impersonation, .. } = config.user;
        assert!(identity.is_none() && authorization.is_none());
        assert_eq!(impersonation.len(), 1);
    }
}

/// exec.go, `UpdateTransportConfig`: a plugin is only for users without other credentials.
#[test]
fn a_plugin_is_the_last_resort() {
    let exec = "exec: {command: c, apiVersion: client.authentication.k8s.io/v1beta1}";
    for (other, is_asked) in [
        ("", true),
        (", token: t", false),
        (", tokenFile: f", false),
        (", username: u", false),
        (", client-certificate: c, client-key: k", false),
        (", as: jane", true),
    ] {
        let user = config(HTTPS, &format!("{exec}{other}")).unwrap().user;
        assert_eq!(user.plugin.is_some(), is_asked, "{other}");
    }
}

/// `getCluster` and `ConfirmUsable` of client_config.go; `--master` is `overrides.ClusterInfo`.
#[test]
fn a_master_replaces_the_server() {
    let master = || Some(Uri::from_static("https://master.test"));
    let fields = format!("{HTTPS}, tls-server-name: name.test, certificate-authority: /ca");
    let kubeconfig = kubeconfig(&fields, "token: t");
    let plain = kubeconfig.config(None, None).unwrap();
    assert_eq!(plain.server_name, Some(ServerName::try_from("name.test").unwrap()));
    let config = kubeconfig.config(master(), None).unwrap();
    assert_eq!(config.server, "https://master.test");
    // That name belonged to the other server; the CA and our credentials stay.
    assert_eq!(config.server_name, None);
    assert!(config.authority.is_some() && config.user.authorization.is_some());
    let config = self::kubeconfig("", "token: t").config(master(), None).unwrap();
    assert!(config.user.authorization.is_some());
    for empty in ["", "null", "{}", "apiVersion: v1\nkind: Config\nclusters: null\n"] {
        assert_eq!(parsed(empty).config(master(), None).unwrap().server, "https://master.test");
    }
}

/// An error names its place, and contains nothing that may be secret.
#[test]
fn errors_name_the_field() {
    let (cluster, user) = ("clusters[1].cluster", "users[0].user");
    for (fields, place, what) in [
        ("", "server", "it is not set"),
        ("server: [a]", "server", "must be a text; if it is one, put it in quotes"),
        ("server: ftp://x", "server", "the scheme must be http or https"),
        (
            "server: https://x, proxy-url: ftp://s@p",
            "proxy-url",
            "unsupported scheme \"ftp\", must be http, https, or socks5",
        ),
        (
            "server: https://x, insecure-skip-tls-verify: 1",
            "insecure-skip-tls-verify",
            "must be true or false",
        ),
        // transport.go, `TLSConfigFor`
        (
            "server: https://x, insecure-skip-tls-verify: true, certificate-authority: /ca",
            "insecure-skip-tls-verify",
            "must not be true beside a certificate-authority",
        ),
        (
            "server: https://x, certificate-authority-data: '*'",
            "certificate-authority-data",
            "must be base64",
        ),
    ] {
        assert_eq!(error(fields, ""), format!("{cluster}.{place}: {what}"));
    }
    let header = "it cannot be sent in a header";
    for (fields, place, what) in [
        ("token: 5", "token", "must be a text; if it is one, put it in quotes"),
        ("token: \"a\\nb\"", "token", header),
        // validation.go, `validateAuthInfo`
        ("token: t, username: u", "username", "there is a token too, and only one can be sent"),
        ("tokenFile: f, password: p", "username", "there is a token too, and only one can be sent"),
        ("client-certificate: c", "client-key", "client-certificate needs it"),
        ("as-uid: u", "as-uid", "must have an \"as\" beside it"),
        ("as-groups: [g]", "as-groups", "must have an \"as\" beside it"),
        ("as-user-extra: {a: [b]}", "as-user-extra", "must have an \"as\" beside it"),
        ("as: a, as-groups: g", "as-groups", "must be a list"),
        ("as: a, as-groups: [1]", "as-groups", "must be a list of texts"),
        ("as: \"\\n\"", "as", header),
        // rest/plugin.go, `GetAuthProvider`: none is compiled into upstream's manager either.
        (
            "auth-provider: {name: gcp, config: {id-token: secret}}",
            "auth-provider",
            "there is no provider \"gcp\"; a plugin named by exec can stand for one, or a token",
        ),
        ("exec: secret", "exec", "must be a mapping"),
    ] {
        assert_eq!(error(HTTPS, fields), format!("{user}.{place}: {what}"));
    }
}

/// The same for a plugin (`validateAuthInfo`, and exec.go, `newAuthenticator`).
#[test]
fn errors_name_the_field_of_a_plugin() {
    let v1 = "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never";
    for (fields, place, what) in [
        (v1, "command", "it is not set"),
        ("command: c", "apiVersion", "it is not set"),
        (
            "command: c, apiVersion: v1",
            "apiVersion",
            "must be \"client.authentication.k8s.io/v1\" or \
             \"client.authentication.k8s.io/v1beta1\", not \"v1\"",
        ),
        (
            "command: c, apiVersion: client.authentication.k8s.io/v1",
            "interactiveMode",
            "must be \"Never\", \"IfAvailable\" or \"Always\"",
        ),
        (&format!("command: c, {v1}, env: [{{value: v}}]"), "env[0].name", "it is not set"),
        (&format!("command: c, {v1}, args: 7"), "args", "must be a list"),
    ] {
        let exec = format!("exec: {{{fields}}}");
        assert_eq!(error(HTTPS, &exec), format!("users[0].user.exec.{place}: {what}"));
    }
}

/// Contexts with missing entries. client-go does not report a missing user, and is anonymous.
#[test]
fn contexts_lead_to_clusters_and_users() {
    let rest = "contexts: [{name: x, context: {cluster: c, user: u}}]\n\
                clusters: [{name: c, cluster: {server: https://c}}]\n";
    for (text, expected) in [
        ("", "current-context: it is not set"),
        ("current-context: ''", "current-context: it is not set"),
        ("current-context: y", "current-context: there is no context \"y\""),
        (
            "current-context: x\nclusters: []",
            "contexts[0].context.cluster: there is no cluster \"c\"",
        ),
        (
            "current-context: x\nclusters: [{name: c}, {name: c}]",
            "clusters[1].name: \"c\" is there twice",
        ),
        ("kind: Pod", "kind: must be \"Config\""),
        ("apiVersion: v2", "apiVersion: must be \"v1\""),
        ("- a", "there must be a mapping"),
    ] {
        let text = match text.split_once('\n') {
            Some(_) => format!("{text}\n{}", rest.lines().next().unwrap()),
            None if text.starts_with('-') => text.to_owned(),
            None => format!("{text}\n{rest}"),
        };
        let kubeconfig = Kubeconfig::parse(text.as_bytes(), PathBuf::new());
        let error = kubeconfig.and_then(|it| it.config(None, None)).err().unwrap();
        assert_eq!(error, expected, "{text}");
    }
    let nobody = parsed(&format!("current-context: x\n{rest}")).config(None, None).unwrap();
    assert!(nobody.user.authorization.is_none() && nobody.user.identity.is_none());
    // The place in the file, without its text.
    let Err(error) =
        Kubeconfig::parse(b"users:\n- {name: u, user: {token: se\"cret\n", PathBuf::new())
    else {
        panic!("it is taken")
    };
    assert!(error.contains("line 3") && !error.contains("cret"), "{error}");
}

/// go-yaml's and `json.Unmarshal`'s ways: the first document counts, keys are merged, JSON is YAML,
/// and the text may be UTF-16.
#[test]
fn yaml_is_read_as_in_go() {
    let merged = "\
base: &base {server: https://base.test, tls-server-name: name.test}
current-context: x
contexts: [{name: x, context: {cluster: c}}]
clusters:
- name: c
  cluster:
    <<: *base
    server: https://own.test
---
current-context: y
";
    let config = parsed(merged).config(None, None).unwrap();
    assert_eq!(config.server, "https://own.test");
    assert!(config.server_name.is_some());
    let json = "{\n\t\"current-context\": \"x\",\n\t\"contexts\": [{\"name\": \"x\", \"context\": \
                {\"cluster\": \"c\"}}],\n\t\"clusters\": [{\"name\": \"c\", \"cluster\": \
                {\"server\": \"https:\\/\\/json.test\"}}]\n}";
    assert_eq!(parsed(json).config(None, None).unwrap().server, "https://json.test");
    let wide = || [0xfeff].into_iter().chain(json.encode_utf16());
    let marked = [b"\xef\xbb\xbf", json.as_bytes()].concat();
    let (little, big) = (wide().flat_map(u16::to_le_bytes), wide().flat_map(u16::to_be_bytes));
    for bytes in [little.collect(), big.collect(), marked] {
        let kubeconfig = Kubeconfig::parse(&bytes, PathBuf::new()).unwrap();
        assert_eq!(kubeconfig.config(None, None).unwrap().server, "https://json.test");
    }
}

/// rest/config.go, `InClusterConfig`.
#[test]
fn a_pod_is_configured_by_its_environment() {
    let config = |host: &'static str, port: &'static str| {
        let set = |value: &str| Some(value.to_owned());
        Config::in_cluster(|name| match name {
            "KUBERNETES_SERVICE_HOST" => set(host),
            "KUBERNETES_SERVICE_PORT" => set(port),
            _ => None,
        })
    };
    let found = config("10.0.0.1", "443").unwrap();
    assert_eq!(found.server, "https://10.0.0.1:443");
    let folder = Path::new("/var/run/secrets/kubernetes.io/serviceaccount");
    assert_eq!(found.user.token_file.unwrap(), folder.join("token"));
    let expected = folder.join("ca.crt").display().to_string();
    assert_eq!(found.authority.as_ref().map(shown), Some(expected));
    assert_eq!(config("fd00::1", "6443").unwrap().server, "https://[fd00::1]:6443");
    let unset = |name| format!("environment variable {name} is not set");
    assert_eq!(config("", "443").err(), Some(unset("KUBERNETES_SERVICE_HOST")));
    assert_eq!(config("h", "").err(), Some(unset("KUBERNETES_SERVICE_PORT")));
}

/// `Load` of loader.go, with TestConflictingCurrentContext and TestResolveRelativePaths: the first
/// file to set something wins, also the current context; a path is relative to its own file.
#[test]
fn several_files_are_merged() {
    let file = |text: &str, folder: &str| {
        let mut file = Kubeconfig::parse(text.as_bytes(), PathBuf::from(folder)).unwrap();
        file.resolve();
        file
    };
    let users = "current-context: ''\nusers:\n- {name: u, user: {tokenFile: secret/token}}\n";
    let clusters = "current-context: x\ncontexts:\n\
                    - {name: x, context: {cluster: c, user: u, namespace: n}}\nclusters:\n\
                    - {name: c, cluster: {server: 'https://first', certificate-authority: ca}}\n\
                    users:\n- {name: u, user: {token: second}}\n\
                    - {name: v, user: {exec: {command: ./log-in}}}\n";
    let last = "current-context: y\nclusters:\n- {name: c, cluster: {server: 'https://last'}}\n";
    let mut merged = file(users, "/one");
    for next in [file(clusters, "/two"), file(last, "/three"), file("", "/four")] {
        merged.complete(next);
    }
    let config = merged.config(None, None).unwrap();
    assert_eq!(config.server.to_string(), "https://first/");
    assert_eq!(config.authority.as_ref().map(shown).unwrap(), "/two/ca");
    assert_eq!(config.user.token_file.unwrap(), PathBuf::from("/one/secret/token"));
    assert!(config.user.authorization.is_none(), "the first user of that name");
    assert_eq!(merged.namespace(None).unwrap().as_deref(), Some("n"));
    let command = &merged.document["users"][1]["user"]["exec"]["command"];
    assert_eq!(command.as_str(), Some("/two/./log-in"));
    let mut empty = file("", "/four");
    empty.complete(file(last, "/three"));
    assert_eq!(empty.document["current-context"].as_str(), Some("y"));
}
