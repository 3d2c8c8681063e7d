//! The engine that stores objects anew. As upstream's
//! `pkg/controller/storageversionmigrator/storageversionmigrator.go`.

use api::{Key, StorageVersionMigration};
use controller::{Enqueue, Everything, Facts, News, Outcome, Plan, View, Watches, Write};

use super::decide::{self, Verdict};
use super::snapshot::{self, Snapshot};
use super::{Memory, conditions};

/// The engine that stores objects anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrator;

impl controller::Controller for Migrator {
    type Snapshot = Snapshot;
    type Memory = Memory;
    type Verdict = Verdict;

    fn watches(&self, table: &mut impl Watches<Self>) {
        table.on::<StorageVersionMigration>(|_, change, _, queue| queue.own(change));
        table.everything(Everything { served: |_, _, _, _| {}, changed: |_, _, _, _, _, _| {} });
    }

    fn observe(&self, key: &Key, view: &View<'_>, memory: &Memory) -> Option<Snapshot> {
        snapshot::observe(key, view, memory)
    }

    fn decide(&self, snapshot: &Snapshot, _: &Facts) -> (Plan, Verdict) {
        decide::decide(snapshot)
    }

    fn summary(&self, s: &Snapshot) -> Vec<(&'static str, String)> {
        let objects = s.objects.as_ref();
        let shown = objects.map_or("not listed".to_owned(), |it| it.shown.to_string());
        let left = objects.map_or("not known".to_owned(), |it| it.left.to_string());
        vec![
            ("stored anew up to", s.migration.until.to_string()),
            ("known up to", shown),
            ("objects left", left),
        ]
    }

    fn report(&self, s: &Snapshot, verdict: Option<&Verdict>, outcome: &Outcome) -> Option<Write> {
        let (migration, now) = (&s.migration, s.now);
        match verdict.filter(|_| !outcome.unsettled)? {
            Verdict::Fails(error) => Some(conditions::unhandled(migration, now, error)),
            Verdict::Until(_) | Verdict::Done if is_final(outcome) => {
                let error = outcome.error.as_deref().unwrap_or_default();
                Some(conditions::unhandled(migration, now, error))
            }
            Verdict::Done if outcome.error.is_none() => Some(conditions::succeeded(migration, now)),
            Verdict::Done | Verdict::Until(_) | Verdict::Nothing => None,
        }
    }

    fn remember(&self, memory: &mut Memory, news: News<'_, Self>, _: &mut Enqueue) {
        match news {
            News::Acted { snapshot, verdict: Verdict::Until(last), outcome }
                if outcome.error.is_none() && !outcome.unsettled =>
            {
                let meta = &snapshot.migration.meta;
                memory.done.insert(meta.key.clone(), (meta.uid.clone(), last.clone()));
            }
            News::Gone(key) => drop(memory.done.remove(key)),
            News::Acted { .. } | News::Answered { .. } => {}
        }
    }
}

/// Whether a failure does not pass. As `isRetriableError`.
fn is_final(outcome: &Outcome) -> bool {
    outcome.error.is_some() && outcome.code.is_some_and(|code| code < 500 && code != 429)
}
