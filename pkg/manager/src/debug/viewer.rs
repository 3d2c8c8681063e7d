//! Limits an explanation to what the API server would show to the user.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{Key, Resource};
use auth::{Guard, Object, User};
use controller::{Sight, Subject};
use engine::Viewer;
use futures::FutureExt;
use futures::future::BoxFuture;
use runtime::Clock;

/// The time limit of all access reviews for one page. An explanation has ten seconds.
const ASKING_MAX: Duration = Duration::from_secs(3);
/// How many single objects are reviewed for one page: a plan may write thousands.
const NAMED_MAX: usize = 20;

/// The users of the pages.
pub enum Audience {
    /// All clients may see everything: the pages are not guarded.
    Insiders,
    /// Authenticated users, with these permissions.
    Users(Arc<dyn Permits>),
}

/// Decides what users may read.
pub trait Permits: Send + Sync {
    /// Whether a user may `get` this. An error if that could not be found out.
    fn may_get<'a>(
        &'a self,
        user: &'a User,
        subject: &'a Subject,
    ) -> BoxFuture<'a, Result<bool, String>>;
}

/// The user of a request.
pub(super) struct Visitor {
    /// None: the request was not authenticated.
    pub(super) user: Option<User>,
    pub(super) permits: Arc<dyn Permits>,
    pub(super) clock: Clock,
}

type Answers = BTreeMap<Subject, Result<(), String>>;

// === impl Visitor ===

impl Viewer for Visitor {
    fn sight(&self, subjects: BTreeSet<Subject>) -> BoxFuture<'_, Sight> {
        async move {
            let unknown = "it is not known yet whether you may see it: the API server is slow";
            let mut answers: Answers =
                subjects.iter().map(|it| (it.clone(), Err(unknown.to_owned()))).collect();
            // Objects whose review did not finish in time stay hidden.
            let _: Result<(), runtime::Elapsed> =
                self.clock.timeout(ASKING_MAX, self.ask(&subjects, &mut answers)).await;
            Sight::Of(answers)
        }
        .boxed()
    }
}

impl Visitor {
    /// If the user may get all objects of a kind in a namespace, single ones are not reviewed.
    async fn ask(&self, subjects: &BTreeSet<Subject>, answers: &mut Answers) {
        let mut whole = BTreeMap::<(Resource, Key), Result<(), String>>::new();
        let mut named = 0;
        for subject in subjects {
            let all = Key::new(&subject.key.namespace, "");
            let all = Subject { resource: subject.resource.clone(), key: all };
            let place = (all.resource.clone(), all.key.clone());
            let answer = match whole.get(&place) {
                Some(answer) => answer.clone(),
                None => whole.entry(place).or_insert(self.may_get(&all).await).clone(),
            };
            let answer = if answer.is_ok() || subject.key.name.is_empty() {
                answer
            } else if named == NAMED_MAX {
                Err(format!("only {NAMED_MAX} objects are asked about"))
            } else {
                named += 1;
                self.may_get(subject).await
            };
            answers.insert(subject.clone(), answer);
        }
    }

    async fn may_get(&self, subject: &Subject) -> Result<(), String> {
        let Subject { resource, key } = subject;
        let what = match (&*key.namespace, &*key.name) {
            ("", "") => format!("all {resource}"),
            (namespace, "") => format!("all {resource} in {namespace}"),
            (_, _) => format!("{resource} {key}"),
        };
        let Some(user) = &self.user else {
            return Err(format!("only users that may get {what} see it; this request has no user"));
        };
        match self.permits.may_get(user, subject).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(format!("you may not get {what}")),
            Err(error) => Err(format!("it is not known whether you may get {what}: {error}")),
        }
    }
}

// === impl Guard ===

impl Permits for Guard {
    fn may_get<'a>(
        &'a self,
        user: &'a User,
        subject: &'a Subject,
    ) -> BoxFuture<'a, Result<bool, String>> {
        async move {
            let Subject { resource, key } = subject;
            let object = Object {
                group: &resource.group,
                version: &resource.version,
                resource: &resource.plural,
                namespace: &key.namespace,
                name: &key.name,
            };
            Guard::may_get(self, user, &object).await
        }
        .boxed()
    }
}
