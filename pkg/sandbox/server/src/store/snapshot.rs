//! A table as it was.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use super::{Event, Path, Stored};

static NOTHING: BTreeMap<Path, Arc<Stored>> = BTreeMap::new();

/// A table as it was at a revision: what it is now, and what to think otherwise.
pub(crate) struct Snapshot<'a> {
    now: &'a BTreeMap<Path, Arc<Stored>>,
    /// What has changed since, as it was; none: it was not there.
    then: BTreeMap<String, Option<Arc<Stored>>>,
}

impl<'a> Snapshot<'a> {
    /// Of a table without objects.
    pub(super) fn empty() -> Self {
        Self { now: &NOTHING, then: BTreeMap::new() }
    }

    /// Undoes changes.
    pub(super) fn new(
        now: &'a BTreeMap<Path, Arc<Stored>>,
        changes: impl DoubleEndedIterator<Item = &'a Arc<Event>>,
    ) -> Self {
        // Backwards, so that the first change of an object has the last word.
        let then = changes.rev().map(|event| (event.key.to_string(), event.before.clone()));
        Self { now, then: then.collect() }
    }

    /// The objects of a namespace, or all, from a path on, with their paths.
    pub(crate) fn objects(
        &self,
        namespace: Option<&str>,
        from: Option<&str>,
    ) -> impl Iterator<Item = (&str, &Arc<Stored>)> {
        let (start, end) = super::range(namespace);
        let start = match (start, from) {
            (Bound::Included(start), Some(from)) => Bound::Included(from.to_owned().max(start)),
            (Bound::Unbounded, Some(from)) => Bound::Included(from.to_owned()),
            (start, _) => start,
        };
        // A range that ends before it starts would panic.
        let is_empty = match (&start, &end) {
            (Bound::Included(start), Bound::Excluded(end)) => start >= end,
            _ => false,
        };
        let range = if is_empty {
            (Bound::Unbounded, Bound::Excluded(String::new()))
        } else {
            (start, end)
        };
        let now = self.now.range::<str, _>(bounds(&range)).map(|(path, it)| (&**path, it));
        let then = self.then.range::<str, _>(bounds(&range));
        Merged {
            now: now.peekable(),
            then: then.map(|(path, it)| (path.as_str(), it.as_ref())).peekable(),
        }
    }
}

/// Two sorted sequences as one, where the second goes over the first.
struct Merged<N: Iterator, T: Iterator> {
    now: std::iter::Peekable<N>,
    then: std::iter::Peekable<T>,
}

impl<'a, N, T> Iterator for Merged<N, T>
where
    N: Iterator<Item = (&'a str, &'a Arc<Stored>)>,
    T: Iterator<Item = (&'a str, Option<&'a Arc<Stored>>)>,
{
    type Item = (&'a str, &'a Arc<Stored>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some((path, was)) = self.then.peek().copied() else { return self.now.next() };
            if self.now.peek().is_some_and(|(now, _)| *now < path) {
                return self.now.next();
            }
            self.now.next_if(|(now, _)| *now == path);
            self.then.next();
            if let Some(was) = was {
                return Some((path, was));
            }
        }
    }
}

/// Borrowed bounds.
pub(super) fn bounds(range: &(Bound<String>, Bound<String>)) -> (Bound<&str>, Bound<&str>) {
    (range.0.as_ref().map(String::as_str), range.1.as_ref().map(String::as_str))
}
