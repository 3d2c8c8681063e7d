//! The blocks of one range of the cluster, and which of them are used. As upstream's
//! `pkg/controller/nodeipam/ipam/cidrset`.

use std::collections::BTreeMap;

use api::Prefix;

/// A range of the cluster, cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterRange {
    prefix: Prefix,
    node_bits: u8,
}

/// Consecutive blocks by their numbers, from the first to the last.
pub(super) type Span = (u64, u64);

/// Which blocks of a range are used, and by how many.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    pub range: ClusterRange,
    /// The block after the one that was given last.
    next: u64,
    single: BTreeMap<u64, u32>,
    /// Those of more than one block: ranges of Services, and odd ones of nodes.
    wide: BTreeMap<Span, u32>,
}

/// What a search has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The block.
    pub(super) block: u64,
    /// How many used blocks were passed.
    pub(super) tries: u64,
}

// === impl ClusterRange ===

impl ClusterRange {
    /// Cut into blocks of this prefix length. None: it is shorter than that of the range or longer
    /// than an address, or there are more than 65,536 blocks of IPv6 (`NewCIDRSet`).
    pub fn new(prefix: Prefix, node_bits: u8) -> Option<Self> {
        let bits = node_bits.checked_sub(prefix.bits())?;
        let fits = node_bits <= prefix.length() && (prefix.is_v4() || bits <= 16);
        fits.then_some(Self { prefix, node_bits })
    }

    /// The range as a whole.
    pub fn prefix(&self) -> Prefix {
        self.prefix
    }

    /// How many blocks there are.
    pub(super) fn count(&self) -> u64 {
        1 << (self.node_bits - self.prefix.bits())
    }

    /// The block of this number. As `indexToCIDRBlock`.
    pub(super) fn block(&self, number: u64) -> Option<Prefix> {
        let hosts = u32::from(self.prefix.length() - self.node_bits);
        let offset = u128::from(number).checked_shl(hosts).unwrap_or(0);
        Prefix::at(self.prefix.family(), self.prefix.first() | offset, self.node_bits)
    }

    /// The blocks that a range overlaps; none: it is outside. As `getBeginningAndEndIndices`.
    pub(super) fn span(&self, other: Prefix) -> Option<Span> {
        if !self.prefix.overlaps(other) {
            return None;
        }
        let hosts = u32::from(self.prefix.length() - self.node_bits);
        let number = |address: u128| {
            let offset = address.max(self.prefix.first()) - self.prefix.first();
            u64::try_from(offset.checked_shr(hosts).unwrap_or(0)).unwrap_or(u64::MAX)
        };
        let last = self.count() - 1;
        Some((number(other.first()).min(last), number(other.last()).min(last)))
    }
}

// === impl Blocks ===

impl Blocks {
    pub(super) fn new(range: ClusterRange) -> Self {
        Self { range, next: 0, single: BTreeMap::new(), wide: BTreeMap::new() }
    }

    /// One more uses these. How many blocks were free before.
    pub(super) fn occupy(&mut self, span: Span) -> u64 {
        if span.0 == span.1 {
            let flips = u64::from(!self.is_used(span.0));
            *self.single.entry(span.0).or_default() += 1;
            return flips;
        }
        let before = self.used();
        *self.wide.entry(span).or_default() += 1;
        self.used() - before
    }

    /// One less uses these. How many blocks are free now.
    pub(super) fn release(&mut self, span: Span) -> u64 {
        if span.0 == span.1 {
            drop_one(&mut self.single, &span.0);
            return u64::from(!self.is_used(span.0));
        }
        let before = self.used();
        drop_one(&mut self.wide, &span);
        before - self.used()
    }

    /// The next free block; none: all are used. As `AllocateNext`.
    pub(super) fn free(&self) -> Option<Found> {
        let count = self.range.count();
        if self.used() >= count {
            return None;
        }
        let (mut block, mut tries) = (self.next, 0);
        while tries < count {
            let step = match self.wide_at(block) {
                Some((_, last)) => last - block + 1,
                None if self.single.contains_key(&block) => 1,
                None => return Some(Found { block, tries }),
            };
            tries += step;
            block = (block + step) % count;
        }
        None
    }

    /// This block was given: the next search begins after it.
    pub(super) fn given(&mut self, block: u64) {
        self.next = (block + 1) % self.range.count();
    }

    /// How many blocks are used.
    pub(super) fn used(&self) -> u64 {
        let (mut wide, mut end) = (0, 0);
        for &(first, last) in self.wide.keys() {
            wide += (last + 1).saturating_sub(first.max(end));
            end = end.max(last + 1);
        }
        let is_alone = |block: &&u64| self.wide_at(**block).is_none();
        let single = self.single.len();
        let single =
            if self.wide.is_empty() { single } else { self.single.keys().filter(is_alone).count() };
        wide + single as u64
    }

    fn is_used(&self, block: u64) -> bool {
        self.single.contains_key(&block) || self.wide_at(block).is_some()
    }

    fn wide_at(&self, block: u64) -> Option<Span> {
        self.wide.keys().copied().find(|(first, last)| (*first..=*last).contains(&block))
    }
}

fn drop_one<K: Ord>(users: &mut BTreeMap<K, u32>, key: &K) {
    if let Some(count) = users.get_mut(key) {
        *count -= 1;
        if *count == 0 {
            users.remove(key);
        }
    }
}
