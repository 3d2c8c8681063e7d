//! Requests for certificates: what is approved and signed, what waits for people, what was denied
//! or has failed just now, and what a pod asks for; and the bundle with the API server's authority.

use anyhow::ensure;
use cluster_tests::{Objects, certificate_request, pod_certificate_request, wait_until};
use serde_json::{Value, json};

use super::LIMIT;

pub(super) const REQUESTS: &str = "certificatesigningrequests.v1.certificates.k8s.io";
pub(super) const OF_PODS: &str = "podcertificaterequests.v1beta1.certificates.k8s.io";
pub(super) const BUNDLES: &str = "clustertrustbundles.v1beta1.certificates.k8s.io";
const SERVER: &str = "kubernetes.io/kube-apiserver-serving";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const CLIENTS: &[&str] = &["digital signature", "client auth"];

pub(super) async fn make(objects: &Objects) -> anyhow::Result<()> {
    let all = objects.of_all();
    objects.create(OF_PODS, &pod_certificate_request("of-pod")?).await?;
    for (name, common_name, signer, usages) in [
        ("kubelet", "system:node:a", KUBELET, CLIENTS),
        ("jane", "jane", KUBELET, CLIENTS),
        ("denied", "denied", KUBELET, CLIENTS),
        ("client", "client", CLIENT, CLIENTS),
        ("server", "server", CLIENT, &["client auth", "server auth"]),
        ("foreign", "foreign", "example.com/signer", CLIENTS),
    ] {
        let request = certificate_request(common_name, &["system:nodes"], &[])?;
        let spec = json!({"request": request, "usages": usages, "signerName": signer});
        all.create(REQUESTS, &json!({"metadata": {"name": name}, "spec": spec})).await?;
    }
    for (name, decision) in [
        ("denied", "Denied"),
        ("client", "Approved"),
        ("server", "Approved"),
        ("foreign", "Approved"),
    ] {
        decide(&all, name, decision).await?;
    }
    for name in ["kubelet", "client"] {
        issued(&all, name).await?;
    }
    let has_failed = |it: &Value| it["status"]["conditions"][1]["type"] == "Failed";
    all.wait(REQUESTS, "server", "to fail", has_failed).await?;
    let name = one_bundle(&all).await?;
    let content = all.get(BUNDLES, &name).await?["spec"]["trustBundle"].clone();
    let spec = json!({"signerName": "test.test/other", "trustBundle": content});
    let other = json!({"metadata": {"name": "test.test:other:0"}, "spec": spec});
    all.create(BUNDLES, &other).await.map(drop)
}

/// What waits for people is signed, and bundles that are not right go.
pub(super) async fn go_on(objects: &Objects) -> anyhow::Result<()> {
    let all = objects.of_all();
    let request = certificate_request("late", &[], &[])?;
    let spec = json!({"request": request, "usages": CLIENTS, "signerName": CLIENT});
    all.create(REQUESTS, &json!({"metadata": {"name": "late"}, "spec": spec})).await?;
    decide(&all, "late", "Approved").await?;
    issued(&all, "late").await?;
    let name = one_bundle(&all).await?;
    let mut old = all.get(BUNDLES, &name).await?;
    let old_name = "kubernetes.io:kube-apiserver-serving:old";
    old["metadata"] = json!({ "name": old_name });
    all.create(BUNDLES, &old).await?;
    all.gone(BUNDLES, old_name).await?;
    ensure!(one_bundle(&all).await? == name, "the right one stays");
    Ok(())
}

/// Waits until the API server's signer has one bundle, and returns its name.
async fn one_bundle(all: &Objects) -> anyhow::Result<String> {
    wait_until("one bundle of the API server", LIMIT, async || {
        let bundles = all.list(BUNDLES).await?;
        let mut own = bundles.iter().filter(|it| it["spec"]["signerName"] == SERVER);
        let (first, second) = (own.next(), own.next());
        let name = first.and_then(|it| it["metadata"]["name"].as_str());
        Ok(name.filter(|_| second.is_none()).map(str::to_owned))
    })
    .await
}

async fn decide(all: &Objects, name: &str, decision: &str) -> anyhow::Result<()> {
    let mut request = all.get(REQUESTS, name).await?;
    let decision = json!({"type": decision, "status": "True", "reason": "Test"});
    request["status"]["conditions"] = json!([decision]);
    all.replace(REQUESTS, &format!("{name}/approval"), &request).await
}

async fn issued(all: &Objects, name: &str) -> anyhow::Result<()> {
    let has_it = |it: &Value| it["status"]["certificate"].is_string();
    all.wait(REQUESTS, name, "to have a certificate", has_it).await.map(drop)
}
