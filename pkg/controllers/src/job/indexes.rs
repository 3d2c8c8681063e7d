//! Sets of completion indexes, and their text. As `orderedIntervals` in upstream's
//! `indexed_job_utils.go`.

use std::fmt;

/// Indexes as runs without gaps, in order: each with its first and its last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Indexes(Vec<(i64, i64)>);

impl Indexes {
    /// Reads a text such as `1,3-5,7`, without the indexes that are not below `completions`. What
    /// is no run is left out, as `parseIndexesFromString` does.
    pub(super) fn parse(text: &str, completions: i64) -> Self {
        let mut runs: Vec<(i64, i64)> = Vec::new();
        if text.is_empty() {
            return Self(runs);
        }
        for run in text.split(',') {
            let mut limits = run.split('-').map(|limit| limit.parse::<i64>().ok());
            let Some(Some(first)) = limits.next() else { continue };
            if first >= completions {
                break;
            }
            let last = match limits.next() {
                None => first,
                Some(Some(last)) => last.min(completions - 1),
                Some(None) => continue,
            };
            match runs.last_mut() {
                Some(before) if before.1 == first - 1 => before.1 = last,
                Some(_) | None => runs.push((first, last)),
            }
        }
        Self(runs)
    }

    /// These indexes and those, which are in order.
    pub(super) fn with(&self, others: impl IntoIterator<Item = i64>) -> Self {
        self.merged(&Self(others.into_iter().map(|index| (index, index)).collect()))
    }

    /// These indexes and those.
    pub(super) fn merged(&self, others: &Self) -> Self {
        let mut runs: Vec<(i64, i64)> = Vec::new();
        let (mut left, mut right) = (self.0.as_slice(), others.0.as_slice());
        loop {
            let next = match (left, right) {
                ([a, rest @ ..], [b, ..]) if a.0 < b.0 => {
                    left = rest;
                    a
                }
                (_, [b, rest @ ..]) => {
                    right = rest;
                    b
                }
                ([a, rest @ ..], []) => {
                    left = rest;
                    a
                }
                ([], []) => return Self(runs),
            };
            match runs.last_mut() {
                Some(last) if next.0 <= last.1 + 1 => last.1 = last.1.max(next.1),
                Some(_) | None => runs.push(*next),
            }
        }
    }

    /// How many there are.
    pub(super) fn total(&self) -> i64 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, index: i64) -> bool {
        let at = self.0.partition_point(|(_, last)| *last < index);
        self.0.get(at).is_some_and(|(first, _)| *first <= index)
    }

    /// The first `count` indexes below `completions` that are not among these. As
    /// `firstPendingIndexes`; the cost is bounded by the number of runs and by `count`.
    pub(super) fn first_missing(&self, count: usize, completions: i64) -> Vec<i64> {
        let mut missing = Vec::new();
        let mut candidate = 0;
        let end = (completions, completions);
        for (first, last) in self.0.iter().chain([&end]) {
            while candidate < completions && candidate < *first && missing.len() < count {
                missing.push(candidate);
                candidate += 1;
            }
            candidate = candidate.max(last + 1);
        }
        missing
    }

    /// How many of these are among those.
    pub(super) fn in_common(&self, others: &Self) -> i64 {
        let (mut left, mut right) = (self.0.as_slice(), others.0.as_slice());
        let mut common = 0;
        while let ([a, after_a @ ..], [b, after_b @ ..]) = (left, right) {
            common += (a.1.min(b.1) - a.0.max(b.0) + 1).max(0);
            if a.1 <= b.1 {
                left = after_a;
            }
            if b.1 <= a.1 {
                right = after_b;
            }
        }
        common
    }
}

impl fmt::Display for Indexes {
    /// Runs of two are written as two indexes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (first, last)) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            match last - first {
                ..=0 => write!(f, "{first}")?,
                1 => write!(f, "{first},{last}")?,
                2.. => write!(f, "{first}-{last}")?,
            }
        }
        Ok(())
    }
}
