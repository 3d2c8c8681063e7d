//! What an election promises under all faults: which manager may write, how many lead, and for how
//! long none does.
//!
//! What is sent by a manager that has lost its lease counts when it is *sent*: how long the network
//! then keeps it is beyond what a manager can promise (decision 0008), and so is what a user does
//! to the Lease by hand until the leader has tried to renew it.
//!
//! Events of controllers are writes like all others, and pass the same fence. The Events of the
//! election itself do not: the former leader reports that it no longer leads.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::Resource;
use manager::debug::{Role, Source};
use sandbox::Server;
use serde_json::Value;

use crate::oracle::{Broken, Check, broken};

const LEASES: Resource = Resource::namespaced("coordination.k8s.io", "v1", "leases", "Lease");
/// The one that is contended for.
const NAME: &str = "kube-controller-manager";
/// How long after its last renewal was sent a leader may send a write.
pub(crate) const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How long a healthy manager may take to lead: the lease of the former leader, two tries that fail
/// with the pauses between them, and a start.
const TAKEOVER: Duration = Duration::from_secs(45);
/// How long a former leader may take to end: the deadline for the release and what was under way.
const END: Duration = Duration::from_secs(45);

/// The managers of a run that contend, and their Lease.
#[derive(Default)]
pub(crate) struct Contest {
    lives: BTreeMap<String, Lived>,
    /// What the Lease says at the server.
    holder: Option<String>,
    duration: Duration,
    revision: u64,
    /// When a client that is no manager changed it.
    edited: Option<Duration>,
    /// When there was a leader last.
    led: Duration,
    pub(crate) broken: Vec<Broken>,
}

/// A life that contends.
struct Lived {
    /// What it reports of itself.
    source: Arc<dyn Source>,
    /// What it calls itself in the Lease, once it has written that.
    identity: Option<String>,
    /// When the last write of the Lease was sent that was done.
    renewed: Option<Duration>,
    /// Until when something went wrong that can keep it from leading, or from ending.
    trouble: Duration,
    /// Whether it has led, and does no more: since when.
    over: Option<Duration>,
    has_led: bool,
}

/// A request of a manager, as far as that counts here.
pub(crate) struct Sent<'a> {
    pub(crate) life: &'a str,
    pub(crate) account: &'a str,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) at: Duration,
}

fn holder(lease: &Value) -> &str {
    lease.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default()
}

fn is_lease(object: &Value) -> bool {
    object.pointer("/metadata/name").is_some_and(|name| name == NAME)
}

// === impl Sent ===

impl fmt::Display for Sent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { life, account, method, path, .. } = self;
        write!(f, "{life} {account} {method} {path}")
    }
}

impl Sent<'_> {
    /// Whether only the leader may send it.
    fn is_leaders(&self) -> bool {
        let is_of_election = self.account == "leader-election"
            || (self.account == NAME && self.path.contains("/events"));
        self.method != "GET" && !is_of_election && !self.path.contains("reviews")
    }
}

// === impl Contest ===

impl Contest {
    pub(crate) fn join(&mut self, life: &str, source: Arc<dyn Source>, at: Duration) {
        let lived = Lived {
            source,
            identity: None,
            renewed: None,
            trouble: at,
            over: None,
            has_led: false,
        };
        self.lives.insert(life.to_owned(), lived);
    }

    pub(crate) fn leave(&mut self, life: &str) {
        self.lives.remove(life);
    }

    /// A life has faults until then.
    pub(crate) fn trouble(&mut self, life: &str, until: Duration) {
        if let Some(lived) = self.lives.get_mut(life) {
            lived.trouble = lived.trouble.max(until);
        }
    }

    /// The same with all of them.
    pub(crate) fn trouble_all(&mut self, until: Duration) {
        self.lives.values_mut().for_each(|lived| lived.trouble = lived.trouble.max(until));
    }

    /// Takes in what the Lease says, after a write of a manager or of another client.
    pub(crate) fn look(&mut self, server: &Server, by_manager: bool, now: Duration) {
        let changes = server.changes_since(self.revision, std::slice::from_ref(&LEASES));
        let Ok((changes, revision)) = changes else {
            self.revision = 0;
            return;
        };
        self.revision = revision;
        for (_, change) in changes.iter().filter(|(_, it)| is_lease(&it.object)) {
            let spec = |it| change.object.pointer(&format!("/spec/{it}"));
            let seconds = spec("leaseDurationSeconds").and_then(Value::as_u64);
            self.holder = (!change.gone).then(|| holder(&change.object).to_owned());
            self.duration = Duration::from_secs(seconds.unwrap_or(0));
            if !by_manager {
                self.edited = Some(now);
                // No manager may lead for as long as the record asks for.
                self.trouble_all(now + self.duration);
            }
        }
    }

    /// A write of the Lease was done, which a life had sent with this body.
    pub(crate) fn renewed(&mut self, life: &str, body: &Value, sent: Duration) {
        let Some(lived) = self.lives.get_mut(life) else { return };
        let name = holder(body);
        if !name.is_empty() {
            lived.identity = Some(name.to_owned());
            lived.renewed = lived.renewed.max(Some(sent));
        }
    }

    /// Whether a user has changed the Lease by hand, and no leader need know yet.
    fn is_edited(&self, now: Duration) -> bool {
        self.edited.is_some_and(|at| now < at + RENEW_DEADLINE)
    }

    /// Judges what is sent at this moment.
    pub(crate) fn sent(&mut self, it: &Sent<'_>) {
        let broken = broken(|check| match check {
            Check::Sent(check) => check(self, it),
            _ => None,
        });
        self.broken.extend(broken);
    }

    /// The sender of what only the leader may send, if it contends.
    fn sender(&self, it: &Sent<'_>) -> Option<&Lived> {
        self.lives.get(it.life).filter(|_| it.is_leaders())
    }

    /// Only the holder of the Lease sends anything.
    pub(crate) fn without_lease(&self, it: &Sent<'_>) -> Option<String> {
        let lived = self.sender(it)?;
        let is_another = lived.identity != self.holder && !self.is_edited(it.at);
        let holder = self.holder.as_deref().unwrap_or("no manager");
        is_another.then(|| format!("{it}: the lease is held by {holder:?}"))
    }

    /// Nothing is sent later than the deadline after the last renewal was.
    pub(crate) fn past_deadline(&self, it: &Sent<'_>) -> Option<String> {
        let renewed = self.sender(it)?.renewed;
        let age = renewed.map(|renewed| it.at.saturating_sub(renewed));
        let is_late = age.is_none_or(|age| age >= RENEW_DEADLINE);
        is_late.then(|| format!("{it}: the last renewal was sent {age:?} ago"))
    }

    /// The lives that lead, as far as they know.
    pub(crate) fn leaders(&self) -> Vec<&str> {
        let leads = |lived: &Lived| lived.source.leadership().role == Role::Leader;
        let leaders = self.lives.iter().filter(|(_, lived)| leads(lived));
        leaders.map(|(name, _)| name.as_str()).collect()
    }

    /// Judges the present. To be called often.
    pub(crate) fn judge(&mut self, now: Duration) {
        let leaders: Vec<_> = self.leaders().into_iter().map(ToOwned::to_owned).collect();
        if !leaders.is_empty() {
            self.led = now;
        }
        for (name, lived) in &mut self.lives {
            lived.has_led |= leaders.contains(name);
            if !lived.has_led || leaders.contains(name) {
                lived.over = None;
            } else {
                lived.over.get_or_insert(now);
            }
        }
        let broken = broken(|check| match check {
            Check::Contended(check) => check(self, now),
            _ => None,
        });
        self.broken.extend(broken);
    }

    /// One leads at a time.
    pub(crate) fn many_lead(&self, now: Duration) -> Option<String> {
        let leaders = self.leaders();
        (leaders.len() > 1 && !self.is_edited(now))
            .then(|| format!("{} lead", leaders.join(" and ")))
    }

    /// A former leader ends.
    pub(crate) fn goes_on(&self, now: Duration) -> Option<String> {
        self.lives.iter().find_map(|(name, lived)| {
            let over = lived.over?;
            (now > over.max(lived.trouble) + END)
                .then(|| format!("{name} leads no longer since {over:?}, and continues"))
        })
    }

    /// If a manager can lead one does.
    pub(crate) fn no_manager_leads(&self, now: Duration) -> Option<String> {
        let well = |(_, lived): &(_, &Lived)| now > lived.trouble.max(self.led) + TAKEOVER;
        let (name, Lived { trouble, .. }) = self.lives.iter().find(well)?;
        let (led, holder) = (self.led, &self.holder);
        Some(format!(
            "no manager leads since {led:?}, and {name} is well since {trouble:?}; the lease is \
             held by {holder:?}"
        ))
    }

    /// What an election still lacks when the faults have stopped.
    pub(crate) fn lacks(&self) -> Option<String> {
        if self.lives.is_empty() {
            return None;
        }
        let leaders = self.leaders();
        let [leader] = leaders[..] else { return Some(format!("{leaders:?} lead")) };
        let identity = self.lives.get(leader).and_then(|lived| lived.identity.as_ref());
        let is_held = identity == self.holder.as_ref();
        (!is_held).then(|| format!("{leader} leads, the lease is held by {:?}", self.holder))
    }
}
