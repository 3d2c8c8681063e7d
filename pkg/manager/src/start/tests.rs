//! A shutdown before anything has started; and the users that controllers write as.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Kind as _, Namespace};
use client::{ConnectOptions, connect};
use controller::{Event, EventType, ObjectRef};
use runtime::Runtime;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use workqueue::Limiter;

use super::{Context, Running, run, unless_rewound};
use crate::options::Options;
use crate::registry::REGISTRY;
use crate::serve::Shown;

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(20);

/// An API server that accepts requests and never responds.
struct Mute {
    address: SocketAddr,
    /// The first lines of requests.
    requests: mpsc::Receiver<String>,
}

/// A kubeconfig for it, until this is dropped.
struct Kubeconfig(PathBuf);

/// A manager that starts.
struct Starting {
    runtime: Runtime,
    ended: oneshot::Receiver<anyhow::Result<()>>,
}

impl Mute {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, requests) = mpsc::channel(100);
        runtime::spawn("mute", async move {
            let mut open = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (mut stream, mut line) = (BufReader::new(stream), String::new());
                stream.read_line(&mut line).await.unwrap();
                if sender.send(line).await.is_err() {
                    return;
                }
                open.push(stream);
            }
        });
        Self { address, requests }
    }

    /// Waits for a request whose first line contains `words`. Informers send others meanwhile.
    async fn is_asked(&mut self, words: &str) {
        let asked = async {
            while let Some(line) = self.requests.recv().await {
                if line.contains(words) {
                    return;
                }
            }
        };
        let clock = Runtime::system().clock;
        clock.timeout(LIMIT, asked).await.expect("nobody asks for it");
    }

    fn kubeconfig(&self) -> Kubeconfig {
        let Self { address, .. } = self;
        let path = std::env::temp_dir().join(format!("mute-{address}-{}", std::process::id()));
        let text = format!(
            "{{apiVersion: v1, kind: Config, current-context: c,\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}],\n\
             clusters: [{{name: c, cluster: {{server: \"http://{address}\"}}}}],\n\
             users: [{{name: u, user: {{as: the-user}}}}]}}\n"
        );
        std::fs::write(&path, text).unwrap();
        Kubeconfig(path)
    }
}

impl Starting {
    fn new(flags: &[String]) -> Self {
        let Ok(options) = Options::parse(flags.iter().cloned()) else { panic!("{flags:?}") };
        let runtime = Runtime::system();
        let (end, ended) = oneshot::channel();
        let run = Box::pin(run(options, runtime.clone()));
        runtime::spawn("manager", async move { drop(end.send(run.await)) });
        Self { runtime, ended }
    }

    /// Asks it to stop, and waits until it has.
    async fn stop(self) -> anyhow::Result<()> {
        self.runtime.cancel.cancel();
        self.runtime.clock.timeout(LIMIT, self.ended).await.expect("it goes on").unwrap()
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        // What is left over lies in the folder for what is left over.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

fn flags(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

/// Upstream reads the cluster's CAs before it contends: a process that waits there holds no lease.
#[test]
fn a_stop_while_authorities_are_read_is_obeyed_and_nothing_was_elected() {
    block_on(async {
        let mut server = Mute::start().await;
        let kubeconfig = server.kubeconfig();
        let path = kubeconfig.0.display();
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let manager = Starting::new(&flags(&format!(
            "--kubeconfig={path} --authentication-kubeconfig={path} \
             --authorization-kubeconfig={path} --bind-address=127.0.0.1 --secure-port={}",
            free.port()
        )));
        server.is_asked("/configmaps/extension-apiserver-authentication").await;
        manager.stop().await.unwrap();
        assert!(server.requests.try_recv().is_err(), "nothing else was asked, least the lease");
    });
}

/// A stop signal is no failure, whatever the manager waits for.
#[test]
fn a_stop_while_the_api_server_is_waited_for_is_no_error() {
    block_on(async {
        let mut server = Mute::start().await;
        let manager = Starting::new(&flags(&format!(
            "--master=http://{} --leader-elect=false --secure-port=0",
            server.address
        )));
        server.is_asked("/healthz").await;
        manager.stop().await.unwrap();
    });
}

/// Two engines that are one controller: the Events of the one that ends last are sent, and before
/// the controller has ended.
#[test]
fn a_controller_of_two_engines_sends_the_events_of_both() {
    block_on(async {
        let mut server = Mute::start().await;
        let flags = flags(&format!("--master=http://{} --leader-elect=false", server.address));
        let Ok(options) = Options::parse(flags) else { panic!() };
        let address = ConnectOptions { master: options.master.clone(), ..Default::default() };
        let connection = connect(&address).await.unwrap();
        let registry = Shown::new(&options).unwrap().registry;
        let (metrics, runtime) = (client::Metrics::new(&registry).unwrap(), Runtime::system());
        let mut context =
            Context::new(options, None, connection, metrics, (&runtime, &registry)).unwrap();
        let name = "garbage-collector-controller";
        let entry = REGISTRY.iter().find(|entry| entry.name == name).unwrap();
        let writer = context.writer(entry);
        let mut running = || {
            let work = (context.unnamed_queue(Limiter::default()), 1);
            context.start_with(&writer, None, work, controllers::serviceaccount::Controller)
        };
        let (first, second) = (running(), running());
        let recorder = second.recorder.clone();
        let last = async move {
            tokio::task::yield_now().await;
            let (resource, key) = (Namespace::RESOURCE, Key::new("", "shop"));
            let about = ObjectRef { resource, key, uid: "uid".into(), resource_version: 1 };
            recorder.record(Event {
                about: Arc::new(about),
                r#type: EventType::Normal,
                reason: "Last".into(),
                message: "the end".to_owned(),
            });
        };
        let first = Running { run: Box::pin(async {}), ..first };
        let both = first.both(Running { run: Box::pin(last), ..second });
        both.start(Duration::ZERO, runtime).await;
        let asked = server.requests.try_recv().unwrap();
        assert!(asked.starts_with("POST /api/v1/namespaces/default/events"), "{asked}");
    });
}

/// The lines of the first request that comes, in lower case.
async fn head(listener: &TcpListener) -> Vec<String> {
    let (stream, _) = listener.accept().await.unwrap();
    let (mut lines, mut head) = (BufReader::new(stream).lines(), Vec::new());
    while let Some(line) = lines.next_line().await.unwrap().filter(|line| !line.is_empty()) {
        head.push(line.to_ascii_lowercase());
    }
    head
}

/// serviceaccount.md: with service account credentials, the token controller alone still writes as
/// the user of the kubeconfig.
#[test]
fn the_token_controller_has_no_account() {
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let kubeconfig = Mute { address, requests: mpsc::channel(1).1 }.kubeconfig();
        let path = kubeconfig.0.display();
        let line = format!("--kubeconfig={path} --leader-elect=false");
        for (more, has_account) in [("", false), (" --use-service-account-credentials", true)] {
            let Ok(options) = Options::parse(flags(&format!("{line}{more}"))) else { panic!() };
            let kubeconfig = Some(kubeconfig.0.clone());
            let server = ConnectOptions { kubeconfig, ..ConnectOptions::default() };
            let connection = connect(&server).await.unwrap();
            let registry = Shown::new(&options).unwrap().registry;
            let (metrics, runtime) = (client::Metrics::new(&registry).unwrap(), Runtime::system());
            let context =
                Context::new(options, None, connection, metrics, (&runtime, &registry)).unwrap();
            let writer = |name: &str| {
                let entry = REGISTRY.iter().find(|entry| entry.name == name).unwrap();
                context.writer(entry)
            };
            let other = writer("serviceaccount-controller").account;
            assert_eq!(other.is_some(), has_account, "{more}");
            let token = writer("serviceaccount-token-controller");
            assert!(token.account.is_none(), "{more}");
            let ask = async { token.client.get("/x").await.map(|_| ()) };
            tokio::select! {
                biased;
                asked = ask => panic!("no answer was given: {asked:?}"),
                head = head(&listener) => {
                    let user = "impersonate-user: the-user".to_owned();
                    assert!(head.contains(&user), "{head:?}");
                    let agent = head.iter().find(|line| line.starts_with("user-agent: ")).unwrap();
                    assert!(agent.ends_with("/tokens-controller"), "{agent}");
                }
            }
        }
    });
}

/// Its caches would never get an event again.
#[test]
fn an_etcd_that_was_restored_ends_the_process() {
    cache::fixture::run(async {
        let mut server = cache::fixture::Server::default();
        let (client, runtime) = (server.client.clone(), server.runtime.clone());
        let mut informers = cache::SharedInformerFactory::new(client, runtime.clone());
        informers.informer::<api::Pod>();
        informers.start();
        let (sender, ended) = oneshot::channel();
        runtime::spawn("led", async move {
            let led = std::future::pending::<anyhow::Result<()>>();
            drop(sender.send(unless_rewound(&informers, led).await));
        });
        let mut ended = std::pin::pin!(ended);
        let mut version = 10;
        let began = runtime.clock.instant();
        let error = loop {
            tokio::select! {
                biased;
                ended = &mut ended => break ended.unwrap().unwrap_err().to_string(),
                call = server.call() => {
                    assert!(call.at - began < cache::fixture::LIMIT, "it goes on");
                    let mut stream = call.answer(200, "application/json");
                    stream.send(cache::fixture::bookmark(version, true)).await;
                    version = 7;
                }
            }
        };
        let expected = "the API server has pods as of version 7 only, for a minute now, and 10 was \
                        seen before: etcd was restored to an older state, and all that is in \
                        memory may be wrong";
        assert_eq!(error, expected);
        let took = runtime.clock.instant() - began;
        assert!((60..240).contains(&took.as_secs()), "{took:?}");
    });
}
