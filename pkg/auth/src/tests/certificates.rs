//! Client certificates. Rows name pkg/authentication/request/x509/x509_test.go or the card.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyUsagePurpose,
};
use rustls::pki_types::CertificateDer;

use super::issue::{Authority, Leaf};
use super::{TempFile, World, get, owner_of, run, settings};
use crate::{Error, Guard, Settings};

const UID: [u64; 8] = [1, 3, 6, 1, 4, 1, 57683, 2];

async fn guard(world: &World, authority: &Authority, name: &str) -> (Guard, TempFile) {
    let file = TempFile::new(name, &authority.pem);
    let settings = Settings { client_ca_file: Some(file.0.clone()), ..settings() };
    (world.guard(&settings).await.unwrap(), file)
}

/// manager.md, authentication: user = CN, groups = O; x509.go: uid and credential-id (1.36).
#[test]
fn a_certificate_names_user_groups_uid_and_itself() {
    run(async {
        let (world, authority) = (World::new(), Authority::new("ca"));
        let (guard, _file) = guard(&world, &authority, "names").await;
        let leaf = Leaf::client("alice")
            .with(DnType::OrganizationName, "system:masters")
            .with(DnType::CustomDnType(vec![2, 5, 4, 10]), "readers")
            .with(DnType::CustomDnType(UID.to_vec()), "42");
        let certificate = authority.issue(&leaf);
        let user = get("/metrics").showing(&certificate).of(&guard).await.unwrap();
        assert_eq!((&*user.name, &*user.uid), ("alice", "42"));
        assert_eq!(user.groups, ["system:masters", "readers", "system:authenticated"]);
        let digest = ring::digest::digest(&ring::digest::SHA256, &certificate);
        let hex = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>();
        let hex = hex.concat();
        let id = &user.extra["authentication.kubernetes.io/credential-id"];
        assert_eq!(*id, [format!("X509SHA256={hex}")]);
        assert_eq!(world.count("POST"), 0, "system:masters are not asked about");
    });
}

/// Go's pkix.Name: of several common names the last one is it.
#[test]
fn of_several_names_the_last_one_counts() {
    run(async {
        let (world, authority) = (World::new(), Authority::new("ca"));
        let (guard, _file) = guard(&world, &authority, "last").await;
        let leaf = Leaf::client("alice").with(DnType::CustomDnType(vec![2, 5, 4, 3]), "bob");
        let ask = get("/metrics").showing(&authority.issue(&leaf));
        assert_eq!(ask.name(&guard).await, "bob");
    });
}

/// x509.go: the remaining validity of a certificate is measured before it is verified.
#[test]
fn the_rest_of_a_certificates_life_is_measured_and_may_be_negative() {
    for (until, seconds) in [(2027, "3.1536e+07"), (2025, "-3.1536e+07")] {
        run(async {
            let (world, authority) = (World::new(), Authority::new("ca"));
            let (guard, _file) = guard(&world, &authority, "life").await;
            let leaf = Leaf { years: (2024, until), ..Leaf::client("alice") };
            let _ = get("/metrics").showing(&authority.issue(&leaf)).of(&guard).await;
            let line = format!("apiserver_client_certificate_expiration_seconds_sum {seconds}");
            let page = world.registry.page("").body;
            assert!(page.lines().any(|shown| shown == line), "{line}");
        });
    }
}

/// x509_test.go: an invalid certificate is an error, so it ends in 401 (union with FailOnError
/// before anonymous); a missing name is no error.
#[test]
fn a_certificate_that_proves_nothing_is_refused() {
    let client = Leaf::client("alice").with(DnType::OrganizationName, "system:masters");
    let usages = |usages: &[_]| Leaf { usages: usages.to_vec(), ..client.clone() };
    let uid = |value| client.clone().with(DnType::CustomDnType(UID.to_vec()), value);
    let server = ExtendedKeyUsagePurpose::ServerAuth;
    let both = [server.clone(), ExtendedKeyUsagePurpose::ClientAuth];
    let nameless = vec![(DnType::OrganizationName, "system:masters")];
    let rows = [
        ("a client's", client.clone(), 200),
        ("one for any usage", usages(&[]), 200),
        ("one for servers and clients", usages(&both), 200),
        ("one that says it is for any usage", usages(&[ExtendedKeyUsagePurpose::Any]), 200),
        ("a server's", usages(&[server]), 401),
        ("expired", Leaf { years: (2024, 2025), ..client.clone() }, 401),
        ("not yet valid", Leaf { years: (2027, 2028), ..client.clone() }, 401),
        ("an empty uid", uid(""), 401),
        ("a uid", uid("1"), 200),
        ("no common name: nobody", Leaf { subject: nameless, ..client.clone() }, 403),
    ];
    for (name, leaf, code) in rows {
        run(async {
            let (world, authority) = (World::new(), Authority::new("ca"));
            let (guard, _file) = guard(&world, &authority, "refused").await;
            let ask = get("/metrics").showing(&authority.issue(&leaf));
            assert_eq!(ask.code(&guard).await, code, "{name}");
            let histogram = "apiserver_client_certificate_expiration_seconds";
            assert_eq!(world.metric(histogram, ""), 1, "{name}");
        });
    }
}

#[test]
fn only_the_configured_authority_counts_also_through_intermediates() {
    run(async {
        let (world, authority) = (World::new(), Authority::new("ca"));
        let (guard, _file) = guard(&world, &authority, "chain").await;
        let leaf = Leaf::client("alice").with(DnType::OrganizationName, "system:masters");
        let impostor = Authority::new("ca");
        assert_eq!(get("/metrics").showing(&impostor.issue(&leaf)).code(&guard).await, 401);
        let middle = authority.below("middle");
        let mut ask = get("/metrics").showing(&middle.issue(&leaf));
        assert_eq!(ask.code(&guard).await, 401, "the client must show the intermediate");
        ask.chain.push(middle.der.clone());
        assert_eq!(ask.code(&guard).await, 200);
        let junk = CertificateDer::from(vec![0x30, 0x03, 0x02, 0x01, 0x01]);
        assert_eq!(get("/metrics").showing(&junk).code(&guard).await, 401);
    });
}

/// The content of a CA's certificate.
type Says = fn(&mut CertificateParams);

/// Go's crypto/x509, `CheckSignatureFrom` and `isValid` of a root and of the certificates below it.
#[test]
fn only_what_says_that_it_is_an_authority_signs_certificates() {
    let plain: Says = |_| {};
    let no_ca: Says = |params| params.is_ca = IsCa::NoCa;
    let explicitly_none: Says = |params| params.is_ca = IsCa::ExplicitNoCa;
    let signs: Says = |params| {
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    };
    let signs_no_certificates: Says = |params| {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::CrlSign];
    };
    let none_below: Says = |params| params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let one_below: Says = |params| params.is_ca = IsCa::Ca(BasicConstraints::Constrained(1));
    let servers: Says =
        |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let clients: Says =
        |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let anything: Says = |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any];
    let demands: Says = |params| {
        let mut demand = CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]);
        demand.set_criticality(true);
        params.custom_extensions = vec![demand];
    };
    let rows: [(&str, Says, Option<Says>, bool); 17] = [
        ("a CA", plain, None, true),
        ("no basic constraints", no_ca, None, false),
        ("basic constraints without CA", explicitly_none, None, false),
        ("keyCertSign", signs, None, true),
        ("a key usage without keyCertSign", signs_no_certificates, None, false),
        ("none may stand below it", none_below, None, true),
        ("for servers", servers, None, false),
        ("for clients", clients, None, true),
        ("for anything", anything, None, true),
        ("a critical extension that nobody knows", demands, None, false),
        ("none may stand below it, and one does", none_below, Some(plain), false),
        ("one may stand below it, and does", one_below, Some(plain), true),
        ("below: no basic constraints", plain, Some(no_ca), false),
        ("below: basic constraints without CA", plain, Some(explicitly_none), false),
        ("below: keyCertSign", plain, Some(signs), true),
        ("below: a key usage without keyCertSign", plain, Some(signs_no_certificates), false),
        ("below: for servers", plain, Some(servers), false),
    ];
    let leaf = Leaf::client("alice").with(DnType::OrganizationName, "system:masters");
    for (says, root, below, counts) in rows {
        run(async {
            let (world, root) = (World::new(), Authority::saying("root", root));
            let file = TempFile::new("signs", &root.pem);
            let middle = below.map(|below| root.below_saying("middle", below));
            let certificate = middle.as_ref().unwrap_or(&root).issue(&leaf);
            let mut ask = get("/metrics").showing(&certificate);
            ask.chain.extend(middle.map(|middle| middle.der));

            let users = Settings { client_ca_file: Some(file.0.clone()), ..settings() };
            let code = ask.code(&world.guard(&users).await.unwrap()).await;
            assert_eq!(code, if counts { 200 } else { 401 }, "{says}");

            let mut proxies = settings();
            proxies.request_header.client_ca_file = Some(file.0.clone());
            let guard = world.guard(&proxies).await.unwrap();
            let ask = ask.header("x-remote-user", "bob").header("x-remote-group", "system:masters");
            let code = ask.code(&guard).await;
            assert_eq!(code, if counts { 200 } else { 401 }, "a front proxy's: {says}");
        });
    }
}

/// `Verify` of Go's crypto/x509: a certificate in the pool needs no issuer.
#[test]
fn a_certificate_in_the_bundle_is_valid_but_is_no_ca() {
    run(async {
        let world = World::new();
        let alone = Authority::saying("alice", |params| {
            params.is_ca = IsCa::NoCa;
            params.distinguished_name.push(DnType::OrganizationName, "system:masters");
        });
        let (guard, _file) = guard(&world, &alone, "itself").await;
        assert_eq!(get("/metrics").showing(&alone.der).name(&guard).await, "alice");
        let signed = alone.issue(&Leaf::client("alice"));
        assert_eq!(get("/metrics").showing(&signed).code(&guard).await, 401);
        let server = Authority::saying("alice", |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        });
        let (guard, _file) = self::guard(&world, &server, "itself-server").await;
        assert_eq!(get("/metrics").showing(&server.der).code(&guard).await, 401);
        let old = Authority::valid("alice", (2020, 2025));
        let (guard, _file) = self::guard(&world, &old, "itself-old").await;
        assert_eq!(get("/metrics").showing(&old.der).code(&guard).await, 401);
    });
}

/// Go's verification also checks the CA's validity.
#[test]
fn an_expired_ca_verifies_no_certificate() {
    run(async {
        let (world, authority) = (World::new(), Authority::valid("ca", (2020, 2025)));
        let (guard, _file) = guard(&world, &authority, "expired").await;
        let ask = get("/metrics").showing(&authority.issue(&Leaf::client("alice")));
        assert_eq!(ask.code(&guard).await, 401);
    });
}

/// delegating.go: without an authority there is no x509 authenticator.
#[test]
fn without_an_authority_a_certificate_is_ignored() {
    run(async {
        let world = World::new();
        let guard = world.guard(&settings()).await.unwrap();
        let ask = get("/metrics").showing(&Authority::new("ca").issue(&Leaf::client("alice")));
        assert_eq!(ask.name(&guard).await, "system:anonymous");
    });
}

/// request/union: one set of valid credentials is enough, whatever is wrong with others.
#[test]
fn a_good_token_outweighs_a_bad_certificate() {
    run(async {
        let (world, authority) = (World::new(), Authority::new("ca"));
        world.api(|api| api.tokens.insert("good".to_owned(), owner_of("bob")));
        let (guard, _file) = guard(&world, &authority, "union").await;
        let unknown = Authority::new("other").issue(&Leaf::client("alice"));
        let ask = get("/metrics").showing(&unknown);
        assert_eq!(ask.clone().bearer("good").name(&guard).await, "bob");
        assert_eq!(ask.clone().bearer("bad").code(&guard).await, 401);
        let known = authority.issue(&Leaf::client("alice"));
        let ask = get("/metrics").showing(&known).bearer("good");
        assert_eq!(ask.name(&guard).await, "alice", "the certificate comes first");
    });
}

/// dynamic_cafile_content.go: read again every minute; a broken file changes nothing.
#[test]
fn a_changed_file_takes_effect_and_a_broken_one_does_not() {
    run(async {
        let (world, old, new) = (World::new(), Authority::new("old"), Authority::new("new"));
        let (guard, file) = guard(&world, &old, "reload").await;
        let masters = Leaf::client("alice").with(DnType::OrganizationName, "system:masters");
        let asks = [&old, &new].map(|ca| get("/metrics").showing(&ca.issue(&masters)));
        let rows = [
            (format!("{}{}", old.pem, new.pem), [200, 200]),
            ("-----BEGIN CERTIFICATE-----\nAAAA".to_owned(), [200, 200]),
            (String::new(), [200, 200]),
            (format!("some words\n{}", new.pem), [401, 200]),
        ];
        for (content, codes) in rows {
            std::fs::write(&file.0, &content).unwrap();
            world.runtime.clock.sleep(Duration::from_secs(61)).await;
            let got = [asks[0].code(&guard).await, asks[1].code(&guard).await];
            assert_eq!(got, codes, "{content}");
        }
    });
}

#[test]
fn a_file_that_cannot_be_used_is_named_with_its_flag() {
    run(async {
        let world = World::new();
        let file = TempFile::new("broken", "no certificate");
        let settings = Settings { client_ca_file: Some(file.0.clone()), ..settings() };
        let error = world.guard(&settings).await.unwrap_err();
        let path = file.0.display();
        assert_eq!(error.to_string(), format!("--client-ca-file {path}: holds no certificate"));
        let mut settings = super::settings();
        settings.request_header.client_ca_file = Some("/nowhere/ca.crt".into());
        let error = world.guard(&settings).await.unwrap_err();
        assert!(matches!(&error, Error::File { flag: "--requestheader-client-ca-file", .. }));
        assert!(error.to_string().contains("/nowhere/ca.crt: No such file"), "{error}");
    });
}
