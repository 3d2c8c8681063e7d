//! Which pods use which volumes, and how. As upstream's `cache/volumecache.go`.

use std::collections::{BTreeMap, BTreeSet};

use api::{Key, Meta, Text};
use mutant::Mutant;

use super::uses::{Conflict, Property, Usage};

/// The pods of each volume.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// By volume, and by how it is used: mostly, all pods of a volume use it alike, and then there
    /// is nothing to compare.
    volumes: BTreeMap<Text, BTreeMap<Usage, BTreeSet<Key>>>,
    /// The same by pod.
    pods: BTreeMap<Key, Known>,
}

/// What is known of a pod.
#[derive(Clone, Debug)]
struct Known {
    uid: Text,
    uses: BTreeMap<Text, Usage>,
}

impl Memory {
    /// How this very pod uses a volume.
    pub(super) fn of(&self, pod: &Meta, volume: &str) -> Option<&Usage> {
        let known = self.pods.get(&pod.key).filter(|known| known.uid == pod.uid)?;
        known.uses.get(volume)
    }

    /// The pods that use a volume otherwise, by name.
    pub(super) fn others(&self, volume: &str, pod: &Key, usage: &Usage) -> Vec<(Key, Usage)> {
        let uses = self.volumes.get(volume).into_iter().flatten();
        let uses = uses.filter(|(other, _)| *other != usage);
        let pods = uses.flat_map(|(other, pods)| pods.iter().map(move |key| (key, other)));
        let others: BTreeMap<_, _> = pods.filter(|(key, _)| *key != pod).collect();
        others.into_iter().map(|(key, other)| (key.clone(), other.clone())).collect()
    }

    /// This pod uses these volumes. Those that it was known to use stay.
    pub(super) fn learn<'a>(
        &mut self,
        pod: &Meta,
        uses: impl Iterator<Item = (&'a Text, &'a Usage)>,
    ) {
        if self.pods.get(&pod.key).is_some_and(|known| known.uid != pod.uid) {
            self.forget(&pod.key);
        }
        for (volume, usage) in uses {
            let known = || Known { uid: pod.uid.clone(), uses: BTreeMap::new() };
            let known = self.pods.entry(pod.key.clone()).or_insert_with(known);
            let before = known.uses.insert(volume.clone(), usage.clone());
            if let Some(before) = before.filter(|before| before != usage) {
                self.remove(volume, &before, &pod.key);
            }
            let pods = self.volumes.entry(volume.clone()).or_default();
            pods.entry(usage.clone()).or_default().insert(pod.key.clone());
        }
    }

    /// It uses none any more.
    pub(super) fn forget(&mut self, pod: &Key) {
        if mutant::is(Mutant::EndedPodsConflict) {
            return;
        }
        let Some(known) = self.pods.remove(pod) else { return };
        for (volume, usage) in &known.uses {
            self.remove(volume, usage, pod);
        }
    }

    fn remove(&mut self, volume: &Text, usage: &Usage, pod: &Key) {
        let Some(uses) = self.volumes.get_mut(volume) else { return };
        if let Some(pods) = uses.get_mut(usage) {
            pods.remove(pod);
            if pods.is_empty() {
                uses.remove(usage);
            }
        }
        if uses.is_empty() {
            self.volumes.remove(volume);
        }
    }

    /// The conflicts that there are, each in both directions, and once if it is of two volumes.
    pub(super) fn conflicts(&self) -> BTreeSet<Conflict> {
        let mut conflicts = BTreeSet::new();
        for uses in self.volumes.values() {
            for (usage, pods) in uses {
                for (other_usage, others) in uses {
                    for property in Property::between(usage, other_usage) {
                        let pairs =
                            pods.iter().flat_map(|pod| others.iter().map(move |o| (pod, o)));
                        let told = |(pod, other)| {
                            Conflict::new(property, (pod, usage), (other, other_usage))
                        };
                        conflicts.extend(pairs.map(told));
                    }
                }
            }
        }
        conflicts
    }

    /// Nothing is known.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.volumes.is_empty() && self.pods.is_empty()
    }
}
