//! Who has a place at the port, and who must leave when somebody new comes and there is none.
//!
//! Strangers may connect, stay and ask for open pages: probes are strangers. So that a crowd of
//! them keeps nobody out, one of them leaves for each newcomer once all places are taken: of the
//! address that has most of them, the one that has been here longest. Who has proven a name
//! stays, but those have not all places, so that there is always a stranger or a free place.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::Cancel;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Line;

/// Of so many places, one is for strangers alone.
const KNOWN_SHARE: usize = 10;
/// What an address says of who has it: hosts choose the rest of an IPv6 address themselves.
const NETWORK_BITS: u32 = 64;

/// All places at a port. Clones are the same ones.
#[derive(Clone)]
pub(crate) struct Places {
    free: Arc<Semaphore>,
    taken: Arc<Mutex<Taken>>,
    known_max: usize,
}

/// A place, until this is dropped.
pub(crate) struct Place {
    line: Line,
    evicted: Cancel,
    _permit: OwnedSemaphorePermit,
}

/// Who has places, by the number of their connections. Whoever is told to leave is not here any
/// more.
#[derive(Default)]
struct Taken {
    connections: u64,
    strangers: BTreeMap<IpAddr, BTreeMap<u64, Cancel>>,
    /// The crowds of strangers, the largest one last; of equal ones, the one that was here first.
    crowds: BTreeSet<(usize, Reverse<u64>, IpAddr)>,
    known: BTreeSet<u64>,
}

// === impl Places ===

impl Places {
    pub(crate) fn new(count: usize) -> Self {
        let known_max = count - count.div_ceil(KNOWN_SHARE);
        Self { free: Arc::new(Semaphore::new(count)), taken: Arc::default(), known_max }
    }

    /// A place for a newcomer; if there is none, somebody is told to leave.
    pub(crate) async fn take(&self, address: IpAddr) -> Place {
        let permit = Arc::clone(&self.free).try_acquire_owned();
        let permit = if let Ok(permit) = permit {
            permit
        } else {
            self.evict();
            // Who was told to leave does so at once. Whoever leaves first makes room.
            let permit = Arc::clone(&self.free).acquire_owned().await;
            permit.expect("nobody closes this semaphore")
        };
        let (network, evicted) = (network(address), Cancel::new());
        let number = self.taken().enter(network, evicted.clone());
        let line = Line { places: self.clone(), network, number };
        Place { line, evicted, _permit: permit }
    }

    /// Whether a newcomer finds a free place.
    pub(crate) fn has_room(&self) -> bool {
        self.free.available_permits() > 0
    }

    /// Waits until all places are free.
    pub(crate) async fn all_left(&self, count: usize) {
        let all = self.free.acquire_many(u32::try_from(count).unwrap_or(u32::MAX)).await;
        drop(all.expect("nobody closes this semaphore"));
    }

    pub(crate) fn vouch(&self, network: IpAddr, number: u64) {
        let mut taken = self.taken();
        if taken.known.len() < self.known_max && taken.leave_strangers(network, number).is_some() {
            taken.known.insert(number);
        }
    }

    fn evict(&self) {
        let stranger = self.taken().next_to_leave();
        if let Some(evicted) = stranger {
            evicted.cancel();
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Taken ===

impl Taken {
    /// A stranger has come. Returns the number of its connection.
    fn enter(&mut self, network: IpAddr, evicted: Cancel) -> u64 {
        self.connections += 1;
        let number = self.connections;
        self.change(network, |crowd| crowd.insert(number, evicted));
        number
    }

    /// None if there is no such stranger.
    fn leave_strangers(&mut self, network: IpAddr, number: u64) -> Option<Cancel> {
        self.change(network, |crowd| crowd.remove(&number))
    }

    /// The stranger that makes room next.
    fn next_to_leave(&mut self) -> Option<Cancel> {
        let (_, Reverse(first), network) = *self.crowds.last()?;
        self.leave_strangers(network, first)
    }

    fn change<T>(
        &mut self,
        network: IpAddr,
        change: impl FnOnce(&mut BTreeMap<u64, Cancel>) -> T,
    ) -> T {
        let mut crowd = self.strangers.remove(&network).unwrap_or_default();
        if let Some(rank) = rank(&crowd, network) {
            self.crowds.remove(&rank);
        }
        let changed = change(&mut crowd);
        if let Some(rank) = rank(&crowd, network) {
            self.crowds.insert(rank);
            self.strangers.insert(network, crowd);
        }
        changed
    }
}

/// None if nobody is there.
fn rank(crowd: &BTreeMap<u64, Cancel>, network: IpAddr) -> Option<(usize, Reverse<u64>, IpAddr)> {
    let (first, _) = crowd.first_key_value()?;
    Some((crowd.len(), Reverse(*first), network))
}

fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() >> NETWORK_BITS << NETWORK_BITS).into()
        }
    }
}

// === impl Place ===

impl Place {
    /// Cancelled once the connection must end at once.
    pub(crate) fn evicted(&self) -> &Cancel {
        &self.evicted
    }

    pub(crate) fn line(&self) -> &Line {
        &self.line
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Line { places, network, number } = &self.line;
        let mut taken = places.taken();
        taken.leave_strangers(*network, *number);
        taken.known.remove(number);
    }
}
