//! Runs on all cores: they share nothing, so each is what it would be alone.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// How many results may wait until they are reported.
const WAITING_MAX: usize = 64;

/// Runs something `count` times, on all cores, and reports the results in order, until the caller
/// says to stop.
pub(crate) fn each<T: Send>(
    count: usize,
    act: impl Fn(usize) -> T + Sync,
    mut tell: impl FnMut(usize, T) -> ControlFlow<()>,
) {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::sync_channel(WAITING_MAX);
    thread::scope(|scope| {
        for _ in 0..cores.min(count) {
            let (sender, act, next, stopped) = (sender.clone(), &act, &next, &stopped);
            scope.spawn(move || {
                while !stopped.load(Ordering::SeqCst) {
                    let at = next.fetch_add(1, Ordering::SeqCst);
                    if at >= count || sender.send((at, act(at))).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let (mut early, mut due) = (BTreeMap::new(), 0);
        for (at, result) in receiver {
            early.insert(at, result);
            while let Some(result) = early.remove(&due).filter(|_| !stopped.load(Ordering::SeqCst))
            {
                if tell(due, result).is_break() {
                    stopped.store(true, Ordering::SeqCst);
                }
                due += 1;
            }
        }
    });
}
