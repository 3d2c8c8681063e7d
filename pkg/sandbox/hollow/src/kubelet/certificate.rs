//! The certificates of a kubelet that joins: it asks for one, waits for it, checks and renews it.
//!
//! As client-go's util/certificate: each request has a new key, and a request that came to nothing
//! is followed by another one.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use api::{Key, Time};
use serde_json::{Value, json};

use crate::fields::{condition, text};
use crate::kinds::{CSRS, target};
use crate::seed::Seed;
use crate::{Request, Sender, Sent};

/// How long it waits for a certificate before it asks for another one (`certificateWaitTimeout`).
const WAIT: Duration = Duration::from_mins(15);
/// When it asks again after a request that came to nothing.
const RETRY: Duration = Duration::from_secs(2);
const RETRY_MAX: Duration = Duration::from_secs(32);

/// Makes keys and signs with them: what takes cryptography, which this crate has none of. Equal
/// arguments give equal results.
pub trait Keys: Send + Sync {
    /// A request for a certificate, as `spec.request` has it, signed with the key that belongs to
    /// this seed.
    fn request(&self, seed: &str, wanted: &Wanted) -> String;

    /// From when until when a certificate is valid, as `status.certificate` has it. None: it is not
    /// for the key of this seed, or cannot be read.
    fn validity(&self, seed: &str, certificate: &str) -> Option<(Time, Time)>;
}

/// What a certificate is to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The common name.
    pub common_name: String,
    /// The organization.
    pub organization: String,
    /// Its DNS names.
    pub dns_names: Vec<String>,
    /// Its IP addresses.
    pub addresses: Vec<String>,
}

/// What a kubelet has that joins by a bootstrap token.
pub(crate) struct Papers {
    /// The id of the token.
    token: String,
    keys: Arc<dyn Keys>,
    client: Certificate,
    serving: Certificate,
}

/// What a certificate is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// It is shown to the API server.
    Client,
    /// It is shown to clients of the kubelet.
    Serving,
}

/// A certificate, or the wish for one.
struct Certificate {
    purpose: Purpose,
    waiting: Option<Waiting>,
    /// When it asks for the next one, unless it waits for one; none: as soon as it may.
    due: Option<Time>,
    /// How many keys were made.
    keys_made: u32,
    /// How often it asked in vain since the last certificate.
    failures: u32,
    /// Whether it has one.
    is_there: bool,
}

/// A request that was sent.
struct Waiting {
    /// What its key belongs to.
    seed: String,
    /// `spec.request`
    request: String,
    /// When it was sent last, and how often.
    sent: Option<(Time, u32)>,
    /// When it is given up.
    until: Time,
    /// The CertificateSigningRequest as it was last shown.
    object: Option<Arc<Value>>,
}

/// What has become of a request.
enum Fate {
    Open,
    Lost,
    Issued(Time, Time),
}

/// The kubelet that asks.
pub(crate) struct Holder<'a> {
    pub(crate) name: &'a str,
    pub(crate) address: &'a str,
    pub(crate) seed: Seed,
}

// === impl Papers ===

impl Papers {
    /// Without any certificate.
    pub(crate) fn new(token: &str, keys: Arc<dyn Keys>) -> Self {
        Self {
            token: token.to_owned(),
            keys,
            client: Certificate::new(Purpose::Client),
            serving: Certificate::new(Purpose::Serving),
        }
    }

    /// Whether the API server knows the kubelet by a certificate.
    pub(crate) fn are_there(&self) -> bool {
        self.client.is_there
    }

    /// The kubelet starts again: certificates are kept, and what it waited for is forgotten.
    pub(crate) fn restart(&mut self) {
        for certificate in [&mut self.client, &mut self.serving] {
            if certificate.waiting.take().is_some() {
                certificate.due = None;
            }
        }
    }

    /// Takes a CertificateSigningRequest as it is now; none: it is deleted. False: it is not one of
    /// these.
    pub(crate) fn show(&mut self, request: &str, object: Option<&Arc<Value>>, now: Time) -> bool {
        for certificate in [&mut self.client, &mut self.serving] {
            let Some(waiting) = &mut certificate.waiting else { continue };
            if waiting.request != request {
                continue;
            }
            match object {
                Some(object) => waiting.object = Some(Arc::clone(object)),
                None => certificate.fail(now),
            }
            return true;
        }
        false
    }

    /// What to send now, and when to be asked again.
    pub(crate) fn ask(
        &mut self,
        holder: &Holder<'_>,
        is_registered: bool,
        now: Time,
    ) -> (Vec<Sent>, Option<Time>) {
        let node = Sender::Node(holder.name.to_owned());
        let by =
            if self.client.is_there { node.clone() } else { Sender::Bootstrap(self.token.clone()) };
        let (request, again) = self.client.ask(holder, &*self.keys, now);
        let mut sent: Vec<Sent> = request.map(|request| Sent { by, request }).into_iter().collect();
        if !is_registered {
            return (sent, again);
        }
        let (request, later) = self.serving.ask(holder, &*self.keys, now);
        sent.extend(request.map(|request| Sent { by: node, request }));
        (sent, again.into_iter().chain(later).min())
    }
}

// === impl Certificate ===

impl Certificate {
    fn new(purpose: Purpose) -> Self {
        let (waiting, due, keys_made, failures) = (None, None, 0, 0);
        Self { purpose, waiting, due, keys_made, failures, is_there: false }
    }

    fn ask(
        &mut self,
        holder: &Holder<'_>,
        keys: &dyn Keys,
        now: Time,
    ) -> (Option<Request>, Option<Time>) {
        let fate = self.waiting.as_ref().map(|waiting| waiting.fate(keys, now));
        match fate {
            Some(Fate::Lost) => self.fail(now),
            Some(Fate::Issued(from, until)) => self.take(holder, from, until, now),
            Some(Fate::Open) | None => {}
        }
        let due = *self.due.get_or_insert(now + self.purpose.delay());
        if self.waiting.is_none() && due > now {
            return (None, Some(due));
        }
        let waiting = self.waiting.get_or_insert_with(|| {
            self.keys_made += 1;
            let words = [self.purpose.place(), holder.name, &self.keys_made.to_string()];
            let seed = holder.seed.digest(&words);
            let request = keys.request(&seed, &self.purpose.wanted(holder));
            Waiting { seed, request, sent: None, until: now + WAIT, object: None }
        });
        let (is_sent, again) = waiting.send(now);
        let request = is_sent.then(|| self.purpose.object(&waiting.request));
        (request, Some(again))
    }

    /// The request came to nothing.
    fn fail(&mut self, now: Time) {
        let retry = RETRY * 2_u32.saturating_pow(self.failures.min(10));
        self.failures += 1;
        self.due = Some(now + retry.min(RETRY_MAX));
        self.waiting = None;
    }

    /// It has a certificate now, and asks for the next one after 70% to 90% of its time
    /// (`jitteryDuration`).
    fn take(&mut self, holder: &Holder<'_>, from: Time, until: Time, now: Time) {
        let whole = until.since(from);
        let words = [self.purpose.place(), "renewal", holder.name, &self.keys_made.to_string()];
        let jitter = holder.seed.jitter(&words, whole / 5);
        // One of an authority that is about to end may be old from its first moment.
        self.due = Some((from + whole / 10 * 7 + jitter).max(now + RETRY));
        (self.waiting, self.failures, self.is_there) = (None, 0, true);
    }
}

// === impl Waiting ===

impl Waiting {
    /// As client-go's `WaitForCertificate`.
    fn fate(&self, keys: &dyn Keys, now: Time) -> Fate {
        let certificate = self.object.as_deref().and_then(|object| {
            let refused = ["Denied", "Failed"].iter().any(|it| condition(object, it).is_some());
            let approved = condition(object, "Approved").is_some();
            match text(object, "/status/certificate") {
                _ if refused => Some(None),
                "" => None,
                certificate => approved.then(|| keys.validity(&self.seed, certificate)),
            }
        });
        match certificate {
            Some(Some((from, until))) => Fate::Issued(from, until),
            Some(None) => Fate::Lost,
            None if self.until <= now => Fate::Lost,
            None => Fate::Open,
        }
    }

    /// Whether to send it now, and when to look again. It is sent until it is shown.
    fn send(&mut self, now: Time) -> (bool, Time) {
        if self.object.is_some() {
            return (false, self.until);
        }
        let next = |(time, tries): (Time, u32)| {
            time + (RETRY * 2_u32.saturating_pow(tries - 1)).min(RETRY_MAX)
        };
        if let Some(next) = self.sent.map(next).filter(|next| *next > now) {
            return (false, next.min(self.until));
        }
        let sent = (now, self.sent.map_or(1, |(_, tries)| tries + 1));
        self.sent = Some(sent);
        (true, next(sent).min(self.until))
    }
}

// === impl Purpose ===

impl Purpose {
    /// How long after it may it asks: the kubelet looks each second whether it knows its addresses.
    fn delay(self) -> Duration {
        match self {
            Self::Client => Duration::ZERO,
            Self::Serving => Duration::from_secs(1),
        }
    }

    /// How the kubelet names the store of the certificate.
    fn place(self) -> &'static str {
        match self {
            Self::Client => "kubelet-client",
            Self::Serving => "kubelet-server",
        }
    }

    fn wanted(self, holder: &Holder<'_>) -> Wanted {
        let subject = Wanted {
            common_name: format!("system:node:{}", holder.name),
            organization: "system:nodes".to_owned(),
            ..Wanted::default()
        };
        match self {
            Self::Client => subject,
            Self::Serving => Wanted {
                dns_names: vec![holder.name.to_owned()],
                addresses: vec![holder.address.to_owned()],
                ..subject
            },
        }
    }

    /// The keys are none of RSA, so `key encipherment` is not among the usages.
    fn object(self, request: &str) -> Request {
        let (signer, usage) = match self {
            Self::Client => ("kubernetes.io/kube-apiserver-client-kubelet", "client auth"),
            Self::Serving => ("kubernetes.io/kubelet-serving", "server auth"),
        };
        let object = json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": { "generateName": "csr-" },
            "spec": {
                "request": request,
                "signerName": signer,
                "usages": ["digital signature", usage],
            },
        });
        Request::Create(target(&CSRS, &Key::new("", ""), ""), object)
    }
}
