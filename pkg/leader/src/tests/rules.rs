//! The state machine by table. Names are those of client-go's leaderelection_test.go.

use api::Time;

use super::{Duration, SECOND};
use crate::Timing;
use crate::election::{Action, Election, Input, LossReason, Now};
use crate::lease::Record;

const WALL: Time = Time::from_unix(1000, 0);

fn now(seconds: f64) -> Now {
    let boot = Duration::from_secs_f64(seconds);
    Now { boot, mono: boot, wall: WALL, luck: 0.0 }
}

fn at(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn record(holder: &str, duration_seconds: u64, transitions: i32) -> Record {
    let acquired = Some(Time::from_unix(5, 0));
    let renewed = Some(Time::from_unix(6, 0));
    let (holder, preferred) = (holder.to_owned(), String::new());
    Record { holder, duration_seconds, acquired, renewed, transitions, preferred }
}

/// The record of `baz`: since when it leads, and how often the holder has changed.
fn ours(acquired: Time, transitions: i32) -> Record {
    Record { acquired: Some(acquired), renewed: Some(WALL), ..record("baz", 15, transitions) }
}

fn contender() -> Election {
    let mut election = Election::new("baz", Timing::default(), false);
    assert_eq!(election.step(Input::Tick, now(100.0)), Action::Get);
    election
}

/// A leader since 100 s.
fn leader() -> Election {
    let mut election = contender();
    let create = Action::Create(ours(WALL, 0));
    assert_eq!(election.step(Input::Absent, now(100.0)), create);
    assert_eq!(written(&mut election, ours(WALL, 0), 100.0), Action::Wait(at(102)));
    election
}

fn written(election: &mut Election, record: Record, seconds: f64) -> Action {
    election.step(Input::Written { record, sent: now(seconds).boot }, now(seconds))
}

/// testTryAcquireOrRenew: the response to the first read, and the action that follows at once.
#[test]
fn try_acquire_or_renew() {
    let kept = ours(Time::from_unix(5, 0), 3);
    let rows = [
        ("acquire from no object", Input::Absent, Action::Create(ours(WALL, 0))),
        (
            "acquire from object without annotations",
            Input::Found(Record::default()),
            Action::Update(ours(WALL, 1)),
        ),
        (
            "acquire from unled object",
            Input::Found(record("", 1, 4)),
            Action::Update(ours(WALL, 5)),
        ),
        (
            "acquire from led, unacked object",
            Input::Found(record("bing", 0, 0)),
            Action::Update(ours(WALL, 1)),
        ),
        // Its next read is a retry period later, before the lease ends.
        (
            "don't acquire from led, acked object",
            Input::Found(record("bing", 15, 0)),
            Action::Wait(at(102)),
        ),
        // An earlier write of ours was carried out although its response was lost.
        ("renew already acquired object", Input::Found(record("baz", 15, 3)), Action::Update(kept)),
        ("a read that fails", Input::Failed, Action::Wait(at(102))),
        (
            "transitions do not overflow",
            Input::Found(record("", 15, i32::MAX)),
            Action::Update(ours(WALL, i32::MAX)),
        ),
    ];
    for (name, input, expected) in rows {
        assert_eq!(contender().step(input, now(100.0)), expected, "{name}");
    }
}

/// acquire from led object with the lease duration seconds: the record's duration counts, from when
/// the record was first seen, whatever its times are.
#[test]
fn a_lease_ends_by_its_own_duration_after_its_last_change() {
    let mut election = contender();
    let found = |transitions| Input::Found(record("bing", 3, transitions));
    assert_eq!(election.step(found(0), now(100.0)), Action::Wait(at(102)));
    assert_eq!(election.step(Input::Tick, now(102.0)), Action::Get);
    // Seen again, unchanged: it still counts from the first time.
    assert_eq!(election.step(found(0), now(102.0)), Action::Wait(at(103)));
    // Changed: the count starts again.
    assert_eq!(election.step(found(1), now(102.5)), Action::Wait(Duration::from_millis(104_500)));
    assert_eq!(election.step(found(1), now(104.5)), Action::Wait(Duration::from_millis(105_500)));
    assert_eq!(
        election.step(Input::Tick, now(105.4)),
        Action::Wait(Duration::from_millis(105_500))
    );
    assert_eq!(election.step(Input::Tick, now(105.5)), Action::Update(ours(WALL, 2)));
}

/// machinery.md: acquire every retryPeriod jittered x[1,2.2).
#[test]
fn looks_are_jittered() {
    for (luck, wait) in [(0.0, 2.0), (0.5, 3.2), (0.999, 4.3976)] {
        let now = Now { luck, ..now(100.0) };
        let expected = Action::Wait(Duration::from_secs_f64(100.0 + wait));
        assert_eq!(contender().step(Input::Failed, now), expected);
    }
}

/// Contenders that see a lease become free at the same time do not write at the same time.
#[test]
fn claims_are_spread() {
    let mut election = contender();
    let half = Now { luck: 0.5, ..now(100.0) };
    let expected = Action::Wait(Duration::from_millis(100_010));
    assert_eq!(election.step(Input::Found(record("", 1, 0)), half), expected);
    assert_eq!(election.step(Input::Tick, now(100.01)), Action::Update(ours(WALL, 1)));
}

/// Another contender was faster: nothing is written before the Lease is seen again.
#[test]
fn a_conflict_waits_for_the_next_look() {
    let mut election = contender();
    let free = || Input::Found(record("", 1, 0));
    assert_eq!(election.step(free(), now(100.0)), Action::Update(ours(WALL, 1)));
    assert_eq!(election.step(Input::Failed, now(100.0)), Action::Wait(at(102)));
    assert_eq!(election.step(Input::Tick, now(101.0)), Action::Wait(at(102)));
    assert_eq!(election.step(Input::Tick, now(102.0)), Action::Get);
    let next = Input::Found(record("bing", 15, 1));
    assert_eq!(election.step(next, now(102.0)), Action::Wait(at(104)));
    assert_eq!(election.deadline(), None);
}

/// A deleted Lease: its holder does not know yet, and may write until its duration is over.
#[test]
fn a_deleted_lease_is_free_when_it_would_have_ended() {
    let mut election = contender();
    election.step(Input::Found(record("bing", 15, 8)), now(100.0));
    let mut action = election.step(Input::Absent, now(101.0));
    for second in 102..115 {
        assert!(!matches!(action, Action::Create(_) | Action::Update(_)), "{second}: {action:?}");
        if election.step(Input::Tick, now(f64::from(second))) == Action::Get {
            action = election.step(Input::Absent, now(f64::from(second)));
        }
    }
    assert_eq!(election.step(Input::Tick, now(115.0)), Action::Create(ours(WALL, 0)));
}

/// A response that comes when another contender may hold the lease does not make a leader.
#[test]
fn a_response_after_the_lease_is_not_trusted() {
    let mut election = contender();
    election.step(Input::Absent, now(100.0));
    let delayed = Input::Written { record: ours(WALL, 0), sent: at(100) };
    assert_eq!(election.step(delayed, now(110.0)), Action::Get);
    assert_eq!(election.deadline(), None);
    let again = Action::Update(ours(WALL, 0));
    assert_eq!(election.step(Input::Found(ours(WALL, 0)), now(110.0)), again);
    written(&mut election, ours(WALL, 0), 110.0);
    assert_eq!(election.deadline(), Some(at(120)));
}

/// TestFastPathLeaderElection, "Exercise fast path after lock acquired": renewed without a read;
/// acquire time and transitions stay.
#[test]
fn exercise_fast_path_after_lock_acquired() {
    let mut election = leader();
    let renewal = Action::Update(ours(WALL, 0));
    for second in [102_u8, 104, 106] {
        assert_eq!(election.step(Input::Tick, now(f64::from(second))), renewal);
        let next = Action::Wait(Duration::from_secs(u64::from(second) + 2));
        assert_eq!(written(&mut election, ours(WALL, 0), f64::from(second)), next);
        assert_eq!(election.deadline(), Some(Duration::from_secs(u64::from(second) + 10)));
    }
}

/// TestFastPathLeaderElection, "Fallback to slow path after fast path fails".
#[test]
fn fallback_to_slow_path_after_fast_path_fails() {
    let mut election = leader();
    let renewal = Action::Update(ours(WALL, 0));
    assert_eq!(election.step(Input::Tick, now(102.0)), renewal);
    assert_eq!(election.step(Input::Failed, now(102.0)), Action::Get);
    let edited = Record { duration_seconds: 99, ..ours(WALL, 0) };
    assert_eq!(election.step(Input::Found(edited), now(102.0)), renewal);
    assert_eq!(written(&mut election, ours(WALL, 0), 102.0), Action::Wait(at(104)));
    assert_eq!(election.step(Input::Tick, now(104.0)), renewal);
}

/// What a leader does after reading, by what it reads, after a failed renewal.
#[test]
fn a_leader_that_reads() {
    let lost = |holder: &str| Action::Lost(LossReason::Replaced(holder.to_owned()));
    let rows = [
        ("another holder", Input::Found(record("bing", 15, 1)), lost("bing")),
        ("another holder, long ended", Input::Found(record("bing", 0, 1)), lost("bing")),
        // As upstream: acquired again.
        ("nobody", Input::Found(record("", 1, 1)), Action::Update(ours(WALL, 2))),
        ("no Lease", Input::Absent, Action::Create(ours(WALL, 0))),
        ("a failure", Input::Failed, Action::Wait(at(104))),
    ];
    for (name, input, expected) in rows {
        let mut election = leader();
        election.step(Input::Tick, now(102.0));
        election.step(Input::Failed, now(102.0));
        assert_eq!(election.step(input, now(102.0)), expected, "{name}");
    }
}

/// machinery.md: must succeed within renewDeadline. Ours counts from the last renewal, so that it
/// ends before other contenders may take the lease.
#[test]
fn a_leader_that_cannot_renew_is_lost_at_the_deadline() {
    let mut election = leader();
    let lost = Action::Lost(LossReason::Deadline(10 * SECOND));
    // Near the end it retries more often, so that a network that recovers in time is used in time.
    let tries = [102.0, 104.0, 106.0, 108.0, 109.0, 109.5, 109.75, 109.875, 109.975, 110.0];
    for pair in tries.windows(2) {
        let [second, next] = pair else { unreachable!() };
        assert!(matches!(election.step(Input::Tick, now(*second)), Action::Update(_)));
        assert_eq!(election.step(Input::Failed, now(*second)), Action::Get);
        let next = Action::Wait(Duration::from_secs_f64(*next));
        assert_eq!(election.step(Input::Failed, now(*second)), next);
    }
    assert_eq!(election.deadline(), Some(at(110)));
    assert_eq!(election.step(Input::Tick, now(110.0)), lost);
    assert_eq!(election.deadline(), None);
    assert_eq!(election.step(Input::Found(record("", 1, 1)), now(111.0)), lost);
}

/// A delay that would leave no time for another try is shortened.
#[test]
fn a_leader_whose_network_is_back_in_time_tries_once_more() {
    let mut election = leader();
    assert!(matches!(election.step(Input::Tick, now(102.0)), Action::Update(_)));
    assert_eq!(election.step(Input::Failed, now(107.0)), Action::Get);
    let wait = Action::Wait(Duration::from_secs_f64(109.5));
    assert_eq!(election.step(Input::Failed, now(109.0)), wait);
    assert!(matches!(election.step(Input::Tick, now(109.5)), Action::Update(_)));
    assert_eq!(written(&mut election, ours(WALL, 0), 109.5), {
        Action::Wait(Duration::from_secs_f64(111.5))
    });
}

/// A process that was stopped for long has lost the lease at its first step, whatever the input is.
#[test]
fn a_leader_that_was_suspended_is_lost() {
    let delayed = Input::Written { record: ours(WALL, 0), sent: at(102) };
    for input in [Input::Tick, Input::Failed, Input::Absent, delayed] {
        let mut election = leader();
        let lost = Action::Lost(LossReason::Deadline(10 * SECOND));
        assert_eq!(election.step(input, now(500.0)), lost);
    }
}

/// A standby whose clock jumped cannot know how much time has passed for others; a leader can.
#[test]
fn a_jump_counts_against_us() {
    let jump = |seconds| Now { boot: at(500), ..now(seconds) };
    let mut standby = contender();
    standby.step(Input::Found(record("bing", 15, 0)), now(100.0));
    assert_eq!(standby.step(Input::Tick, jump(101.0)), Action::Wait(at(102)));
    assert!(matches!(leader().step(Input::Tick, jump(101.0)), Action::Lost(_)));
    let mut leader = leader();
    assert!(matches!(leader.step(Input::Tick, now(102.0)), Action::Update(_)));
    let sent = Input::Written { record: ours(WALL, 0), sent: at(499) };
    assert_eq!(leader.step(sent, jump(102.0)), Action::Wait(at(103)));
}

/// testReleaseLease, "release acquired lock from no object"; machinery.md: release.
#[test]
fn release_acquired_lock_from_no_object() {
    let released = Record { acquired: Some(WALL), renewed: Some(WALL), ..record("", 1, 0) };
    assert_eq!(leader().release(WALL), Some(released));
    let mut standby = contender();
    assert_eq!(standby.release(WALL), None);
    standby.step(Input::Found(record("bing", 15, 0)), now(100.0));
    assert_eq!(standby.release(WALL), None);
}

/// A Lease holds only whole seconds; a fraction must not be relied on.
#[test]
fn a_part_of_a_second_is_not_counted_on() {
    let timing = Timing { lease_duration: Duration::from_millis(2900), ..Timing::default() };
    let timing = Timing { renew_deadline: Duration::from_millis(2800), ..timing };
    let mut election = Election::new("baz", timing, false);
    election.step(Input::Tick, now(100.0));
    let create = Action::Create(Record { duration_seconds: 2, ..ours(WALL, 0) });
    assert_eq!(election.step(Input::Absent, now(100.0)), create);
    written(&mut election, ours(WALL, 0), 100.0);
    assert_eq!(election.deadline(), Some(at(102)));
}

/// Decision 0008: a write that left the process at the last moment arrives before the lease has
/// ended, or not at all.
#[test]
fn what_is_not_delivered_in_time_never_is() {
    let limit = |lease, renew| {
        let [lease_duration, renew_deadline] = [lease, renew].map(Duration::from_millis);
        Timing { lease_duration, renew_deadline, ..Timing::default() }.undelivered_max().as_millis()
    };
    assert_eq!(limit(15_000, 10_000), 2500);
    assert_eq!(limit(137_000, 107_000), 15_000);
    assert_eq!(limit(2900, 2800), 1000);
}

/// TestTryCoordinatedRenew: what a standby does that the API server may choose.
#[test]
fn in_a_coordinated_election_nothing_is_taken() {
    let preferred = |next: &str| Record { preferred: next.to_owned(), ..record("baz", 5, 1) };
    let renewal = Record { acquired: Some(Time::from_unix(5, 0)), ..ours(WALL, 1) };
    let rows = [
        ("not acquired from no object", Input::Absent, None),
        ("not acquired from led object", Input::Found(record("bing", 5, 1)), None),
        ("not acquired from unled object", Input::Found(record("", 1, 1)), None),
        ("not acquired from expired object", Input::Found(record("bing", 0, 1)), None),
        ("not renewed at the end of the term", Input::Found(preferred("bing")), None),
        ("renewed", Input::Found(record("baz", 5, 1)), Some(Action::Update(renewal.clone()))),
        // Upstream waits for ever, and the API server gives it to no other one.
        ("renewed late", Input::Found(record("baz", 0, 1)), Some(Action::Update(renewal))),
    ];
    for (name, input, expected) in rows {
        let mut election = candidate();
        let expected = expected.unwrap_or(Action::Wait(at(102)));
        assert_eq!(election.step(input, now(100.0)), expected, "{name}");
    }
}

/// Decision 0008: another holder may write until its lease has ended by this contender's clock,
/// whatever the API server's clock says, and also if the Lease was deleted since.
#[test]
fn what_is_given_too_early_waits() {
    let given = || Input::Found(record("baz", 5, 1));
    for is_deleted in [false, true] {
        let mut election = candidate();
        election.step(Input::Found(record("bing", 15, 0)), now(100.0));
        if is_deleted {
            election.step(Input::Absent, now(101.0));
        }
        assert_eq!(
            election.step(given(), now(101.5)),
            Action::Wait(Duration::from_millis(103_500))
        );
        election.step(Input::Tick, now(113.5));
        assert_eq!(election.step(given(), now(113.5)), Action::Wait(at(115)));
        let claim = election.step(Input::Tick, now(115.0));
        assert!(matches!(claim, Action::Update(_)), "{claim:?}");
    }
    // A lease that was released has ended.
    let mut election = candidate();
    election.step(Input::Found(record("bing", 15, 0)), now(100.0));
    election.step(Input::Found(record("", 1, 0)), now(100.5));
    assert!(matches!(election.step(given(), now(101.0)), Action::Update(_)));
}

/// Upstream renews nothing once another contender is preferred, and leads until its deadline.
#[test]
fn a_term_ends_at_the_deadline() {
    let named = |next: &str| Record { preferred: next.to_owned(), ..ours(WALL, 1) };
    let gone = [
        (Input::Found(named("bing")), LossReason::EndOfTerm("bing".to_owned())),
        (Input::Absent, LossReason::Deadline(10 * SECOND)),
        (Input::Found(record("", 15, 1)), LossReason::Deadline(10 * SECOND)),
    ];
    for (seen, why) in gone {
        let mut election = candidate();
        election.step(Input::Found(named("")), now(100.0));
        written(&mut election, named(""), 100.0);
        // The API server has written: the version is another one.
        assert_eq!(election.step(Input::Tick, now(102.0)), Action::Update(named("")));
        assert_eq!(election.step(Input::Failed, now(102.0)), Action::Get);
        assert_eq!(election.step(seen.clone(), now(102.0)), Action::Wait(at(104)));
        assert_eq!(election.step(Input::Tick, now(104.0)), Action::Get);
        assert_eq!(election.step(seen, now(104.0)), Action::Wait(at(106)));
        assert_eq!(election.deadline(), Some(at(110)));
        assert_eq!(election.step(Input::Tick, now(110.0)), Action::Lost(why));
    }
    // The API server changes its mind.
    let mut election = candidate();
    election.step(Input::Found(named("")), now(100.0));
    written(&mut election, named(""), 100.0);
    election.step(Input::Tick, now(102.0));
    election.step(Input::Failed, now(102.0));
    election.step(Input::Found(named("bing")), now(102.0));
    assert_eq!(election.step(Input::Tick, now(104.0)), Action::Get);
    let renewal = Action::Update(named(""));
    assert_eq!(election.step(Input::Found(named("")), now(104.0)), renewal);
}

/// A standby in a coordinated election.
fn candidate() -> Election {
    let mut election = Election::new("baz", Timing::default(), true);
    assert_eq!(election.step(Input::Tick, now(100.0)), Action::Get);
    election
}
