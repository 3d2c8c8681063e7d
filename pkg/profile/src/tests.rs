//! Profiles of this process, read back, and the pages that serve them.

use std::collections::BTreeMap;
use std::future::{pending, ready};
use std::hint::black_box;
use std::io::Read;

use axum::body::Body;
use axum::response::Response;
use flate2::read::GzDecoder;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use prost::Message;
use runtime::{Clock, Runtime};
use tokio::sync::{Mutex, oneshot};
use tower::ServiceExt;

use crate::{Error, SECONDS_MAX, cpu, heap, router};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Held while recording CPU: two recordings would refuse each other.
static ALONE: Mutex<()> = Mutex::const_new(());

#[tokio::test]
async fn a_cpu_profile_names_the_function_that_was_busy() {
    let _alone = ALONE.lock().await;
    let bytes = cpu::record(async { assert_ne!(keeps_the_cpu_busy(100_000_000), 0) }).await;
    let profile = Profile::read(&bytes.expect("it records"));
    assert_eq!(profile.kinds(), ["cpu nanoseconds"]);
    let (busy, all) = (profile.below("keeps_the_cpu_busy"), profile.below(""));
    assert!(busy >= 100_000_000, "{busy} ns of {all} ns in a hundred million turns");
    // A sample is 10 ms. The other tests are sampled too, so no share is certain.
    assert!(profile.samples.iter().all(|sample| sample.values[0] % 10_000_000 == 0));
    assert!(profile.innermost().any(|name| name.contains("keeps_the_cpu_busy")));
}

#[tokio::test]
async fn a_second_cpu_profile_is_refused_while_one_is_recorded() {
    let _alone = ALONE.lock().await;
    let mut refused = None;
    let first = cpu::record(async {
        let page = Page::get("/debug/pprof/profile?seconds=1").await;
        refused = Some((cpu::record(ready(())).await, page));
    });
    first.await.expect("the first goes on");
    let (second, page) = refused.expect("both were asked for");
    assert_eq!(second, Err(Error::InUse));
    let text = "Could not enable CPU profiling: cpu profiling already in use\n";
    assert_eq!((page.status, page.text()), (StatusCode::INTERNAL_SERVER_ERROR, text));
    cpu::record(ready(())).await.expect("there may be another one afterwards");
}

#[tokio::test]
async fn a_dropped_caller_ends_the_cpu_profile() {
    let _alone = ALONE.lock().await;
    let (recording, recorded) = oneshot::channel();
    tokio::select! {
        biased;
        _ = cpu::record(async { recording.send(()).expect("it is waited for"); pending().await })
            => panic!("it would record for ever"),
        started = recorded => started.expect("it starts"),
    }
    let ended = cpu::ended();
    Clock::system().timeout(std::time::Duration::from_mins(1), ended).await.expect("it ends");
    cpu::record(ready(())).await.expect("the next one records");
}

#[tokio::test]
async fn a_cpu_profile_takes_a_second_to_five_minutes() {
    for seconds in [0, SECONDS_MAX + 1] {
        let refused = cpu::cpu(seconds, &runtime()).await;
        assert_eq!(refused, Err(Error::Seconds(seconds)), "{seconds}");
    }
}

#[tokio::test(start_paused = true)]
async fn shutting_down_ends_a_cpu_profile() {
    let _alone = ALONE.lock().await;
    let runtime = runtime();
    let before = runtime.clock.instant();
    runtime.cancel.cancel();
    cpu::cpu(SECONDS_MAX, &runtime).await.expect("what there is");
    assert_eq!(runtime.clock.instant(), before);
}

#[tokio::test]
async fn a_heap_profile_names_the_function_that_holds_memory() {
    let held = holds_memory();
    let profile = Profile::read(&heap::heap().await.expect("jemalloc counts"));
    assert_eq!(profile.kinds(), ["inuse_space bytes"]);
    let (bytes, expected) = (profile.below("holds_memory"), 256 << 20);
    assert!((expected * 3 / 4..expected * 5 / 4).contains(&bytes), "{bytes} of {expected}");
    assert!(profile.innermost().all(|name| !name.contains("_rjem_")), "jemalloc is left out");
    drop(black_box(held));
    let profile = Profile::read(&heap::heap().await.expect("jemalloc counts"));
    assert!(profile.below("holds_memory") < expected / 4, "what was freed is not in it");
}

#[test]
fn a_delta_has_what_came_and_what_went() {
    let stacks = |rows: &[(usize, f64)]| {
        let mut stacks = crate::stacks::Stacks::default();
        for (address, weight) in rows {
            stacks.add(vec![*address], *weight);
        }
        stacks
    };
    let before = stacks(&[(0x10, 5.0), (0x20, 7.0), (0x30, 1.0)]);
    let after = stacks(&[(0x20, 7.2), (0x30, 4.0), (0x40, 2.0)]);
    let kind = ("inuse_space", "bytes");
    let profile = Profile::read(&after.since(before).encode(kind, kind));
    let addresses: BTreeMap<u64, u64> =
        profile.locations.iter().map(|location| (location.id, location.address + 1)).collect();
    let mut weights: Vec<(u64, i64)> =
        profile.samples.iter().map(|it| (addresses[&it.locations[0]], it.values[0])).collect();
    weights.sort_unstable();
    assert_eq!(weights, [(0x10, -5), (0x30, 3), (0x40, 2)]);
}

#[tokio::test(start_paused = true)]
async fn the_index_lists_pages_that_exist() {
    let _alone = ALONE.lock().await;
    let index = Page::get("/debug/pprof/").await;
    assert_eq!(index.header("content-type"), "text/html; charset=utf-8");
    let links = index.text().split("<a href='").skip(1);
    let links: Vec<&str> = links.filter_map(|rest| rest.split('\'').next()).collect();
    let names = ["cmdline", "goroutine", "heap", "profile", "symbol"];
    assert_eq!(links, names.map(|name| format!("{name}?debug=1")));
    for link in links {
        let page = Page::get(&format!("/debug/pprof/{link}")).await;
        assert_eq!(page.status, StatusCode::OK, "{link}");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_answer_as_those_of_go() {
    let _alone = ALONE.lock().await;
    // Query, status, content type, name of the file, start of the text.
    let (text, binary) = ("text/plain; charset=utf-8", "application/octet-stream");
    let positive = "invalid value for \"seconds\" - must be a positive integer\n";
    let rows = [
        ("profile?seconds=2&seconds=900", 200, binary, "profile", ""),
        // As in Go, an invalid number of seconds means 30.
        ("profile?seconds=x", 200, binary, "profile", ""),
        ("profile?seconds=301", 400, text, "", "invalid value for \"seconds\" - must be from 1"),
        ("heap?debug=0", 200, binary, "heap", ""),
        ("heap?debug=1", 200, text, "", "heap_v2/524288\n"),
        ("heap?seconds=1", 200, binary, "heap-delta", ""),
        ("heap?seconds=0", 400, text, "", positive),
        ("heap?seconds=x", 400, text, "", positive),
        ("heap?seconds=301", 400, text, "", "invalid value for \"seconds\" - must be from 1"),
        ("heap?seconds=1&debug=1", 400, text, "", "seconds and debug params are incompatible\n"),
        ("goroutine?debug=1", 200, text, "", "tasks: "),
        ("goroutine?debug=2", 200, text, "", "tasks: "),
        ("goroutine", 501, text, "", "stacks of tasks are not recorded"),
        ("goroutine?seconds=1", 400, text, "", "\"seconds\" parameter is not supported for this"),
        ("symbol", 200, text, "", "num_symbols: 0\n"),
        ("trace?seconds=5", 501, text, "", "trace: only Go's runtime records it"),
        ("allocs", 501, text, "", "allocs: only Go's runtime records it"),
        ("x/y", 404, text, "", "Unknown profile\n"),
    ];
    for (query, status, content_type, file, start) in rows {
        let page = Page::get(&format!("/debug/pprof/{query}")).await;
        assert_eq!(page.status, status, "{query}");
        assert_eq!(page.header("content-type"), content_type, "{query}");
        assert_eq!(page.header("x-content-type-options"), "nosniff", "{query}");
        let is_refused = if status >= 400 { "1" } else { "" };
        assert_eq!(page.header("x-go-pprof"), is_refused, "{query}");
        let disposition = format!("attachment; filename=\"{file}\"");
        let disposition = if file.is_empty() { "" } else { &disposition };
        assert_eq!(page.header("content-disposition"), disposition, "{query}");
        if content_type == text {
            assert!(page.text().starts_with(start), "{query}: {}", page.text());
        } else {
            assert!(!Profile::read(&page.body).strings.is_empty(), "{query}");
        }
    }
}

#[tokio::test]
async fn cmdline_has_the_arguments_with_zeros_between() {
    let page = Page::get("/debug/pprof/cmdline").await;
    let arguments: Vec<String> = std::env::args().collect();
    assert_eq!(page.text().split('\0').collect::<Vec<_>>(), arguments);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn tasks_and_threads_are_counted() {
    let waiting: Vec<_> = (0..7).map(|_| runtime::spawn("waiting", pending())).collect();
    let page = Page::get("/debug/pprof/goroutine?debug=1").await;
    assert!(page.text().starts_with("tasks: 7\n"), "{}", page.text());
    assert!(page.text().contains("\nworkers: 3\n"), "{}", page.text());
    let own = std::fs::read_to_string("/proc/thread-self/comm").expect("there is a /proc");
    let rows = page.text().lines().filter(|line| line.split('\t').count() == 3);
    let count = format!("\nthreads: {}\n", rows.clone().count());
    assert!(page.text().contains(&count), "{}", page.text());
    assert!(rows.clone().any(|row| row.contains(own.trim())), "{}", page.text());
    let index = Page::get("/debug/pprof/").await;
    assert!(index.text().contains("<td>7</td><td><a href='goroutine?debug=1'>"));
    waiting.iter().for_each(runtime::Task::abort);
}

// === What is profiled ===

#[inline(never)]
fn keeps_the_cpu_busy(turns: u64) -> u64 {
    (0..turns).fold(1, |sum, turn| black_box(sum ^ turn))
}

/// Enough that a quarter of it is more than five standard deviations: one byte in 512 KiB is
/// sampled.
#[inline(never)]
fn holds_memory() -> Vec<Vec<u8>> {
    (0..4096).map(|_| vec![1; 64 << 10]).collect()
}

// === Asking ===

struct Page {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Page {
    async fn get(path: &str) -> Self {
        let request = Request::get(path).body(Body::empty()).expect("a path");
        // A shutdown ends CPU profiles, so none of them takes its time here.
        let runtime = runtime();
        runtime.cancel.cancel();
        let answer: Response =
            router(&runtime).oneshot(request).await.expect("routers do not fail");
        let (parts, body) = answer.into_parts();
        let body = body.collect().await.expect("the body is here").to_bytes().to_vec();
        Self { status: parts.status, headers: parts.headers, body }
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("plain text"))
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }
}

fn runtime() -> Runtime {
    Runtime::simulated(api::Time::EPOCH, 1)
}

// === Reading profiles: the part of pprof's profile.proto that tells who did what ===

#[derive(Clone, PartialEq, Message)]
struct Profile {
    #[prost(message, repeated, tag = "1")]
    kinds: Vec<Kind>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    locations: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    functions: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    strings: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Kind {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    locations: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    values: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Location {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "3")]
    address: u64,
    #[prost(message, repeated, tag = "4")]
    lines: Vec<Line>,
}

#[derive(Clone, PartialEq, Message)]
struct Line {
    #[prost(uint64, tag = "1")]
    function: u64,
}

#[derive(Clone, PartialEq, Message)]
struct Function {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
}

impl Profile {
    fn read(gzipped: &[u8]) -> Self {
        let mut bytes = Vec::new();
        GzDecoder::new(gzipped).read_to_end(&mut bytes).expect("gzip");
        Self::decode(bytes.as_slice()).expect("a profile")
    }

    fn string(&self, index: i64) -> &str {
        &self.strings[usize::try_from(index).expect("an index")]
    }

    fn kinds(&self) -> Vec<String> {
        let kinds = self.kinds.iter();
        kinds.map(|it| format!("{} {}", self.string(it.kind), self.string(it.unit))).collect()
    }

    /// The names in each stack, the innermost first.
    fn names<'a>(&'a self, sample: &'a Sample) -> impl Iterator<Item = &'a str> {
        let locations = sample.locations.iter();
        let locations =
            locations.filter_map(|id| self.locations.iter().find(|location| location.id == *id));
        let lines = locations.flat_map(|location| &location.lines);
        let functions =
            lines.filter_map(|line| self.functions.iter().find(|it| it.id == line.function));
        functions.map(|function| self.string(function.name))
    }

    /// The sum over all stacks that have a function with `part` in its name.
    fn below(&self, part: &str) -> i64 {
        let within = self.samples.iter();
        let within = within.filter(|sample| self.names(sample).any(|name| name.contains(part)));
        within.map(|sample| sample.values[0]).sum()
    }

    fn innermost(&self) -> impl Iterator<Item = &str> {
        self.samples.iter().flat_map(|sample| self.names(sample).take(3))
    }
}
