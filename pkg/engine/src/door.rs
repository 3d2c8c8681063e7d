//! The boundary between the engine, which is compiled once, and a controller with its own types.

use std::any::Any;
use std::sync::{Arc, Weak};

use api::{Key, Kind};
use cache::{Selection, SharedInformerFactory};
use controller::{
    Answer, Change, Controller, Count, Ended, Enqueue, Everything, Facts, Family, Handler, News,
    Outcome, Plan, Query, Shared, View, Watches, Write,
};
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::Engine;
use crate::Kinds;
use crate::worker::Seen;

/// A snapshot or a verdict of the controller behind the boundary.
pub(crate) type Opaque = Box<dyn Any + Send + Sync>;

/// A controller with its memory, as the engine sees it. The methods are the controller's; an
/// [`Opaque`] argument came out of the same `Door`.
pub(crate) trait Door: Send + Sync {
    fn constants(&self) -> Constants;
    /// The kinds of its watch table.
    fn kinds(&self, factory: &mut SharedInformerFactory) -> Kinds;
    /// Futures that connect the handlers of its watch table.
    fn subscriptions(
        self: Arc<Self>,
        factory: &mut SharedInformerFactory,
        engine: &Weak<Engine>,
    ) -> Vec<BoxFuture<'static, ()>>;
    fn named(&self, key: &Key) -> Option<Key>;
    fn observe(&self, key: &Key, view: &View<'_>) -> Option<Opaque>;
    fn decide(&self, snapshot: &Opaque, facts: &Facts) -> (Plan, Opaque);
    fn summary(&self, snapshot: &Opaque) -> Vec<(&'static str, String)>;
    fn report(
        &self,
        snapshot: &Opaque,
        verdict: Option<&Opaque>,
        outcome: &Outcome,
    ) -> Option<Write>;
    fn answered(&self, snapshot: &Opaque, query: &Query, answer: &Answer) -> Enqueue;
    fn acted(&self, snapshot: &Opaque, verdict: &Opaque, outcome: &Outcome) -> Enqueue;
    fn deleted(&self, key: &Key) -> Enqueue;
    fn counts(&self, seen: &Seen, ended: &Ended) -> Vec<Count>;
    fn gauges(&self, view: &View<'_>) -> Vec<Count>;
}

/// What the controller declares.
pub(crate) struct Constants {
    pub(crate) metrics: &'static [Family],
    pub(crate) seeds: &'static [&'static str],
    pub(crate) retries_max: Option<u32>,
    pub(crate) follows_writes: bool,
}

/// A controller and its memory.
pub(crate) struct Typed<C: Controller> {
    pub(crate) controller: C,
    pub(crate) memory: Arc<Shared<C::Memory>>,
}

/// Finds the kinds of a watch table.
struct Collect<'a> {
    factory: &'a mut SharedInformerFactory,
    kinds: Kinds,
}

/// Prepares the connection of the handlers of a watch table.
struct Subscribe<'a, C: Controller> {
    factory: &'a mut SharedInformerFactory,
    typed: Arc<Typed<C>>,
    /// Weak: the engine holds the informers, which hold these.
    engine: &'a Weak<Engine>,
    subscriptions: Vec<BoxFuture<'static, ()>>,
}

impl<C: Controller> Typed<C> {
    fn snapshot(snapshot: &Opaque) -> &C::Snapshot {
        snapshot.downcast_ref().expect("a snapshot comes back through the door it came from")
    }

    fn verdict(verdict: &Opaque) -> &C::Verdict {
        verdict.downcast_ref().expect("a verdict comes back through the door it came from")
    }

    fn remember(&self, news: News<'_, C>) -> Enqueue {
        let mut queue = Enqueue::default();
        self.controller.remember(&mut self.memory.write(), news, &mut queue);
        queue
    }
}

impl<C: Controller> Door for Typed<C> {
    fn constants(&self) -> Constants {
        Constants {
            metrics: C::METRICS,
            seeds: C::SEEDS,
            retries_max: C::RETRIES_MAX,
            follows_writes: C::FOLLOWS_WRITES,
        }
    }

    fn kinds(&self, factory: &mut SharedInformerFactory) -> Kinds {
        let mut collect = Collect { factory, kinds: Kinds::default() };
        self.controller.watches(&mut collect);
        collect.kinds
    }

    fn subscriptions(
        self: Arc<Self>,
        factory: &mut SharedInformerFactory,
        engine: &Weak<Engine>,
    ) -> Vec<BoxFuture<'static, ()>> {
        let typed = Arc::clone(&self);
        let mut subscribe = Subscribe { factory, typed, engine, subscriptions: Vec::new() };
        self.controller.watches(&mut subscribe);
        subscribe.subscriptions
    }

    fn named(&self, key: &Key) -> Option<Key> {
        self.controller.named(key, &self.memory.read())
    }

    fn observe(&self, key: &Key, view: &View<'_>) -> Option<Opaque> {
        let snapshot = self.controller.observe(key, view, &self.memory.read());
        snapshot.map(|snapshot| Box::new(snapshot) as Opaque)
    }

    fn decide(&self, snapshot: &Opaque, facts: &Facts) -> (Plan, Opaque) {
        let (plan, verdict) = self.controller.decide(Self::snapshot(snapshot), facts);
        (plan, Box::new(verdict))
    }

    fn summary(&self, snapshot: &Opaque) -> Vec<(&'static str, String)> {
        self.controller.summary(Self::snapshot(snapshot))
    }

    fn report(
        &self,
        snapshot: &Opaque,
        verdict: Option<&Opaque>,
        outcome: &Outcome,
    ) -> Option<Write> {
        self.controller.report(Self::snapshot(snapshot), verdict.map(Self::verdict), outcome)
    }

    fn answered(&self, snapshot: &Opaque, query: &Query, answer: &Answer) -> Enqueue {
        self.remember(News::Answered { snapshot: Self::snapshot(snapshot), query, answer })
    }

    fn acted(&self, snapshot: &Opaque, verdict: &Opaque, outcome: &Outcome) -> Enqueue {
        let (snapshot, verdict) = (Self::snapshot(snapshot), Self::verdict(verdict));
        self.remember(News::Acted { snapshot, verdict, outcome })
    }

    fn deleted(&self, key: &Key) -> Enqueue {
        self.remember(News::Gone(key))
    }

    fn counts(&self, seen: &Seen, ended: &Ended) -> Vec<Count> {
        let snapshot = seen.snapshot.as_ref().map(Self::snapshot);
        self.controller.counts(snapshot, seen.verdict.as_ref().map(Self::verdict), ended)
    }

    fn gauges(&self, view: &View<'_>) -> Vec<Count> {
        self.controller.gauges(view, &self.memory.read())
    }
}

impl<C: Controller> Watches<C> for Collect<'_> {
    fn row<T: Kind>(&mut self, _: Handler<C, T>) {
        let informer = self.factory.informer::<T>();
        self.kinds.listers.add::<T>(Arc::clone(&informer) as _);
        self.kinds.add(informer);
    }

    fn optional<T: Kind>(&mut self, _: Handler<C, T>) {
        let informer = self.factory.informer::<T>();
        self.kinds.listers.add::<T>(Arc::clone(&informer) as _);
        self.kinds.optional.push(informer);
    }

    fn everything(&mut self, _: Everything<C>) {
        let everything = self.factory.everything();
        self.kinds.listers.add_everything(Arc::clone(&everything));
        self.kinds.everything = Some(everything);
    }
}

impl<C: Controller> Watches<C> for Subscribe<'_, C> {
    fn row<T: Kind>(&mut self, handler: Handler<C, T>) {
        let informer = self.factory.informer::<T>();
        let (typed, engine) = (Arc::clone(&self.typed), Weak::clone(self.engine));
        let changed = cache::handler(move |change: &Change<T>| {
            let Some(engine) = engine.upgrade() else { return };
            engine.changed(&Selection::of::<T>(), change.gone(), &|view, queue| {
                handler.hears((&typed.controller, &typed.memory), change, view, queue);
            });
        });
        let engine = Weak::clone(self.engine);
        let reached = Box::new(move |version| {
            if let Some(engine) = engine.upgrade() {
                let selection = Selection::of::<T>();
                // Another view of the same objects may be stale.
                let notified = engine.act.kinds.notified_version(&selection).unwrap_or(version);
                engine.reached(&selection, version.min(notified));
            }
        });
        let subscribe = async move { informer.subscribe(changed, reached).await };
        self.subscriptions.push(subscribe.boxed());
    }

    fn optional<T: Kind>(&mut self, handler: Handler<C, T>) {
        self.row(handler);
    }

    fn everything(&mut self, handlers: Everything<C>) {
        let everything = self.factory.everything();
        let (typed, engine) = (Arc::clone(&self.typed), Weak::clone(self.engine));
        everything.on_served(Box::new(move |kinds| {
            let Some(engine) = engine.upgrade() else { return };
            engine.enqueue_from(&|_, queue| {
                (handlers.served)(&typed.controller, &mut typed.memory.write(), kinds, queue);
            });
        }));
        let (typed, engine) = (Arc::clone(&self.typed), Weak::clone(self.engine));
        everything.add_handler(Box::new(move |resource, change| {
            let Some(engine) = engine.upgrade() else { return };
            engine.metadata_changed(resource, change, &|view, queue| {
                let (controller, memory) = (&typed.controller, &mut typed.memory.write());
                (handlers.changed)(controller, memory, resource, change, view, queue);
            });
        }));
        let engine = Weak::clone(self.engine);
        everything.on_version(Box::new(move |resource, version| {
            if let Some(engine) = engine.upgrade() {
                engine.reached(&Selection::whole(resource.clone()), version);
            }
        }));
        self.subscriptions.push(async move { everything.listen() }.boxed());
    }
}
