//! Without `--script`: a cluster for `kubectl`, until the user ends it.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use api::Time;
use manager::debug;
use runtime::{Clock, Runtime};
use sandbox::{Nodes, Options, Server};
use script::{Player, Script, World};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::page;
use crate::view::{Live, View};
use crate::{Arguments, tell};

/// How many threads: everything is in memory.
const THREADS: usize = 2;

/// The class of claims that name none, as clusters for development have it.
const STANDARD: &str = "\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: standard, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}
provisioner: sandbox/hollow";

/// The file of `--load`.
struct State<'a> {
    path: &'a Path,
    document: Vec<u8>,
}

/// Serves until a signal.
pub(crate) fn serve(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let tokio = builder.worker_threads(THREADS).enable_all().build()?;
    let done = tokio.block_on(run(arguments));
    tokio.shutdown_background();
    done.map(|()| ExitCode::SUCCESS)
}

async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let state = arguments.load.as_deref().map(State::read).transpose()?;
    // Speed may be changed on the page.
    let runtime =
        Runtime::faster(start(state.as_ref()), arguments.speed.unwrap_or(NonZeroU32::MIN));
    let address = SocketAddr::new(arguments.bind_address, arguments.port);
    let listener = TcpListener::bind(address);
    let listener = listener.await.with_context(|| format!("--port {}", arguments.port))?;
    let address = listener.local_addr()?;

    let is_loaded = state.is_some();
    let server = match state {
        Some(State { path, document }) => {
            let server = Server::load(&runtime, Options::default(), &document);
            server.map_err(|why| anyhow::anyhow!("--load {}: {why}", path.display()))?
        }
        None => Server::new(&runtime, Options::default()),
    };
    let nodes = Nodes::new(arguments.nodes);
    let cluster = sandbox::Cluster::start(server.clone(), &nodes, runtime.random.bits());
    let flags = vec![format!("--controllers={}", arguments.controllers)];
    let world = World::on(cluster, &flags, &runtime)?;
    let mut player = Player::new(&world, "default").await?;
    if !is_loaded {
        // Before the first request: whoever lists all objects then finds it there.
        apply(&mut player, STANDARD).await?;
    }
    let (page, mut acts) = page::router(&world);
    let pages = debug::router(world.source.clone(), debug::Audience::Insiders).merge(page);
    let serving = server.clone();
    let served = runtime::spawn("http", async move { serving.serve(listener, pages).await });

    let nodes = arguments.nodes;
    tell(&format!("A cluster of {nodes} nodes is up. Look at it in a browser:\n"));
    tell(&format!("    http://{address}/\n"));
    tell("Talk to it from another terminal:\n");
    tell(&format!("    kubectl -s http://{address} get nodes"));
    tell(&format!("    curl http://{address}/debug/controllers\n"));
    tell("Ctrl-C ends it.\n");
    for path in files(&arguments.filename)? {
        let failed = || format!("-f {}", path.display());
        let text = std::fs::read_to_string(&path).with_context(failed)?;
        apply(&mut player, &text).await.with_context(failed)?.iter().for_each(|line| tell(line));
    }
    let view = View::start(&world, Live::from_terminal());
    tokio::select! {
        biased;
        ended = ended() => ended.context("signals")?,
        () = page::carry_out(&mut player, &mut acts) => {}
    }
    drop(view);
    if let Some(path) = &arguments.save {
        std::fs::write(path, server.save())
            .with_context(|| format!("--save {}", path.display()))?;
    }
    runtime.cancel.cancel();
    served.abort();
    Ok(())
}

/// The start of the cluster's time: now, but not before the loaded state.
fn start(state: Option<&State>) -> Time {
    let now = Clock::system().now();
    let start = state.and_then(|state| Server::saved_at(&state.document));
    start.map_or(now, |start| start.max(now))
}

/// Waits for Ctrl-C, or for SIGTERM.
async fn ended() -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::select! {
        biased;
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}

impl State<'_> {
    fn read(path: &Path) -> anyhow::Result<State<'_>> {
        let document = std::fs::read(path);
        let document = document.with_context(|| format!("--load {}", path.display()))?;
        Ok(State { path, document })
    }
}

/// Applies the objects; what came of each.
async fn apply(player: &mut Player<'_, World>, text: &str) -> anyhow::Result<Vec<String>> {
    let input: Vec<_> = text.lines().map(|line| format!("| {line}")).collect();
    let script = Script::parse(&format!("> apply\n{}", input.join("\n")))?;
    let played = player.play(&script).await?;
    Ok(played.script.steps().flat_map(|step| step.output.clone()).collect())
}

/// The files, with those of folders, sorted.
fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        let failed = || format!("-f {}", path.display());
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut within = Vec::new();
        for entry in std::fs::read_dir(path).with_context(failed)? {
            within.push(entry.with_context(failed)?.path());
        }
        within.retain(|path| is_manifest(path));
        within.sort();
        files.extend(within);
    }
    Ok(files)
}

fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|it| ["yaml", "yml", "json"].contains(&it))
}
