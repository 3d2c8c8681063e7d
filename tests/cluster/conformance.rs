//! The scripts in `tests/scripts` on the real API server, with kwok's nodes and in real time: what
//! they print must be what they print on the sandbox.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use api::Key;
use client::ConnectOptions;
use cluster_tests::{Binary, Cluster, Manager, Options, User, now, pass, scripts};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::{Request, header};
use runtime::Runtime;
use script::{Ask, Difference, NodeAct, Player, Reply, Script, Unsupported};
use serde_json::Value;
use why::{Question, Reader};

/// As many as scripts have that say nothing of it.
pub(crate) const NODES: usize = 3;
/// Scripts that play side by side; those that change nodes play alone, after them.
const AT_ONCE: usize = 10;
/// How much later than what they report a status and an Event may come.
const LATE_MAX: Duration = Duration::from_secs(10);
/// Scripts that take longer than this are named with their time.
const LONG: Duration = Duration::from_secs(15);
/// What only the sandbox has.
const NOT_HERE: &str = "this is a real cluster";

/// Rule: what upstream is excused for is the hash and nothing else.
#[test]
fn hashes_are_excused() {
    let lines = |text: &str| without_hashes(&text.lines().map(str::to_owned).collect::<Vec<_>>());
    let ours =
        "web-5c47764678  2\nweb-5f45579769  0\nof: 865c555744  (3 times)\n\"web-5f45579769\"";
    let upstreams =
        "web-56b55d754   0\nweb-5769c86b66  2\nof: 64b4c7b6cf  (3 times)\n\"web-56b55d754\"";
    assert_eq!(lines(ours), lines(upstreams));
    assert_ne!(lines(ours), lines(&upstreams.replace("  2", "  3")));
}

/// Issue: the same files run against the real API server, and the outputs agree.
#[tokio::test]
async fn scripts_print_the_same_on_the_real_api_server() -> anyhow::Result<()> {
    let options = Options { nodes: NODES, service_accounts: true, ..Options::default() };
    let cluster = Cluster::start(options).await?;
    let arguments = ["--use-service-account-credentials=true", "--kube-api-qps=200"];
    let user = User::ControllerManager;
    let binary = Binary::under_test()?;
    let manager = Manager::start(&cluster, binary, user, &arguments)?;
    let real = Real::on(&cluster)?;
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    for (number, path) in scripts::all()?.into_iter().enumerate() {
        let script = Script::parse(&fs::read_to_string(&path)?)?;
        if is_for_here(&script) {
            let group = if script.is_about_nodes() { &mut alone } else { &mut together };
            // As long as any other, so that columns are as wide.
            group.push((format!("script-{number:03}"), path, script));
        }
    }
    let played = alone.len() + together.len();
    let mut wrong =
        play_all(&cluster, &real, together, AT_ONCE).await.with_context(|| manager.log())?;
    wrong.extend(play_all(&cluster, &real, alone, 1).await.with_context(|| manager.log())?);
    println!("{played} scripts were played");
    ensure!(played > 0, "there was no script to play");
    ensure!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    Ok(())
}

/// Plays a script that needs a manager with its own flags, such as `replicaset/serve.txt`, in a
/// cluster of its own.
pub(crate) async fn plays_alone(name: &str) -> anyhow::Result<()> {
    let path = scripts::folder().join(name);
    let script = Script::parse(&fs::read_to_string(&path)?)?;
    let cluster = Cluster::start(Options { nodes: script.nodes, ..Options::default() }).await?;
    let controllers = format!("--controllers={}", script.controllers);
    let flags = script.flags.iter().map(String::as_str);
    let arguments: Vec<_> = [controllers.as_str()].into_iter().chain(flags).collect();
    let (binary, user) = (Binary::under_test()?, User::ControllerManager);
    let manager = Manager::start(&cluster, binary, user, &arguments)?;
    let scripts = vec![("script".to_owned(), path, script)];
    let wrong = play_all(&cluster, &Real::on(&cluster)?, scripts, 1).await;
    let wrong = wrong.with_context(|| manager.log())?;
    ensure!(wrong.is_empty(), "\n{}\n{}", wrong.join("\n"), manager.log());
    Ok(())
}

/// Plays scripts, each in a namespace of its own, and returns what is wrong.
pub(crate) async fn play_all(
    cluster: &Cluster,
    real: &Real,
    scripts: Vec<(String, PathBuf, Script)>,
    at_once: usize,
) -> anyhow::Result<Vec<String>> {
    let played = stream::iter(scripts).map(|(namespace, path, script)| async move {
        let begin = now();
        cluster.create_namespace(&namespace).await?;
        let mut player = Player::new(real, &namespace).await?.patient(LATE_MAX);
        let played = player.play(&script).await;
        if begin.elapsed() > LONG {
            println!("{:5.1}s {}", begin.elapsed().as_secs_f64(), path.display());
        }
        anyhow::Ok(match played {
            Ok(mut played) => {
                played.differences.retain(|it| !is_excused(it));
                scripts::complaints(&path, &played.differences)
            }
            Err(error) => vec![format!("{}: {error:#}", path.display())],
        })
    });
    let complaints: Vec<_> = played.buffer_unordered(at_once).try_collect().await?;
    Ok(complaints.into_iter().flatten().collect())
}

/// Whether upstream's manager may print this: it hashes templates in another way (decision 0010).
fn is_excused(difference: &Difference) -> bool {
    let is_upstream = matches!(Binary::under_test(), Ok(Binary::Upstream));
    is_upstream && without_hashes(&difference.expected) == without_hashes(&difference.actual)
}

/// Lines whatever the hashes in them are, which also decide the order and the width of columns.
fn without_hashes(lines: &[String]) -> Vec<String> {
    let is_between = |c: char| !c.is_ascii_alphanumeric();
    let masked = |part: &str| match part.trim_end_matches(is_between) {
        word if is_hash(word) => part.replace(word, "hash"),
        _ => part.to_owned(),
    };
    let plain = |line: &String| {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        line.split_inclusive(is_between).map(masked).collect::<String>()
    };
    let mut lines: Vec<_> = lines.iter().map(plain).collect();
    lines.sort();
    lines
}

/// As apimachinery's rand.SafeEncodeString makes them of 32 bits.
fn is_hash(word: &str) -> bool {
    let letters = "bcdfghjklmnpqrstvwxz2456789";
    (8..=10).contains(&word.len()) && word.chars().all(|c| letters.contains(c))
}

/// Whether a script needs nothing but an API server and three nodes.
fn is_for_here(script: &Script) -> bool {
    script.sandbox_only.is_none()
        && script.controllers.is_empty()
        && script.flags.is_empty()
        && script.nodes == NODES
        && !script.steps().any(|step| step.command.needs_sandbox())
}

/// A real cluster.
pub(crate) struct Real {
    kube: kube::Client,
    /// The administrator's.
    kubeconfig: PathBuf,
}

impl Real {
    /// Talks to this cluster as its administrator.
    pub(crate) fn on(cluster: &Cluster) -> anyhow::Result<Self> {
        Ok(Self { kube: cluster.admin_once()?, kubeconfig: cluster.kubeconfig(User::Admin)? })
    }

    async fn answer(&self, question: &Question, user: Option<&str>) -> anyhow::Result<Vec<String>> {
        let options = ConnectOptions {
            kubeconfig: Some(self.kubeconfig.clone()),
            impersonate: user.map(str::to_owned),
            ..ConnectOptions::default()
        };
        let connection = client::connect(&options).await?;
        Ok(script::said(&why::ask(&Reader::new(connection, &Runtime::system()), question).await))
    }
}

/// The first line and the last one.
pub(crate) fn ends(lines: &[String]) -> Vec<String> {
    lines.first().into_iter().chain(lines.iter().skip(1).next_back()).cloned().collect()
}

impl script::Cluster for Real {
    async fn ask(&self, ask: Ask) -> anyhow::Result<Reply> {
        let mut request = Request::builder().method(ask.method).uri(&ask.path);
        request = request.header(header::ACCEPT, ask.accept);
        let mut body = Vec::new();
        if let Some((kind, json)) = &ask.body {
            request = request.header(header::CONTENT_TYPE, *kind);
            body = serde_json::to_vec(json)?;
        }
        let response = self.kube.send(request.body(body.into())?).await?;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect_bytes().await?;
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Reply { code, body })
    }

    async fn tick(&self, time: Duration) {
        pass(time).await;
    }

    fn node(&self, _act: NodeAct, _name: &str) -> Result<(), Unsupported> {
        Err(Unsupported(NOT_HERE.to_owned()))
    }

    fn fail(&self, _pod: &Key) -> Result<(), Unsupported> {
        Err(Unsupported(NOT_HERE.to_owned()))
    }

    async fn explain(&self, _plural: &str, _key: &Key) -> Result<Vec<String>, Unsupported> {
        Err(Unsupported(NOT_HERE.to_owned()))
    }

    /// The cause alone: what is below it has times.
    async fn why(
        &self,
        question: &Question,
        user: Option<&str>,
    ) -> Result<Vec<String>, Unsupported> {
        let said = self.answer(question, user).await;
        said.map(|lines| ends(&lines)).map_err(|error| Unsupported(format!("{error:#}")))
    }
}
