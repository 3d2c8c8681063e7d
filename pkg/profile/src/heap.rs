//! The heap profile: jemalloc records the stack of one allocation per 512 KiB.

use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use jemalloc_pprof::{JemallocProfCtl, PROF_CTL};
use runtime::Runtime;
// Named so that jemalloc is compiled with profiling.
use tikv_jemallocator as _;
use tokio::task::spawn_blocking;

use crate::stacks::{SampleType, Stacks};
use crate::{Error, SECONDS_MAX, scratch};

/// The greatest depth of jemalloc's own calls.
const ALLOCATOR_CALLS_MAX: usize = 8;
const IN_USE: SampleType = ("inuse_space", "bytes");
const PERIOD: SampleType = ("space", "bytes");

/// The memory in use, by allocation site: a gzipped profile of pprof. Sizes are estimates from
/// samples. Memory that no allocation requested is not in it (the binary, stacks, the allocator's
/// reserves).
pub async fn heap() -> Result<Vec<u8>, Error> {
    let stacks = stacks().await?;
    encode(stacks).await
}

/// The changes within `seconds`, 1 to [`SECONDS_MAX`]. Freed memory is negative.
pub(crate) async fn heap_delta(seconds: u64, runtime: &Runtime) -> Result<Vec<u8>, Error> {
    if !(1..=SECONDS_MAX).contains(&seconds) {
        return Err(Error::Seconds(seconds));
    }
    let before = stacks().await?;
    runtime.clock.sleep(Duration::from_secs(seconds)).await;
    let after = stacks().await?;
    encode(after.since(before)).await
}

/// jemalloc's own format, which `go tool pprof` and jeprof also read.
pub(crate) async fn heap_text() -> Result<String, Error> {
    ask(|control| {
        let mut text = String::new();
        control.dump()?.read_to_string(&mut text)?;
        Ok(text)
    })
    .await
}

async fn stacks() -> Result<Stacks, Error> {
    ask(|control| {
        let mut stacks = Stacks::default();
        let mut known = BTreeMap::new();
        for (mut stack, _) in control.dump_profile()?.stacks {
            cut_allocator(&mut stack.addrs, &mut known);
            stacks.add(stack.addrs, stack.weight);
        }
        Ok(stacks)
    })
    .await
}

/// Removes the innermost calls, which are inside jemalloc and the same for all: the caller of the
/// allocator should be on top. `known` caches which addresses are jemalloc's.
fn cut_allocator(addresses: &mut Vec<usize>, known: &mut BTreeMap<usize, bool>) {
    let inner = addresses.iter().rev().take(ALLOCATOR_CALLS_MAX);
    let own = inner.map(|address| *known.entry(*address).or_insert_with(|| is_jemalloc(*address)));
    let own: Vec<bool> = own.collect();
    let calls = own.iter().rposition(|is_own| *is_own).map_or(0, |last| last + 1);
    addresses.truncate(addresses.len() - calls);
}

/// Whether the return address `address` is in jemalloc.
fn is_jemalloc(address: usize) -> bool {
    let mut found = false;
    backtrace::resolve((address - 1) as *mut _, |symbol| {
        let name = symbol.name().and_then(|name| name.as_str());
        found |= name.is_some_and(|name| name.starts_with("_rjem_"));
    });
    found
}

async fn encode(stacks: Stacks) -> Result<Vec<u8>, Error> {
    let encoded = spawn_blocking(|| stacks.encode(IN_USE, PERIOD)).await;
    encoded.map_err(|error| Error::Collect(error.to_string()))
}

/// Any error from below; only its text is used.
type Failure = Box<dyn std::error::Error + Send + Sync>;

async fn ask<T: Send + 'static>(
    question: impl FnOnce(&mut JemallocProfCtl) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Error> {
    let answer = spawn_blocking(move || {
        scratch::prepare();
        let control = PROF_CTL.as_ref().ok_or(Error::HeapOff)?;
        question(&mut control.blocking_lock()).map_err(|error| Error::Collect(error.to_string()))
    });
    answer.await.map_err(|error| Error::Collect(error.to_string()))?
}
