//! Passes over many objects.

use api::Time;

/// At most `max` of the items. If there are more, from a place on that moves with the time: those
/// that cannot be dealt with must not keep the others from their turn.
pub fn window<T>(items: &[T], max: usize, now: Time) -> impl Iterator<Item = &T> {
    let seconds = usize::try_from(now.unix_nanos() / 1_000_000_000).unwrap_or(0);
    let start = if items.len() > max { seconds % items.len() } else { 0 };
    let (before, after) = items.split_at(start);
    after.iter().chain(before).take(max)
}
