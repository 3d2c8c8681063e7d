//! Which of too many addresses stay. As upstream's `truncateEndpoints`.

use api::{EndpointAddress, Subset};
use controller::subsets::canonical;

/// Upstream's `maxCapacity`.
pub(super) const ADDRESSES_MAX: usize = 1000;

/// How many addresses there are.
pub(super) fn count(subsets: &[Subset]) -> usize {
    subsets.iter().map(|subset| subset.addresses.len() + subset.not_ready_addresses.len()).sum()
}

/// As many of the endpoints as fit, ready ones first, of each subset by its share; none: all fit.
pub(super) fn truncated(wanted: &[Subset]) -> Option<Vec<Subset>> {
    let cut = Cut::of(wanted)?;
    let mut left = cut.room;
    let shortened = wanted.iter().map(|subset| {
        let stays = cut.share(subset).min(left);
        left -= stays;
        cut.shortened(subset, stays)
    });
    // The API server takes no subset without addresses.
    Some(shortened.filter(|subset| count(std::slice::from_ref(subset)) > 0).collect())
}

/// Whether stored subsets are what fits of those, in whatever order their shares were counted:
/// upstream's order of subsets is another one.
pub(super) fn is_truncated(stored: &[Subset], wanted: &[Subset]) -> bool {
    let Some(cut) = Cut::of(wanted) else { return false };
    let stored = canonical(stored);
    let (mut room, mut matched) = (0, 0);
    for subset in wanted {
        let found = stored.iter().find(|it| it.ports == subset.ports);
        let stays = found.map_or(0, |found| cut.list(found).len());
        let expected = cut.shortened(subset, stays);
        if stays > cut.share(subset) || found.is_some_and(|found| *found != expected) {
            return false;
        }
        if found.is_none() && count(std::slice::from_ref(&expected)) > 0 {
            return false;
        }
        room += stays;
        matched += usize::from(found.is_some());
    }
    room == cut.room && matched == stored.len()
}

/// What is cut short.
struct Cut {
    /// Whether it is the ready addresses, and all others go.
    is_of_ready: bool,
    /// How many there are of those that are cut short.
    total: usize,
    /// How many of them stay.
    room: usize,
}

impl Cut {
    /// None: all fit.
    fn of(wanted: &[Subset]) -> Option<Self> {
        if count(wanted) <= ADDRESSES_MAX {
            return None;
        }
        let ready: usize = wanted.iter().map(|subset| subset.addresses.len()).sum();
        let is_of_ready = ready > ADDRESSES_MAX;
        let (total, room) = if is_of_ready {
            (ready, ADDRESSES_MAX)
        } else {
            (count(wanted) - ready, ADDRESSES_MAX - ready)
        };
        Some(Self { is_of_ready, total, room })
    }

    fn list<'a>(&self, subset: &'a Subset) -> &'a [EndpointAddress] {
        if self.is_of_ready { &subset.addresses } else { &subset.not_ready_addresses }
    }

    /// How many of a subset stay at most: its share, rounded up.
    fn share(&self, subset: &Subset) -> usize {
        let count = self.list(subset).len();
        (count * self.room).div_ceil(self.total.max(1)).min(count)
    }

    fn shortened(&self, subset: &Subset, stays: usize) -> Subset {
        let list = self.list(subset);
        let stay = list[..stays.min(list.len())].to_vec();
        let Subset { addresses, ports, .. } = subset.clone();
        if self.is_of_ready {
            Subset { addresses: stay, not_ready_addresses: Vec::new(), ports }
        } else {
            Subset { addresses, not_ready_addresses: stay, ports }
        }
    }
}
