//! Wall clocks that were set: by how much that of a manager was wrong, and when. What a manager
//! concludes from a moment that the server or a kubelet has written down, such as for how long a
//! pod has been ready, is as wrong as its clock is then.

use std::time::Duration;

use super::Oracle;

/// All clocks were right at the start.
#[derive(Default)]
pub(super) struct Clocks(Vec<Set>);

/// A clock is set.
struct Set {
    /// Whose: all lives of a manager run on the same machine.
    machine: char,
    at: Duration,
    /// How far it is ahead from then on.
    ahead: Duration,
    /// How far it is behind.
    behind: Duration,
}

/// Lives are called by their machine and a number.
fn machine(life: &str) -> char {
    life.chars().next().unwrap_or_default()
}

// === impl Clocks ===

impl Clocks {
    /// What a clock was set to, last before that moment or since then. What is set at a moment may
    /// come after what was decided at it (seed `token-expired-as-the-clock-was-set`).
    fn since(&self, machine: char, then: Duration) -> impl Iterator<Item = &Set> {
        let sets = || self.0.iter().filter(move |set| set.machine == machine);
        let before = sets().rfind(move |set| set.at < then);
        before.into_iter().chain(sets().filter(move |set| set.at >= then))
    }

    /// How far the clock of a life has been ahead since then, at most.
    pub(super) fn ahead(&self, life: &str, then: Duration) -> Duration {
        self.since(machine(life), then).map(|set| set.ahead).max().unwrap_or_default()
    }

    /// How far it has been behind.
    pub(super) fn behind(&self, life: &str, then: Duration) -> Duration {
        self.since(machine(life), then).map(|set| set.behind).max().unwrap_or_default()
    }

    /// How far any clock is behind now.
    pub(super) fn any_behind(&self) -> Duration {
        let now = |set: &Set| self.since(set.machine, Duration::MAX).map(|set| set.behind).max();
        self.0.iter().filter_map(now).max().unwrap_or_default()
    }

    /// Whether any clock has ever been behind.
    pub(super) fn were_behind(&self) -> bool {
        self.0.iter().any(|set| !set.behind.is_zero())
    }
}

impl Oracle {
    /// The clock of a manager is set: so far ahead, or so far behind.
    pub(crate) fn sets_clock(&mut self, life: &str, by: [Duration; 2], now: Duration) {
        let ([ahead, behind], machine) = (by, machine(life));
        self.clocks.0.push(Set { machine, at: now, ahead, behind });
        self.forget_blurred(now);
    }

    /// All clocks are set right.
    pub(crate) fn sets_clocks_right(&mut self, now: Duration) {
        let mut machines: Vec<_> = self.clocks.0.iter().map(|set| set.machine).collect();
        machines.sort_unstable();
        machines.dedup();
        let (ahead, behind) = (Duration::ZERO, Duration::ZERO);
        let right = machines.into_iter().map(|machine| Set { machine, at: now, ahead, behind });
        self.clocks.0.extend(right);
    }
}
