//! Tokens, compared with what upstream's signer (go-jose, as `JWTTokenGenerator` uses it) made of
//! the same keys.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, RSA_PKCS1_2048_8192_SHA256,
    UnparsedPublicKey, VerificationAlgorithm,
};

use super::*;

/// What `serviceaccounttoken` has signed for `shop/builder`; see its tests.
const CLAIMS: &str = concat!(
    r#"{"iss":"kubernetes/serviceaccount","kubernetes.io/serviceaccount/namespace":"shop","#,
    r#""kubernetes.io/serviceaccount/secret.name":"builder-token","#,
    r#""kubernetes.io/serviceaccount/service-account.name":"builder","#,
    r#""kubernetes.io/serviceaccount/service-account.uid":"#,
    r#""9f2c7d04-1b1e-4b0f-8d7c-3f0f3a1c2b11","#,
    r#""sub":"system:serviceaccount:shop:builder"}"#,
);
/// Upstream's token, byte by byte: RSA signatures hold no randomness.
const RS256: &str = concat!(
    "eyJhbGciOiJSUzI1NiIsImtpZCI6IkVkOFM5S3BBd0FWTVdUR19mZW84amZLaTVpWHRkYWY1UkxRYU1uZnlI",
    "T3MifQ.eyJpc3MiOiJrdWJlcm5ldGVzL3NlcnZpY2VhY2NvdW50Iiwia3ViZXJuZXRlcy5pby9zZXJ2aWNlY",
    "WNjb3VudC9uYW1lc3BhY2UiOiJzaG9wIiwia3ViZXJuZXRlcy5pby9zZXJ2aWNlYWNjb3VudC9zZWNyZXQub",
    "mFtZSI6ImJ1aWxkZXItdG9rZW4iLCJrdWJlcm5ldGVzLmlvL3NlcnZpY2VhY2NvdW50L3NlcnZpY2UtYWNjb",
    "3VudC5uYW1lIjoiYnVpbGRlciIsImt1YmVybmV0ZXMuaW8vc2VydmljZWFjY291bnQvc2VydmljZS1hY2Nvd",
    "W50LnVpZCI6IjlmMmM3ZDA0LTFiMWUtNGIwZi04ZDdjLTNmMGYzYTFjMmIxMSIsInN1YiI6InN5c3RlbTpzZ",
    "XJ2aWNlYWNjb3VudDpzaG9wOmJ1aWxkZXIifQ.VKje_y0Aj6ZNGM-5yR_dQfriLaYs5uyKNXvpEifxEQRigU",
    "cOkzRWaATt0SeurIPQZPUXrNA3J9zEhGM_ZxFDawri3kbev46j2Xf7vlS0fGiZWhd09ZXNNY6HzxlR5oTxsy",
    "h-6dI2z0YctBBFTTVHH0dlaWDF1XnsmF8Ic1yt6Rc9O0Zx1UeH6LsmwAr-mOHCt9T9VP-uOKatOWMuJdmB_j",
    "hvIY39tMmKyKMgJYy33AewSicNuOAciOnageVgtVKHzkusLkRKY0aF4llaklY1GMziL-G7cBrTkjt99pxQ3Y",
    "68liDwoADADSeZ52tZTsLZytZGlfV3DT6wP3XRrUPTiw",
);
/// Upstream's headers. Each token differs in its signature.
const ES256_HEADER: &str = r#"{"alg":"ES256","kid":"z4XMnGiZnFfUDNz12NeP0hY_pqCrzLKGYAOMT9PXLJg"}"#;
const ES384_HEADER: &str = r#"{"alg":"ES384","kid":"2_JE6UXOvT2Hwo2RjUqK1ByByd-_grX_mMBz1a5JFyI"}"#;

fn key(name: &str) -> String {
    format!("{}/testdata/token-keys/{name}.pem", env!("CARGO_MANIFEST_DIR"))
}

fn options(file: &str) -> Options {
    Options::parse([format!("--{}={file}", FLAG.name())]).unwrap()
}

fn with_key(name: &str) -> anyhow::Result<Option<JwtSigner>> {
    token_signer(&options(&key(name)))
}

fn sign(name: &str) -> String {
    with_key(name).unwrap().unwrap().sign(CLAIMS.as_bytes()).unwrap()
}

/// The public key of a private one, as ring takes it: at the end of what X.509 has of it.
fn public_key(name: &str, bytes: usize) -> Vec<u8> {
    let key = PrivateKeyDer::from_pem_file(key(name)).unwrap();
    let key = any_supported_type(&key).unwrap();
    let info = key.public_key().unwrap().to_vec();
    info[info.len() - bytes..].to_vec()
}

/// Whether the signature of a token was made with the key.
fn is_signed(token: &str, algorithm: &'static dyn VerificationAlgorithm, key: &[u8]) -> bool {
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).unwrap();
    UnparsedPublicKey::new(algorithm, key).verify(signed.as_bytes(), &signature).is_ok()
}

/// Card: RS256, kid, the order of the fields; PKCS #1 and PKCS #8.
#[test]
fn rsa_tokens_are_upstreams_bytes() {
    for name in ["rsa", "rsa-pkcs8"] {
        assert_eq!(sign(name), RS256, "{name}");
    }
    let key = public_key("rsa", 270);
    assert!(is_signed(&sign("rsa"), &RSA_PKCS1_2048_8192_SHA256, &key));
    assert!(!is_signed(&sign("rsa").replacen('.', ".x", 1), &RSA_PKCS1_2048_8192_SHA256, &key));
}

/// Card: ES256 and ES384, kid; SEC 1 behind its parameters, and PKCS #8.
#[test]
fn ecdsa_tokens_are_as_upstreams() {
    let algorithms: [(&str, &'static dyn VerificationAlgorithm, &str, usize); 3] = [
        ("p256", &ECDSA_P256_SHA256_FIXED, ES256_HEADER, 64),
        ("p256-pkcs8", &ECDSA_P256_SHA256_FIXED, ES256_HEADER, 64),
        ("p384", &ECDSA_P384_SHA384_FIXED, ES384_HEADER, 96),
    ];
    for (name, algorithm, header, bytes) in algorithms {
        let signer = with_key(name).unwrap().unwrap();
        let sign = || signer.sign(CLAIMS.as_bytes()).unwrap();
        let key = public_key(name, 1 + bytes);
        // Often enough that some numbers are short, and some have a zero in front.
        for _ in 0..100 {
            let token = sign();
            let parts: Vec<_> = token.split('.').collect();
            let decoded = |at: usize| BASE64_URL_SAFE_NO_PAD.decode(parts[at]).unwrap();
            assert_eq!(decoded(0), header.as_bytes(), "{name}");
            assert_eq!(decoded(1), CLAIMS.as_bytes(), "{name}");
            assert_eq!((parts.len(), decoded(2).len()), (3, bytes), "{name}");
            assert!(is_signed(&token, algorithm, &key), "{name}: {token}");
            assert!(!is_signed(&token.replacen('.', ".x", 1), algorithm, &key), "{name}");
        }
        assert_ne!(sign(), sign(), "{name}");
    }
}

#[test]
fn the_numbers_of_a_signature_are_padded() {
    for (der, bytes, expected) in [
        (&[0x30, 6, 2, 1, 1, 2, 1, 2][..], 2, Some(vec![0, 1, 0, 2])),
        (&[0x30, 8, 2, 3, 0, 0x80, 1, 2, 1, 2], 2, Some(vec![0x80, 1, 0, 2])),
        (&[0x30, 6, 2, 1, 0, 2, 1, 2], 1, Some(vec![0, 2])),
        (&[0x30, 7, 2, 2, 1, 1, 2, 1, 2], 1, None),
        (&[0x30, 6, 2, 1, 1, 2, 1, 2, 0], 2, None),
        (&[0x30, 7, 2, 1, 1, 2, 1, 2, 0], 2, None),
        (&[0x30, 6, 2, 1, 1, 3, 1, 2], 2, None),
        (&[0x30, 6, 2, 1, 1, 2, 2, 2], 2, None),
        (&[0x30, 0x80], 2, None),
        (&[0x30], 2, None),
        (&[], 2, None),
    ] {
        assert_eq!(halves(der, bytes), expected, "{der:02x?}");
    }
}

/// Card: without the flag there is no such controller.
#[test]
fn without_the_flag_nothing_is_read() {
    assert!(token_signer(&Options::parse([]).unwrap()).unwrap().is_none());
}

/// Upstream's error is that the data holds no valid RSA or ECDSA key, or that the type of the key
/// is unknown. Some keys it takes and ring does not.
#[test]
fn a_key_that_cannot_sign_is_named_and_not_shown() {
    let unfit = "its private key cannot sign tokens here, only RSA keys of 2048 to 4096 bits and \
                 ECDSA keys on P-256 or P-384 can";
    for (name, expected) in [("p521", unfit), ("rsa-1024", unfit), ("ed25519", unfit)] {
        let error = format!("{:#}", with_key(name).unwrap_err());
        assert_eq!(error, format!("--{} {}: {expected}", FLAG.name(), key(name)));
    }
    let rsa = std::fs::read_to_string(key("rsa")).unwrap();
    let public = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
    let secret = "AAECAwQFBgcICQoLDA0ODw";
    let broken = format!("-----BEGIN PRIVATE KEY-----\n{secret}!\n-----END PRIVATE KEY-----\n");
    let odd = format!("-----BEGIN PRIVATE KEY-----\n{secret}==\n-----END PRIVATE KEY-----\n");
    let none = "holds no private key (RSA PRIVATE KEY, EC PRIVATE KEY or PRIVATE KEY)";
    for (content, expected) in [
        ("", Some(none)),
        ("x", Some(none)),
        (public, Some(none)),
        (&*broken, Some("a section of it is not PEM")),
        (&*odd, Some(unfit)),
        (&*format!("# text\n{public}{rsa}{odd}"), None),
    ] {
        let place = std::env::temp_dir().join(format!("token-key-{}", std::process::id()));
        std::fs::write(&place, content).unwrap();
        let found = read(&place);
        std::fs::remove_file(&place).unwrap();
        let error = found.map(|_| ()).map_err(|error| format!("{error:#}"));
        assert_eq!(error, expected.map_or(Ok(()), |text| Err(text.to_owned())), "{content}");
    }
    let missing = token_signer(&options("/no/such/key"));
    let error = format!("{:#}", missing.unwrap_err());
    assert!(error.starts_with(&format!("--{} /no/such/key: No such file", FLAG.name())), "{error}");
    let shown = format!("{:?}", with_key("rsa").unwrap().unwrap());
    let body: String = rsa.lines().filter(|line| !line.starts_with('-')).collect();
    assert!(!shown.contains(&body[..20]), "{shown}");
}
