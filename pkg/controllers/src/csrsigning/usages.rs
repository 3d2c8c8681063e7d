//! What the usages of a request mean in a certificate. As `keyUsagesFromStrings` of upstream's
//! `pkg/controller/certificates/authority/policies.go`.

use api::{Text, go};

/// The usages of a certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Usages {
    /// `keyUsage`: bit 0 is the most significant one.
    pub(super) key: u16,
    /// `extKeyUsage`: object identifiers, in the order of the table.
    pub(super) extended: Vec<&'static [u8]>,
}

/// What a usage sets.
enum Meaning {
    /// A bit of `keyUsage` (RFC 5280, section 4.2.1.3).
    Bit(u16),
    /// The row of [`EXTENDED`].
    Extended(usize),
}

/// The content of object identifiers, in the order of Go's `ExtKeyUsage`, by which they are sorted.
const EXTENDED: [&[u8]; 12] = [
    // anyExtendedKeyUsage
    &[0x55, 0x1d, 0x25, 0],
    // serverAuth
    &[0x2b, 6, 1, 5, 5, 7, 3, 1],
    // clientAuth
    &[0x2b, 6, 1, 5, 5, 7, 3, 2],
    // codeSigning
    &[0x2b, 6, 1, 5, 5, 7, 3, 3],
    // emailProtection
    &[0x2b, 6, 1, 5, 5, 7, 3, 4],
    // ipsecEndSystem, ipsecTunnel, ipsecUser
    &[0x2b, 6, 1, 5, 5, 7, 3, 5],
    &[0x2b, 6, 1, 5, 5, 7, 3, 6],
    &[0x2b, 6, 1, 5, 5, 7, 3, 7],
    // timeStamping
    &[0x2b, 6, 1, 5, 5, 7, 3, 8],
    // OCSPSigning
    &[0x2b, 6, 1, 5, 5, 7, 3, 9],
    // Microsoft's and Netscape's server gated cryptography
    &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 10, 3, 3],
    &[0x60, 0x86, 0x48, 1, 0x86, 0xf8, 0x42, 4, 1],
];

// === impl Usages ===

impl Usages {
    /// The error names the usages that are none.
    pub(super) fn of(usages: &[Text]) -> Result<Self, String> {
        let mut found = Self::default();
        let mut rows = std::collections::BTreeSet::new();
        let mut unknown = Vec::new();
        for usage in usages {
            match meaning(usage) {
                Some(Meaning::Bit(bit)) => found.key |= 0x8000 >> bit,
                Some(Meaning::Extended(row)) => {
                    rows.insert(row);
                }
                None => unknown.push(go::quote(&**usage)),
            }
        }
        if !unknown.is_empty() {
            return Err(format!("unrecognized usage values: [{}]", unknown.join(" ")));
        }
        found.extended = rows.into_iter().filter_map(|row| EXTENDED.get(row).copied()).collect();
        Ok(found)
    }
}

fn meaning(usage: &str) -> Option<Meaning> {
    Some(match usage {
        "signing" | "digital signature" => Meaning::Bit(0),
        "content commitment" => Meaning::Bit(1),
        "key encipherment" => Meaning::Bit(2),
        "data encipherment" => Meaning::Bit(3),
        "key agreement" => Meaning::Bit(4),
        "cert sign" => Meaning::Bit(5),
        "crl sign" => Meaning::Bit(6),
        "encipher only" => Meaning::Bit(7),
        "decipher only" => Meaning::Bit(8),
        "any" => Meaning::Extended(0),
        "server auth" => Meaning::Extended(1),
        "client auth" => Meaning::Extended(2),
        "code signing" => Meaning::Extended(3),
        "email protection" | "s/mime" => Meaning::Extended(4),
        "ipsec end system" => Meaning::Extended(5),
        "ipsec tunnel" => Meaning::Extended(6),
        "ipsec user" => Meaning::Extended(7),
        "timestamping" => Meaning::Extended(8),
        "ocsp signing" => Meaning::Extended(9),
        "microsoft sgc" => Meaning::Extended(10),
        "netscape sgc" => Meaning::Extended(11),
        _ => return None,
    })
}
