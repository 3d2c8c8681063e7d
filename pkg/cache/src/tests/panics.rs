//! An informer whose task panics.

use std::sync::Arc;
use std::time::Duration;

use api::{Codec, DecodeError, Index, Kind, Meta, Object, Pod, Resource};
use controller::{Change, Lister};
use metrics::Registry;
use tokio::sync::mpsc;

use super::json;
use crate::fixture::{LIMIT, Server, Stream, bookmark, event, run};
use crate::{Informer, Metrics, SharedInformerFactory, handler};

const PODS: &str = "/api/v1/pods";
const BY_NAME: &str = "name";

/// A pod whose cache panics at a certain name: a bug of ours in a place without a fence.
struct Fragile(Meta);

impl Object for Fragile {
    const CODEC: Codec = Codec::Json;
    const INDEXES: &'static [Index<Self>] = &[Index::one(BY_NAME, |it| {
        assert!(&*it.0.key.name != "fatal", "a bug in an index");
        Some(it.0.key.name.clone())
    })];

    fn meta(&self) -> &Meta {
        &self.0
    }

    fn decode(codec: Codec, bytes: &[u8]) -> Result<Self, DecodeError> {
        Meta::decode(codec, bytes).map(Self)
    }

    fn unreadable(meta: Meta, _: &DecodeError) -> Self {
        Self(meta)
    }
}

impl Kind for Fragile {
    const RESOURCE: Resource = Pod::RESOURCE;
}

struct Test {
    server: Server,
    registry: Registry,
    factory: SharedInformerFactory,
    informer: Arc<Informer>,
    heard: mpsc::UnboundedReceiver<String>,
}

impl Test {
    fn new() -> Self {
        let (server, registry) = (Server::default(), Registry::default());
        let metrics = Metrics::new(&registry).unwrap();
        let factory = SharedInformerFactory::new(server.client.clone(), server.runtime.clone());
        let mut factory = factory.with_metrics(metrics);
        let informer = factory.informer::<Fragile>();
        let (sender, heard) = mpsc::unbounded_channel();
        informer.add_handler(handler::<Fragile>(move |change| {
            let (sign, it) = match change {
                Change::Added(it) => ("+", it),
                Change::Updated { new, .. } => ("~", new),
                Change::Deleted(it) => ("-", it),
            };
            sender.send(format!("{sign} {}", it.0.key.name)).unwrap();
        }));
        factory.start();
        Self { server, registry, factory, informer, heard }
    }

    /// Answers the next list with these pods.
    async fn lists(&mut self, names: &[&str], version: u64) -> Stream {
        let call = self.server.find("GET", PODS).await;
        let mut stream = call.answer(200, "application/json");
        for name in names {
            stream.send(event("ADDED", &json(name, name, version))).await;
        }
        stream.send(bookmark(version, true)).await;
        stream
    }

    async fn hears(&mut self, expected: &[&str]) {
        for expected in expected {
            let clock = &self.server.runtime.clock;
            let heard = clock.timeout(LIMIT, self.heard.recv()).await.unwrap().unwrap();
            assert_eq!(heard, *expected);
        }
    }

    fn counted(&self) -> String {
        let page = self.registry.page("").body;
        let start = "kcm_informer_panics_total{resource=\"pods\"} ";
        page.lines().find_map(|line| line.strip_prefix(start)).unwrap_or("none").to_owned()
    }
}

#[test]
fn is_started_again_and_misses_nothing() {
    run(async {
        let mut test = Test::new();
        let mut stream = test.lists(&["a", "b"], 10).await;
        test.hears(&["+ a", "+ b"]).await;
        stream.send(event("DELETED", &json("b", "b", 11))).await;
        test.hears(&["- b"]).await;
        assert_eq!(test.counted(), "none");
        stream.send(event("ADDED", &json("fatal", "f", 12))).await;

        // A change that panics leaves no half of itself.
        let call = test.server.find("GET", PODS).await;
        assert!(call.path.contains("&resourceVersion=11&"), "{}", call.path);
        let held = |informer: &Arc<Informer>, name: &str| {
            Lister::<Fragile>::new(&**informer).by(BY_NAME, name).len()
        };
        assert_eq!((held(&test.informer, "a"), held(&test.informer, "b")), (1, 0));
        let status = test.informer.status();
        assert_eq!((status.panics, status.dying), (1, None));
        let error = status.failing.unwrap().error;
        assert_eq!(error, "the informer panicked: a bug in an index");
        assert_eq!((test.counted().as_str(), test.factory.alive()), ("1", Ok(())));

        let mut stream = call.answer(200, "application/json");
        stream.send(event("ADDED", &json("a", "a", 5))).await;
        stream.send(event("ADDED", &json("c", "c", 13))).await;
        stream.send(bookmark(14, true)).await;
        test.hears(&["+ c"]).await;
        stream.send(event("DELETED", &json("a", "a", 15))).await;
        test.hears(&["- a"]).await;
        assert_eq!((held(&test.informer, "a"), held(&test.informer, "c")), (0, 1));
        assert_eq!(test.informer.status().failing, None);
    });
}

#[test]
fn says_so_while_it_dies_again_and_again() {
    run(async {
        let mut test = Test::new();
        let clock = test.server.runtime.clock.clone();
        let began = clock.instant();
        let mut stream = test.lists(&["a"], 10).await;
        stream.send(event("ADDED", &json("fatal", "f", 11))).await;
        for version in 12..20 {
            let _stream = test.lists(&["a", "fatal"], version).await;
        }
        let _call = test.server.find("GET", PODS).await;
        assert!(clock.instant() - began > Duration::from_mins(1), "it backs off");
        assert_eq!((test.informer.status().panics, test.counted().as_str()), (9, "9"));
        let said = "pods: the informer panicked: a bug in an index";
        assert_eq!(test.factory.alive(), Err(said.to_owned()));
        assert!(test.informer.status().dying.is_some());
        // A life that is long enough.
        clock.sleep(Duration::from_mins(3)).await;
        assert_eq!(test.factory.alive(), Ok(()));
    });
}

#[test]
fn ends_while_it_waits_to_be_started_again() {
    run(async {
        let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
        let mut test = Test::new();
        let before = tasks();
        let _stream = test.lists(&["fatal"], 10).await;
        test.server.runtime.clock.sleep(Duration::from_millis(1)).await;
        assert_eq!(test.informer.status().panics, 1);
        test.server.runtime.cancel.cancel();
        test.server.runtime.clock.sleep(Duration::from_millis(1)).await;
        assert!(tasks() < before, "{} tasks, {before} before", tasks());
    });
}
