//! Certificates on the real API server, with upstream's roles: what upstream's signers sign, ours
//! sign, and Go's and OpenSSL's verifiers accept it. Mirrors upstream's
//! test/integration/certificates/duration_test.go and test/e2e/auth/certificates.go.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, certificate_request, kubectl, none_forbidden,
    quiet, since, status_code, wait_until, writes,
};
use k8s_openapi::ByteString;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair,
    PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, SignatureAlgorithm,
};
use serde_json::{Value, json};
use x509_parser::prelude::{FromDer as _, GeneralName, X509Certificate};

const SIGNING: &str = "--controllers=certificatesigningrequest-signing-controller";
const BOTH: &str = "--controllers=certificatesigningrequest-signing-controller,\
                    certificatesigningrequest-approving-controller";
const REQUESTS: &str = "certificatesigningrequests.v1.certificates.k8s.io";
const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
const KUBELET_CLIENT: &str = "kubernetes.io/kube-apiserver-client-kubelet";
const KUBELET_SERVING: &str = "kubernetes.io/kubelet-serving";
/// What upstream makes of requests; see `tests/cluster/kube/certificates`.
const CORPUS: &str = include_str!("../../pkg/controllers/testdata/certificates.txt");
/// What Go reads by passing over something, or verifies and ring cannot: ours does not sign it.
const LEFT_OUT: [&str; 5] =
    ["p256-sha512", "p224", "p521", "number-as-name", "behind-a-broken-block"];
/// How long nothing may happen until the manager counts as done.
const CALM: Duration = Duration::from_secs(3);
/// How long files may lie before they are read.
const LIMIT: Duration = Duration::from_mins(1);

/// Name, request, signer, usages, and why it fails.
type Row<'a> = (&'a str, &'a Value, &'a str, &'a [&'a str], &'a str);

/// A cluster with a manager that signs.
struct Scene {
    cluster: Cluster,
    objects: Objects,
    manager: Manager,
}

impl Scene {
    async fn start(args: &[&str]) -> anyhow::Result<Self> {
        let cluster = Cluster::start(Options::default()).await?;
        let objects = Objects::of(&cluster, "")?;
        let binary = Binary::under_test()?;
        let mut manager = Manager::start(&cluster, binary, User::ControllerManager, args)?;
        manager.healthy().await?;
        Ok(Self { cluster, objects, manager })
    }

    /// Makes a request, which has further fields in its spec.
    async fn ask(&self, name: &str, spec: Value) -> anyhow::Result<()> {
        let object = json!({"metadata": {"name": name}, "spec": spec});
        self.objects.create(REQUESTS, &object).await.map(drop)
    }

    async fn approve(&self, name: &str) -> anyhow::Result<()> {
        kubectl(&self.cluster, &["certificate", "approve", name]).await.map(drop)
    }

    /// Waits for the certificate, and writes it into a file.
    async fn issued(&self, name: &str) -> anyhow::Result<PathBuf> {
        let has_it = |it: &Value| it["status"]["certificate"].is_string();
        let object = self.objects.wait(REQUESTS, name, "to have a certificate", has_it).await?;
        let ByteString(pem) = serde_json::from_value(object["status"]["certificate"].clone())?;
        let path = self.cluster.dir().join(format!("{name}.issued.crt"));
        fs::write(&path, pem)?;
        Ok(path)
    }

    async fn status(&self, name: &str) -> anyhow::Result<Value> {
        Ok(self.objects.get(REQUESTS, name).await?["status"].clone())
    }
}

fn spec(request: &Value, signer: &str, usages: &[&str]) -> Value {
    json!({"request": request, "signerName": signer, "usages": usages})
}

/// The certificate in a file, DER.
fn der(path: &Path) -> anyhow::Result<Vec<u8>> {
    let pem = fs::read_to_string(path)?;
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    let ByteString(der) = serde_json::from_value(json!(body))?;
    Ok(der)
}

/// OpenSSL's verdict about a certificate.
fn verify(authority: &Path, certificate: &Path, purpose: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new("openssl");
    let command =
        command.arg("verify").args(purpose).arg("-CAfile").arg(authority).arg(certificate);
    let output = command.output().context("openssl must be installed")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{}: {said}", certificate.display());
    Ok(())
}

/// e2e: "should support building a client with a CSR"; and kubeadm's TLS bootstrap, with approval.
#[tokio::test]
async fn certificates_are_good_for_the_api_server() -> anyhow::Result<()> {
    let scene = Scene::start(&[BOTH]).await?;
    let requests = scene.cluster.request_counts().await?;
    let run = async {
        let rows: [(&str, &'static SignatureAlgorithm, &str); 3] = [
            ("jane", &PKCS_ECDSA_P256_SHA256, "b"),
            ("joe", &PKCS_ECDSA_P384_SHA384, "c"),
            ("ed", &PKCS_ED25519, "d"),
        ];
        for (name, algorithm, organization) in rows {
            let key = KeyPair::generate_for(algorithm)?;
            let mut params = CertificateParams::default();
            params.distinguished_name = DistinguishedName::new();
            params.distinguished_name.push(DnType::CommonName, name);
            params.distinguished_name.push(DnType::OrganizationName, organization);
            let request = params.serialize_request(&key)?.pem()?;
            let request = json!(ByteString(request.into_bytes()));
            scene.ask(name, spec(&request, CLIENT, &["client auth"])).await?;
            scene.approve(name).await?;
            let certificate = scene.issued(name).await?;
            verify(&scene.cluster.ca_path(), &certificate, &["-purpose", "sslclient"])?;
            let path = scene.cluster.dir().join(format!("{name}.issued.key"));
            fs::write(&path, key.serialize_pem())?;
            let user = whoami(&scene.cluster, &certificate, &path).await?;
            ensure!(user["username"] == name, "{user}");
            let groups = json!([organization, "system:authenticated"]);
            ensure!(user["groups"] == groups, "{user}");
        }
        a_kubelet_joins(&scene).await?;
        quiet(&scene.cluster, &scene.manager, CALM).await?;
        let made = since(&requests, &scene.cluster.request_counts().await?);
        let is_status = |resource: &str| resource == "certificatesigningrequests/status";
        let puts = writes(&made, |it| is_status(&it.resource) && it.verb == "PUT");
        ensure!(puts == 5, "one PUT for each certificate: {made:?}");
        none_forbidden(&made)
    };
    run.await.with_context(|| scene.manager.log())
}

/// How the API server knows the owner of a client certificate: by Go's verifier.
async fn whoami(cluster: &Cluster, certificate: &Path, key: &Path) -> anyhow::Result<Value> {
    let certificate = format!("--client-certificate={}", certificate.display());
    let key = format!("--client-key={}", key.display());
    let said = kubectl(cluster, &[&certificate, &key, "auth", "whoami", "-o", "json"]).await?;
    let said: Value = serde_json::from_str(&said)?;
    Ok(said["status"]["userInfo"].clone())
}

async fn a_kubelet_joins(scene: &Scene) -> anyhow::Result<()> {
    let (nodes, node) = (["system:nodes"], "system:node:node-a");
    let request = certificate_request(node, &nodes, &[])?;
    let usages = ["client auth", "digital signature", "key encipherment"];
    scene.ask("kubelet", spec(&request, KUBELET_CLIENT, &usages)).await?;
    let certificate = scene.issued("kubelet").await?;
    verify(&scene.cluster.ca_path(), &certificate, &["-purpose", "sslclient"])?;
    let request = certificate_request(node, &nodes, &["node-a.example.com", "10.0.0.7"])?;
    let usages = ["server auth", "digital signature"];
    scene.ask("serving", spec(&request, KUBELET_SERVING, &usages)).await?;
    scene.approve("serving").await?;
    let certificate = scene.issued("serving").await?;
    for purpose in [
        ["-purpose", "sslserver", "-verify_hostname", "node-a.example.com"],
        ["-purpose", "sslserver", "-verify_ip", "10.0.0.7"],
    ] {
        verify(&scene.cluster.ca_path(), &certificate, &purpose)?;
    }
    let refused = ["-purpose", "sslclient"];
    ensure!(verify(&scene.cluster.ca_path(), &certificate, &refused).is_err(), "a server's");
    Ok(())
}

/// TestCSRDuration, all rows that the API server admits.
#[tokio::test]
async fn certificates_last_as_long_as_asked_for() -> anyhow::Result<()> {
    let scene = Scene::start(&[SIGNING, "--cluster-signing-duration=24h"]).await?;
    let run = async {
        let request = certificate_request("panda", &[], &[])?;
        let (hour, minute) = (3600, 60);
        for (name, asked, expected) in [
            ("none", None, 24 * hour),
            ("same", Some(24 * hour), 24 * hour),
            ("longer", Some(48 * hour), 24 * hour),
            ("slightly-shorter", Some(20 * hour), 20 * hour),
            ("even-shorter", Some(10 * hour), 10 * hour),
            ("short", Some(2 * hour), 2 * hour + 5 * minute),
            ("very-short", Some(30 * minute), 35 * minute),
            ("shortest", Some(10 * minute), 15 * minute),
        ] {
            let mut spec = spec(&request, CLIENT, &["client auth"]);
            if let Some(asked) = asked {
                spec["expirationSeconds"] = json!(asked);
            }
            scene.ask(name, spec).await?;
            scene.approve(name).await?;
            let der = der(&scene.issued(name).await?)?;
            let (_, certificate) = X509Certificate::from_der(&der)?;
            let validity = certificate.validity();
            let seconds = validity.not_after.timestamp() - validity.not_before.timestamp();
            ensure!(seconds == expected, "{name}: {seconds} seconds");
            ensure!(!certificate.is_ca(), "{name}");
        }
        anyhow::Ok(())
    };
    run.await.with_context(|| scene.manager.log())
}

/// What is not approved waits, and what its signer does not sign fails once.
#[tokio::test]
async fn what_is_not_signed_says_so_or_waits() -> anyhow::Result<()> {
    let scene = Scene::start(&[SIGNING]).await?;
    let run = async {
        let jane = certificate_request("jane", &[], &[])?;
        let node = certificate_request("system:node:a", &["system:nodes"], &[])?;
        let kubelet = ["client auth", "digital signature"];
        let rows: [Row<'_>; 4] = [
            (
                "server",
                &jane,
                CLIENT,
                &["client auth", "server auth"][..],
                "invalid usage for client certificate: server auth",
            ),
            (
                "no-client",
                &jane,
                CLIENT,
                &["digital signature"],
                "missing required usage for client certificate: client auth",
            ),
            (
                "no-node",
                &jane,
                KUBELET_CLIENT,
                &kubelet,
                "subject organization is not system:nodes",
            ),
            (
                "nowhere",
                &node,
                KUBELET_SERVING,
                &["server auth", "digital signature"],
                "DNS or IP subjectAltName is required",
            ),
        ];
        for (name, request, signer, usages, message) in rows {
            scene.ask(name, spec(request, signer, usages)).await?;
            scene.approve(name).await?;
            let has_failed = |it: &Value| it["status"]["conditions"][1]["type"] == "Failed";
            let object = scene.objects.wait(REQUESTS, name, "to fail", has_failed).await?;
            let mut failed = object["status"]["conditions"][1].clone();
            for time in ["lastUpdateTime", "lastTransitionTime"] {
                ensure!(failed[time].take().is_string(), "{failed}");
            }
            let expected = json!({"type": "Failed", "status": "True", "message": message,
                "reason": "SignerValidationFailure", "lastUpdateTime": null,
                "lastTransitionTime": null});
            ensure!(failed == expected, "{name}: {failed}");
        }
        scene.ask("waits", spec(&jane, CLIENT, &["client auth"])).await?;
        scene.ask("denied", spec(&jane, CLIENT, &["client auth"])).await?;
        kubectl(&scene.cluster, &["certificate", "deny", "denied"]).await?;
        scene.ask("other", spec(&jane, "example.com/signer", &["client auth"])).await?;
        scene.approve("other").await?;
        quiet(&scene.cluster, &scene.manager, CALM).await?;
        for (name, conditions) in [("waits", 0), ("denied", 1), ("other", 1), ("server", 2)] {
            let status = scene.status(name).await?;
            let found = status["conditions"].as_array().map_or(0, Vec::len);
            ensure!(found == conditions && status["certificate"].is_null(), "{name}: {status}");
        }
        scene.approve("waits").await?;
        scene.issued("waits").await.map(drop)
    };
    run.await.with_context(|| scene.manager.log())
}

/// The corpus: what the API server admits of it gets the certificate that upstream's signer makes,
/// or, where ours is stricter, none; and the manager goes on.
#[tokio::test]
async fn odd_requests_get_what_upstream_gives_them() -> anyhow::Result<()> {
    let scene = Scene::start(&[SIGNING]).await?;
    let is_ours = Binary::under_test()? == Binary::Ours;
    let run = async {
        let mut admitted = Vec::new();
        for line in CORPUS.lines().filter_map(|line| line.strip_prefix("request ")) {
            let (name, request) = line.split_once(' ').context("a name and a request")?;
            match scene.ask(name, spec(&json!(request), CLIENT, &["client auth"])).await {
                Ok(()) => admitted.push(name),
                Err(error) => ensure!(status_code(&error) == Some(422), "{name}: {error:#}"),
            }
        }
        // Large, and honest.
        let names: Vec<_> = (0..8000).map(|number| format!("name-{number}.example.com")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let large = certificate_request("jane", &[], &names)?;
        scene.ask("large", spec(&large, CLIENT, &["client auth"])).await?;
        admitted.push("large");
        for name in &admitted {
            scene.approve(name).await?;
        }
        let (strict, signed): (Vec<&str>, Vec<&str>) =
            admitted.iter().copied().partition(|name| is_ours && LEFT_OUT.contains(name));
        ensure!(signed.len() >= 25 && (!is_ours || strict.len() == 5), "{signed:?} {strict:?}");
        for name in signed {
            let path = scene.issued(name).await?;
            let der = der(&path)?;
            let (_, certificate) = X509Certificate::from_der(&der)?;
            ensure!(!certificate.is_ca(), "{name}");
            // OpenSSL has no words for some curves in its default policy, and rejects weak keys.
            verify(&scene.cluster.ca_path(), &path, &["-auth_level", "0"])?;
        }
        let large = der(&scene.issued("large").await?)?;
        let (_, large) = X509Certificate::from_der(&large)?;
        let names = large.subject_alternative_name()?.context("names")?.value.general_names.iter();
        let names = names.filter(|it| matches!(it, GeneralName::DNSName(_))).count();
        ensure!(names == 8000, "{names}");
        for name in strict {
            let status = scene.status(name).await?;
            let found = status["conditions"].as_array().map_or(0, Vec::len);
            ensure!(found == 1 && status["certificate"].is_null(), "{name}: {status}");
        }
        anyhow::Ok(())
    };
    run.await.with_context(|| scene.manager.log())
}

/// Card: "CA pair files watched and reloaded"; and only the signers that have a pair sign.
#[tokio::test]
async fn another_key_pair_signs_once_the_files_change() -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("signing-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let [cert, key] = ["crt", "key"].map(|end| folder.join(format!("own.{end}")));
    authority("first", &cert, &key)?;
    let flags = [
        SIGNING.to_owned(),
        "--cluster-signing-cert-file=".to_owned(),
        "--cluster-signing-key-file=".to_owned(),
        format!("--cluster-signing-kube-apiserver-client-cert-file={}", cert.display()),
        format!("--cluster-signing-kube-apiserver-client-key-file={}", key.display()),
    ];
    let scene = Scene::start(&flags.each_ref().map(String::as_str)).await?;
    let run = async {
        let jane = certificate_request("jane", &[], &[])?;
        let node = certificate_request("system:node:a", &["system:nodes"], &[])?;
        let usages = ["client auth", "digital signature"];
        scene.ask("kubelet", spec(&node, KUBELET_CLIENT, &usages)).await?;
        scene.approve("kubelet").await?;
        scene.ask("jane", spec(&jane, CLIENT, &["client auth"])).await?;
        scene.approve("jane").await?;
        let first = folder.join("first.crt");
        fs::copy(&cert, &first)?;
        verify(&first, &scene.issued("jane").await?, &[])?;
        // The certificate alone does not fit; then both do.
        let (new_cert, new_key) = (folder.join("second.crt"), folder.join("second.key"));
        authority("second", &new_cert, &new_key)?;
        fs::rename(&new_cert, &cert)?;
        scene.ask("meanwhile", spec(&jane, CLIENT, &["client auth"])).await?;
        scene.approve("meanwhile").await?;
        verify(&first, &scene.issued("meanwhile").await?, &[])?;
        fs::rename(&new_key, &key)?;
        let mut tries = 0;
        wait_until("the new pair to sign", LIMIT, async || {
            tries += 1;
            let name = format!("later-{tries}");
            scene.ask(&name, spec(&jane, CLIENT, &["client auth"])).await?;
            scene.approve(&name).await?;
            let last = scene.issued(&name).await?;
            Ok(verify(&cert, &last, &[]).ok())
        })
        .await?;
        let status = scene.status("kubelet").await?;
        ensure!(status["certificate"].is_null(), "{status}");
        anyhow::Ok(())
    };
    let done = run.await.with_context(|| scene.manager.log());
    fs::remove_dir_all(&folder)?;
    done
}

/// A new authority.
fn authority(name: &str, cert: &Path, key: &Path) -> anyhow::Result<()> {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let pair = KeyPair::generate()?;
    fs::write(key, pair.serialize_pem())?;
    Ok(fs::write(cert, params.self_signed(&pair)?.pem())?)
}
