//! The referee of a contest for a Lease: from the audit log alone, which user held the Lease when,
//! and which one wrote although another could have held it.

use crate::audit::{Claim, Purpose, Write};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};

/// All that the contenders wrote.
#[derive(Debug, Default)]
pub struct Contest {
    writes: Vec<Write>,
    /// By the version of the Lease: the log has them in the order of the responses.
    claims: BTreeMap<u64, Claimed>,
    /// The users that wrote what only the leader may write.
    workers: BTreeSet<String>,
}

/// A claim, its user and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The name of the user.
    pub user: String,
    /// When the API server had it.
    pub received: Timestamp,
    /// What the Lease said from then on.
    pub claim: Claim,
}

/// What was done to a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// SIGKILL.
    Kill,
    /// SIGTERM.
    Term,
    /// SIGSTOP, and SIGCONT some time later.
    Stop,
}

/// A fault, and its target.
#[derive(Debug, Clone)]
pub struct Done {
    /// Just before the signal was sent.
    pub at: Timestamp,
    /// The signal.
    pub fault: Fault,
    /// The name of the user.
    pub victim: String,
}

/// What the referee has found.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Writes for the leader only that arrived while the user did not hold the Lease.
    pub outside: Vec<Write>,
    /// Claims that were accepted before the time of another holder was over.
    pub early: Vec<Claimed>,
    /// Sums, by user.
    pub counts: BTreeMap<String, Counts>,
}

/// What one user has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often the Lease became its own.
    pub elected: usize,
    /// Writes for the leader only, wherever they were.
    pub work: usize,
    /// Events.
    pub events: usize,
    /// Events that arrived while the user did not hold the Lease: the report of the end comes after
    /// it.
    pub events_outside: usize,
}

/// The Lease went from one user to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Takeover {
    /// The last fault of the one who lost it; none: it was lost for no reason of ours.
    pub fault: Option<Fault>,
    /// The former holder.
    pub from: String,
    /// The new holder.
    pub to: String,
    /// From the fault to the arrival of the claim.
    pub since_fault: Option<SignedDuration>,
    /// From the arrival of the last claim of the one who lost it to that of the new one.
    pub since_renewal: SignedDuration,
}

/// A time in which one user certainly holds the Lease: it begins with the arrival of a claim, and
/// ends the claimed duration after the arrival of the last, or with the next accepted claim of
/// another user, or with its release.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reign {
    from: Timestamp,
    until: Timestamp,
}

// === impl Contest ===

impl Contest {
    /// Takes in what was written, in any order.
    pub fn add(&mut self, writes: impl IntoIterator<Item = Write>) {
        for write in writes {
            if let Purpose::Election(Some(claim)) = &write.purpose {
                let (user, received, claim) = (write.user.clone(), write.received, claim.clone());
                self.claims.insert(claim.version, Claimed { user, received, claim });
            }
            if write.purpose == Purpose::Work && !self.workers.contains(&write.user) {
                self.workers.insert(write.user.clone());
            }
            self.writes.push(write);
        }
    }

    /// Whether this user has written anything that only the leader may write.
    pub fn has_worked(&self, user: &str) -> bool {
        self.workers.contains(user)
    }

    /// The user whose name the Lease has had since before `now`, with the time not yet over.
    pub fn holder(&self, now: Timestamp) -> Option<&str> {
        let last = self.claims.values().next_back()?;
        last.holds(now).then_some(last.user.as_str())
    }

    /// All accepted claims, in order.
    pub fn claims(&self) -> impl Iterator<Item = &Claimed> {
        self.claims.values()
    }

    /// Judges everything seen so far.
    pub fn judge(&self) -> Verdict {
        let mut verdict = Verdict::default();
        let reigns = self.reigns(&mut verdict);
        for write in &self.writes {
            let counts = verdict.counts.entry(write.user.clone()).or_default();
            let reigning = reigns.get(&write.user).is_some_and(|reigns| {
                reigns
                    .iter()
                    .any(|reign| reign.from <= write.received && write.received < reign.until)
            });
            match write.purpose {
                Purpose::Election(_) => {}
                Purpose::Event => {
                    counts.events += 1;
                    counts.events_outside += usize::from(!reigning);
                }
                Purpose::Work => {
                    counts.work += 1;
                    if !reigning {
                        verdict.outside.push(write.clone());
                    }
                }
            }
        }
        verdict
    }

    /// Each passing of the Lease to another user, in order.
    pub fn takeovers(&self, faults: &[Done]) -> Vec<Takeover> {
        let mut takeovers = Vec::new();
        let mut held: Option<(Timestamp, &Claimed)> = None;
        let mut renewed = None;
        for claimed in self.claims.values() {
            if claimed.claim.holder.is_empty() {
                continue;
            }
            let before = held.filter(|(_, last)| last.user == claimed.user);
            if let (Some((since, last)), None) = (held, before) {
                let done = faults
                    .iter()
                    .rfind(|done| done.victim == last.user && done.at < claimed.received)
                    .filter(|done| done.at >= since);
                takeovers.push(Takeover {
                    fault: done.map(|done| done.fault),
                    from: last.user.clone(),
                    to: claimed.user.clone(),
                    since_fault: done.map(|done| claimed.received.duration_since(done.at)),
                    since_renewal: claimed
                        .received
                        .duration_since(renewed.unwrap_or(last.received)),
                });
            }
            held = Some((before.map_or(claimed.received, |(since, _)| since), claimed));
            renewed = Some(claimed.received);
        }
        takeovers
    }

    /// The holders of the Lease over time; claims that came too early, and elections, are added to
    /// the verdict.
    fn reigns(&self, verdict: &mut Verdict) -> BTreeMap<String, Vec<Reign>> {
        let mut reigns: BTreeMap<String, Vec<Reign>> = BTreeMap::new();
        let mut last: Option<&Claimed> = None;
        for claimed in self.claims.values() {
            let at = claimed.received;
            let same = last.is_some_and(|last| last.user == claimed.user && last.holds(at));
            if let Some(last) = last.filter(|last| last.user != claimed.user && last.holds(at)) {
                verdict.early.push(claimed.clone());
                cut(&mut reigns, &last.user, at);
            }
            let own = reigns.entry(claimed.user.clone()).or_default();
            match own.last_mut() {
                Some(reign) if same => reign.until = claimed.until(),
                _ => {
                    own.push(Reign { from: at, until: claimed.until() });
                    let counts = verdict.counts.entry(claimed.user.clone()).or_default();
                    counts.elected += usize::from(!claimed.claim.holder.is_empty());
                }
            }
            last = Some(claimed);
        }
        reigns
    }
}

fn cut(reigns: &mut BTreeMap<String, Vec<Reign>>, user: &str, at: Timestamp) {
    if let Some(reign) = reigns.get_mut(user).and_then(|reigns| reigns.last_mut()) {
        reign.until = at;
    }
}

// === impl Claimed ===

impl Claimed {
    /// Until when it is to be believed: not at all when it gives the Lease back.
    fn until(&self) -> Timestamp {
        if self.claim.holder.is_empty() {
            self.received
        } else {
            self.received + self.claim.duration
        }
    }

    fn holds(&self, now: Timestamp) -> bool {
        now < self.until()
    }
}

#[cfg(test)]
mod tests;
