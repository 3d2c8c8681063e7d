//! The key that signs the tokens of service accounts. As `ParsePrivateKeyPEM` of client-go's
//! util/keyutil and `JWTTokenGenerator` of upstream's pkg/serviceaccount/jwt.go.
//!
//! Signs with ring, which TLS uses anyway: RSA keys of 2048 to 4096 bits (RS256), ECDSA keys on
//! P-256 (ES256) and P-384 (ES384). Upstream also accepts other sizes of RSA keys, and keys on
//! P-521.

#[cfg(test)]
mod tests;

use std::path::Path;

use anyhow::{Context as _, bail};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use controllers::serviceaccounttoken::TokenSigner;
use ring::digest::{SHA256, digest};
use rustls::SignatureScheme;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::sign::Signer;

use crate::flags::handles;
use crate::options::Options;

/// The flag that names the file.
pub(crate) const FLAG: handles::Text = handles::SERVICE_ACCOUNT_PRIVATE_KEY_FILE;
/// Upstream's algorithms: the scheme, its name in a token, and the length of each half of a
/// signature; none: the signature is one number.
const ALGORITHMS: [(SignatureScheme, &str, Option<usize>); 3] = [
    (SignatureScheme::RSA_PKCS1_SHA256, "RS256", None),
    (SignatureScheme::ECDSA_NISTP256_SHA256, "ES256", Some(32)),
    (SignatureScheme::ECDSA_NISTP384_SHA384, "ES384", Some(48)),
];

/// Makes JSON Web Tokens.
#[derive(Debug)]
pub(crate) struct JwtSigner {
    signer: Box<dyn Signer>,
    /// The first part of each token.
    header: String,
    half_bytes: Option<usize>,
}

/// The signer with the key of `--service-account-private-key-file`; none without that flag. Read
/// once, as upstream. An error if the file cannot be read, contains no private key, or if its first
/// key is not supported.
pub(crate) fn token_signer(options: &Options) -> anyhow::Result<Option<JwtSigner>> {
    let file = options.flags.text(FLAG);
    if file.is_empty() {
        return Ok(None);
    }
    let signer = read(Path::new(file)).with_context(|| format!("--{} {file}", FLAG.name()))?;
    Ok(Some(signer))
}

fn read(file: &Path) -> anyhow::Result<JwtSigner> {
    let content = std::fs::read(file)?;
    // Sections that are not private keys, such as EC PARAMETERS, are skipped.
    match PrivateKeyDer::pem_slice_iter(&content).next() {
        Some(Ok(key)) => JwtSigner::new(&key),
        // The error would contain a part of the key.
        Some(Err(_)) => bail!("a section of it is not PEM"),
        None => bail!("holds no private key (RSA PRIVATE KEY, EC PRIVATE KEY or PRIVATE KEY)"),
    }
}

// === impl JwtSigner ===

impl JwtSigner {
    fn new(key: &PrivateKeyDer<'_>) -> anyhow::Result<Self> {
        let unfit = "its private key cannot sign tokens here, only RSA keys of 2048 to 4096 bits \
                     and ECDSA keys on P-256 or P-384 can";
        let key = any_supported_type(key).ok().context(unfit)?;
        let schemes = ALGORITHMS.map(|(scheme, ..)| scheme);
        let signer = key.choose_scheme(&schemes).context(unfit)?;
        let mut algorithms = ALGORITHMS.into_iter();
        let algorithm = algorithms.find(|(scheme, ..)| *scheme == signer.scheme());
        let (_, name, half_bytes) = algorithm.context(unfit)?;
        let public_key = key.public_key().context("the public part of its key is missing")?;
        let id = BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, &public_key));
        let header = format!(r#"{{"alg":"{name}","kid":"{id}"}}"#);
        Ok(Self { signer, header: BASE64_URL_SAFE_NO_PAD.encode(header), half_bytes })
    }
}

impl TokenSigner for JwtSigner {
    fn sign(&self, claims: &[u8]) -> Result<String, String> {
        let signed = format!("{}.{}", self.header, BASE64_URL_SAFE_NO_PAD.encode(claims));
        let signature = self.signer.sign(signed.as_bytes()).map_err(|error| error.to_string())?;
        let signature = match self.half_bytes {
            None => signature,
            Some(bytes) => halves(&signature, bytes).ok_or("the signature is broken")?,
        };
        Ok(format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// The two numbers of an ECDSA signature, which comes as a DER sequence, one after the other, as
/// tokens have them (RFC 7518, section 3.4).
fn halves(der: &[u8], bytes: usize) -> Option<Vec<u8>> {
    const SEQUENCE: u8 = 0x30;
    const INTEGER: u8 = 0x02;
    let (numbers, &[]) = element(SEQUENCE, der)? else { return None };
    let (r, rest) = element(INTEGER, numbers)?;
    let (s, &[]) = element(INTEGER, rest)? else { return None };
    let mut joined = Vec::with_capacity(2 * bytes);
    for number in [r, s] {
        // A zero before the first bit of a number keeps it positive.
        let start = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
        let digits = number.get(start..)?;
        joined.resize(joined.len() + bytes.checked_sub(digits.len())?, 0);
        joined.extend_from_slice(digits);
    }
    Some(joined)
}

/// The content of the DER element at the start, which is shorter than 128 bytes, and what follows.
fn element(tag: u8, der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&[found, length], rest) = der.split_first_chunk()?;
    (found == tag && length < 128).then_some(())?;
    rest.split_at_checked(length.into())
}
