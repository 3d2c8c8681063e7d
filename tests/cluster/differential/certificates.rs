//! Certificates that are asked for: approved by itself or by people, signed, refused and left
//! alone; and the API server's authority as a bundle.

use std::fmt::Write as _;

use anyhow::Context as _;
use cluster_tests::{Objects, certificate_request, quiet, wait_until};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use x509_parser::prelude::{FromDer as _, ParsedExtension, X509Certificate};

use super::{CALM, LIMIT, Scene, Teller};

const REQUESTS: &str = "certificatesigningrequests.v1.certificates.k8s.io";
const BUNDLES: &str = "clustertrustbundles.v1beta1.certificates.k8s.io";
const SERVER: &str = "kubernetes.io/kube-apiserver-serving";
const PREFIX: &str = "kubernetes.io:kube-apiserver-serving:";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const SERVING: &str = "kubernetes.io/kubelet-serving";
const NODE: &str = "system:node:a";
const NODES: &[&str] = &["system:nodes"];
const CLIENTS: &[&str] = &["digital signature", "client auth"];
const SERVERS: &[&str] = &["server auth", "key encipherment", "digital signature"];

/// Its name; the common name, the organizations and the other names that it asks for; its signer
/// and usages; and how people decide it.
type Row = (
    &'static str,
    (&'static str, &'static [&'static str], &'static [&'static str]),
    (&'static str, &'static [&'static str]),
    Option<&'static str>,
);

const ROWS: [Row; 9] = [
    ("kubelet", (NODE, NODES, &[]), (KUBELET, CLIENTS), None),
    ("jane", ("jane", NODES, &[]), (KUBELET, CLIENTS), None),
    ("client", ("jane", &["b", "a", "b"], &[]), (CLIENT, &["client auth"]), Some("Approved")),
    (
        "named",
        ("jane", &["é"], &["jane.example.com", "10.0.0.7"]),
        (CLIENT, CLIENTS),
        Some("Approved"),
    ),
    (
        "serving",
        (NODE, NODES, &["node-a.example.com", "fd00::7"]),
        (SERVING, SERVERS),
        Some("Approved"),
    ),
    ("nowhere", (NODE, NODES, &[]), (SERVING, SERVERS), Some("Approved")),
    ("server", ("jane", &[], &[]), (CLIENT, SERVERS), Some("Approved")),
    ("denied", ("jane", &[], &[]), (CLIENT, CLIENTS), Some("Denied")),
    ("foreign", ("jane", &[], &[]), ("example.com/signer", CLIENTS), Some("Approved")),
];

impl Teller {
    pub(super) async fn certificates_are_signed(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(REQUESTS, "certificates").await?;
        let all = scene.objects.of_all();
        for row in ROWS {
            ask(&all, row).await?;
        }
        for name in ["kubelet", "client", "named", "serving"] {
            let has_it = |it: &Value| it["status"]["certificate"].is_string();
            all.wait(REQUESTS, name, "to have a certificate", has_it).await?;
        }
        for name in ["nowhere", "server"] {
            let has_failed = |it: &Value| it["status"]["conditions"][1]["type"] == "Failed";
            all.wait(REQUESTS, name, "to fail", has_failed).await?;
        }
        quiet(&self.cluster, &self.manager, CALM).await.with_context(|| self.manager.log())?;
        let mut requests = all.list(REQUESTS).await?;
        for request in &mut requests {
            // The clusters have keys and people of their own.
            for field in ["request", "extra"] {
                request["spec"][field] = Value::Null;
            }
            let certificate = request["status"]["certificate"].take();
            if certificate.is_string() {
                request["status"]["certificate"] = described(&certificate)?.into();
            }
        }
        self.keep(&scene, "decided", &requests);
        Ok(())
    }
}

impl Teller {
    /// One bundle is right; one of the signer is too many, one is changed, one is unrelated.
    pub(super) async fn authorities_are_published(&mut self) -> anyhow::Result<()> {
        let scene = self.scene(BUNDLES, "bundles").await?;
        let all = scene.objects.of_all();
        let is_there = async || Ok(all.list(BUNDLES).await?.into_iter().next());
        let right = wait_until("a bundle", LIMIT, is_there).await?;
        self.bundles(&scene, &all, "published").await?;
        for (name, signer) in
            [(&*format!("{PREFIX}old"), SERVER), ("test.test:other:0", "test.test/other")]
        {
            let mut bundle = right.clone();
            bundle["metadata"] = json!({ "name": name });
            bundle["spec"]["signerName"] = signer.into();
            all.create(BUNDLES, &bundle).await?;
        }
        all.gone(BUNDLES, &format!("{PREFIX}old")).await?;
        self.bundles(&scene, &all, "one too many").await?;
        let name = right["metadata"]["name"].as_str().context("a name")?;
        let twice =
            format!("a comment\n{}", right["spec"]["trustBundle"].as_str().unwrap_or_default());
        all.merge(BUNDLES, name, &json!({"spec": {"trustBundle": twice}})).await?;
        let is_right = |it: &Value| it["spec"]["trustBundle"] == right["spec"]["trustBundle"];
        all.wait(BUNDLES, name, "to be put right", is_right).await?;
        self.bundles(&scene, &all, "put right").await
    }

    async fn bundles(&mut self, scene: &Scene, all: &Objects, step: &str) -> anyhow::Result<()> {
        quiet(&self.cluster, &self.manager, CALM).await.with_context(|| self.manager.log())?;
        let mut bundles = all.list(BUNDLES).await?;
        for bundle in &mut bundles {
            // The clusters have authorities of their own, and the name is made of that.
            let name = bundle["metadata"]["name"].as_str().unwrap_or_default();
            let digits = name.strip_prefix(PREFIX).map(str::len);
            if let Some(digits) = digits {
                bundle["metadata"]["name"] = format!("{PREFIX}{digits} digits").into();
            }
            bundle["spec"]["trustBundle"] = bundle["spec"]["trustBundle"].is_string().into();
        }
        self.keep(scene, step, &bundles);
        Ok(())
    }
}

async fn ask(all: &Objects, row: Row) -> anyhow::Result<()> {
    let (name, (common_name, organizations, alternatives), (signer, usages), decision) = row;
    let request = certificate_request(common_name, organizations, alternatives)?;
    let spec = json!({"request": request, "signerName": signer, "usages": usages,
        "expirationSeconds": 7200});
    let mut made = all.create(REQUESTS, &json!({"metadata": {"name": name}, "spec": spec})).await?;
    let Some(decision) = decision else { return Ok(()) };
    made["status"]["conditions"] =
        json!([{"type": decision, "status": "True", "reason": "ByPeople"}]);
    all.replace(REQUESTS, &format!("{name}/approval"), &made).await
}

/// A certificate but for its keys, its serial number, its signature and the moment.
fn described(certificate: &Value) -> anyhow::Result<String> {
    let ByteString(pem) = serde_json::from_value(certificate.clone())?;
    let pem = String::from_utf8(pem)?;
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let ByteString(der) = serde_json::from_value(json!(body))?;
    let (rest, certificate) = X509Certificate::from_der(&der)?;
    let validity = certificate.validity();
    let seconds = validity.not_after.timestamp() - validity.not_before.timestamp();
    let serial_bytes = certificate.raw_serial().len();
    let mut text = format!(
        "{} bytes behind; {:?} by {:?}; {}; lasts {seconds} seconds, {} and {}; a serial number {}",
        rest.len(),
        certificate.subject().as_raw(),
        certificate.issuer().as_raw(),
        certificate.signature_algorithm.algorithm,
        validity.not_before.is_utctime(),
        validity.not_after.is_utctime(),
        if serial_bytes > 8 { "is long" } else { "is short" },
    );
    for extension in certificate.extensions() {
        let value = match extension.parsed_extension() {
            ParsedExtension::AuthorityKeyIdentifier(_) => "of the authority".to_owned(),
            _ => format!("{:?}", extension.value),
        };
        write!(text, "; {} {} {value}", extension.oid, extension.critical)?;
    }
    Ok(text)
}
