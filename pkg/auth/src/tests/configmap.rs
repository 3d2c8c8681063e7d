//! The ConfigMap kube-system/extension-apiserver-authentication.

use std::time::Duration;

use rcgen::DnType;
use serde_json::{Value, json};

use super::issue::{Authority, Leaf};
use super::{Ask, Reply, TempFile, World, failure, get, run, settings};
use crate::{Error, Settings};

const READS: &str = "GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-auth";
const WATCHES: &str = "GET /api/v1/namespaces/kube-system/configmaps?watch=true&fieldSelector=\
                       metadata.name%3Dextension-apiserver-authentication&resourceVersion=5&";

fn map(data: &Value) -> Reply {
    let metadata = json!({"resourceVersion": "5"});
    (200, json!({"kind": "ConfigMap", "metadata": metadata, "data": data}))
}

fn data(clients: &Authority, proxies: &Authority) -> Value {
    json!({
        "client-ca-file": clients.pem,
        "requestheader-client-ca-file": proxies.pem,
        "requestheader-allowed-names": "[\"proxy\"]",
        "requestheader-username-headers": "[\"X-Remote-User\"]",
        "requestheader-uid-headers": "[\"X-Remote-Uid\"]",
        "requestheader-group-headers": "[\"X-Remote-Group\"]",
        "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
    })
}

/// Requests with a user's own certificate, and of a proxy for alice.
fn asks(clients: &Authority, proxies: &Authority) -> [Ask; 2] {
    let masters = |name| Leaf::client(name).with(DnType::OrganizationName, "system:masters");
    let proxy = get("/metrics").header("x-remote-user", "alice");
    [
        get("/metrics").showing(&clients.issue(&masters("bob"))),
        proxy
            .header("x-remote-group", "system:masters")
            .showing(&proxies.issue(&Leaf::client("proxy"))),
    ]
}

#[test]
fn what_the_flags_leave_out_comes_from_the_cluster() {
    run(async {
        let (world, [clients, proxies]) = (World::new(), ["c", "p"].map(Authority::new));
        world.api(|api| api.configmap = Some(map(&data(&clients, &proxies))));
        let guard = world.guard(&settings()).await.unwrap();
        let [user, proxy] = asks(&clients, &proxies);
        assert_eq!(user.name(&guard).await, "bob");
        assert_eq!(proxy.name(&guard).await, "alice");
        let [_, user] = asks(&clients, &clients);
        assert_eq!(user.name(&guard).await, "proxy", "a user is no front proxy");
    });
}

/// authentication.go, ApplyTo: what a flag sets is not looked up.
#[test]
fn a_flag_replaces_its_part_of_the_configmap() {
    run(async {
        let (world, [own, clients, proxies]) = (World::new(), ["o", "c", "p"].map(Authority::new));
        world.api(|api| api.configmap = Some(map(&data(&clients, &proxies))));
        let file = TempFile::new("replaces", &own.pem);
        let mut settings = Settings { client_ca_file: Some(file.0.clone()), ..settings() };
        let guard = world.guard(&settings).await.unwrap();
        let [user, proxy] = asks(&clients, &proxies);
        assert_eq!(user.code(&guard).await, 401);
        assert_eq!(proxy.code(&guard).await, 200);
        let [user, _] = asks(&own, &proxies);
        assert_eq!(user.code(&guard).await, 200);

        settings.request_header.client_ca_file = Some(file.0.clone());
        let before = world.count(READS);
        world.guard(&settings).await.unwrap();
        assert_eq!(world.count(READS), before, "nothing is left to look up");

        settings.client_ca_file = None;
        let guard = world.guard(&settings).await.unwrap();
        let own_proxy = get("/metrics").header("x-remote-user", "eve");
        let own_proxy = own_proxy.showing(&own.issue(&Leaf::client("any name")));
        assert_eq!(own_proxy.name(&guard).await, "eve", "the names and headers of the flags hold");
        let before = world.count(READS);
        world.api(|api| api.configmap = Some(failure(403, "Forbidden", "no")));
        world.guard(&settings).await.unwrap();
        assert_eq!(world.count(READS), before + 1, "only front proxies make a failure fatal");
    });
}

#[test]
fn skip_lookup_reads_nothing() {
    run(async {
        let world = World::new();
        let settings = Settings { skip_lookup: true, ..settings() };
        world.guard(&settings).await.unwrap();
        world.runtime.clock.sleep(Duration::from_mins(5)).await;
        assert_eq!(world.api(|api| api.seen.len()), 0);
    });
}

/// authentication.go, ApplyTo, and requestheader_controller.go, RunOnce: which failures of the
/// first read are fatal.
#[test]
fn a_failed_lookup_is_fatal_unless_it_is_tolerated() {
    let fix = "unable to load configmap based request-header-client-ca-file: no: unable to get \
               configmap/extension-apiserver-authentication in kube-system. Usually fixed by \
               'kubectl create rolebinding -n kube-system ROLEBINDING_NAME \
               --role=extension-apiserver-authentication-reader \
               --serviceaccount=YOUR_NS:YOUR_SA'";
    let broken = json!({"requestheader-username-headers": "X-Remote-User"});
    let rows = [
        ("there is none", failure(404, "NotFound", "no"), None),
        ("it holds nothing", map(&Value::Null), None),
        ("its authority is broken", map(&json!({"requestheader-client-ca-file": "x"})), None),
        ("forbidden", failure(403, "Forbidden", "no"), Some(fix)),
        ("down", failure(500, "InternalError", "etcd"), Some("in kube-system: etcd")),
        ("no JSON list", map(&broken), Some("kube-system: requestheader-username-headers: ")),
        ("no object", (200, json!([1])), Some("kube-system: ")),
    ];
    for (name, reply, words) in rows {
        run(async {
            let world = World::new();
            world.api(|api| api.configmap = Some(reply));
            let tolerant = Settings { tolerate_lookup_failure: true, ..settings() };
            let guard = world.guard(&tolerant).await.unwrap();
            assert_eq!(get("/metrics").name(&guard).await, "system:anonymous", "{name}");
            let strict = world.guard(&settings()).await.err();
            assert_eq!(strict.is_some(), words.is_some(), "{name}");
            if let Some(error) = strict {
                assert!(matches!(error, Error::Lookup(_)), "{name}");
                assert!(error.to_string().contains(words.unwrap()), "{name}: {error}");
            }
        });
    }
}

/// A proxy's CA without readable headers must not fall back to the flags' defaults, which allow
/// every name.
#[test]
fn a_ca_without_readable_headers_is_not_used() {
    run(async {
        let (world, [clients, proxies]) = (World::new(), ["c", "p"].map(Authority::new));
        let mut broken = data(&clients, &proxies);
        broken["requestheader-allowed-names"] = json!("proxy");
        world.api(|api| api.configmap = Some(map(&broken)));
        let tolerant = Settings { tolerate_lookup_failure: true, ..settings() };
        let guard = world.guard(&tolerant).await.unwrap();
        let [_, proxy] = asks(&clients, &proxies);
        assert_eq!(proxy.code(&guard).await, 401);
    });
}

/// dynamiccertificates: read again every minute; a broken or deleted ConfigMap changes nothing.
#[test]
fn changes_take_effect_within_a_minute_and_broken_ones_never() {
    run(async {
        let (world, [clients, proxies, new]) = (World::new(), ["c", "p", "n"].map(Authority::new));
        let good = data(&clients, &proxies);
        let without = |key: &str, value| {
            let mut data = good.clone();
            data[key] = value;
            map(&data)
        };
        world.api(|api| api.configmap = Some(map(&good)));
        let guard = world.guard(&settings()).await.unwrap();
        let asks = asks(&clients, &proxies);
        let rows = [
            ("deleted", failure(404, "NotFound", "no"), [200, 200]),
            ("down", failure(500, "InternalError", "no"), [200, 200]),
            ("no object", (200, json!("x")), [200, 200]),
            ("no authority", without("client-ca-file", json!("")), [200, 200]),
            ("no list", without("requestheader-allowed-names", json!("{")), [200, 200]),
            ("other names", without("requestheader-allowed-names", json!("[\"x\"]")), [200, 401]),
            ("again", map(&good), [200, 200]),
            ("no headers", without("requestheader-username-headers", json!("")), [200, 401]),
            ("another", without("client-ca-file", json!(new.pem)), [401, 200]),
        ];
        for (name, reply, codes) in rows {
            world.api(|api| api.configmap = Some(reply));
            world.runtime.clock.sleep(Duration::from_secs(61)).await;
            let got = [asks[0].code(&guard).await, asks[1].code(&guard).await];
            assert_eq!(got, codes, "{name}");
        }
    });
}

#[test]
fn a_watch_makes_changes_take_effect_at_once() {
    run(async {
        let (world, [clients, proxies]) = (World::new(), ["c", "p"].map(Authority::new));
        world.api(|api| {
            api.configmap = Some(map(&json!({})));
            api.changes_after = Some(Duration::from_secs(3));
        });
        let guard = world.guard(&settings()).await.unwrap();
        let [user, _] = asks(&clients, &proxies);
        assert_eq!(user.code(&guard).await, 403);
        world.api(|api| api.configmap = Some(map(&data(&clients, &proxies))));
        world.runtime.clock.sleep(Duration::from_secs(5)).await;
        assert_eq!(user.code(&guard).await, 200);
        assert_eq!(world.count(WATCHES), 2, "and is watched on");
    });
}

#[test]
fn an_api_server_without_watches_is_asked_once_a_minute() {
    run(async {
        let world = World::new();
        let _guard = world.guard(&settings()).await.unwrap();
        world.runtime.clock.sleep(Duration::from_secs(605)).await;
        assert_eq!(world.count(READS), 11);
        world.runtime.cancel.cancel();
        world.runtime.clock.sleep(Duration::from_mins(10)).await;
        assert_eq!(world.count(READS), 11, "it stops with the process");
    });
}
