//! The negotiated form of /flagz or /statusz.
//!
//! As apiserver/pkg/endpoints/handlers/negotiation and its parser goautoneg, with the restrictions
//! of apiserver/pkg/server/{flagz,statusz}/negotiate.

use http::header::{ACCEPT, USER_AGENT};
use http::{HeaderMap, Uri};

use crate::chain::pairs;

/// How many alternatives of a header `Accept` are parsed. Upstream parses all.
const CLAUSES_MAX: usize = 32;

/// The group of both structured pages.
pub(crate) const GROUP: &str = "config.k8s.io";

/// The forms of both pages, in upstream's order.
const OFFERS: [(&str, &str, Offer); 4] = [
    ("application", "json", Offer::Json),
    ("application", "yaml", Offer::Yaml),
    ("text", "plain", Offer::Text),
    ("application", "cbor", Offer::Cbor),
];

/// The first of [`OFFERS`], this many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offers(usize);

/// The form of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// For programs.
    Object(Version, Encoding),
}

/// The versions of the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Version {
    V1Alpha1,
    V1Beta1,
}

/// How an object is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    /// With line breaks.
    JsonPretty,
    Yaml,
    Cbor,
}

#[derive(Clone, Copy)]
enum Offer {
    Json,
    Yaml,
    Text,
    Cbor,
}

/// One alternative of a header `Accept`.
struct Clause<'a> {
    media: &'a str,
    subtype: &'a str,
    quality: f64,
    pretty: bool,
    /// The requested conversion of the object.
    target: Option<Target<'a>>,
    /// It asks for a stream or for a version of the server, which are not supported.
    beyond: bool,
}

#[derive(Default)]
struct Target<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
}

/// The form of the page `kind`, or the form of the error if there is none.
pub(crate) fn negotiate(
    headers: &HeaderMap,
    uri: &Uri,
    kind: &str,
    offers: Offers,
) -> Result<Form, Encoding> {
    let accept = headers.get(ACCEPT).map_or("", |value| value.to_str().unwrap_or(","));
    if accept.trim().is_empty() {
        return Ok(Form::Text);
    }
    let pretty = is_pretty(headers, uri);
    let clauses = clauses(accept);
    let form = |clause: &Clause<'_>, offer| clause.form(offer, kind, pretty);
    if let Some(form) = offers.first(&clauses, form) {
        return Ok(form);
    }
    let refusal = |clause: &Clause<'_>, offer| clause.encoding(offer, pretty);
    Err(offers.first(&clauses, refusal).unwrap_or(Encoding::JsonPretty))
}

/// The clauses of a header, best first. Broken ones are skipped.
fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> =
        accept.split(',').take(CLAUSES_MAX).filter_map(Clause::parse).collect();
    // Upstream's order is not a strict one, so only the same algorithm gives the same result: Go
    // sorts few elements by insertion.
    for end in 1..clauses.len() {
        for at in (1..=end).rev() {
            if !clauses[at].before(&clauses[at - 1]) {
                break;
            }
            clauses.swap(at, at - 1);
        }
    }
    clauses
}

/// As `isPrettyPrint`: requested in the query, or the client is an interactive one.
fn is_pretty(headers: &HeaderMap, uri: &Uri) -> bool {
    let asked = pairs(uri).into_iter().find(|(key, _)| key == "pretty").map(|(_, value)| value);
    if let Some(value) = asked.filter(|value| !value.is_empty()) {
        return ["1", "t", "T", "true", "TRUE", "True"].contains(&value.as_str());
    }
    let agent = headers.get(USER_AGENT).map_or(&b""[..], |agent| agent.as_bytes());
    ["curl", "Wget", "Mozilla/5.0"].iter().any(|name| agent.starts_with(name.as_bytes()))
}

// === impl Offers ===

impl Offers {
    pub(crate) const ALL: Self = Self(OFFERS.len());
    pub(crate) const WITHOUT_CBOR: Self = Self(OFFERS.len() - 1);

    /// Their media types, as upstream lists them.
    pub(crate) fn names(self) -> String {
        let offers = OFFERS.iter().take(self.0);
        let names: Vec<_> =
            offers.map(|(media, subtype, _)| format!("{media}/{subtype}")).collect();
        names.join(", ")
    }

    /// The first matching clause and offer for which `takes` returns something.
    fn first<T>(
        self,
        clauses: &[Clause<'_>],
        takes: impl Fn(&Clause<'_>, Offer) -> Option<T>,
    ) -> Option<T> {
        clauses.iter().find_map(|clause| {
            let offers = OFFERS.iter().take(self.0);
            let fitting = offers.filter(|(media, subtype, _)| clause.fits(media, subtype));
            fitting.map(|(_, _, offer)| *offer).find_map(|offer| takes(clause, offer))
        })
    }
}

// === impl Version ===

impl Version {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::V1Alpha1 => "v1alpha1",
            Self::V1Beta1 => "v1beta1",
        }
    }
}

// === impl Clause ===

impl<'a> Clause<'a> {
    /// As `ParseAccept` of goautoneg, for one clause. None: it has no media type.
    fn parse(clause: &'a str) -> Option<Self> {
        let spaces = |text: &'a str| text.trim_matches(' ');
        let mut parts = clause.split(';');
        let name = parts.next()?;
        let (media, subtype) = name.split_once('/').unwrap_or((name, ""));
        let (media, subtype) = match (spaces(media), subtype) {
            ("*", "") => ("*", "*"),
            (media, subtype) => (media, spaces(subtype)),
        };
        if subtype.is_empty() {
            return None;
        }
        let (pretty, beyond, target) = (false, false, None);
        let mut parsed = Self { media, subtype, quality: 1.0, pretty, target, beyond };
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            if !value.is_empty() && !value.contains('=') {
                parsed.set(spaces(key), value);
            }
        }
        Some(parsed)
    }

    /// As `acceptMediaTypeOptions`. Unknown parameters are ignored.
    fn set(&mut self, key: &str, raw: &'a str) {
        let value = raw.trim_matches(' ');
        match key {
            "q" => self.quality = raw.parse().unwrap_or(0.0),
            "as" => self.target.get_or_insert_default().kind = value,
            "g" => self.target.get_or_insert_default().group = value,
            "v" => self.target.get_or_insert_default().version = value,
            "pretty" => self.pretty = value == "1",
            "stream" | "sv" => self.beyond |= !value.is_empty(),
            _ => {}
        }
    }

    /// As `acceptSlice.Less`.
    fn before(&self, other: &Self) -> bool {
        self.quality > other.quality
            || self.media != "*" && other.media == "*"
            || self.subtype != "*" && other.subtype == "*"
    }

    fn fits(&self, media: &str, subtype: &str) -> bool {
        let any_subtype = self.subtype == "*" && (self.media == media || self.media == "*");
        any_subtype || self.media == media && self.subtype == subtype
    }

    /// The form of an offer of the page `kind` for this clause.
    fn form(&self, offer: Offer, kind: &str, pretty: bool) -> Option<Form> {
        match (offer, &self.target) {
            _ if self.beyond => None,
            (Offer::Text, None) => Some(Form::Text),
            (Offer::Text, Some(_)) | (Offer::Json | Offer::Yaml | Offer::Cbor, None) => None,
            (Offer::Json | Offer::Yaml | Offer::Cbor, Some(target)) => {
                let version = target.version_of(kind)?;
                Some(Form::Object(version, self.written(offer, pretty)?))
            }
        }
    }

    /// The encoding of the error for this clause.
    fn encoding(&self, offer: Offer, pretty: bool) -> Option<Encoding> {
        if self.beyond || self.target.is_some() {
            return None;
        }
        self.written(offer, pretty)
    }

    fn written(&self, offer: Offer, pretty: bool) -> Option<Encoding> {
        match offer {
            Offer::Json if pretty || self.pretty => Some(Encoding::JsonPretty),
            Offer::Json => Some(Encoding::Json),
            Offer::Yaml => Some(Encoding::Yaml),
            Offer::Cbor => Some(Encoding::Cbor),
            Offer::Text => None,
        }
    }
}

// === impl Target ===

impl Target<'_> {
    fn version_of(&self, kind: &str) -> Option<Version> {
        let versions = [Version::V1Alpha1, Version::V1Beta1];
        let version = versions.into_iter().find(|version| version.as_str() == self.version);
        version.filter(|_| self.group == GROUP && self.kind == kind)
    }
}
