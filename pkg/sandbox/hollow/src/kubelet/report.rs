//! What was reported of a pod, and whether the API server has it.

use std::time::Duration;

use api::{Key, Time};
use serde_json::Value;

use super::patch;
use super::status::shows;
use crate::Request;

const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_mins(5);

/// What was last said.
#[derive(Default)]
pub(crate) struct Report {
    status: Option<Value>,
    /// Whether the pod was shown with it.
    shown: bool,
    said: Option<(Time, u32)>,
    deleted: Option<(Time, u32)>,
}

impl Report {
    /// Takes the pod as it is now. If it showed the report and no longer does, then another client
    /// wrote, and it is reported again at once.
    pub(crate) fn show(&mut self, object: &Value) {
        let Some(status) = &self.status else { return };
        let shown = shows(object, status);
        if self.shown && !shown {
            self.said = None;
        }
        self.shown = shown;
    }

    /// Whether anything was said.
    pub(crate) fn has_spoken(&self) -> bool {
        self.status.is_some()
    }

    /// Reports it if it is new or did not arrive.
    pub(crate) fn say(
        &mut self,
        key: &Key,
        uid: &str,
        status: Value,
        now: Time,
    ) -> Option<Request> {
        if self.status.as_ref() != Some(&status) {
            self.status = Some(status);
            self.shown = false;
            self.said = None;
        }
        if self.shown || next(self.said).is_some_and(|next| next > now) {
            return None;
        }
        self.said = Some((now, self.said.map_or(1, |(_, tries)| tries + 1)));
        self.status.as_ref().map(|status| patch(key, uid, status))
    }

    /// Whether the pod is to be deleted now; counts the attempts.
    pub(crate) fn may_delete(&mut self, now: Time) -> bool {
        let may = next(self.deleted).is_none_or(|next| next <= now);
        if may {
            self.deleted = Some((now, self.deleted.map_or(1, |(_, tries)| tries + 1)));
        }
        may
    }

    /// When it has something to say again.
    pub(crate) fn again(&self, deletes: bool) -> Option<Time> {
        let said = next(self.said).filter(|_| !self.shown);
        let deleted = next(self.deleted).filter(|_| deletes);
        said.into_iter().chain(deleted).min()
    }
}

/// When to try again after the last attempt.
fn next(last: Option<(Time, u32)>) -> Option<Time> {
    let (time, tries) = last?;
    Some(time + (RETRY * 2_u32.saturating_pow(tries.saturating_sub(1).min(10))).min(RETRY_MAX))
}
