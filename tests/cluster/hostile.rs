//! Hostile requests for certificates: what upstream's manager makes of them, ours makes of them.
//! The API server takes few of these, so they are put where etcd has them, approved already or to
//! be approved.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, certificate_request, kubectl, now, wait_until,
};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use x509_parser::prelude::{FromDer as _, X509Certificate};

const ARGS: [&str; 3] = [
    "--controllers=certificatesigningrequest-signing-controller,\
     certificatesigningrequest-approving-controller",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
];
const REQUESTS: &str = "certificatesigningrequests.v1.certificates.k8s.io";
/// What upstream makes of requests; see `tests/cluster/kube/certificates`.
const CORPUS: &str = include_str!("../../pkg/controllers/testdata/certificates.txt");
/// What Go reads by passing over something, or verifies and ring cannot: ours does not sign it.
const LEFT_OUT: [&str; 5] =
    ["p256-sha512", "p224", "p521", "number-as-name", "behind-a-broken-block"];
/// How long no request may change until the manager counts as done.
const CALM: Duration = Duration::from_secs(4);
const LIMIT: Duration = Duration::from_mins(2);
/// The most memory that ours may take, whatever is asked for: a debug build takes 120 MiB.
const MEMORY_KIB_MAX: u64 = 200 * 1024;

/// The signers, and what may be asked of them.
const SIGNERS: [(&str, &[&str]); 4] = [
    ("kube-apiserver-client", &["client auth"]),
    ("kube-apiserver-client-kubelet", &["client auth", "digital signature"]),
    ("kubelet-serving", &["server auth", "digital signature"]),
    ("legacy-unknown", &["any", "code signing"]),
];

/// By name: a request that etcd has.
type Planted = BTreeMap<String, Value>;

/// Signed, approved or failed: the conditions and the content of the certificate, and nothing for
/// what cannot be read or proves nothing, which is tried again and again.
#[tokio::test]
async fn hostile_requests_get_what_upstream_gives_them() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options { nodes: 0, ..Options::default() }).await?;
    let all = Objects::of(&cluster, "")?;
    let planted = planted()?;
    let mut by_upstream = BTreeMap::new();
    for binary in [Binary::Upstream, Binary::Ours] {
        for (name, request) in &planted {
            let key = format!("/registry/certificatesigningrequests/{name}");
            cluster.store(&key, request).await?;
        }
        let mut manager = Manager::start(&cluster, binary, User::ControllerManager, &ARGS)?;
        let run = async {
            manager.healthy().await?;
            let statuses = settled(&cluster, &all, binary).await?;
            if binary == Binary::Upstream {
                by_upstream = statuses;
                return Ok(());
            }
            ensure!(manager.exited()?.is_none(), "it has ended");
            let memory = manager.peak_rss_kib()?;
            println!("memory: {memory} KiB");
            ensure!(memory < MEMORY_KIB_MAX, "{memory} KiB");
            same(&planted, &by_upstream, &statuses)
        };
        let run = run.await;
        run.with_context(|| manager.log())?;
    }
    let count =
        |word: &str| by_upstream.values().filter(|it| it.to_string().contains(word)).count();
    let counts = ["\"certificate\":", "SignerValidationFailure", "AutoApproved"].map(count);
    println!("signed, failed, approved: {counts:?} of {}", planted.len());
    ensure!(counts.iter().all(|count| *count >= 15), "{counts:?} of {}", planted.len());
    Ok(())
}

/// What is planted, approved for each signer, and to be approved for one.
fn planted() -> anyhow::Result<Planted> {
    let mut texts: Vec<(String, Value)> = Vec::new();
    for line in CORPUS.lines().filter_map(|line| line.strip_prefix("request ")) {
        let (name, request) = line.split_once(' ').context("a name and a request")?;
        texts.push((name.to_owned(), json!(request)));
    }
    for (name, text) in megabytes()? {
        texts.push((name.to_owned(), json!(ByteString(text))));
    }
    let approved = json!([{"type": "Approved", "status": "True", "reason": "Test",
        "lastUpdateTime": "2020-01-01T00:00:00Z", "lastTransitionTime": "2020-01-01T00:00:00Z"}]);
    let mut all = BTreeMap::new();
    for (name, request) in &texts {
        let (kubelet, usages) = SIGNERS[1];
        let signers = SIGNERS.iter().map(|(signer, usages)| (*signer, *usages, &approved));
        for (signer, usages, conditions) in signers.chain([(kubelet, usages, &Value::Null)]) {
            let word = if conditions.is_null() { "to-be-approved" } else { signer };
            let name = format!("{word}-{name}");
            let object = json!({
                "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
                "metadata": {"name": name, "uid": format!("u-{name}"),
                    "creationTimestamp": "2026-01-01T00:00:00Z"},
                "spec": {"request": request, "signerName": format!("kubernetes.io/{signer}"),
                    "usages": usages, "username": "root", "groups": ["system:masters"]},
                "status": {"conditions": conditions},
            });
            all.insert(name, object);
        }
    }
    Ok(all)
}

/// Requests of about a megabyte, as much as etcd takes of them.
fn megabytes() -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let names: Vec<_> = (0..20_000).map(|number| format!("n{number}.example.com")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let good = certificate_request("system:node:a", &["system:nodes"], &names)?;
    let ByteString(good) = serde_json::from_value(good)?;
    let armored = |body: &str| {
        let kind = "CERTIFICATE REQUEST-----";
        format!("-----BEGIN {kind}\n{body}\n-----END {kind}\n").into_bytes()
    };
    Ok(vec![
        ("megabyte-of-names", good),
        ("megabyte-of-zeroes", armored(&"A".repeat(1_000_000))),
        // Each three are "MIAwgDCA": sequences without ends, inside of each other.
        ("megabyte-of-sequences", armored(&"MIAwgDCA".repeat(125_000))),
        ("megabyte-of-blocks", armored("AAAA").repeat(14_000)),
        ("megabyte-of-beginnings", b"-----BEGIN CERTIFICATE REQUEST-----\n".repeat(28_000)),
        ("megabyte-of-nothing", vec![0; 1_000_000]),
    ])
}

/// Waits until the manager signs what is made now, and leaves all requests as they are for a while:
/// the statuses then.
async fn settled(
    cluster: &Cluster,
    all: &Objects,
    binary: Binary,
) -> anyhow::Result<BTreeMap<String, Value>> {
    let name = format!("honest-{binary:?}").to_lowercase();
    let spec = json!({"request": certificate_request("jane", &[], &[])?,
        "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]});
    all.create(REQUESTS, &json!({"metadata": {"name": name}, "spec": spec})).await?;
    kubectl(cluster, &["certificate", "approve", &name]).await?;
    let has_it = |it: &Value| it["status"]["certificate"].is_string();
    all.wait(REQUESTS, &name, "to have a certificate", has_it).await?;
    let (mut last, mut since) = (BTreeMap::new(), now());
    wait_until("all requests to rest", LIMIT, async || {
        let statuses = statuses(all).await?;
        if statuses != last {
            (last, since) = (statuses, now());
        }
        Ok((now() - since >= CALM).then_some(()))
    })
    .await?;
    Ok(last)
}

async fn statuses(all: &Objects) -> anyhow::Result<BTreeMap<String, Value>> {
    let mut statuses = BTreeMap::new();
    for object in all.list(REQUESTS).await? {
        let name = object["metadata"]["name"].as_str().context("a name")?.to_owned();
        statuses.insert(name, normalized(&object["status"])?);
    }
    Ok(statuses)
}

/// A status without times, and of the certificate without its serial number and its signature.
fn normalized(status: &Value) -> anyhow::Result<Value> {
    let mut status = status.clone();
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        for time in ["lastUpdateTime", "lastTransitionTime"] {
            condition[time] = condition[time].is_string().into();
        }
    }
    let Some(certificate) = status.get_mut("certificate").filter(|it| it.is_string()) else {
        return Ok(status);
    };
    let ByteString(pem) = serde_json::from_value(certificate.take())?;
    let pem = String::from_utf8(pem)?;
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let ByteString(der) = serde_json::from_value(json!(body))?;
    let (rest, it) = X509Certificate::from_der(&der)?;
    ensure!(rest.is_empty() && pem.matches("BEGIN").count() == 1, "{pem}");
    let validity = it.validity();
    let extensions: Vec<_> = it
        .extensions()
        .iter()
        .map(|it| json!([it.oid.to_id_string(), it.critical, ByteString(it.value.to_vec())]))
        .collect();
    *certificate = json!({
        "subject": ByteString(it.subject.as_raw().to_vec()),
        "issuer": ByteString(it.issuer.as_raw().to_vec()),
        "key": ByteString(it.public_key().raw.to_vec()),
        "algorithm": it.signature_algorithm.algorithm.to_id_string(),
        "seconds": validity.not_after.timestamp() - validity.not_before.timestamp(),
        "version": it.version.0, "extensions": extensions,
    });
    Ok(status)
}

/// Ours are upstream's, or are left as they were where ours is stricter.
fn same(
    planted: &Planted,
    by_upstream: &BTreeMap<String, Value>,
    ours: &BTreeMap<String, Value>,
) -> anyhow::Result<()> {
    let mut strict = 0;
    for (name, request) in planted {
        let (expected, found) = (by_upstream.get(name), ours.get(name));
        let (expected, found) = expected.zip(found).with_context(|| name.clone())?;
        if LEFT_OUT.iter().any(|it| name.ends_with(it)) && found != expected {
            let (was, is) = (&request["status"]["conditions"], &found["conditions"]);
            let was = was.as_array().map_or(0, Vec::len);
            let approves = name.starts_with("to-be-approved");
            let is = is.as_array().map_or(0, Vec::len);
            ensure!(is == was || approves, "{name}: {found}");
            ensure!(found["certificate"].is_null(), "{name}: {found}");
            strict += 1;
            continue;
        }
        ensure!(found == expected, "{name}: {found}, upstream: {expected}");
    }
    ensure!(strict <= LEFT_OUT.len() * 5, "{strict} are left out");
    Ok(())
}
