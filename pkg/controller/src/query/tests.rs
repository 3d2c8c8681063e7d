//! The texts of queries, and which answers fit.

use api::{Key, Kind, Node, Pod, Resource};
use serde_json::json;

use super::*;
use crate::fixture;

const REVIEWS: Resource = Resource::cluster_scoped(
    "authorization.k8s.io",
    "v1",
    "subjectaccessreviews",
    "SubjectAccessReview",
);

fn queries() -> Vec<Query> {
    let (web, shop) = (Key::new("shop", "web"), || Text::from("shop"));
    vec![
        Query::object(Pod::RESOURCE, web.clone()),
        Query::metadata(Pod::RESOURCE, web.clone()),
        Query::view::<Pod>(web),
        Query::path("/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=a%3Db"),
        Query::all(Pod::RESOURCE, shop()),
        Query::views::<Pod>(shop(), Selector::default()),
        Query::views::<Node>(Text::default(), Selector::labels("zone=a")),
        Query::views::<Pod>(shop(), Selector::fields("spec.nodeName=n")),
        Query::review(REVIEWS, "selfnodeclient", &json!({"spec": {"user": "hunter2"}})),
        Query::Served,
    ]
}

#[test]
fn a_query_says_what_it_asks_for() {
    let expected = [
        "pods shop/web",
        "metadata of pods shop/web",
        "pods shop/web",
        "/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=a%3Db",
        "all pods in shop",
        "all pods in shop",
        "all nodes with zone=a",
        "all pods in shop with spec.nodeName=n",
        "review subjectaccessreviews.authorization.k8s.io: selfnodeclient",
        "what is served",
    ];
    assert_eq!(queries().iter().map(Query::to_string).collect::<Vec<_>>(), expected);
}

/// Facts are found by the query: no two of different meaning are equal.
#[test]
fn each_query_has_an_answer_of_its_own() {
    let facts: Facts = queries().into_iter().map(|query| (query, Answer::NotFound)).collect();
    assert_eq!(facts.answers.len(), queries().len());
    assert!(queries().iter().all(|query| facts.get(query).is_some()));
    assert!(facts.get(&Query::object(Node::RESOURCE, Key::new("shop", "web"))).is_none());
}

/// A review may name users or hold tokens; the debug pages and the log show plans and queries.
#[test]
fn what_a_review_sends_is_not_shown() {
    let review = queries().swap_remove(8);
    let plan = crate::Plan::fetch("may it?", vec![review.clone()]);
    for text in [
        review.to_string(),
        format!("{review:?}"),
        format!("{plan:?}"),
        plan.to_string(),
        plan.to_json().to_string(),
    ] {
        assert!(!text.contains("hunter2"), "{text}");
    }
}

/// Each accessor has its shape alone. That there is none and that nothing is known fit all of them,
/// but for JSON of no kind and what is served: that there is none of these is an error.
#[test]
fn an_answer_fits_its_query_alone() {
    let pod = fixture::decode::<Pod>(&fixture::pod("web"));
    let meta = pod.meta.clone();
    let listed = Listed { meta: meta.clone(), deletion_grace_period_seconds: None };
    let answers = [
        ("object", Answer::Found(Box::new((meta.clone(), Raw::default())))),
        ("metadata", Answer::Metadata(Box::new(Metadata { meta }))),
        ("view views", Answer::Views(Views::new(vec![pod]))),
        ("all", Answer::All(vec![listed])),
        ("json", Answer::Json(Arc::new(json!({"a": 1})))),
        ("document", Answer::Document("{}".into())),
        ("served", Answer::Served(Arc::default())),
        ("view nodes", Answer::Views(Views::new(Vec::<Arc<Node>>::new()))),
    ];
    for (fits, answer) in &answers {
        let found = [
            ("object", answer.object().is_ok()),
            ("metadata", answer.metadata().is_ok()),
            ("view", answer.view::<Pod>().is_ok()),
            ("views", answer.views::<Pod>().is_ok()),
            ("nodes", answer.views::<Node>().is_ok()),
            ("all", answer.all().is_ok()),
            ("json", answer.json().is_ok()),
            ("document", answer.document().is_ok()),
            ("served", answer.served().is_ok()),
        ];
        let found: Vec<_> =
            found.into_iter().filter_map(|(name, fits)| fits.then_some(name)).collect();
        let fits = if *fits == "view nodes" { "nodes" } else { fits };
        assert_eq!(found.join(" "), fits);
    }
    let Ok(Some(pods)) = answers[2].1.views::<Pod>() else { panic!("the pods") };
    assert_eq!(&*pods[0].meta.key.name, "web");
    for (answer, expected) in [(Answer::NotFound, true), (Answer::Failed("no".into()), false)] {
        assert_eq!(answer.object().is_ok(), expected);
        assert_eq!(answer.metadata().is_ok(), expected);
        assert_eq!(answer.view::<Pod>().is_ok(), expected);
        assert_eq!(answer.views::<Pod>().is_ok(), expected);
        assert_eq!(answer.all().is_ok(), expected);
        assert!(answer.json().is_err() && answer.served().is_err());
    }
}

/// As the informers: an object of which only the metadata can be read counts, or a controller that
/// does not see it would do it again.
#[test]
fn a_broken_object_counts_if_its_metadata_can_be_read() {
    let typed = Typed::of::<Pod>();
    let decode = |json: Value| typed.decode(api::Codec::Json, json.to_string().as_bytes());
    let whole = fixture::pod("a");
    let broken = fixture::with(fixture::pod("b"), json!({"spec": 7}));
    let views = typed.collect(vec![decode(whole).unwrap(), decode(broken).unwrap()]);
    let names: Vec<_> = views.of::<Pod>().unwrap().iter().map(|pod| &*pod.meta.key.name).collect();
    assert_eq!((names, views.len()), (vec!["a", "b"], 2));
    let error = decode(json!({"metadata": {"name": 7}})).unwrap_err();
    assert!(error.0.contains("its metadata: metadata.name"), "{error}");
}
