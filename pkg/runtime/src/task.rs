//! Tasks, and the fence that keeps a panic inside one of them.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures::FutureExt;
use tokio::task::JoinHandle;

use crate::Process;

/// A running task.
pub type Task = JoinHandle<()>;

/// A caught panic, as the text of its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fenced(pub String);

/// Starts a task on the current tokio runtime, in the present process if it is one of a simulation.
/// A panic inside ends only that task and is logged with the task's name.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper that the ban points to")]
pub fn spawn(name: &'static str, future: impl Future<Output = ()> + Send + 'static) -> Task {
    let task = async move {
        if let Err(panic) = AssertUnwindSafe(future).catch_unwind().await {
            tracing::error!(task = name, panic = panic_text(&*panic), "a task panicked and ended");
        }
    };
    match Process::current() {
        None => tokio::spawn(task),
        Some(process) => tokio::spawn(process.run(task).map(|_ended| ())),
    }
}

/// Runs `body`; a panic is returned as a value.
pub fn fenced<T>(body: impl FnOnce() -> T) -> Result<T, Fenced> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|panic| Fenced(panic_text(&*panic)))
}

/// Runs `future`; a panic is returned as a value.
pub async fn fenced_async<F: Future>(future: F) -> Result<F::Output, Fenced> {
    let result = AssertUnwindSafe(future).catch_unwind().await;
    result.map_err(|panic| Fenced(panic_text(&*panic)))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no text".to_owned())
}
