//! The sandbox as a child process, with kubectl as a user has it.

use crate::components::{flag, free_port, tool};
use crate::manager::build;
use crate::process::{Guard, Process};
use crate::wait::wait_until;
use anyhow::Context;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Generous, for a machine that is busy with other tests.
const START_LIMIT: Duration = Duration::from_mins(1);

/// A running sandbox; dropping it ends it and removes its folder.
pub struct Sandbox {
    process: Process,
    dir: PathBuf,
    url: String,
    // Dropped last: it ends what is left when this program is killed.
    _guard: Guard,
}

/// What a command said.
#[derive(Clone, Debug)]
pub struct Said {
    /// Its exit code; -1 if a signal ended it.
    pub code: i32,
    /// On its standard output.
    pub out: String,
    /// On its standard error.
    pub err: String,
}

impl Sandbox {
    /// Starts a sandbox, built in the profile of the running test, and returns when all its nodes
    /// are ready.
    pub async fn start(nodes: usize) -> anyhow::Result<Self> {
        Self::start_with(nodes, &[]).await
    }

    /// The same with further flags.
    pub async fn start_with(nodes: usize, flags: &[String]) -> anyhow::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("sandbox-{}-{count}", std::process::id()));
        fs::create_dir_all(&dir)?;
        let port = free_port()?;
        // The shell raises the limit of descriptors, and becomes the sandbox.
        let script = "ulimit -n \"$(ulimit -H -n)\"; exec \"$0\" \"$@\"";
        let args = [
            "-c".to_owned(),
            script.to_owned(),
            build("sandbox-cli", "sandbox")?.display().to_string(),
            flag("nodes", nodes),
            flag("port", port),
        ];
        let args = args.iter().chain(flags);
        let process = Process::spawn("sandbox", Path::new("sh"), args, &dir, 0)?;
        let guard = Guard::spawn(process.pid(), Some(&dir))?;
        let url = format!("http://127.0.0.1:{port}");
        let sandbox = Self { process, dir, url, _guard: guard };
        let ready = async || {
            let said = sandbox.kubectl("get nodes --no-headers").await?;
            Ok((said.out.matches(" Ready ").count() == nodes).then_some(()))
        };
        let started = wait_until("the sandbox", START_LIMIT, ready).await;
        started.with_context(|| sandbox.process.log_tail())?;
        Ok(sandbox)
    }

    /// Where its API is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its folder, which is removed with it.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// What it has written.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// How much memory it holds, in KiB.
    pub fn resident_kib(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.context("VmRSS")?.parse().context("VmRSS")
    }

    /// Writes a file into the folder in which [`Sandbox::kubectl`] runs.
    pub fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        Ok(fs::write(self.dir.join(name), text)?)
    }

    /// Runs kubectl with arguments as a shell reads them; `kubectl` and what follows a `|` may
    /// stand in them too.
    pub async fn kubectl(&self, line: &str) -> anyhow::Result<Said> {
        let script = format!("kubectl() {{ \"$KUBECTL\" -s \"$URL\" \"$@\"; }}; kubectl {line}");
        let mut command = Command::new("sh");
        command
            .args(["-c", &script])
            .current_dir(&self.dir)
            .env("KUBECTL", tool("kubectl")?)
            .env("URL", &self.url)
            .env("HOME", &self.dir)
            .env_remove("KUBECONFIG")
            .stdin(std::process::Stdio::null());
        let Output { status, stdout, stderr } =
            tokio::task::spawn_blocking(move || command.output()).await??;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Said { code: status.code().unwrap_or(-1), out: text(stdout), err: text(stderr) })
    }

    /// Runs kubectl; an error if it fails.
    pub async fn must(&self, line: &str) -> anyhow::Result<String> {
        let said = self.kubectl(line).await?;
        anyhow::ensure!(said.code == 0, "kubectl {line}: {}\n{}", said.code, said.err);
        Ok(said.out)
    }
}
