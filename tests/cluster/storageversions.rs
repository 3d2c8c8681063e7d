//! Storage versions on the real API server, with upstream's roles: what API servers that are gone
//! have said is removed. As upstream's test/integration/storageversion/gc_test.go.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, silent, since,
};
use serde_json::{Value, json};

const VERSIONS: &str = "storageversions.v1alpha1.internal.apiserver.k8s.io";
const LEASES: &str = "leases.v1.coordination.k8s.io";
const NAME: &str = "k8s.test.resources";
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

struct Scene {
    cluster: Cluster,
    manager: Manager,
}

impl Scene {
    /// A cluster and a manager with one controller, with these gates and this version.
    async fn start(controller: &str, gates: [&str; 2], served: &str) -> anyhow::Result<Self> {
        let [own, gates] = gates.map(|gates| format!("--feature-gates={gates}"));
        let served = format!("--runtime-config={served}=true");
        let apiserver_args = vec![gates, served];
        let cluster = Cluster::start(Options { apiserver_args, ..Options::default() }).await?;
        let (binary, user) = (Binary::under_test()?, User::ControllerManager);
        let controllers = format!("--controllers={controller}");
        let mut manager = Manager::start(&cluster, binary, user, &[&*controllers, &*own])?;
        manager.healthy().await?;
        Ok(Self { cluster, manager })
    }
}

/// TestStorageVersionGarbageCollection, all rows.
#[tokio::test]
async fn what_servers_that_are_gone_have_said_is_removed() -> anyhow::Result<()> {
    let gate = "StorageVersionAPI=true";
    let served = "internal.apiserver.k8s.io/v1alpha1";
    let controller = "storageversion-garbage-collector-controller";
    let scene = Scene::start(controller, [gate; 2], served).await?;
    let requests = scene.cluster.request_counts().await?;
    let run = async {
        let system = Objects::of(&scene.cluster, "kube-system")?;
        for name in ["id-a", "id-b"] {
            let labels = json!({"apiserver.kubernetes.io/identity": "kube-apiserver"});
            let spec = json!({"holderIdentity": name, "leaseDurationSeconds": 3600,
                "renewTime": "2999-01-01T00:00:00.000000Z"});
            let lease = json!({"metadata": {"name": name, "labels": labels}, "spec": spec});
            system.create(LEASES, &lease).await?;
        }
        let all = system.of_all();
        // "storage version with non-existing id should be GC'ed"
        said_by(&all, &["id-non-exist"]).await?;
        all.gone(VERSIONS, NAME).await?;
        // "storage version with valid id should not be GC'ed"
        said_by(&all, &["id-a"]).await?;
        silent(&scene.cluster, &scene.manager, [CALM; 2], |it| it.resource == "storageversions")
            .await?;
        let status = all.get(VERSIONS, NAME).await?["status"].clone();
        ensure!(status["storageVersions"][0]["apiServerID"] == "id-a", "{status}");
        ensure!(status["commonEncodingVersion"] == "va", "{status}");
        all.delete(VERSIONS, NAME).await?;
        // "deleting an id should delete a storage version entry that it owns"
        said_by(&all, &["id-a", "id-b"]).await?;
        system.delete(LEASES, "id-a").await?;
        let is_of_b = |it: &Value| it["status"]["storageVersions"][0]["apiServerID"] == "id-b";
        let object = all.wait(VERSIONS, NAME, "to lose an entry", is_of_b).await?;
        let status = &object["status"];
        ensure!(status["storageVersions"].as_array().map(Vec::len) == Some(1), "{status}");
        ensure!(status["commonEncodingVersion"] == "vb", "{status}");
        let condition = &status["conditions"][0];
        ensure!(condition["type"] == "AllEncodingVersionsEqual", "{status}");
        ensure!(condition["reason"] == "CommonEncodingVersionSet", "{status}");
        // "deleting an id should delete a storage version object that it owns entirely"
        system.delete(LEASES, "id-b").await?;
        all.gone(VERSIONS, NAME).await?;
        none_forbidden(&since(&requests, &scene.cluster.request_counts().await?))
    };
    run.await.with_context(|| scene.manager.log())
}

/// Makes the object, as these API servers would.
async fn said_by(all: &Objects, servers: &[&str]) -> anyhow::Result<()> {
    let metadata = json!({"metadata": {"name": NAME}, "spec": {}});
    let mut object = all.create(VERSIONS, &metadata).await?;
    let version = |server: &str| server.replace("id-", "v");
    let entry = |server: &&str| {
        json!({"apiServerID": server, "encodingVersion": version(server),
            "decodableVersions": [version(server)]})
    };
    let entries: Vec<_> = servers.iter().map(entry).collect();
    object["status"] = json!({ "storageVersions": entries });
    if let [server] = servers {
        object["status"]["commonEncodingVersion"] = version(server).into();
    }
    all.replace(VERSIONS, &format!("{NAME}/status"), &object).await
}
