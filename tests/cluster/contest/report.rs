//! What a contest has shown: the figures for people, and what must hold.

use super::{Arena, Clocks};
use anyhow::ensure;
use cluster_tests::{Binary, Claimed, Fault, Takeover, Verdict, Write};
use k8s_openapi::jiff::SignedDuration;
use std::collections::BTreeMap;

/// Less would show little: writes of ours, and takeovers of a lease that ours held, per minute.
const WORK_MIN: u64 = 500;
const LOSSES_MIN: u64 = 4;
/// More than a stop adds to the age of a renewal, less than most clocks are wrong by.
const SHIFT_ERROR_S_MAX: i64 = 60;

/// Writes outside of their time that are printed in full.
const TOLD_MAX: usize = 5;

/// Prints the figures.
pub(crate) fn print(arena: &Arena<'_>) {
    let verdict = arena.contest.judge();
    let settings = arena.settings;
    println!(
        "contest: seed {}, {:?} and the time to settle, leases of {:?}; {} of ours with clocks \
         {:?} s ahead, {} of upstream's; load {}",
        settings.seed,
        settings.length,
        settings.lease,
        settings.ours,
        arena.contenders[..settings.ours].iter().map(|each| each.ahead_s).collect::<Vec<_>>(),
        settings.upstream,
        std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim(),
    );
    println!("| team | elected | writes | outside | events | outside | early claims |");
    println!("|---|---|---|---|---|---|---|");
    for team in [Binary::Ours, Binary::Upstream] {
        let counts = verdict.counts.iter().filter(|(user, _)| arena.team(user) == team);
        let sum = counts.fold([0; 4], |sum, (_, counts)| {
            let more = [counts.elected, counts.work, counts.events, counts.events_outside];
            std::array::from_fn(|index| sum[index] + more[index])
        });
        let [elected, work, events, events_outside] = sum;
        let (outside, early) = (arena.outside(&verdict, team), arena.early(&verdict, team));
        let (outside, early) = (outside.len(), early.len());
        println!(
            "| {} | {elected} | {work} | {outside} | {events} | {events_outside} | {early} |",
            name(team)
        );
    }
    print_faults(arena);
    print_takeovers(arena);
    for write in verdict.outside.iter().take(TOLD_MAX) {
        println!("{}", arena.told(write));
    }
}

/// What must hold.
pub(crate) fn check(arena: &Arena<'_>) -> anyhow::Result<()> {
    let verdict = arena.contest.judge();
    let outside = arena.outside(&verdict, Binary::Ours);
    let told: Vec<_> = outside.iter().take(TOLD_MAX).map(|write| arena.told(write)).collect();
    let count = outside.len();
    ensure!(count == 0, "{count} writes of ours outside of their time:\n{}", told.join("\n"));
    let early = arena.early(&verdict, Binary::Ours);
    ensure!(early.is_empty(), "ours took a lease that was held: {early:?}");
    check_clocks(arena)?;

    let minutes = (arena.settings.length.as_secs() / 60).max(1);
    let ours = verdict.counts.iter().filter(|(user, _)| arena.team(user) == Binary::Ours);
    let work = ours.map(|(_, counts)| counts.work as u64).sum::<u64>();
    ensure!(work >= WORK_MIN * minutes, "ours wrote {work} times: that shows little");
    let takeovers = arena.contest.takeovers(&arena.faults);
    let lost = takeovers.iter().filter(|takeover| arena.team(&takeover.from) == Binary::Ours);
    let lost = lost.count() as u64;
    ensure!(lost >= LOSSES_MIN * minutes, "ours lost the lease {lost} times: that shows little");
    Ok(())
}

/// The claims of ours show by how much their clocks are wrong: otherwise nothing was shown of that.
fn check_clocks(arena: &Arena<'_>) -> anyhow::Result<()> {
    let mut wrong = 0;
    for Claimed { user, received, claim } in arena.contest.claims() {
        let ahead_s = arena.contenders[arena.users[user]].ahead_s;
        let found = claim.renewed.duration_since(*received).as_secs();
        ensure!(
            found.abs_diff(ahead_s) <= SHIFT_ERROR_S_MAX.unsigned_abs(),
            "the clock of {user} was to be {ahead_s} s ahead, and was {found} s"
        );
        wrong += u32::from(found.abs() > SHIFT_ERROR_S_MAX);
    }
    ensure!(arena.settings.clocks == Clocks::Right || wrong > 0, "no claim with a wrong clock");
    Ok(())
}

fn print_faults(arena: &Arena<'_>) {
    let mut counts: BTreeMap<(Fault, &str), usize> = BTreeMap::new();
    for done in &arena.faults {
        *counts.entry((done.fault, name(arena.team(&done.victim)))).or_default() += 1;
    }
    let counts = counts.iter().map(|((fault, team), count)| format!("{fault:?} {team} {count}"));
    println!("\nfaults: {}", counts.collect::<Vec<_>>().join(", "));
}

/// Times from the least to the most, with the median between.
fn print_takeovers(arena: &Arena<'_>) {
    let mut rows: BTreeMap<(Option<Fault>, [&str; 2]), Vec<Takeover>> = BTreeMap::new();
    for takeover in arena.contest.takeovers(&arena.faults) {
        let teams = [&takeover.from, &takeover.to].map(|user| name(arena.team(user)));
        rows.entry((takeover.fault, teams)).or_default().push(takeover);
    }
    println!("\n| lost by | from | to | times | s since the signal | s since the last claim |");
    println!("|---|---|---|---|---|---|");
    for ((fault, [from, to]), takeovers) in rows {
        let fault = fault.map_or("itself".to_owned(), |fault| format!("{fault:?}"));
        let since_fault = spread(takeovers.iter().filter_map(|takeover| takeover.since_fault));
        let since_claim = spread(takeovers.iter().map(|takeover| takeover.since_renewal));
        let times = takeovers.len();
        println!("| {fault} | {from} | {to} | {times} | {since_fault} | {since_claim} |");
    }
}

fn spread(times: impl Iterator<Item = SignedDuration>) -> String {
    let mut times: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
    times.sort_by(f64::total_cmp);
    match (times.first(), times.get(times.len() / 2), times.last()) {
        (Some(least), Some(median), Some(most)) => format!("{least:.3} {median:.3} {most:.3}"),
        _ => String::new(),
    }
}

fn name(team: Binary) -> &'static str {
    match team {
        Binary::Ours => "ours",
        Binary::Upstream => "upstream's",
    }
}

// === impl Arena ===

impl Arena<'_> {
    fn team(&self, user: &str) -> Binary {
        self.contenders[self.users[user]].team
    }

    fn outside<'a>(&self, verdict: &'a Verdict, team: Binary) -> Vec<&'a Write> {
        verdict.outside.iter().filter(|write| self.team(&write.user) == team).collect()
    }

    fn early<'a>(&self, verdict: &'a Verdict, team: Binary) -> Vec<&'a Claimed> {
        verdict.early.iter().filter(|claimed| self.team(&claimed.user) == team).collect()
    }

    /// A write outside of its time, with what was done to its sender and what that had claimed.
    fn told(&self, write: &Write) -> String {
        let faults = self.faults.iter().filter(|done| done.victim == write.user);
        let faults: Vec<_> =
            faults.map(|done| format!("{:?} at {}", done.fault, done.at)).collect();
        let before = |claimed: &&Claimed| claimed.received <= write.received;
        let own = |claimed: &&Claimed| claimed.user == write.user && before(claimed);
        let claims: Vec<_> = self.contest.claims().collect();
        let last = claims.iter().copied().rfind(own);
        let any = claims.iter().copied().rfind(before);
        format!(
            "outside ({}): {write:?}\n  {}\n  its last claim: {last:?}\n  the last claim: {any:?}",
            name(self.team(&write.user)),
            faults.join(", "),
        )
    }
}
