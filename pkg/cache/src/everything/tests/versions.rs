//! Kinds whose preferred version changes, and kinds that discovery lacks although they exist.

use super::*;
use crate::fixture::{run, status};

fn definitions() -> Resource {
    Resource::cluster_scoped("apiextensions.k8s.io", "v1", "customresourcedefinitions", "Custom")
}

fn newer() -> Resource {
    Resource { version: "v2".into(), ..widgets() }
}

const GONE: &str = "widgets dropped";

impl Test {
    /// A test whose cache holds the widget a@5 in the old version, and has requested the new one.
    async fn turning() -> (Self, Stream) {
        let (mut test, stream) = Self::watching().await;
        test.asks_and_gets(served([newer()])).await;
        test.hears(&["served 1"]).await;
        (test, stream)
    }

    /// The version that leads.
    fn leads(&self) -> Vec<String> {
        let versions = [widgets(), newer()].into_iter();
        versions
            .filter(|it| self.everything.version_of(it).is_some())
            .map(|it| called(&it))
            .collect()
    }
}

/// A definition whose conversion webhook is down: its objects can be read only in their storage
/// version.
#[test]
fn a_version_that_cannot_be_listed_takes_no_place() {
    run(async {
        let (mut test, mut stream) = Test::turning().await;
        let everything = Arc::clone(&test.everything);
        let error = "conversion webhook for example.com/v1 failed";
        for _ in 0..20 {
            let call = test.server.find("GET", "/apis/example.com/v2/widgets").await;
            call.reply(500, status(500, "InternalError", error)).await;
        }
        assert_eq!(test.leads(), ["widgets"]);
        assert!(everything.ready(Duration::ZERO).await, "nobody has to wait for it");
        assert_eq!(test.sync_errors(), "1", "but it is said");
        stream.send(event("MODIFIED", &json("a", "a", 11))).await;
        test.hears(&["widgets ~ default/a@5>11", "widgets at 11"]).await;
        let shown = everything.status();
        let shown: Vec<_> = shown
            .iter()
            .map(|it| (called(&it.selection.resource), it.synced, it.failing.is_some()))
            .collect();
        assert_eq!(
            shown,
            [("widgets".to_owned(), true, false), ("widgets/v2".to_owned(), false, true)]
        );

        // Once it can be listed, handlers are notified of it, and no object is missing in between.
        let _new = test.list(&newer(), &[("a", "a", 11), ("b", "b", 12)], 20).await;
        test.hears(&["widgets/v2 + default/a@11", "widgets/v2 + default/b@12"]).await;
        test.hears(&["widgets/v2 at 20", GONE]).await;
        assert!(is_closed(&mut stream, &test.server).await);
        assert_eq!(test.leads(), ["widgets/v2"]);
        assert_eq!(test.everything.kinds().len(), 1);
    });
}

/// The new version leads only after it has all that handlers were notified of in the old one.
#[test]
fn a_version_takes_the_place_once_it_knows_as_much() {
    run(async {
        let (mut test, mut stream) = Test::turning().await;
        let call = test.server.find("GET", "/apis/example.com/v2/widgets").await;
        stream.send(event("ADDED", &json("b", "b", 30))).await;
        test.hears(&["widgets + default/b@30", "widgets at 30"]).await;
        let mut new = call.answer(200, "application/json");
        new.send(event("ADDED", &json("a", "a", 5))).await;
        new.send(bookmark(20, true)).await;
        stream.send(event("DELETED", &json("a", "a", 31))).await;
        test.hears(&["widgets - default/a@31", "widgets at 31"]).await;
        new.send(event("ADDED", &json("b", "b", 30))).await;
        test.hears_nothing().await;
        assert_eq!(test.leads(), ["widgets"]);
        new.send(event("DELETED", &json("a", "a", 31))).await;
        test.hears(&["widgets/v2 + default/b@30", "widgets/v2 at 31", GONE]).await;
        new.send(event("MODIFIED", &json("b", "b", 32))).await;
        test.hears(&["widgets/v2 ~ default/b@30>32", "widgets/v2 at 32"]).await;
    });
}

/// Versions of two API servers do not compare: the wait for one to reach the other ends.
#[test]
fn a_version_that_counts_otherwise_takes_the_place_in_the_end() {
    run(async {
        let (mut test, _stream) = Test::turning().await;
        let _new = test.list(&newer(), &[("a", "a", 1)], 2).await;
        test.hears(&["widgets/v2 + default/a@1", "widgets/v2 at 2", GONE]).await;
    });
}

/// The old version is preferred again, before the new one was listed and after.
#[test]
fn a_version_may_come_back() {
    run(async {
        let (mut test, mut stream) = Test::turning().await;
        let waiting = test.server.find("GET", "/apis/example.com/v2/widgets").await;
        test.asks_and_gets(served([widgets()])).await;
        test.hears(&["served 1"]).await;
        assert!(waiting.is_given_up());
        assert_eq!((test.leads(), test.everything.kinds().len()), (vec!["widgets".to_owned()], 1));
        stream.send(event("MODIFIED", &json("a", "a", 11))).await;
        test.hears(&["widgets ~ default/a@5>11", "widgets at 11"]).await;
        test.asks_and_gets(served([newer()])).await;
        let _new = test.list(&newer(), &[("a", "a", 11)], 20).await;
        test.hears(&["served 1", "widgets/v2 + default/a@11", "widgets/v2 at 20", GONE]).await;
        test.asks_and_gets(served([widgets()])).await;
        let _old = test.list(&widgets(), &[("a", "a", 11)], 21).await;
        test.hears(&["served 1", "widgets + default/a@11", "widgets at 21"]).await;
        test.hears(&["widgets/v2 dropped"]).await;
    });
}

/// The old version is preferred again while handlers are still being notified of the new one: they
/// are notified that the old one is dropped before they get its objects again.
#[test]
fn a_version_comes_back_once_the_turn_before_is_over() {
    const MANY: u64 = 50_000;
    run(async {
        let (mut test, _stream) = Test::turning().await;
        let call = test.server.find("GET", "/apis/example.com/v2/widgets").await;
        let mut new = call.answer(200, "application/json");
        let widget = |number: u64| event("ADDED", &json(&number.to_string(), "many", 11));
        new.send((0..MANY).map(widget).collect::<String>()).await;
        new.send(bookmark(20, true)).await;
        test.hears(&["widgets/v2 + default/0@11"]).await;
        test.everything.apply(&served([widgets()]), test.server.runtime.clock.instant());
        let _old = test.list(&widgets(), &[("a", "a", 11)], 21).await;
        let mut heard = Vec::new();
        while heard.last().is_none_or(|last| last != "widgets/v2 dropped") {
            heard.push(test.heard.recv().await.unwrap());
        }
        heard.retain(|line| !line.starts_with("widgets/v2 + "));
        let expected = ["widgets/v2 at 20", GONE, "widgets + default/a@11", "widgets at 21"];
        assert_eq!(heard[..4], expected);
    });
}

/// Both versions are removed with their definition; handlers are not notified of the one that never
/// led.
#[test]
fn versions_are_removed_together() {
    run(async {
        let (mut test, mut stream) = Test::turning().await;
        let waiting = test.server.find("GET", "/apis/example.com/v2/widgets").await;
        test.loses(served([gadgets()])).await;
        test.hears(&["served 1", GONE]).await;
        assert!(waiting.is_given_up());
        assert!(is_closed(&mut stream, &test.server).await);
        test.hears_nothing().await;
        assert_eq!(test.everything.kinds().len(), 1);
    });
}

/// An API server that has just started, or that is stale: it reports no failure.
#[test]
fn an_answer_that_lacks_a_group_drops_nothing() {
    run(async {
        let (mut test, mut stream) = Test::watching().await;
        for _ in 0..3 {
            let at = test.asks_and_gets(served([gadgets()])).await;
            let again = test.asks_and_gets(served([gadgets(), widgets()])).await;
            assert_eq!(again - at, PERIOD);
            test.hears(&["served 1", "served 2"]).await;
        }
        test.hears_nothing().await;
        // It lacks the group, then it reports that the group fails: that may last for ever.
        test.asks_and_gets(served([gadgets()])).await;
        test.loses(without(&["example.com/v1"], [gadgets()])).await;
        test.hears(&["served 1", "served 1"]).await;
        stream.send(event("MODIFIED", &json("a", "a", 11))).await;
        test.hears(&["widgets ~ default/a@5>11", "widgets at 11"]).await;
        let lacks = test.asks_and_gets(served([gadgets()])).await;
        test.hears(&["served 1", GONE]).await;
        assert_eq!(test.server.runtime.clock.instant() - lacks, LACKED_MAX);
    });
}

/// Deleting a definition deletes its objects, so the kind need not stay for a minute.
#[test]
fn a_kind_is_removed_at_once_with_its_definition() {
    run(async {
        let mut test = Test::new(served([definitions(), widgets()]));
        let name = "widgets.example.com";
        let mut all = test.list(&definitions(), &[(name, "w", 7)], 10).await;
        test.hears(&["served 2", "customresourcedefinitions + default/widgets.example.com@7"])
            .await;
        test.hears(&["customresourcedefinitions at 10"]).await;
        let _stream = test.list(&widgets(), &[], 10).await;
        test.hears(&["widgets at 10"]).await;
        // Discovery is stale at first.
        all.send(event("DELETED", &json(name, "w", 11))).await;
        test.hears(&["customresourcedefinitions - default/widgets.example.com@11"]).await;
        test.hears(&["customresourcedefinitions at 11"]).await;
        test.asks().await;
        test.hears_nothing().await;
        let deleted = test.server.runtime.clock.instant();
        test.answer(served([definitions()]));
        test.hears(&["served 1", GONE]).await;
        assert!(test.server.runtime.clock.instant() - deleted <= PERIOD);

        // A definition that was created again exists: that discovery lacks it once means nothing.
        test.asks_and_gets(served([definitions(), widgets()])).await;
        let _stream = test.list(&widgets(), &[], 12).await;
        test.hears(&["served 2", "widgets at 12"]).await;
        all.send(event("DELETED", &json(name, "x", 13))).await;
        all.send(event("ADDED", &json(name, "y", 14))).await;
        test.hears(&["customresourcedefinitions at 13"]).await;
        test.hears(&["customresourcedefinitions + default/widgets.example.com@14"]).await;
        test.hears(&["customresourcedefinitions at 14"]).await;
        test.asks_and_gets(served([definitions()])).await;
        test.hears(&["served 1"]).await;
        test.asks_and_gets(served([definitions(), widgets()])).await;
        test.hears(&["served 2"]).await;
        test.hears_nothing().await;
    });
}

/// The storage of another API server was restored to an older state: that affects no other kind.
#[test]
fn a_kind_that_went_back_is_dropped_and_comes_anew() {
    run(async {
        let (mut test, stream) = Test::watching().await;
        drop(stream);
        let mut lists = 0;
        loop {
            let call = test.server.find("GET", "/apis/example.com/v1/widgets").await;
            let mut stream = call.answer(200, "application/json");
            stream.send(event("ADDED", &json("b", "b", 3))).await;
            stream.send(bookmark(4, true)).await;
            test.server.runtime.clock.sleep(PERIOD + SECOND).await;
            lists += 1;
            if let Ok(heard) = test.heard.try_recv() {
                assert_eq!(heard, GONE);
                break;
            }
            assert!(lists < 20);
        }
        assert!(lists > 5, "{lists}");
        let _stream = test.list(&widgets(), &[("b", "b", 3)], 4).await;
        test.hears(&["widgets + default/b@3", "widgets at 4"]).await;
    });
}
