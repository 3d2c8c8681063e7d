//! A kubelet joins as `kubeadm join` has it, from a bootstrap token to a certificate that it
//! renews: what `kubeadm init` leaves behind, three controllers of certificates and two of tokens,
//! and curl and openssl as the kubelet, which knows no more than the address of the API server and
//! a token.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use cluster_tests::{
    Binary, Cluster, Manager, Objects, Options, User, none_forbidden, since, wait_until,
};
use k8s_openapi::ByteString;
use serde_json::{Value, json};

const ARGS: &[&str] = &["--controllers=bootstrap-signer-controller,token-cleaner-controller,\
     certificatesigningrequest-approving-controller,certificatesigningrequest-signing-controller,\
     certificatesigningrequest-cleaner-controller"];
const TOKEN_ID: &str = "abcdef";
const TOKEN_SECRET: &str = "0123456789abcdef";
const TOKEN: &str = "abcdef.0123456789abcdef";
const JOINERS: &str = "system:bootstrappers:kubeadm:default-node-token";
const REQUESTS: &str = "certificatesigningrequests.v1.certificates.k8s.io";
const REQUESTS_PATH: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const LIMIT: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_kubelet_joins_with_a_bootstrap_token() -> anyhow::Result<()> {
    // As kubeadm has it: a node changes itself alone.
    let apiserver_args = vec!["--enable-admission-plugins=NodeRestriction".to_owned()];
    let cluster = Cluster::start(Options { apiserver_args, ..Options::default() }).await?;
    init(&cluster).await?;
    let binary = Binary::under_test()?;
    let mut manager = Manager::start(&cluster, binary, User::ControllerManager, ARGS)?;
    manager.healthy().await?;
    let requests = cluster.request_counts().await?;
    let run = async {
        let dir = cluster.dir().join("kubelet");
        fs::create_dir(&dir)?;
        let mut kubelet = Kubelet { url: cluster.url(), dir, proof: Vec::new() };
        kubelet.discovers().await?;
        kubelet.proof = bears(TOKEN);
        let (first, key) = kubelet.asks("first").await?;
        kubelet.proof = shows(&first, &key);
        kubelet.is_a_node().await?;
        let (second, key) = kubelet.asks("second").await?;
        kubelet.proof = shows(&second, &key);
        kubelet.is_a_node().await?;
        approvals(&cluster).await?;
        the_token_expires(&cluster, &kubelet).await?;
        let mut made = since(&requests, &cluster.request_counts().await?);
        // The kubelet has tried to make the node of another one.
        made.retain(|it, _| it.resource != "nodes");
        none_forbidden(&made)
    };
    run.await.with_context(|| manager.log())
}

/// Leaves behind what `kubeadm init` does: cmd/kubeadm/app/phases/bootstraptoken (v1.36).
async fn init(cluster: &Cluster) -> anyhow::Result<()> {
    let (public, system) =
        (Objects::of(cluster, "kube-public")?, Objects::of(cluster, "kube-system")?);
    let authority = ByteString(fs::read(cluster.ca_path())?);
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config",
        "clusters": [{"name": "", "cluster": {"server": cluster.url(),
            "certificate-authority-data": authority}}]});
    let info = json!({"metadata": {"name": "cluster-info"},
        "data": {"kubeconfig": kubeconfig.to_string()}});
    public.create("configmaps", &info).await?;
    let secret = json!({"metadata": {"name": format!("bootstrap-token-{TOKEN_ID}")},
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {"token-id": TOKEN_ID, "token-secret": TOKEN_SECRET,
            "usage-bootstrap-signing": "true", "usage-bootstrap-authentication": "true",
            "expiration": "9999-12-31T23:59:59Z", "auth-extra-groups": JOINERS}});
    system.create("secrets", &secret).await?;
    let group = "rbac.authorization.k8s.io";
    let rbac = |plural: &str| format!("{plural}.v1.{group}");
    let of = |kind: &str, name: &str| json!({"kind": kind, "name": name, "apiGroup": group});
    let reader = "kubeadm:bootstrap-signer-clusterinfo";
    let rules = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"],
        "resourceNames": ["cluster-info"]}]);
    public.create(&rbac("roles"), &json!({"metadata": {"name": reader}, "rules": rules})).await?;
    let binding = json!({"metadata": {"name": reader}, "roleRef": of("Role", reader),
        "subjects": [of("User", "system:anonymous")]});
    public.create(&rbac("rolebindings"), &binding).await?;
    let client = "system:certificates.k8s.io:certificatesigningrequests:";
    for (name, granted, granted_to) in [
        ("kubelet-bootstrap", "system:node-bootstrapper".to_owned(), JOINERS),
        ("node-autoapprove-bootstrap", format!("{client}nodeclient"), JOINERS),
        (
            "node-autoapprove-certificate-rotation",
            format!("{client}selfnodeclient"),
            "system:nodes",
        ),
    ] {
        let binding = json!({"metadata": {"name": format!("kubeadm:{name}")},
            "roleRef": of("ClusterRole", &granted), "subjects": [of("Group", granted_to)]});
        public.of_all().create(&rbac("clusterrolebindings"), &binding).await?;
    }
    Ok(())
}

/// Both certificates were approved for the reason that is right for each.
async fn approvals(cluster: &Cluster) -> anyhow::Result<()> {
    let all = Objects::of(cluster, "")?.list(REQUESTS).await?;
    let joiner = format!("system:bootstrap:{TOKEN_ID}");
    for (user, message) in [
        (&*joiner, "Auto approving kubelet client certificate after SubjectAccessReview."),
        (
            "system:node:joined",
            "Auto approving self kubelet client certificate after SubjectAccessReview.",
        ),
    ] {
        let mut of_user = all.iter().filter(|it| it["spec"]["username"] == user);
        let request = of_user.next().with_context(|| format!("a request of {user}"))?;
        let conditions = &request["status"]["conditions"];
        ensure!(conditions[0]["message"] == message, "{user}: {conditions}");
        ensure!(of_user.next().is_none(), "{user} asked once");
    }
    Ok(())
}

/// From then on the token signs nothing and proves nothing; the certificates are good still.
async fn the_token_expires(cluster: &Cluster, kubelet: &Kubelet) -> anyhow::Result<()> {
    let (public, system) =
        (Objects::of(cluster, "kube-public")?, Objects::of(cluster, "kube-system")?);
    let secret = format!("bootstrap-token-{TOKEN_ID}");
    let past = json!({"stringData": {"expiration": "2020-01-01T00:00:00Z"}});
    system.merge("secrets", &secret, &past).await?;
    system.gone("secrets", &secret).await?;
    let is_bare = |info: &Value| info["data"].as_object().is_some_and(|data| data.len() == 1);
    public.wait("configmaps", "cluster-info", "to lose its signature", is_bare).await?;
    let late = Kubelet { proof: bears(TOKEN), dir: kubelet.dir.clone(), url: kubelet.url.clone() };
    wait_until("the token to be refused", LIMIT, async || {
        let said = late.request(REQUESTS_PATH, None).await?;
        Ok((said["code"] == 401).then_some(()))
    })
    .await?;
    kubelet.is_a_node().await
}

fn bears(token: &str) -> Vec<String> {
    vec!["--header".to_owned(), format!("Authorization: Bearer {token}")]
}

/// Options of curl for a client certificate.
fn shows(certificate: &Path, key: &Path) -> Vec<String> {
    let file = |path: &Path| path.display().to_string();
    vec!["--cert".to_owned(), file(certificate), "--key".to_owned(), file(key)]
}

/// A machine that wants to be a node.
struct Kubelet {
    url: String,
    dir: PathBuf,
    /// By which it proves who it is, as options of curl.
    proof: Vec<String>,
}

impl Kubelet {
    /// Reads whom to trust from a server that it does not trust yet, and believes it by the
    /// signature of its token. As cmd/kubeadm/app/discovery/token.
    async fn discovers(&self) -> anyhow::Result<()> {
        let path = "/api/v1/namespaces/kube-public/configmaps/cluster-info";
        let info = wait_until("cluster-info to be signed", LIMIT, async || {
            let said = self.curl(&["--insecure"], path, None).await?;
            let signature = &said["data"][format!("jws-kubeconfig-{TOKEN_ID}")];
            Ok(signature.is_string().then_some(said))
        })
        .await?;
        let text = |key: &str| info["data"][key].as_str().unwrap_or_default().to_owned();
        let (kubeconfig, jws) = (text("kubeconfig"), text(&format!("jws-kubeconfig-{TOKEN_ID}")));
        let (header, signature) = jws.split_once("..").context("a JWS without its payload")?;
        let signed = format!("{header}.{}", base64url(kubeconfig.as_bytes())?);
        let key = format!("hexkey:{}", hex(TOKEN_SECRET.as_bytes()));
        let args = ["dgst", "-sha256", "-mac", "HMAC", "-macopt", &key, "-binary"];
        let mac = base64url(&openssl(&args, signed.as_bytes()).await?)?;
        ensure!(mac == signature, "openssl computes {mac}, and cluster-info says {signature}");
        let kubeconfig: Value = serde_json::from_str(&kubeconfig)?;
        let cluster = &kubeconfig["clusters"][0]["cluster"];
        ensure!(cluster["server"] == *self.url, "{cluster}");
        let authority = serde_json::from_value(cluster["certificate-authority-data"].clone())?;
        let ByteString(authority) = authority;
        fs::write(self.authority(), authority)?;
        // Once more, from a server that proves to be the one.
        let again = self.request(path, None).await?;
        ensure!(again["data"]["kubeconfig"] == text("kubeconfig"), "{again}");
        Ok(())
    }

    /// Makes a key, asks for a certificate, and waits for it. Returns the files of both. As
    /// k8s.io/client-go/util/certificate/csr.
    async fn asks(&self, name: &str) -> anyhow::Result<(PathBuf, PathBuf)> {
        let [key, request, certificate] =
            ["key", "csr", "crt"].map(|end| self.dir.join(format!("{name}.{end}")));
        let (key_text, request_text) = (path_text(&key)?, path_text(&request)?);
        let curve = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
        let args = [&["genpkey"][..], &curve, &["-out", key_text]].concat();
        openssl(&args, &[]).await?;
        let subject = "/O=system:nodes/CN=system:node:joined";
        let args = ["req", "-new", "-key", key_text, "-subj", subject, "-out", request_text];
        openssl(&args, &[]).await?;
        let object = json!({"apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest", "metadata": {"generateName": "csr-"},
            "spec": {"request": ByteString(fs::read(&request)?),
                "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
                "usages": ["digital signature", "client auth"]}});
        let made = self.request(REQUESTS_PATH, Some(&object)).await?;
        let made_name = made["metadata"]["name"].as_str().with_context(|| made.to_string())?;
        let path = format!("{REQUESTS_PATH}/{made_name}");
        let pem = wait_until("the certificate", LIMIT, async || {
            let said = self.request(&path, None).await?;
            Ok(said["status"]["certificate"].is_string().then(|| said["status"].clone()))
        })
        .await?;
        let ByteString(pem) = serde_json::from_value(pem["certificate"].clone())?;
        fs::write(&certificate, pem)?;
        let authority = self.authority();
        let args = ["verify", "-purpose", "sslclient", "-CAfile", path_text(&authority)?];
        openssl(&[&args[..], &[path_text(&certificate)?]].concat(), &[]).await?;
        Ok((certificate, key))
    }

    /// The API server knows it as its node, and lets it make or find that.
    async fn is_a_node(&self) -> anyhow::Result<()> {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        let user = self.request(path, Some(&review)).await?["status"]["userInfo"].clone();
        ensure!(user["username"] == "system:node:joined", "{user}");
        ensure!(user["groups"] == json!(["system:nodes", "system:authenticated"]), "{user}");
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "joined"}});
        let said = self.request("/api/v1/nodes", Some(&node)).await?;
        let is_there = said["reason"] == "AlreadyExists" || said["metadata"]["uid"].is_string();
        ensure!(is_there, "{said}");
        let other = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "other"}});
        let said = self.request("/api/v1/nodes", Some(&other)).await?;
        ensure!(said["code"] == 403, "a node makes itself alone: {said}");
        Ok(())
    }

    /// GET, or POST of an object, at the server that it trusts.
    async fn request(&self, path: &str, object: Option<&Value>) -> anyhow::Result<Value> {
        let authority = self.authority();
        self.curl(&["--cacert", path_text(&authority)?], path, object).await
    }

    async fn curl(
        &self,
        trust: &[&str],
        path: &str,
        object: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let always = ["--silent", "--show-error", "--noproxy", "*", "--max-time", "20"];
        let mut args = always.map(str::to_owned).to_vec();
        args.extend(trust.iter().map(|it| (*it).to_owned()));
        args.extend(self.proof.iter().cloned());
        let body = object.map(Value::to_string).unwrap_or_default();
        if object.is_some() {
            let kind = ["--header", "Content-Type: application/json", "--data-binary", "@-"];
            args.extend(kind.map(str::to_owned));
        }
        args.push(format!("{}{path}", self.url));
        let said = output("curl", &args, body.as_bytes()).await?;
        serde_json::from_slice(&said)
            .with_context(|| format!("{path}: {}", String::from_utf8_lossy(&said)))
    }

    /// The file of the authority that it trusts.
    fn authority(&self) -> PathBuf {
        self.dir.join("ca.crt")
    }
}

fn path_text(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("a path in UTF-8")
}

async fn openssl(args: &[&str], input: &[u8]) -> anyhow::Result<Vec<u8>> {
    let args: Vec<_> = args.iter().map(|it| (*it).to_owned()).collect();
    output("openssl", &args, input).await
}

/// What a program prints, which must succeed.
async fn output(program: &str, args: &[String], input: &[u8]) -> anyhow::Result<Vec<u8>> {
    use std::io::Write as _;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (input, about) = (input.to_owned(), format!("{program} {}", args.join(" ")));
    let run = move || {
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(&input)?;
        }
        child.wait_with_output()
    };
    let run = tokio::task::spawn_blocking(run).await?;
    let Output { status, stdout, stderr } =
        run.with_context(|| format!("{about}: is it installed?"))?;
    ensure!(status.success(), "{about}: {status}: {}", String::from_utf8_lossy(&stderr));
    Ok(stdout)
}

/// As in a JWS: without padding.
fn base64url(bytes: &[u8]) -> anyhow::Result<String> {
    let text = json!(ByteString(bytes.to_vec()));
    let text = text.as_str().context("base64 is a text")?;
    Ok(text.trim_end_matches('=').replace('+', "-").replace('/', "_"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
