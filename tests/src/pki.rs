//! The identities of a cluster: the CA, the serving certificate, the service account keys, and
//! client certificates with a kubeconfig for each user.

use k8s_openapi::ByteString;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A user with a client certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// A member of `system:masters`: everything is allowed.
    Admin,
    /// `system:kube-controller-manager`, the identity that kubeadm gives to the manager.
    ControllerManager,
    /// The service account of this name in kube-system. RBAC looks at the user name only, so it
    /// has exactly the role that upstream binds to that service account, token or certificate.
    ServiceAccount(&'static str),
    /// A member of the group `contenders`, which has no rights of its own: another user for each
    /// life of each contender, so that the API server can distinguish them.
    Contender {
        /// Which contender.
        number: usize,
        /// How often it was started before.
        life: usize,
    },
}

impl User {
    /// The user name as the API server knows it.
    pub fn name(self) -> String {
        self.subject().1
    }

    /// The name of the user's files, and the common name and organization of its certificate.
    fn subject(self) -> (String, String, &'static str) {
        match self {
            Self::Admin => ("admin".into(), "admin".into(), "system:masters"),
            Self::ControllerManager => {
                let name = "kube-controller-manager";
                (name.into(), format!("system:{name}"), "")
            }
            Self::ServiceAccount(name) => (
                format!("sa-{name}"),
                format!("system:serviceaccount:kube-system:{name}"),
                "system:serviceaccounts",
            ),
            Self::Contender { number, life } => {
                let name = format!("contender-{number}-{life}");
                (name.clone(), name, "contenders")
            }
        }
    }
}

/// The certificate authority of one cluster; its files lie in the cluster's folder.
pub(crate) struct Pki {
    dir: PathBuf,
    url: String,
    issuer: Issuer<'static, KeyPair>,
    ca_der: Vec<u8>,
}

/// The files of a client certificate.
pub(crate) struct Identity {
    /// The certificate (PEM).
    pub(crate) cert: PathBuf,
    /// Its private key (PEM, PKCS #8).
    pub(crate) key: PathBuf,
}

impl Pki {
    /// Writes `ca.{crt,key}`, `apiserver.{crt,key}` and `sa.{key,pub}` into `dir`; `url` is what
    /// kubeconfigs will point to.
    pub(crate) fn create(dir: &Path, url: &str) -> anyhow::Result<Self> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "kubernetes");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let cert = params.self_signed(&key)?;
        fs::write(dir.join("ca.crt"), cert.pem())?;
        fs::write(dir.join("ca.key"), key.serialize_pem())?;

        let accounts = KeyPair::generate()?;
        fs::write(dir.join("sa.key"), accounts.serialize_pem())?;
        fs::write(dir.join("sa.pub"), accounts.public_key_pem())?;

        let pki = Self {
            dir: dir.to_owned(),
            url: url.to_owned(),
            issuer: Issuer::new(params, key),
            ca_der: cert.der().to_vec(),
        };
        let names = ["127.0.0.1", "localhost", "kubernetes.default", "kubernetes.default.svc"];
        let mut serving = CertificateParams::new(names.map(String::from))?;
        serving.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        pki.issue("apiserver", serving)?;
        Ok(pki)
    }

    /// The CA's certificate (DER).
    pub(crate) fn ca_der(&self) -> &[u8] {
        &self.ca_der
    }

    /// The user's certificate, made when first asked for.
    pub(crate) fn identity(&self, user: User) -> anyhow::Result<Identity> {
        let (name, common_name, organization) = user.subject();
        self.client(&name, &common_name, organization)
    }

    /// The path of a kubeconfig for the user, made when first asked for.
    pub(crate) fn kubeconfig(&self, user: User) -> anyhow::Result<PathBuf> {
        let (name, common_name, organization) = user.subject();
        self.component_kubeconfig(&name, &common_name, organization)
    }

    /// The path of a kubeconfig for any other subject; `name` is that of its files.
    pub(crate) fn component_kubeconfig(
        &self,
        name: &str,
        common_name: &str,
        organization: &str,
    ) -> anyhow::Result<PathBuf> {
        let path = self.dir.join(format!("{name}.kubeconfig"));
        let Identity { cert, key } = self.client(name, common_name, organization)?;
        // JSON is YAML too.
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "cluster",
            "contexts": [{"name": "cluster", "context": {"cluster": "cluster", "user": name}}],
            "clusters": [{"name": "cluster", "cluster": {
                "server": self.url,
                "certificate-authority": self.dir.join("ca.crt"),
            }}],
            "users": [{"name": name, "user": {"client-certificate": cert, "client-key": key}}],
        });
        // Whole at once: a manager that was started before may be reading it.
        let new = path.with_extension("new");
        fs::write(&new, serde_json::to_vec_pretty(&config)?)?;
        fs::rename(&new, &path)?;
        Ok(path)
    }

    fn client(&self, name: &str, common_name: &str, group: &str) -> anyhow::Result<Identity> {
        let [cert, key] = ["crt", "key"].map(|end| self.dir.join(format!("{name}.{end}")));
        if !key.exists() {
            let mut params = CertificateParams::default();
            params.distinguished_name.push(DnType::CommonName, common_name);
            if !group.is_empty() {
                params.distinguished_name.push(DnType::OrganizationName, group);
            }
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            self.issue(name, params)?;
        }
        Ok(Identity { cert, key })
    }

    fn issue(&self, name: &str, mut params: CertificateParams) -> anyhow::Result<()> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let cert = params.signed_by(&key, &self.issuer)?;
        fs::write(self.dir.join(format!("{name}.crt")), cert.pem())?;
        fs::write(self.dir.join(format!("{name}.key")), key.serialize_pem())?;
        Ok(())
    }
}

/// A request for a certificate for these names, as the `spec.request` of a
/// CertificateSigningRequest: signed with a key that is then thrown away.
pub fn certificate_request(
    common_name: &str,
    organizations: &[&str],
    alternatives: &[&str],
) -> anyhow::Result<Value> {
    let names: Vec<_> = alternatives.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    for organization in organizations {
        params.distinguished_name.push(DnType::OrganizationName, *organization);
    }
    let request = params.serialize_request(&KeyPair::generate()?)?;
    Ok(json!(ByteString(request.pem()?.into_bytes())))
}

/// A PodCertificateRequest with this name, of a pod that nobody looks for, signed as
/// [`certificate_request`] is.
pub fn pod_certificate_request(name: &str) -> anyhow::Result<Value> {
    let params = CertificateParams::new(Vec::new())?;
    let request = params.serialize_request(&KeyPair::generate()?)?;
    let spec = json!({
        "signerName": "example.com/signer",
        "podName": "web", "podUID": "pod",
        "serviceAccountName": "default", "serviceAccountUID": "account",
        "nodeName": "node", "nodeUID": "node",
        "maxExpirationSeconds": 86_400,
        "stubPKCS10Request": ByteString(request.der().to_vec()),
    });
    Ok(json!({"metadata": {"name": name}, "spec": spec}))
}
