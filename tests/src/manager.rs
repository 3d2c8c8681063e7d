//! A kube-controller-manager beside a [`Cluster`]: ours or upstream's, with the same flags.

use crate::cluster::{self, Caller, Cluster};
use crate::components::{self, flag, free_port, path_flag};
use crate::pki::User;
use crate::process::{Process, signal};
use crate::wait::wait_until;
use anyhow::{Context, anyhow};
use http::Request;
use kube::Client;
use kube::client::Body;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;
use std::time::Duration;

/// The unit of the times in `/proc/<pid>/stat`: `USER_HZ`, 100 on every architecture of Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Which kube-controller-manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binary {
    /// This repository's, built in the profile of the running test before its first use. The
    /// environment variable `KCM_BINARY` names another one to run instead.
    Ours,
    /// Upstream's, from `make cluster-tools`.
    Upstream,
}

impl Binary {
    /// The manager that a suite is about: ours, or upstream's if the environment variable
    /// `CLUSTER_MANAGER` is `upstream`, which shows that the suite asks for what upstream does.
    pub fn under_test() -> anyhow::Result<Self> {
        match std::env::var("CLUSTER_MANAGER").as_deref() {
            Err(_) | Ok("ours") => Ok(Self::Ours),
            Ok("upstream") => Ok(Self::Upstream),
            Ok(other) => anyhow::bail!("CLUSTER_MANAGER is {other:?}, not `ours` or `upstream`"),
        }
    }
}

/// A running kube-controller-manager; dropping it kills it.
pub struct Manager {
    process: Process,
    client: Client,
    url: String,
    /// Whether its clock is wrong.
    fake: bool,
}

/// The response of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageResponse {
    /// The HTTP status.
    pub code: u16,
    /// The media type; empty if there is none.
    pub content_type: String,
    /// The body.
    pub body: String,
}

/// A wall clock that is wrong by some seconds; the clocks that only count are right.
#[derive(Debug, Clone)]
pub struct WrongClock {
    library: PathBuf,
    by_s: i64,
}

impl Manager {
    /// Starts a manager and returns at once. It runs as `user` and without leader election, with
    /// the flags that a real one is given, on a port of its own, and with
    /// `--use-service-account-credentials` if `user` is [`User::ControllerManager`], the one that
    /// may make tokens. `args` come last, so they prevail.
    ///
    /// The first start of [`Binary::Ours`] in a test process blocks until cargo has built it.
    pub fn start(
        cluster: &Cluster,
        binary: Binary,
        user: User,
        args: &[&str],
    ) -> anyhow::Result<Self> {
        Self::start_with_clock(cluster, binary, user, args, None)
    }

    /// As [`Manager::start`], but the wall clock that the manager sees is wrong.
    pub fn start_with_clock(
        cluster: &Cluster,
        binary: Binary,
        user: User,
        args: &[&str],
        clock: Option<&WrongClock>,
    ) -> anyhow::Result<Self> {
        let port = free_port()?;
        let mut all = flags(cluster, user, port)?;
        let (name, binary) = match binary {
            Binary::Ours => ("manager-ours", ours()?),
            Binary::Upstream => ("manager-upstream", components::tool("kube-controller-manager")?),
        };
        all.extend(args.iter().map(|&arg| arg.to_owned()));
        let url = format!("https://127.0.0.1:{port}");
        let client = cluster.client_for(&url, User::Admin)?;
        let (name, fake) = (format!("{name}-{port}"), clock.is_some());
        let process = match clock {
            None => cluster.spawn(&name, &binary, all)?,
            Some(clock) => {
                let mut wrapped = clock.variables();
                wrapped.push(binary.display().to_string());
                wrapped.extend(all);
                // It becomes the manager, so it is the manager that signals reach.
                cluster.spawn(&name, Path::new("env"), wrapped)?
            }
        };
        Ok(Self { process, client, url, fake })
    }

    /// Waits until /healthz returns 200. An error shows the end of the log.
    pub async fn healthy(&mut self) -> anyhow::Result<()> {
        cluster::ready(&mut self.process, &self.client, "/healthz").await
    }

    /// The body of a page of the manager's own port (`/metrics`, `/configz`), read as an admin.
    pub async fn get(&self, path: &str) -> anyhow::Result<String> {
        cluster::get(&self.client, path).await
    }

    /// The response of the manager's own port to a GET of `path`.
    pub async fn ask(
        &self,
        cluster: &Cluster,
        caller: &Caller,
        path: &str,
    ) -> anyhow::Result<PageResponse> {
        self.send(cluster, caller, Request::get(path)).await
    }

    /// As [`Manager::ask`], with this header `Accept`.
    pub async fn ask_for(
        &self,
        cluster: &Cluster,
        caller: &Caller,
        path: &str,
        accept: &str,
    ) -> anyhow::Result<PageResponse> {
        self.send(cluster, caller, Request::get(path).header("accept", accept)).await
    }

    async fn send(
        &self,
        cluster: &Cluster,
        caller: &Caller,
        request: http::request::Builder,
    ) -> anyhow::Result<PageResponse> {
        let client = cluster.client_as(&self.url, caller)?;
        let response = client.send(request.body(Body::empty())?).await?;
        let (head, body) = response.into_parts();
        let content_type = head.headers.get("content-type").map(|value| value.to_str());
        Ok(PageResponse {
            code: head.status.as_u16(),
            content_type: content_type.transpose()?.unwrap_or_default().to_owned(),
            body: String::from_utf8_lossy(&body.collect_bytes().await?).into_owned(),
        })
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// Where its own port is.
    pub fn address(&self) -> anyhow::Result<SocketAddr> {
        Ok(self.url.trim_start_matches("https://").parse()?)
    }

    /// Kills it without warning and waits until it has ended.
    pub fn sigkill(&mut self) {
        self.process.kill();
    }

    /// Asks it to end, as a kubelet does, and returns at once.
    pub fn sigterm(&self) -> anyhow::Result<()> {
        self.process.terminate()
    }

    /// Stops it where it is, until [`Manager::sigcont`].
    pub fn sigstop(&self) -> anyhow::Result<()> {
        signal("STOP", &self.process.pid().to_string())
    }

    /// Lets it continue.
    pub fn sigcont(&self) -> anyhow::Result<()> {
        signal("CONT", &self.process.pid().to_string())
    }

    /// How it has ended, or none while it runs.
    pub fn exited(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        self.process.exited()
    }

    /// Waits until it has ended by itself or by a signal.
    pub async fn ended(&mut self, limit: Duration) -> anyhow::Result<ExitStatus> {
        let end = async || self.process.exited();
        wait_until("the end of kube-controller-manager", limit, end).await
    }

    /// Its standard output and error so far.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// The memory it holds now (resident), in KiB.
    pub fn rss_kib(&self) -> anyhow::Result<u64> {
        self.memory_kib("VmRSS:")
    }

    /// The most memory that it has held so far (resident), in KiB.
    pub fn peak_rss_kib(&self) -> anyhow::Result<u64> {
        self.memory_kib("VmHWM:")
    }

    /// How many files, sockets and pipes it has open.
    pub fn open_files(&self) -> anyhow::Result<usize> {
        Ok(fs::read_dir(format!("/proc/{}/fd", self.process.pid()))?.count())
    }

    /// The processor time it has used so far, user and system, in seconds.
    pub fn cpu_seconds(&self) -> anyhow::Result<f64> {
        Ok(self.cpu_split()?.iter().sum())
    }

    /// The same apart: in the process, and in the kernel on its behalf.
    pub fn cpu_split(&self) -> anyhow::Result<[f64; 2]> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.process.pid()))?;
        // Fields 14 and 15; the second field, the name, may hold spaces but ends at the last `)`.
        let (_, fields) = stat.rsplit_once(')').context("the name in /proc/<pid>/stat")?;
        let mut ticks = fields.split_whitespace().skip(11);
        let mut seconds = || {
            let ticks: f64 = ticks.next().context("the times in /proc/<pid>/stat")?.parse()?;
            anyhow::Ok(ticks / TICKS_PER_SECOND)
        };
        Ok([seconds()?, seconds()?])
    }

    fn memory_kib(&self, key: &str) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let value = line.and_then(|line| line.split_whitespace().next());
        Ok(value.with_context(|| format!("{key} in /proc/<pid>/status"))?.parse()?)
    }
}

impl Drop for Manager {
    /// libfaketime leaves its shared memory behind when its process is killed.
    fn drop(&mut self) {
        self.process.kill();
        let pid = self.process.pid();
        for name in [format!("faketime_shm_{pid}"), format!("sem.faketime_sem_{pid}")] {
            if self.fake {
                let _ = fs::remove_file(Path::new("/dev/shm").join(name));
            }
        }
    }
}

// === impl WrongClock ===

impl WrongClock {
    /// A clock that is this many seconds ahead, or behind if negative. None if libfaketime is not
    /// there (Debian's package `faketime`).
    pub fn ahead(by_s: i64) -> Option<Self> {
        let folders = fs::read_dir("/usr/lib").ok()?.flatten();
        let library = folders
            .map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"))
            .find(|path| path.exists())?;
        Some(Self { library, by_s })
    }

    /// What `env` sets.
    fn variables(&self) -> Vec<String> {
        vec![
            format!("LD_PRELOAD={}", self.library.display()),
            format!("FAKETIME={:+}", self.by_s),
            "FAKETIME_DONT_FAKE_MONOTONIC=1".into(),
        ]
    }
}

fn flags(cluster: &Cluster, user: User, port: u16) -> anyhow::Result<Vec<String>> {
    let dir = cluster.dir();
    // Delegated authentication needs rights that no controller's service account has.
    let delegated = cluster.kubeconfig(User::ControllerManager)?;
    Ok(vec![
        path_flag("kubeconfig", &cluster.kubeconfig(user)?),
        "--leader-elect=false".into(),
        flag("use-service-account-credentials", user == User::ControllerManager),
        path_flag("authentication-kubeconfig", &delegated),
        path_flag("authorization-kubeconfig", &delegated),
        "--bind-address=127.0.0.1".into(),
        flag("secure-port", port),
        path_flag("client-ca-file", &cluster.ca_path()),
        path_flag("root-ca-file", &cluster.ca_path()),
        path_flag("service-account-private-key-file", &dir.join("sa.key")),
        path_flag("cluster-signing-cert-file", &cluster.ca_path()),
        path_flag("cluster-signing-key-file", &dir.join("ca.key")),
    ])
}

/// Our kube-controller-manager, in the profile of the running test; built once per test process.
/// The environment variable `KCM_BINARY` names another one.
pub fn ours() -> anyhow::Result<PathBuf> {
    const NAME: &str = "kube-controller-manager";
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if let Some(path) = std::env::var_os("KCM_BINARY") {
        return Ok(path.into());
    }
    let built = BUILT.get_or_init(|| build(NAME, NAME).map_err(|error| format!("{error:#}")));
    built.clone().map_err(|error| anyhow!(error))
}

/// A binary of this repository, in the profile of the running test.
pub fn build(package: &str, name: &str) -> anyhow::Result<PathBuf> {
    let exe = std::env::current_exe()?;
    let folder = profile_folder(&exe).context("a binary lies in a folder of its profile")?;
    // It is named as the profile, but for `dev`.
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(name) => name,
    };
    let status = Command::new(std::env::var_os("CARGO").unwrap_or(OsString::from("cargo")))
        .args(["build", "--quiet", "--locked", "--package", package, "--profile", profile])
        .current_dir(components::repository()?)
        .status()?;
    anyhow::ensure!(status.success(), "cargo build of {package} ended with {status}");
    Ok(folder.join(name))
}

/// `target/<profile>` of `target/<profile>/deps/<test>` and of `target/<profile>/<binary>`.
fn profile_folder(exe: &Path) -> Option<&Path> {
    let folder = exe.parent()?;
    if folder.ends_with("deps") { folder.parent() } else { Some(folder) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_programs_have_the_folder_of_their_profile() {
        for exe in ["target/release/bench", "target/release/deps/cluster-0123"] {
            assert_eq!(profile_folder(Path::new(exe)), Some(Path::new("target/release")));
        }
    }
}
