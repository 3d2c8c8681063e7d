//! Bootstrap tokens, trust bundles, storage versions and migrations beside upstream's manager: the
//! same objects for both, one after the other, with the gates on; what is left behind is equal.
//! Certificates are compared in `hostile`, policies in `policies`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use cluster_tests::{Binary, Cluster, Manager, Objects, Options, User, wait_until};
use serde_json::{Value, json};

const GATES: &str = "--feature-gates=StorageVersionAPI=true,StorageVersionMigrator=true,\
                     ClusterTrustBundle=true";
const SERVED: &str = "--runtime-config=internal.apiserver.k8s.io/v1alpha1=true,\
                      storagemigration.k8s.io/v1beta1=true,certificates.k8s.io/v1beta1=true";
const ARGS: [&str; 2] = [
    "--controllers=bootstrap-signer-controller,token-cleaner-controller,\
     kube-apiserver-serving-clustertrustbundle-publisher-controller,\
     storageversion-garbage-collector-controller,storage-version-migrator-controller,\
     garbage-collector-controller",
    GATES,
];
const BUNDLES: &str = "clustertrustbundles.v1beta1.certificates.k8s.io";
const VERSIONS: &str = "storageversions.v1alpha1.internal.apiserver.k8s.io";
const MIGRATIONS: &str = "storageversionmigrations.v1beta1.storagemigration.k8s.io";
const LEASES: &str = "leases.v1.coordination.k8s.io";
const TOKEN: &str = "bootstrap.kubernetes.io/token";
const CALM: Duration = Duration::from_secs(4);
const LIMIT: Duration = Duration::from_mins(3);

/// By kind and name.
type State = BTreeMap<String, Value>;

#[tokio::test]
async fn both_managers_leave_the_same_behind() -> anyhow::Result<()> {
    let apiserver_args = [GATES, SERVED].map(str::to_owned).to_vec();
    let cluster =
        Cluster::start(Options { nodes: 0, apiserver_args, ..Options::default() }).await?;
    let mut by_upstream = State::new();
    for binary in [Binary::Upstream, Binary::Ours] {
        let given = given(&cluster).await?;
        let mut manager = Manager::start(&cluster, binary, User::ControllerManager, &ARGS)?;
        let run = async {
            manager.healthy().await?;
            let system = Objects::of(&cluster, "kube-system")?;
            system.delete(LEASES, "id-leaves").await?;
            settled(&cluster).await
        };
        let state = run.await.with_context(|| manager.log())?;
        let ended = manager.sigterm();
        manager.ended(LIMIT).await?;
        ended?;
        if binary == Binary::Upstream {
            by_upstream = state;
        } else {
            for (name, expected) in &by_upstream {
                let found = state.get(name).unwrap_or(&Value::Null);
                ensure!(found == expected, "{name}: {found}, upstream: {expected}");
            }
            ensure!(state.keys().eq(by_upstream.keys()), "{state:?}, upstream: {by_upstream:?}");
        }
        for (objects, kind, name) in given {
            objects.delete(&kind, &name).await.ok();
        }
        for name in Objects::of(&cluster, "")?.list(BUNDLES).await? {
            let name = name["metadata"]["name"].as_str().context("a name")?.to_owned();
            Objects::of(&cluster, "")?.delete(BUNDLES, &name).await?;
        }
    }
    ensure!(by_upstream.len() >= 9, "{by_upstream:?}");
    Ok(())
}

/// Makes what they find, and says what was made.
async fn given(cluster: &Cluster) -> anyhow::Result<Vec<(Objects, String, String)>> {
    let system = || Objects::of(cluster, "kube-system");
    let mut all: Vec<(Objects, &str, Value)> = Vec::new();
    let data = json!({"kubeconfig": "payload", "jws-kubeconfig-old000": "stale", "other": "stays"});
    let info = json!({"metadata": {"name": "cluster-info"}, "data": data});
    all.push((Objects::of(cluster, "kube-public")?, "configmaps", info));
    let (past, future) = ("2020-01-01T00:00:00Z", "9999-12-31T23:59:59Z");
    for (id, kind, more) in [
        ("signs1", TOKEN, json!({"usage-bootstrap-signing": "true", "expiration": future})),
        ("signs2", TOKEN, json!({"usage-bootstrap-signing": "true"})),
        ("quiet0", TOKEN, json!({"usage-bootstrap-signing": "false"})),
        ("opaque", "Opaque", json!({"usage-bootstrap-signing": "true", "expiration": past})),
        ("passed", TOKEN, json!({"usage-bootstrap-signing": "true", "expiration": past})),
        ("broken", TOKEN, json!({"expiration": "tomorrow"})),
    ] {
        let mut data = more;
        data["token-id"] = json!(id);
        data["token-secret"] = json!("0123456789abcdef");
        let metadata = json!({"name": format!("bootstrap-token-{id}")});
        let secret = json!({"metadata": metadata, "type": kind, "stringData": data});
        all.push((system()?, "secrets", secret));
    }
    for name in ["id-stays", "id-leaves"] {
        let labels = json!({"apiserver.kubernetes.io/identity": "kube-apiserver"});
        let spec = json!({"holderIdentity": name, "leaseDurationSeconds": 3600,
            "renewTime": "2999-01-01T00:00:00.000000Z"});
        let lease = json!({"metadata": {"name": name, "labels": labels}, "spec": spec});
        all.push((system()?, LEASES, lease));
    }
    // When one of a kind that is not served fails, depends on when a manager looks for new kinds.
    let spec = json!({"resource": {"group": "", "resource": "configmaps"}});
    let migration = json!({"metadata": {"name": "of-maps"}, "spec": spec});
    all.push((Objects::of(cluster, "")?, MIGRATIONS, migration));
    let mut made = Vec::new();
    for (objects, kind, object) in all {
        objects.create(kind, &object).await?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        made.push((objects, kind.to_owned(), name));
    }
    for (name, servers) in [
        ("a.gone", &["id-never"][..]),
        ("a.stays", &["id-stays"]),
        ("a.shrinks", &["id-stays", "id-leaves"]),
        ("a.leaves", &["id-leaves"]),
    ] {
        let objects = Objects::of(cluster, "")?;
        said_by(&objects, name, servers).await?;
        made.push((objects, VERSIONS.to_owned(), name.to_owned()));
    }
    Ok(made)
}

/// Makes a storage version, as these API servers would.
async fn said_by(all: &Objects, name: &str, servers: &[&str]) -> anyhow::Result<()> {
    let metadata = json!({"metadata": {"name": name}, "spec": {}});
    let mut object = all.create(VERSIONS, &metadata).await?;
    let entry = |server: &&str| {
        json!({"apiServerID": server, "encodingVersion": server,
            "decodableVersions": [server]})
    };
    let entries: Vec<_> = servers.iter().map(entry).collect();
    object["status"] = json!({ "storageVersions": entries });
    if let [server] = servers {
        object["status"]["commonEncodingVersion"] = json!(server);
    }
    all.replace(VERSIONS, &format!("{name}/status"), &object).await.map(drop)
}

/// What is there once all has happened that must, and nothing changes any more.
async fn settled(cluster: &Cluster) -> anyhow::Result<State> {
    let (mut last, mut since, mut news) = (State::new(), now(), 0);
    wait_until("all objects to rest", LIMIT, async || {
        // A migration waits until the caches show its version: there must be news of ConfigMaps.
        news += 1;
        let object = json!({"metadata": {"name": "news"}, "data": {"news": news.to_string()}});
        let maps = Objects::of(cluster, "default")?;
        if maps.find("configmaps", "news").await?.is_none() {
            maps.create("configmaps", &object).await?;
        } else {
            maps.merge("configmaps", "news", &object).await?;
        }
        let state = state(cluster).await?;
        if state != last {
            (last, since) = (state, now());
        }
        let migrated = last.get("migration of-maps").map(ToString::to_string);
        let is_over = migrated.is_some_and(|it| it.contains("\"Succeeded\""))
            && last.keys().any(|name| name.starts_with("bundle "))
            && last["version a.shrinks"]["status"].to_string().matches("apiServerID").count() == 1
            && !["version a.gone", "version a.leaves"].iter().any(|it| last.contains_key(*it));
        Ok((is_over && now() - since >= CALM).then_some(()))
    })
    .await?;
    Ok(last)
}

async fn state(cluster: &Cluster) -> anyhow::Result<State> {
    let mut state = State::new();
    for (word, namespace, kind) in [
        ("info", "kube-public", "configmaps"),
        ("token", "kube-system", "secrets"),
        ("bundle", "", BUNDLES),
        ("version", "", VERSIONS),
        ("migration", "", MIGRATIONS),
    ] {
        for mut object in Objects::of(cluster, namespace)?.list(kind).await? {
            let name = object["metadata"]["name"].as_str().context("a name")?.to_owned();
            let is_own = |server: &Value| {
                server["apiServerID"].as_str().is_some_and(|id| id.starts_with("id-"))
            };
            // The API server's own versions come and change as it likes.
            let servers = object["status"]["storageVersions"].as_array();
            if kind == VERSIONS && !servers.into_iter().flatten().any(is_own) {
                continue;
            }
            normalize(&mut object);
            state.insert(format!("{word} {name}"), object);
        }
    }
    Ok(state)
}

/// Without what each object has of its own: uid, versions and times. Managers of fields stay.
fn normalize(object: &mut Value) {
    match object {
        Value::Array(all) => all.iter_mut().for_each(normalize),
        Value::Object(fields) => {
            let own = ["uid", "resourceVersion", "creationTimestamp", "time", "lastTransitionTime"];
            for (name, value) in fields {
                if own.contains(&name.as_str()) && value.is_string() {
                    *value = json!("…");
                } else {
                    normalize(value);
                }
                // By time, which may be the same second.
                if let Value::Array(all) = value
                    && name == "managedFields"
                {
                    all.sort_by_key(ToString::to_string);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "how long it really takes")]
fn now() -> Instant {
    Instant::now()
}
