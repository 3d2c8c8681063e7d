//! Our identity to a server over TLS, by the content of the kubeconfig.

use super::*;

const VERSION: &str = "client.authentication.k8s.io/v1";

fn base64(text: &str) -> String {
    crate::encoding::base64(text.as_bytes())
}

/// A plugin that records its input, and prints the content of the file `answer`.
fn plugin(folder: &Folder) -> Value {
    let script = "printf '%s' \"$KUBERNETES_EXEC_INFO $MINE\" >\"$0.input\"; cat \"$1\"; exit $2";
    let script = folder.write("plugin", script);
    let answer = folder.0.path().join("answer");
    json!({
        "command": "/bin/sh", "args": [script, answer, "0"], "apiVersion": VERSION,
        "interactiveMode": "Never", "env": [{"name": "MINE", "value": "v"}],
    })
}

fn granted(folder: &Folder, status: &Value) {
    let granted = json!({"kind": "ExecCredential", "apiVersion": VERSION, "status": status});
    folder.write("answer.new", &granted.to_string());
    let path = |name| folder.0.path().join(name);
    std::fs::rename(path("answer.new"), path("answer")).unwrap();
}

/// Cases without a test of their own: everything inline, no CA at all, passwords.
#[tokio::test]
async fn a_user_is_known_by_what_the_kubeconfig_holds() {
    let (authority, folder) = (Authority::new(), Folder::new());
    let server = Server::start(&authority).await;
    let Pair(cert, key) = authority.issue("user-one");
    let ca = json!({"certificate-authority-data": base64(&authority.pem)});
    let pair = json!({
        "client-certificate-data": base64(&cert), "client-key-data": base64(&key),
    });
    let named = |mut cluster: Value| {
        cluster["server"] = format!("https://{}", server.address).into();
        cluster["tls-server-name"] = "api.test".into();
        cluster
    };
    let blind = json!({
        "server": format!("https://{}", server.address), "insecure-skip-tls-verify": true,
    });
    for (cluster, user, expected) in [
        (named(ca.clone()), pair.clone(), "user-one, no token"),
        (named(ca.clone()), json!({}), "nobody, no token"),
        (named(ca.clone()), json!({"token": "t"}), "nobody, Bearer t"),
        (
            named(ca.clone()),
            json!({"username": "me", "password": "p:ss"}),
            "nobody, Basic bWU6cDpzcw==",
        ),
        (
            named(ca),
            json!({"token": "t", "as": "jane", "as-groups": ["a", "b"]}),
            "nobody, Bearer t, jane in a b",
        ),
        (blind, pair, "user-one, no token"),
    ] {
        let connection = connect(&folder.kubeconfig(&cluster, &user), "").await.unwrap();
        assert_eq!(ask(&client(&connection)).await.unwrap(), expected, "{cluster} {user}");
    }
    // The CA is not one of the system's.
    let cluster = json!({"server": format!("https://{}", server.address)});
    let connection = connect(&folder.kubeconfig(&cluster, &json!({})), "").await.unwrap();
    let error = ask(&client(&connection)).await.unwrap_err().to_string();
    assert!(error.contains("certificate"), "{error}");
}

/// round_trippers.go, `NewBearerAuthWithRefreshRoundTripper`: the token beside a file is sent while
/// the file cannot be read.
#[tokio::test]
async fn a_token_stands_in_for_its_file() {
    let (authority, folder) = (Authority::new(), Folder::new());
    let server = Server::start(&authority).await;
    let cluster = server.known_by(&folder.write("ca.crt", &authority.pem));
    let file = folder.0.path().join("token");
    let user = json!({"token": "inline", "tokenFile": file});
    let connection = connect(&folder.kubeconfig(&cluster, &user), "").await.unwrap();
    let client = client(&connection);
    assert_eq!(ask(&client).await.unwrap(), "nobody, Bearer inline");
    folder.write("token", "file");
    becomes(&client, "nobody, Bearer file").await;
}

/// exec_test.go: the input of a plugin, and its possible output.
#[tokio::test]
async fn a_plugin_returns_our_credentials() {
    let (authority, folder) = (Authority::new(), Folder::new());
    let server = Server::start(&authority).await;
    let mut cluster = server.known_by(&folder.write("ca.crt", &authority.pem));
    cluster["extensions"] = json!([
        {"name": "other", "extension": 1},
        {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}},
    ]);
    let mut exec = plugin(&folder);
    let input = || std::fs::read_to_string(folder.0.path().join("plugin.input")).unwrap();

    granted(&folder, &json!({"token": "t"}));
    let user = json!({"exec": exec, "as": "jane"});
    let connection = connect(&folder.kubeconfig(&cluster, &user), "").await.unwrap();
    let answer = ask(&client(&connection)).await.unwrap();
    assert_eq!(answer, "nobody, Bearer t, jane in");
    let (info, mine) = input().rsplit_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert_eq!(mine, "v");
    let expected = json!({
        "kind": "ExecCredential", "apiVersion": VERSION, "spec": {"interactive": false},
    });
    assert_eq!(serde_json::from_str::<Value>(&info).unwrap(), expected);

    // Another connection, without credentials, sends none of it.
    let open: crate::Guard = Arc::new(|| Ok(()));
    let nobody = connection.gated(&open, crate::GatedUser::Nobody, None);
    assert_eq!(ask(&client(&nobody)).await.unwrap(), "nobody, no token");

    let Pair(cert, key) = authority.issue("user-one");
    granted(&folder, &json!({"clientCertificateData": cert, "clientKeyData": key}));
    exec["provideClusterInfo"] = true.into();
    let path = folder.kubeconfig(&cluster, &json!({"exec": exec}));
    let connection = connect(&path, "").await.unwrap();
    assert_eq!(ask(&client(&connection)).await.unwrap(), "user-one, no token");
    let expected = json!({
        "server": format!("https://{}", server.address), "tls-server-name": "api.test",
        "certificate-authority-data": base64(&authority.pem), "config": {"audience": "a"},
    });
    let info = input();
    let info: Value = serde_json::from_str(info.rsplit_once(' ').unwrap().0).unwrap();
    assert_eq!(info["spec"]["cluster"], expected);

    // YAML, and the older version, in which `interactiveMode` is optional.
    exec["apiVersion"] = "client.authentication.k8s.io/v1beta1".into();
    exec["interactiveMode"] = Value::Null;
    let yaml = "apiVersion: client.authentication.k8s.io/v1beta1\nkind: ExecCredential\n\
                status:\n  token: y\n";
    folder.write("answer", yaml);
    let path = folder.kubeconfig(&cluster, &json!({"exec": exec}));
    assert_eq!(ask(&client(&connect(&path, "").await.unwrap())).await.unwrap(), "nobody, Bearer y");
}

/// exec.go, `getCreds` and `maybeRefreshCreds`: a plugin runs again when its credentials expire,
/// and after a 401.
#[tokio::test]
async fn a_plugin_is_asked_again() {
    let (authority, folder) = (Authority::new(), Folder::new());
    let server = Server::start(&authority).await;
    let cluster = server.known_by(&folder.write("ca.crt", &authority.pem));
    let user = json!({"exec": plugin(&folder)});
    let end = serde_json::to_value(Clock::system().now() + Duration::from_secs(2)).unwrap();
    granted(&folder, &json!({"token": "one", "expirationTimestamp": end}));
    let connection = connect(&folder.kubeconfig(&cluster, &user), "").await.unwrap();
    let client = client(&connection);
    assert_eq!(ask(&client).await.unwrap(), "nobody, Bearer one");
    let Pair(cert, key) = authority.issue("user-one");
    let pair = json!({"clientCertificateData": cert, "clientKeyData": key});
    granted(&folder, &pair);
    becomes(&client, "user-one, no token").await;

    // Credentials without an expiry are kept until they are rejected.
    granted(&folder, &json!({"token": "three"}));
    let input = folder.0.path().join("plugin.input");
    std::fs::remove_file(&input).unwrap();
    for _ in 0..20 {
        assert_eq!(ask(&client).await.unwrap(), "user-one, no token");
    }
    assert!(!input.exists());
    "user-one".clone_into(&mut server.refused.lock().unwrap());
    becomes(&client, "nobody, Bearer three").await;
    // A failing plugin changes nothing.
    folder.write("answer", "{");
    "three".clone_into(&mut server.refused.lock().unwrap());
    assert_eq!(ask(&client).await.unwrap_err().status().map(|it| it.code), Some(401));
    server.refused.lock().unwrap().clear();
    assert_eq!(ask(&client).await.unwrap(), "nobody, Bearer three");
}

/// An operator must see that the plugin is at fault, and the log must not show a token.
#[tokio::test]
async fn a_plugin_that_fails_is_named() {
    let folder = Folder::new();
    let cluster = json!({"server": "https://api.test", "insecure-skip-tls-verify": true});
    let failure = |exec: &Value| {
        let path = folder.kubeconfig(&cluster, &json!({"exec": exec}));
        let start = format!("--kubeconfig {}: ", path.display());
        async move {
            let Err(error) = connect(&path, "").await else { panic!("it connected") };
            error.to_string().strip_prefix(&start).unwrap().to_owned()
        }
    };
    let usual = plugin(&folder);
    let status =
        |status: Value| json!({"kind": "ExecCredential", "apiVersion": VERSION, "status": status});
    let undated = json!({"token": "secret", "expirationTimestamp": "tomorrow"});
    for (answer, expected) in [
        ("secret: [".to_owned(), "it printed neither JSON nor YAML"),
        ("secret".to_owned(), "there must be a mapping"),
        ("{}".to_owned(), "it printed no ExecCredential of client.authentication.k8s.io/v1"),
        (status(json!(null)).to_string(), "status.token: there is none, nor a certificate"),
        (
            status(json!({"token": ["secret"]})).to_string(),
            "status.token: must be a text; if it is one, put it in quotes",
        ),
        (
            status(json!({"clientKeyData": "secret"})).to_string(),
            "status.clientCertificateData: it is not set",
        ),
        (status(undated).to_string(), "status.expirationTimestamp: \"tomorrow\": "),
    ] {
        folder.write("answer", &answer);
        let error = failure(&usual).await;
        assert!(error.starts_with(&format!("exec plugin /bin/sh: {expected}")), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    let mut failing = usual.clone();
    failing["args"][2] = "3".into();
    let expected = "exec plugin /bin/sh: it failed with exit status: 3";
    assert_eq!(failure(&failing).await, expected);
    let mut absent = usual.clone();
    absent["command"] = "no-such-plugin".into();
    let expected = "exec plugin no-such-plugin: No such file or directory (os error 2)";
    assert_eq!(failure(&absent).await, expected);
    absent["installHint"] = "get it from\n\u{1b}[1mus".into();
    assert_eq!(failure(&absent).await, format!("{expected}: get it from  [1mus"));
    let mut asking = usual;
    asking["interactiveMode"] = "Always".into();
    let error = failure(&asking).await;
    let no_terminal = "its interactiveMode is Always, and standard input is not a terminal";
    // There may be a terminal when a person runs the tests.
    assert!(error.contains(no_terminal) || error.contains("status."), "{error}");
}
