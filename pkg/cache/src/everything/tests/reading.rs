//! What a controller reads from the caches of all kinds.

use super::*;
use crate::Listers;
use crate::fixture::{run, status};
use api::{AnyObject, Key, Kind as _, Pod, Time};
use controller::View;

fn names(objects: &[Arc<dyn AnyObject>]) -> Vec<String> {
    objects.iter().map(|it| it.metadata().key.to_string()).collect()
}

fn in_namespace(namespace: &str, name: &str, version: u64) -> String {
    json(name, name, version).replace("default", namespace)
}

#[test]
fn a_kind_is_read_once_it_is_listed() {
    run(async {
        let mut test = Test::new(served([widgets(), gadgets()]));
        let mut listers = Listers::default();
        let view = |listers: &Listers, resource: &Resource| {
            View::new(Time::EPOCH, SECOND, listers).metadata(resource)
        };
        let call = test.server.find("GET", &widgets().collection_path("")).await;
        let refused = test.server.find("GET", &gadgets().collection_path("")).await;
        refused.reply(403, status(403, "Forbidden", "no")).await;
        listers.add_everything(Arc::clone(&test.everything));
        assert!(view(&listers, &widgets()).is_none(), "its list has not come");

        let mut stream = call.answer(200, "application/json");
        for (namespace, name) in [("b", "x"), ("a", "y"), ("bb", "v"), ("b", "w")] {
            stream.send(event("ADDED", &in_namespace(namespace, name, 5))).await;
        }
        stream.send(bookmark(10, true)).await;
        test.server.runtime.clock.sleep(SECOND).await;
        let widgets_held = view(&listers, &widgets()).unwrap();
        assert_eq!(names(&widgets_held.all()), ["a/y", "b/w", "b/x", "bb/v"]);
        assert_eq!(names(&widgets_held.of_namespace("b")), ["b/w", "b/x"]);
        assert_eq!(["a", "b", "bb", "c", ""].map(|it| widgets_held.count(it)), [1, 2, 1, 0, 0]);
        let version =
            |name| widgets_held.get(&Key::new("b", name)).map(|it| it.metadata().resource_version);
        assert_eq!((version("w"), version("v")), (Some(5), None));
        stream.send(event("MODIFIED", &in_namespace("b", "w", 11))).await;
        test.server.runtime.clock.sleep(SECOND).await;
        assert_eq!(version("w"), Some(11));

        assert!(view(&listers, &gadgets()).is_none(), "it cannot be listed");
        let unknown = Resource { plural: "others".into(), ..widgets() };
        assert!(view(&listers, &unknown).is_none());
        let later = Resource { version: "v2".into(), ..widgets() };
        assert_eq!(view(&listers, &later).unwrap().count("b"), 2, "in any version");
        assert!(view(&Listers::default(), &widgets()).is_none(), "who did not ask for all kinds");
    });
}

/// Also kinds with a shared informer, whose cache holds more than metadata.
#[test]
fn a_kind_of_which_there_is_an_informer_is_read_too() {
    run(async {
        let others = |server: &Server| {
            let informer = Informer::new::<Pod>(server.client.clone(), server.runtime.clone());
            vec![Arc::new(informer)]
        };
        let mut test = Test::beside(&Server::default, others, served([Pod::RESOURCE]));
        let _stream = test.list(&Pod::RESOURCE, &[("a", "a", 5)], 10).await;
        test.server.runtime.clock.sleep(SECOND).await;
        let pods = test.everything.cache_of(&Pod::RESOURCE).unwrap();
        assert!(pods.get(&Key::new("default", "a")).is_some());
    });
}
