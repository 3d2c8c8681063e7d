//! The approval of kubelets' certificates on the real API server, with upstream's roles. Upstream's
//! integration tests are those of test/integration/certificates/controller_approval_test.go; here
//! the authors are the users that kubeadm's bindings are for.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, Requests, User, certificate_request, kubectl,
    quiet, since, writes,
};
use serde_json::{Value, json};

const ARGS: &[&str] = &["--controllers=certificatesigningrequest-approving-controller"];
const REQUESTS: &str = "certificatesigningrequests.v1.certificates.k8s.io";
const BINDINGS: &str = "clusterrolebindings.v1.rbac.authorization.k8s.io";
const SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
/// What a role of the bootstrap policy for kubelets begins with.
const ROLE: &str = "system:certificates.k8s.io:certificatesigningrequests:";
/// A node that joins with a bootstrap token.
const JOINING: [&str; 2] =
    ["--as=system:bootstrap:abcdef", "--as-group=system:bootstrappers:kubeadm:default-node-token"];
/// A node that is there.
const NODE: [&str; 2] = ["--as=system:node:node-a", "--as-group=system:nodes"];
/// A user that may create requests, and no more.
const JOE: [&str; 2] = ["--as=joe", "--as-group=askers"];
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);

/// A certificate request.
#[derive(Clone)]
struct Wish {
    name: &'static str,
    author: [&'static str; 2],
    common_name: &'static str,
    organizations: &'static [&'static str],
    alternatives: &'static [&'static str],
    signer: &'static str,
    usages: &'static [&'static str],
}

const WISH: Wish = Wish {
    name: "",
    author: JOINING,
    common_name: "system:node:node-a",
    organizations: &["system:nodes"],
    alternatives: &[],
    signer: SIGNER,
    usages: &["key encipherment", "digital signature", "client auth"],
};

#[tokio::test]
async fn kubelets_get_their_certificates_approved() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let objects = Objects::of(&cluster, "")?;
    bind(&objects, "node-bootstrapper", "system:node-bootstrapper", &["joining", "askers"]).await?;
    bind(&objects, "nodeclient", &format!("{ROLE}nodeclient"), &["joining"]).await?;
    bind(&objects, "selfnodeclient", &format!("{ROLE}selfnodeclient"), &["nodes"]).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        an_allowed_request_is_approved(&cluster, &objects).await?;
        what_is_no_kubelets_is_left_alone(&cluster, &objects, &manager).await?;
        let made = since(&requests, &cluster.request_counts().await?);
        ensure!(approvals(&made) == 3, "one PUT each: {made:?}");
        a_request_that_is_allowed_later_is_approved_later(&cluster, &objects).await?;
        quiet(&cluster, &manager, CALM).await?;
        let made = since(&requests, &cluster.request_counts().await?);
        ensure!(approvals(&made) == 5, "one more, and one of kubectl: {made:?}");
        let refused = made.keys().find(|it| it.code == 403 && it.resource != "events");
        ensure!(refused.is_none(), "{refused:?}");
        anyhow::Ok(())
    };
    run.await.with_context(|| manager.log())
}

/// TestController_AutoApproval: "nodeclient" and "selfnodeclient".
async fn an_allowed_request_is_approved(
    cluster: &Cluster,
    objects: &Objects,
) -> anyhow::Result<()> {
    let renews = Wish { name: "renews", author: NODE, ..WISH };
    for (wish, which) in [
        (Wish { name: "joins", ..WISH }, ""),
        (renews, "self "),
        (Wish { name: "ec-key", usages: &["digital signature", "client auth"], ..WISH }, ""),
    ] {
        ask(cluster, &wish).await?;
        approved(objects, wish.name, which).await?;
    }
    Ok(())
}

/// The rows of TestRecognizers, and what people have said no to.
async fn what_is_no_kubelets_is_left_alone(
    cluster: &Cluster,
    objects: &Objects,
    manager: &Manager,
) -> anyhow::Result<()> {
    let wishes = [
        Wish { name: "mike", common_name: "mike", ..WISH },
        Wish { name: "nobody", organizations: &[], ..WISH },
        Wish { name: "others", organizations: &["system:others"], ..WISH },
        Wish { name: "named", alternatives: &["node.example.com"], ..WISH },
        Wish { name: "another", signer: "example.com/other", ..WISH },
        Wish {
            name: "serving",
            signer: SERVING,
            usages: &["digital signature", "server auth"],
            ..WISH
        },
        Wish { name: "both", usages: &["digital signature", "client auth", "server auth"], ..WISH },
    ];
    for wish in &wishes {
        ask(cluster, wish).await?;
    }
    quiet(cluster, manager, CALM).await?;
    for wish in &wishes {
        let conditions = conditions(&objects.get(REQUESTS, wish.name).await?);
        ensure!(conditions.is_empty(), "{}: {conditions:?}", wish.name);
    }
    Ok(())
}

/// A request without permission is reviewed again, until a role allows it; a denied one stays
/// denied.
async fn a_request_that_is_allowed_later_is_approved_later(
    cluster: &Cluster,
    objects: &Objects,
) -> anyhow::Result<()> {
    for name in ["waits", "denied"] {
        ask(cluster, &Wish { name, author: JOE, ..WISH }).await?;
    }
    kubectl(cluster, &["certificate", "deny", "denied"]).await?;
    let waits = objects.get(REQUESTS, "waits").await?;
    ensure!(conditions(&waits).is_empty(), "{waits}");
    bind(objects, "late", &format!("{ROLE}nodeclient"), &["askers"]).await?;
    approved(objects, "waits", "").await?;
    let denied = conditions(&objects.get(REQUESTS, "denied").await?);
    ensure!(denied.len() == 1 && denied[0]["type"] == "Denied", "{denied:?}");
    Ok(())
}

async fn approved(objects: &Objects, name: &str, which: &str) -> anyhow::Result<()> {
    let is_decided = |request: &Value| !conditions(request).is_empty();
    let request = objects.wait(REQUESTS, name, "to be decided", is_decided).await?;
    let mut conditions = conditions(&request);
    for condition in &mut conditions {
        for time in ["lastUpdateTime", "lastTransitionTime"] {
            ensure!(condition[time].take().is_string(), "{condition}");
        }
    }
    let message =
        format!("Auto approving {which}kubelet client certificate after SubjectAccessReview.");
    let expected = json!({"type": "Approved", "status": "True", "reason": "AutoApproved",
        "message": message, "lastUpdateTime": null, "lastTransitionTime": null});
    ensure!(conditions == [expected], "{name}: {conditions:?}");
    Ok(())
}

fn conditions(request: &Value) -> Vec<Value> {
    request["status"]["conditions"].as_array().cloned().unwrap_or_default()
}

fn approvals(requests: &Requests) -> u64 {
    writes(requests, |it| it.resource == "certificatesigningrequests/approval" && it.verb == "PUT")
}

/// Asks for a certificate as its author.
async fn ask(cluster: &Cluster, wish: &Wish) -> anyhow::Result<()> {
    let request = certificate_request(wish.common_name, wish.organizations, wish.alternatives)?;
    let object = json!({
        "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
        "metadata": {"name": wish.name},
        "spec": {"request": request, "signerName": wish.signer, "usages": wish.usages},
    });
    let path = cluster.dir().join(format!("{}.json", wish.name));
    fs::write(&path, object.to_string())?;
    let path = path.to_str().context("a path")?;
    kubectl(cluster, &[&wish.author[..], &["create", "-f", path]].concat()).await.map(drop)
}

/// Binds a role to joining nodes, to nodes, or to users that may create requests.
async fn bind(objects: &Objects, name: &str, role: &str, groups: &[&str]) -> anyhow::Result<()> {
    let subject = |group: &&str| {
        let group = match *group {
            "joining" => "system:bootstrappers:kubeadm:default-node-token",
            "nodes" => "system:nodes",
            other => other,
        };
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group})
    };
    let subjects: Vec<_> = groups.iter().map(subject).collect();
    let role =
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role});
    let binding = json!({"metadata": {"name": name}, "roleRef": role, "subjects": subjects});
    objects.create(BINDINGS, &binding).await.map(drop)
}
