//! Every transition of the reflector. Each row names the test of upstream's
//! tools/cache/reflector_test.go or reflector_watchlist_test.go, or the line of its code, that it
//! stands for.

use std::time::Duration;

use crate::reflector::{At, Effect, Failure, Input, Reflector, Request, RoundError};

use Effect::{Advance, Apply, Collect, Read, Replace};
use Failure::{Expired, Other, TooLarge, Unavailable, Unserved};
use Input::{Ended, Event, Failed, Replaced, Start, Waited};

/// Inputs, their times in milliseconds, and the expected effects.
type Script = Vec<(u64, Input, Effect)>;

const STREAM: Effect = Effect::Send(Request::Stream { at: At::Latest });

fn stream(version: u64) -> Effect {
    Effect::Send(Request::Stream { at: At::NotOlderThan(version) })
}

fn list(at: At, limit: Option<u32>) -> Effect {
    Effect::Send(Request::List { at, limit, page: None })
}

fn next_page(at: At, page: &str) -> Effect {
    Effect::Send(Request::List { at, limit: Some(500), page: Some(page.to_owned()) })
}

fn watch(from: u64) -> Effect {
    Effect::Send(Request::Watch { from })
}

fn wait(delay_ms: u64, why: RoundError) -> Effect {
    Effect::Wait { delay: Duration::from_millis(delay_ms), why }
}

fn mark(version: u64) -> Input {
    Input::Bookmark { version, list_end: false }
}

fn list_end(version: u64) -> Input {
    Input::Bookmark { version, list_end: true }
}

fn page(version: u64, next: Option<&str>) -> Input {
    Input::Page { version, next: next.map(str::to_owned) }
}

/// Streams a list at version 10 and is watching 10 ms later.
fn watching() -> Script {
    vec![
        (0, Start, STREAM),
        (10, Event(5), Collect),
        (10, list_end(10), Replace(10)),
        (10, Replaced, Read),
    ]
}

/// The server does not support streaming lists.
fn listing() -> Script {
    vec![(0, Start, STREAM), (10, Failed(Other), list(At::Latest, Some(500)))]
}

fn check(name: &str, scripts: &[Script]) {
    check_of(Reflector::default(), name, scripts);
}

fn check_of(mut reflector: Reflector, name: &str, scripts: &[Script]) {
    for (at, (ms, input, effect)) in scripts.concat().into_iter().enumerate() {
        let case = format!("{name}, step {at}: {input:?}");
        assert_eq!(reflector.on(input, Duration::from_millis(ms)), effect, "{case}");
    }
}

#[test]
fn streaming_list() {
    check("TestWatchList: the list, then the watch on the same answer", &[watching()]);
    check(
        "handleAnyWatch: changes and bookmarks while the list comes",
        &[vec![
            (0, Start, STREAM),
            (0, Event(7), Collect),
            (0, mark(8), Read),
            (0, Event(9), Collect),
            (0, list_end(10), Replace(10)),
            (0, Replaced, Read),
        ]],
    );
    check(
        "TestWatchList: connection refused, 429: back-off, no fallback",
        &[vec![
            (0, Start, STREAM),
            (0, Failed(Unavailable), wait(800, RoundError::Failed(Unavailable))),
            (1000, Waited, STREAM),
            (1000, Failed(Unavailable), wait(1600, RoundError::Failed(Unavailable))),
            (4000, Waited, STREAM),
        ]],
    );
    check(
        "404, other than upstream's: no fallback, which would find nothing either",
        &[vec![
            (0, Start, STREAM),
            (0, Failed(Unserved), wait(800, RoundError::Failed(Unserved))),
            (1000, Waited, STREAM),
        ]],
    );
    check("TestWatchList: any other error falls back to a list at once", &[listing()]);
    check(
        "TestWatchList: it ends at once: fallback",
        &[vec![(0, Start, STREAM), (999, Ended, list(At::Latest, Some(500)))]],
    );
    check(
        "TestWatchList: it ends before the bookmark: from the start again",
        &[vec![
            (0, Start, STREAM),
            (1, Event(5), Collect),
            (2, Ended, wait(800, RoundError::Incomplete)),
            (900, Waited, STREAM),
            (1900, Ended, wait(1600, RoundError::Incomplete)),
        ]],
    );
}

#[test]
fn streaming_list_again() {
    let expired = vec![
        (5000, Failed(Expired), wait(800, RoundError::Failed(Expired))),
        (6000, Waited, stream(10)),
    ];
    check(
        "TestWatchList: expired, then too large: the newest state at once",
        &[
            watching(),
            expired.clone(),
            vec![
                (6001, Failed(TooLarge), STREAM),
                (6002, list_end(20), Replace(20)),
                (6003, Replaced, Read),
                (9000, Failed(Expired), wait(1600, RoundError::Failed(Expired))),
                (9900, Waited, stream(20)),
            ],
        ],
    );
    check(
        "ours: the newest state expired as well: fall back instead of spinning",
        &[
            watching(),
            expired.clone(),
            vec![
                (6001, Failed(Expired), STREAM),
                (6002, Failed(Expired), list(At::Latest, Some(500))),
            ],
        ],
    );
    check(
        "ours: an older list is refused, and the newest state is asked for",
        &[
            watching(),
            expired.clone(),
            vec![
                (6001, Event(5), Collect),
                (6001, list_end(9), wait(1600, RoundError::Older { list: 9, shown: 10 })),
                (8000, Waited, STREAM),
                (8001, list_end(10), Replace(10)),
            ],
        ],
    );
    check(
        "ours: nor is one older than the last bookmark or event, also of the newest state",
        &[
            watching(),
            vec![(20, mark(30), Advance(30)), (21, Event(31), Apply)],
            expired.iter().take(1).cloned().collect(),
            vec![
                (6000, Waited, stream(31)),
                (6001, Failed(TooLarge), STREAM),
                (6002, list_end(30), wait(1600, RoundError::Older { list: 30, shown: 31 })),
                (9000, Waited, STREAM),
            ],
        ],
    );
}

#[test]
fn lists() {
    check(
        "TestReflectorListAndWatch, but of the latest version: then a watch of its own",
        &[
            listing(),
            vec![
                (20, page(10, None), Replace(10)),
                (20, Replaced, watch(10)),
                (30, Event(11), Apply),
            ],
        ],
    );
    check(
        "TestReflectorWatchListPageSize: pages; the version is that of the first",
        &[
            listing(),
            vec![
                (20, page(10, Some("p2")), next_page(At::Latest, "p2")),
                (30, page(12, Some("p3")), next_page(At::Latest, "p3")),
                (40, page(12, None), Replace(10)),
                (40, Replaced, watch(10)),
            ],
        ],
    );
    check(
        "TestReflectorNotPaginatingNotConsistentReads: a relist at a version is not paged",
        &[
            listing(),
            vec![
                (20, page(10, None), Replace(10)),
                (20, Replaced, watch(10)),
                (5000, Failed(Other), wait(800, RoundError::Failed(Other))),
                (6000, Waited, stream(10)),
                (6001, Failed(Other), list(At::NotOlderThan(10), None)),
                (6002, page(15, None), Replace(15)),
            ],
        ],
    );
    check(
        "not TestReflectorPaginatingNonConsistentReadsIfWatchCacheDisabled: pages at a version \
         would be exactly of that one",
        &[
            listing(),
            vec![
                (20, page(10, Some("p2")), next_page(At::Latest, "p2")),
                (40, page(10, None), Replace(10)),
                (40, Replaced, watch(10)),
                (5000, Failed(Other), wait(800, RoundError::Failed(Other))),
                (6000, Waited, stream(10)),
                (6001, Failed(Other), list(At::NotOlderThan(10), None)),
            ],
        ],
    );
}

#[test]
fn failing_lists() {
    check(
        "pager.go: an expired continuation: the whole list at once, of the version asked for",
        &[
            listing(),
            vec![
                (20, page(10, Some("p2")), next_page(At::Latest, "p2")),
                (30, Failed(Expired), list(At::Latest, None)),
                (40, page(12, None), Replace(12)),
            ],
        ],
    );
    let relist = vec![
        (20, page(10, None), Replace(10)),
        (20, Replaced, watch(10)),
        (5000, Failed(Other), wait(800, RoundError::Failed(Other))),
        (6000, Waited, stream(10)),
        (6001, Failed(Other), list(At::NotOlderThan(10), None)),
    ];
    for failure in [Expired, TooLarge] {
        check(
            "TestReflectorExpiredExactResourceVersion, TestReflectorFullListIfTooLarge",
            &[
                listing(),
                relist.clone(),
                vec![
                    (6002, Failed(failure), list(At::Latest, Some(500))),
                    (6003, page(20, Some("p2")), next_page(At::Latest, "p2")),
                    (6003, page(20, None), Replace(20)),
                ],
            ],
        );
        check(
            "list(): the newest state fails too: the next round asks for it again",
            &[
                listing(),
                relist.clone(),
                vec![
                    (6002, Failed(failure), list(At::Latest, Some(500))),
                    (6003, Failed(failure), wait(1600, RoundError::Failed(failure))),
                    (9000, Waited, STREAM),
                ],
            ],
        );
    }
    check(
        "ours: an older list is refused",
        &[
            listing(),
            relist,
            vec![
                (6002, page(9, None), wait(1600, RoundError::Older { list: 9, shown: 10 })),
                (9000, Waited, STREAM),
            ],
        ],
    );
    check(
        "TestBackoffOnTooManyRequests and others: the round is over",
        &[
            listing(),
            vec![
                (20, Failed(Unavailable), wait(800, RoundError::Failed(Unavailable))),
                (1000, Waited, STREAM),
                (1000, Failed(Other), list(At::Latest, Some(500))),
                (1000, Failed(Other), wait(1600, RoundError::Failed(Other))),
                (3000, Waited, STREAM),
            ],
        ],
    );
}

#[test]
fn watches() {
    check(
        "TestReflectorWatchHandler, TestReflectorListAndWatch: the end is normal, no relist",
        &[
            watching(),
            vec![
                (20, Event(11), Apply),
                (30, mark(15), Advance(15)),
                (40, Ended, watch(15)),
                (2000, Ended, watch(15)),
            ],
        ],
    );
    check(
        "ours: the version to watch from never falls",
        &[
            watching(),
            vec![(20, Event(9), Apply), (21, mark(8), Advance(8)), (22, Ended, watch(10))],
        ],
    );
    check(
        "VeryShortWatchError: a new round",
        &[
            watching(),
            vec![(1009, Ended, wait(800, RoundError::Short)), (2000, Waited, stream(10))],
        ],
    );
    check(
        "VeryShortWatchError: the time begins with the request",
        &[watching(), vec![(1010, Ended, watch(10)), (2009, Ended, wait(800, RoundError::Short))]],
    );
    check(
        "TestWatchTimeout, isWatchErrorRetriable: refused or 429: the same watch later, no relist",
        &[
            watching(),
            vec![
                (2000, Ended, watch(10)),
                (2001, Failed(Unavailable), wait(800, RoundError::Failed(Unavailable))),
                (3000, Waited, watch(10)),
                (3001, Failed(Unavailable), wait(1600, RoundError::Failed(Unavailable))),
                (5000, Waited, watch(10)),
                (5001, Event(11), Apply),
            ],
        ],
    );
    for failure in [Expired, TooLarge, Other] {
        check(
            "TestReflectorRelistOnWatchError, InternalError with no retry duration: a new round",
            &[
                watching(),
                vec![
                    (20, Failed(failure), wait(800, RoundError::Failed(failure))),
                    (1000, Waited, stream(10)),
                ],
            ],
        );
    }
}

/// `useWatchList` without the gate `WatchListClient`: each round begins with a list.
#[test]
fn without_streaming_lists() {
    let synced = vec![
        (0, Start, list(At::Latest, Some(500))),
        (10, page(9, Some("more")), next_page(At::Latest, "more")),
        (20, page(10, None), Replace(9)),
        (20, Replaced, watch(9)),
    ];
    for (name, rest) in [
        (
            "a round that follows",
            vec![
                (30, Event(12), Apply),
                (40, Failed(Expired), wait(800, RoundError::Failed(Expired))),
                (900, Waited, list(At::NotOlderThan(12), None)),
            ],
        ),
        ("a new list", vec![(30, Input::Renew, list(At::Latest, Some(500)))]),
    ] {
        check_of(Reflector::listing(), name, &[synced.clone(), rest]);
    }
}

/// A server that is at an older version than the watch began at sends nothing.
#[test]
fn silent_watches() {
    check(
        "a minute without a bookmark is none to worry about; two are",
        &[watching(), vec![(119_000, Ended, watch(10)), (239_000, Ended, stream(10))]],
    );
    check(
        "a bookmark of the version that is known is a sign of life, an older one is none",
        &[
            watching(),
            vec![
                (60_000, mark(10), Advance(10)),
                (300_000, Ended, watch(10)),
                (360_000, mark(9), Advance(9)),
                (600_000, Ended, stream(10)),
            ],
        ],
    );
}

/// After a restore of etcd the latest version stays older than the cached one.
#[test]
fn rewound() {
    let (list, shown) = (7, 10);
    let (older, rewound) = (RoundError::Older { list, shown }, RoundError::Rewound { list, shown });
    let refused = |at: u64, delay: u64, why: RoundError| {
        vec![(at, Waited, STREAM), (at, list_end(list), wait(delay, why))]
    };
    let begin = vec![
        (20, Failed(Other), wait(800, RoundError::Failed(Other))),
        (1_000, Waited, stream(10)),
        // A server that ignores the requested version proves nothing.
        (1_000, list_end(list), wait(1_600, older)),
    ];
    let three = [refused(3_000, 3_200, older), refused(9_000, 6_400, older)].concat();
    let three = [three, refused(20_000, 12_800, older)].concat();
    check(
        "five lists, over a minute",
        &[
            watching(),
            begin.clone(),
            three.clone(),
            refused(40_000, 25_600, older),
            refused(62_999, 30_000, older),
            refused(63_000, 30_000, rewound),
            refused(100_000, 30_000, rewound),
        ],
    );
    check(
        "fewer lists, however long it takes",
        &[
            watching(),
            begin.clone(),
            three.clone(),
            refused(90_000, 25_600, older),
            refused(120_000, 30_000, rewound),
        ],
    );
    check(
        "one that is as new as it should be in between: from the start again",
        &[
            watching(),
            begin,
            three,
            vec![
                (40_000, Waited, STREAM),
                (40_000, list_end(10), Replace(10)),
                (40_000, Replaced, Read),
                (50_000, Failed(TooLarge), wait(25_600, RoundError::Failed(TooLarge))),
                (80_000, Waited, stream(10)),
                (80_000, Failed(TooLarge), STREAM),
                (80_000, list_end(list), wait(30_000, older)),
            ],
            refused(120_000, 30_000, older),
        ],
    );
}

/// TestBackoffManager and `Backoff.DelayWithReset`: 800 ms, doubled up to 30 s, from the start
/// after two minutes without a wait.
#[test]
fn delays() {
    let mut reflector = Reflector::default();
    let mut now = Duration::ZERO;
    assert_eq!(reflector.on(Start, now), STREAM);
    let mut delays = Vec::new();
    let mut fail = |pause: Duration| {
        now += pause;
        let Effect::Wait { delay, .. } = reflector.on(Failed(Unavailable), now) else { panic!() };
        now += delay;
        assert_eq!(reflector.on(Waited, now), STREAM);
        delays.push(u64::try_from(delay.as_millis()).unwrap());
    };
    for _ in 0..8 {
        fail(Duration::ZERO);
    }
    fail(Duration::from_secs(90));
    fail(Duration::from_secs(91));
    fail(Duration::ZERO);
    assert_eq!(delays, [800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000, 800, 1600]);
}

/// A driver that breaks the contract must not lead to a wrong cache: a new round begins.
#[test]
fn out_of_turn() {
    let cases: [(&str, Script, Vec<Input>); 4] = [
        ("idle", vec![], vec![Waited, Event(1), page(1, None), Ended, Replaced]),
        ("streaming", vec![(0, Start, STREAM)], vec![Start, Waited, page(1, None), Replaced]),
        ("listing", listing(), vec![Start, Waited, Event(1), mark(1), Replaced, Ended]),
        ("watching", watching(), vec![Start, Waited, page(1, None), Replaced]),
    ];
    for (name, script, inputs) in cases {
        for input in inputs {
            let last = (20, input, wait(800, RoundError::Failed(Other)));
            check(name, &[script.clone(), vec![last]]);
        }
    }
}
