//! Front proxies. Rows name pkg/authentication/request/headerrequest/requestheader_test.go.

use std::collections::BTreeMap;

use super::issue::{Authority, Leaf};
use super::{Ask, TempFile, World, get, run, settings};
use crate::{Guard, ProxySettings, Settings};

struct Setup {
    world: World,
    guard: Guard,
    clients: Authority,
    proxies: Authority,
    _files: [TempFile; 2],
}

async fn proxies(name: &str, change: impl FnOnce(&mut ProxySettings)) -> Setup {
    let (world, clients, proxies) = (World::new(), Authority::new("c"), Authority::new("p"));
    let files = [("clients", &clients), ("proxies", &proxies)]
        .map(|(file, authority)| TempFile::new(&format!("{name}-{file}"), &authority.pem));
    let mut settings = Settings { client_ca_file: Some(files[0].0.clone()), ..settings() };
    settings.request_header.client_ca_file = Some(files[1].0.clone());
    change(&mut settings.request_header);
    let guard = world.guard(&settings).await.unwrap();
    Setup { world, guard, clients, proxies, _files: files }
}

fn for_alice() -> Ask {
    get("/metrics").header("X-Remote-User", "alice").header("X-Remote-Group", "system:masters")
}

#[test]
fn a_proxy_speaks_for_others() {
    run(async {
        let it = proxies("speaks", |flags| {
            flags.uid_headers = vec!["X-Remote-Uid".to_owned()];
            flags.username_headers = vec!["X-Missing".to_owned(), "X-Remote-User".to_owned()];
        })
        .await;
        let ask = for_alice()
            .header("x-remote-group", "")
            .header("X-REMOTE-GROUP", "readers")
            .header("X-Remote-Uid", "7")
            .header("X-Remote-Extra-Acme.com%2Fproject", "a")
            .header("X-Remote-Extra-Acme.com%2fproject", "b")
            .header("X-Remote-Extra-bad%2", "c")
            .showing(&it.proxies.issue(&Leaf::client("proxy")));
        let user = ask.of(&it.guard).await.unwrap();
        assert_eq!((&*user.name, &*user.uid), ("alice", "7"));
        assert_eq!(user.groups, ["system:masters", "readers", "system:authenticated"]);
        let list = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect();
        let extra: BTreeMap<String, Vec<String>> = BTreeMap::from([
            ("acme.com/project".to_owned(), list(&["a", "b"])),
            ("bad%2".to_owned(), list(&["c"])),
        ]);
        assert_eq!(user.extra, extra);
        let expirations = it.world.metric("apiserver_client_certificate_expiration_seconds", "");
        assert_eq!(expirations, 0, "only certificates of users are measured");
    });
}

/// x509.go, Verifier: CA, then name; a client that is not a proxy may still be a user.
#[test]
fn only_a_proxy_is_believed() {
    run(async {
        let it = proxies("believed", |flags| flags.allowed_names = vec!["proxy".to_owned()]).await;
        let proxy = it.proxies.issue(&Leaf::client("proxy"));
        let other = it.proxies.issue(&Leaf::client("other"));
        let bob = it.clients.issue(&Leaf::client("bob"));
        let rows = [
            ("the proxy", for_alice().showing(&proxy), "alice"),
            ("a name that is not allowed", for_alice().showing(&other), "Unauthorized"),
            ("a user's certificate", for_alice().showing(&bob), "bob"),
            ("no certificate", for_alice(), "system:anonymous"),
            ("the proxy for itself", get("/metrics").showing(&proxy), "Unauthorized"),
            (
                "the proxy for an empty name",
                get("/metrics").header("x-remote-user", "").showing(&proxy),
                "Unauthorized",
            ),
        ];
        for (name, ask, user) in rows {
            assert_eq!(ask.name(&it.guard).await, user, "{name}");
        }
    });
}

/// pkg/authentication/group: an anonymous user behind a proxy stays anonymous.
#[test]
fn the_group_of_the_authenticated_is_added_once() {
    run(async {
        let it = proxies("groups", |_| {}).await;
        let proxy = it.proxies.issue(&Leaf::client("proxy"));
        let rows = [
            ("alice", "readers", vec!["readers", "system:authenticated"]),
            ("alice", "system:authenticated", vec!["system:authenticated"]),
            ("alice", "system:unauthenticated", vec!["system:unauthenticated"]),
            ("system:anonymous", "readers", vec!["readers"]),
        ];
        for (name, group, groups) in rows {
            let ask = get("/healthz").header("x-remote-user", name).header("x-remote-group", group);
            let user = ask.showing(&proxy).of(&it.guard).await.unwrap();
            assert_eq!(user.groups, groups, "{name} of {group}");
        }
    });
}

#[test]
fn a_blank_prefix_gives_no_header_away() {
    run(async {
        let it = proxies("blank", |flags| flags.extra_headers_prefix = vec![" ".to_owned()]).await;
        let ask = for_alice().bearer("secret").showing(&it.proxies.issue(&Leaf::client("proxy")));
        assert_eq!(ask.of(&it.guard).await.unwrap().extra, BTreeMap::new());
    });
}
