//! Key pairs in files, and the requests of the corpus that upstream has made and judged.

use std::path::Path;

use api::Proof;
use x509_parser::x509::AlgorithmIdentifier;

use super::*;

const CORPUS: &str = include_str!("../../../controllers/testdata/certificates.txt");
/// What ring cannot verify, and Go can.
const UNKNOWN: [&str; 3] = ["p256-sha512", "p224", "p521"];

fn testdata(name: &str) -> String {
    format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn cert(name: &str) -> String {
    testdata(&format!("signing/{name}.crt"))
}

fn key(name: &str) -> String {
    testdata(&format!("token-keys/{name}.pem"))
}

fn options(words: &[String]) -> Options {
    Options::parse(words.iter().map(|word| format!("--cluster-signing-{word}"))).unwrap()
}

/// The authorities with these flags, a word each.
fn open(words: &[String]) -> anyhow::Result<BTreeMap<Profile, Arc<FileAuthority>>> {
    authorities(&options(words))
}

fn general(cert: &str, key: &str) -> anyhow::Result<Arc<FileAuthority>> {
    let found = open(&[format!("cert-file={cert}"), format!("key-file={key}")])?;
    assert_eq!(found.len(), 4, "one pair for all signers");
    Ok(Arc::clone(&found[&Profile::KubeletServing]))
}

/// A file of this test, which is removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let pid = std::process::id();
        Self(std::env::temp_dir().join(format!("signing-{name}-{pid}")))
    }

    fn holds(&self, files: &[&str]) -> &Self {
        let content = files.iter().map(|file| std::fs::read_to_string(file).unwrap());
        std::fs::write(&self.0, content.collect::<String>()).unwrap();
        self
    }

    fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Card: each kind of key; SEC 1 and PKCS #8.
#[test]
fn each_kind_of_key_signs() {
    for (name, file) in [
        ("rsa", "rsa"),
        ("rsa", "rsa-pkcs8"),
        ("p256", "p256"),
        ("p256", "p256-pkcs8"),
        ("p384", "p384"),
        ("ed25519", "ed25519"),
    ] {
        let issuer = general(&cert(name), &key(file)).unwrap().issuer().unwrap();
        let (rest, _) = AlgorithmIdentifier::from_der(&issuer.algorithm).unwrap();
        assert!(rest.is_empty() && issuer.key_id.len() == 20, "{name}: {issuer:?}");
        let der = CertificateDer::from_pem_file(cert(name)).unwrap();
        let (_, certificate) = X509Certificate::from_der(&der).unwrap();
        assert_eq!(*issuer.subject, *certificate.subject().as_raw(), "{name}");
        let proof = |signed: &[u8]| Proof {
            algorithm: issuer.algorithm.clone(),
            signed: signed.into(),
            signature: issuer.signer.sign(b"content").unwrap().into(),
        };
        let request = |signed: &[u8]| CertificateRequest {
            public_key: certificate.public_key().raw.into(),
            proof: proof(signed),
            ..CertificateRequest::default()
        };
        assert_eq!(issuer.signer.verify(&request(b"content")), Ok(()), "{name}");
        let error = issuer.signer.verify(&request(b"another")).unwrap_err();
        assert_eq!(error, "it is not that of the public key", "{name}");
    }
}

/// Serial numbers depend on the content, and on the private key.
#[test]
fn serial_numbers_cannot_be_foreseen() {
    let serial = |name: &str, content: &[u8]| {
        let issuer = general(&cert(name), &key(name)).unwrap().issuer().unwrap();
        issuer.signer.serial(content)
    };
    assert_eq!(serial("rsa", b"a"), serial("rsa", b"a"));
    assert_ne!(serial("rsa", b"a"), serial("rsa", b"b"));
    assert_ne!(serial("rsa", b"a"), serial("p256", b"a"));
}

/// What Go has verified is verified, and what it refuses is refused.
#[test]
fn proofs_are_judged_as_upstream() {
    let (mut good, mut unknown, mut name, mut request) = (0, Vec::new(), "", None);
    for line in CORPUS.lines() {
        let (word, rest) = line.split_once(' ').unwrap();
        match word {
            "request" => {
                let (found, text) = rest.split_once(' ').unwrap();
                (name, request) = (found, CertificateRequest::from_base64(text).ok());
            }
            "case" => {
                let Some(request) = request.take() else { continue };
                match proof::verify(&request) {
                    Ok(()) => good += 1,
                    Err(error) => {
                        assert!(error.starts_with("its public key and its signature"), "{error}");
                        unknown.push(name);
                    }
                }
            }
            "unproven" => {
                let error = proof::verify(&request.take().unwrap()).unwrap_err();
                assert_eq!(error, "it is not that of the public key", "{name}");
            }
            _ => {}
        }
    }
    assert!(good > 20, "{good}");
    assert_eq!(unknown, UNKNOWN);
}

#[test]
fn keys_that_do_not_fit_are_not_mixed() {
    let mut requests = CORPUS.lines().filter_map(|line| line.strip_prefix("request "));
    let mut named = |name: &str| {
        let text = requests.find_map(|it| it.strip_prefix(&format!("{name} "))).unwrap();
        CertificateRequest::from_base64(text).unwrap()
    };
    let (ecdsa, ed25519) = (named("kubelet-client"), named("kubelet-serving"));
    let mixed = CertificateRequest { public_key: ed25519.public_key.clone(), ..ecdsa.clone() };
    assert!(proof::verify(&mixed).is_err());
    for broken in [&[][..], &[0x30, 0], &[0x30, 0x82, 1]] {
        let request = CertificateRequest { public_key: broken.into(), ..ecdsa.clone() };
        assert_eq!(proof::verify(&request).unwrap_err(), "its public key cannot be read");
        let proof = Proof { algorithm: broken.into(), ..ecdsa.proof.clone() };
        let request = CertificateRequest { proof, ..ecdsa.clone() };
        assert_eq!(proof::verify(&request).unwrap_err(), "its algorithm cannot be read");
    }
}

/// `newCAProvider`: what cannot sign is refused at the start. Flag and file are named, and no key
/// is shown.
#[test]
fn a_pair_that_cannot_sign_is_named() {
    let chain = Scratch::new("chain");
    let chain = chain.holds(&[&cert("p256"), &cert("rsa")]).path();
    let empty = Scratch::new("empty");
    let empty = empty.holds(&[]).path();
    let unfit = "its private key cannot sign certificates here, only RSA keys of 2048 to 4096 \
                 bits, ECDSA keys on P-256 or P-384, and Ed25519 keys can";
    let none = "holds no private key (RSA PRIVATE KEY, EC PRIVATE KEY or PRIVATE KEY)";
    for (cert, key, flag, file, expected) in [
        (cert("p256"), key("p521"), "key", key("p521"), unfit),
        (cert("p256"), key("rsa-1024"), "key", key("rsa-1024"), unfit),
        (
            cert("p256"),
            key("p384"),
            "key",
            key("p384"),
            "its private key is not that of the certificate",
        ),
        (cert("p256"), cert("p256"), "key", cert("p256"), none),
        (key("p256"), key("p256"), "cert", key("p256"), "holds no certificate"),
        (empty.clone(), key("p256"), "cert", empty, "holds no certificate"),
        (chain.clone(), key("p256"), "cert", chain, "expected 1 certificate, found 2"),
        (
            "/no/such".to_owned(),
            key("p256"),
            "cert",
            "/no/such".to_owned(),
            "No such file or directory (os error 2)",
        ),
    ] {
        let error = format!("{:#}", general(&cert, &key).err().unwrap());
        assert_eq!(error, format!("--cluster-signing-{flag}-file {file}: {expected}"));
    }
}

/// `newCertificateSigningRequestSigningController`: which signers have a pair.
#[test]
fn signers_have_their_own_pair_or_all_the_general_one() {
    let pair = |signer: &str, name: &str| {
        [format!("{signer}cert-file={}", cert(name)), format!("{signer}key-file={}", key(name))]
    };
    let lacking = |words: &[String]| lacks(&options(words)).is_some();
    for (words, expected) in [
        (pair("kubelet-serving-", "rsa"), Profile::KubeletServing),
        (pair("kubelet-client-", "rsa"), Profile::KubeletClient),
        (pair("kube-apiserver-client-", "rsa"), Profile::ApiServerClient),
        (pair("legacy-unknown-", "rsa"), Profile::LegacyUnknown),
    ] {
        let found: Vec<_> = open(&words).unwrap().into_keys().collect();
        assert_eq!(found, [expected]);
        assert!(!lacking(&words) && !lacking(&words[..1]));
    }
    let words = pair("", "rsa");
    assert!(!lacking(&words) && lacking(&words[..1]) && lacking(&words[1..]) && lacking(&[]));
}

/// `DynamicCertKeyPairContent` and `setCA`.
#[tokio::test]
async fn files_are_read_again() {
    let (cert_file, key_file) = (Scratch::new("cert"), Scratch::new("key"));
    cert_file.holds(&[&cert("p256")]);
    key_file.holds(&[&key("p256")]);
    let authority = general(&cert_file.path(), &key_file.path()).unwrap();
    let name = || {
        let issuer = authority.issuer()?;
        let name = Path::new("CN").join(String::from_utf8_lossy(&issuer.subject).as_ref());
        Ok::<_, String>(name.display().to_string())
    };
    assert!(name().unwrap().ends_with("p256"));
    // One half is new: they do not fit together, and the old pair signs on.
    cert_file.holds(&[&cert("rsa")]);
    authority.refresh().await;
    assert!(name().unwrap().ends_with("p256"));
    key_file.holds(&[&key("rsa")]);
    authority.refresh().await;
    assert!(name().unwrap().ends_with("rsa"));
    // A chain is a pair, but no authority.
    cert_file.holds(&[&cert("rsa"), &cert("p256")]);
    authority.refresh().await;
    let error = format!(
        "--cluster-signing-cert-file {}: expected 1 certificate, found 2",
        cert_file.path()
    );
    assert_eq!(name(), Err(error));
    // Files that are gone change nothing.
    drop(cert_file);
    authority.refresh().await;
    assert!(name().is_err());
    let cert_file = Scratch::new("cert");
    cert_file.holds(&[&cert("rsa")]);
    authority.refresh().await;
    assert!(name().unwrap().ends_with("rsa"));
}
