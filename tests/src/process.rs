//! Child processes that never outlive their owner.

use anyhow::Context;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// Enough to see why a component gave up, little enough to read.
const TAIL_LINES: usize = 15;

/// A child process whose output goes to a log file. Dropping it kills it and waits for its end.
#[derive(Debug)]
pub(crate) struct Process {
    name: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `binary`, its output appended to `<dir>/<name>.log`, in the process group `group`,
    /// or as the leader of a group of its own when that is 0.
    pub(crate) fn spawn(
        name: &str,
        binary: &Path,
        args: impl IntoIterator<Item = impl AsRef<OsStr>>,
        dir: &Path,
        group: i32,
    ) -> anyhow::Result<Self> {
        let log = dir.join(format!("{name}.log"));
        let output = File::options().create(true).append(true).open(&log)?;
        let child = Command::new(binary)
            .args(args)
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(group)
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        Ok(Self { name: name.to_owned(), child, log })
    }

    /// The component's name, as in the name of its log.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The process id, which is also that of its group if it was started with group 0.
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a pid fits into pid_t")
    }

    /// How the process ended, or `None` while it runs.
    pub(crate) fn exited(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// Sends SIGTERM and returns at once.
    pub(crate) fn terminate(&self) -> anyhow::Result<()> {
        signal("TERM", &self.pid().to_string())
    }

    /// Sends SIGKILL and waits until the process has ended, its ports and files with it.
    pub(crate) fn kill(&mut self) {
        // Both fail only for a process that has been waited for already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Everything the process has written so far, broken UTF-8 replaced.
    pub(crate) fn log(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last lines of the log under a heading that names the component.
    pub(crate) fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        let tail = &lines[lines.len().saturating_sub(TAIL_LINES)..];
        format!("{} wrote to {}:\n{}", self.name, self.log.display(), tail.join("\n"))
    }

    /// Detaches the process: it runs on after this program.
    pub(crate) fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a signal (`KILL`, `TERM`, `STOP`, `CONT`) to a pid, or to a group given as `-<pgid>`.
pub(crate) fn signal(name: &str, target: &str) -> anyhow::Result<()> {
    // The shell's own kill, since a bare machine may have no /bin/kill.
    let status = Command::new("sh").args(["-c", "kill -s \"$0\" \"$1\"", name, target]).status()?;
    anyhow::ensure!(status.success(), "cannot send SIG{name} to {target}");
    Ok(())
}

/// A shell that waits for the end of this program, however it comes about (a panic, SIGKILL, ^C),
/// and then kills a process group and removes a folder.
///
/// It notices by the end of its input, a pipe that only this program holds. The kernel's parent
/// death signal would not do: it is sent when the *thread* that spawned the child ends.
#[derive(Debug)]
pub(crate) struct Guard {
    shell: Child,
}

impl Guard {
    /// Watches over `group` and, if there is one, `folder`.
    pub(crate) fn spawn(group: i32, folder: Option<&Path>) -> anyhow::Result<Self> {
        // The read fails at the end of the input; nothing is ever written to it.
        let script = r#"read -r _; kill -9 "-$1"; [ -z "$2" ] || rm -rf -- "$2""#;
        let shell = Command::new("sh")
            .args(["-c", script, "guard", &group.to_string()])
            .arg(folder.unwrap_or(Path::new("")))
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { shell })
    }

    /// Dismisses the guard without letting it act.
    pub(crate) fn dismiss(mut self) {
        let _ = self.shell.kill();
        // Dropping now only waits for the end of the shell.
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn sleeper(name: &str) -> (PathBuf, Process) {
        let dir = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let process = Process::spawn("sleep", Path::new("sleep"), ["600"], &dir, 0).unwrap();
        (dir, process)
    }

    // What happens when a test process is killed: its pipe closes.
    #[tokio::test]
    async fn guard_kills_the_group_and_removes_the_folder() {
        let (dir, mut process) = sleeper("guard");
        let member = Process::spawn("sleep", Path::new("sleep"), ["600"], &dir, process.pid());
        let guard = Guard::spawn(process.pid(), Some(&dir)).unwrap();
        assert!(process.exited().unwrap().is_none());
        drop(guard);
        for process in [&mut process, &mut member.unwrap()] {
            let end = async || process.exited();
            let status = crate::wait_until("the kill", Duration::from_secs(10), end).await;
            assert!(!status.unwrap().success());
        }
        assert!(!dir.exists());
    }

    #[test]
    fn dismissed_guard_leaves_everything() {
        let (dir, mut process) = sleeper("dismissed");
        Guard::spawn(process.pid(), Some(&dir)).unwrap().dismiss();
        assert!(process.exited().unwrap().is_none());
        assert!(dir.exists());
        fs::remove_dir_all(dir).unwrap();
    }
}
