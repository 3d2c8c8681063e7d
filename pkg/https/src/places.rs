//! The places for connections at the port, and which connection ends when a new one comes and there
//! is no free place.
//!
//! Unauthenticated clients may connect, stay and ask for open pages: probes are such clients. So
//! that a crowd of them does not lock out others, one of them ends for each new connection once all
//! places are taken: the oldest one of the address with the most connections. Authenticated clients
//! stay, but do not get all places, so there is always an unauthenticated one or a free place.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::Cancel;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::Line;

/// One of this many places is reserved for unauthenticated clients.
const KNOWN_SHARE: usize = 10;
/// The part of an IPv6 address that identifies a client: hosts choose the rest themselves.
const NETWORK_BITS: u32 = 64;

/// All places at a port. Clones are the same places.
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

/// The connections with a place, without those that were asked to end.
#[derive(Default)]
struct Taken {
    connections: u64,
    unauthenticated: BTreeMap<IpAddr, BTreeMap<u64, Cancel>>,
    /// The addresses with unauthenticated connections, the one with the most last; of equal ones,
    /// the one with the oldest connection.
    crowds: BTreeSet<(usize, Reverse<u64>, IpAddr)>,
    known: BTreeSet<u64>,
}

// === impl Places ===

impl Places {
    pub(crate) fn new(count: usize) -> Self {
        let known_max = count - count.div_ceil(KNOWN_SHARE);
        Self { free: Arc::new(Semaphore::new(count)), taken: Arc::default(), known_max }
    }

    /// A place for a new connection; if none is free, an unauthenticated connection is asked to
    /// end.
    pub(crate) async fn take(&self, address: IpAddr) -> Place {
        let permit = Arc::clone(&self.free).try_acquire_owned();
        let permit = if let Ok(permit) = permit {
            permit
        } else {
            self.evict();
            // A connection that was asked to end does so at once. Any connection that ends first
            // makes room.
            let permit = Arc::clone(&self.free).acquire_owned().await;
            permit.expect("nobody closes this semaphore")
        };
        let (network, evicted) = (network(address), Cancel::new());
        let number = self.taken().enter(network, evicted.clone());
        let line = Line { places: self.clone(), network, number };
        Place { line, evicted, _permit: permit }
    }

    /// Whether a place is free.
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
        if taken.known.len() < self.known_max
            && taken.leave_unauthenticated(network, number).is_some()
        {
            taken.known.insert(number);
        }
    }

    fn evict(&self) {
        let evicted = self.taken().next_to_leave();
        if let Some(evicted) = evicted {
            evicted.cancel();
        }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Taken ===

impl Taken {
    /// Adds an unauthenticated connection. Returns its number.
    fn enter(&mut self, network: IpAddr, evicted: Cancel) -> u64 {
        self.connections += 1;
        let number = self.connections;
        self.change(network, |crowd| crowd.insert(number, evicted));
        number
    }

    /// None if there is no such unauthenticated connection.
    fn leave_unauthenticated(&mut self, network: IpAddr, number: u64) -> Option<Cancel> {
        self.change(network, |crowd| crowd.remove(&number))
    }

    /// The unauthenticated connection that makes room next.
    fn next_to_leave(&mut self) -> Option<Cancel> {
        let (_, Reverse(first), network) = *self.crowds.last()?;
        self.leave_unauthenticated(network, first)
    }

    fn change<T>(
        &mut self,
        network: IpAddr,
        change: impl FnOnce(&mut BTreeMap<u64, Cancel>) -> T,
    ) -> T {
        let mut crowd = self.unauthenticated.remove(&network).unwrap_or_default();
        if let Some(rank) = rank(&crowd, network) {
            self.crowds.remove(&rank);
        }
        let changed = change(&mut crowd);
        if let Some(rank) = rank(&crowd, network) {
            self.crowds.insert(rank);
            self.unauthenticated.insert(network, crowd);
        }
        changed
    }
}

/// None if there is none.
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
    /// Cancelled when the connection must end at once.
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
        taken.leave_unauthenticated(*network, *number);
        taken.known.remove(number);
    }
}
