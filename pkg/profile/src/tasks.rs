//! Tasks by number, threads by name.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use tokio::runtime::Handle;

/// The most threads that are listed; beyond that only their number is shown.
const THREADS_MAX: usize = 1000;

/// The tasks of the current tokio runtime that have not ended.
pub(crate) fn alive() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// A page for finding out why nothing makes progress.
pub(crate) fn page() -> String {
    let metrics = Handle::current().metrics();
    let threads = threads();
    let mut page = format!(
        "tasks: {}\nready and waiting for a worker: {}\nworkers: {}\nthreads: {}\n\n",
        metrics.num_alive_tasks(),
        metrics.global_queue_depth(),
        metrics.num_workers(),
        threads.len(),
    );
    for (id, thread) in threads.iter().take(THREADS_MAX) {
        writeln!(page, "{id}\t{thread}").expect("a String takes all text");
    }
    page.push_str("\nStacks of tasks are not recorded. A busy thread shows in the CPU profile.\n");
    page
}

/// Name and state of each thread, by its id. Empty where there is no /proc.
fn threads() -> BTreeMap<u32, String> {
    let folders = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let threads = folders.filter_map(|folder| {
        let id = folder.file_name().to_str()?.parse().ok()?;
        Some((id, thread(&folder.path())?))
    });
    threads.collect()
}

fn thread(folder: &Path) -> Option<String> {
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let value = |key| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    Some(format!("{}\t{}", value("Name:")?, value("State:")?))
}
