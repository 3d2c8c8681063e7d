//! Whoever looks at an explanation sees of it what the API server would show them.

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

/// How long all questions of one look may take. An explanation has ten seconds.
const ASKING_MAX: Duration = Duration::from_secs(3);
/// How many single objects are asked about for one look: a plan may write thousands.
const NAMED_MAX: usize = 20;

/// Who looks at the pages.
pub enum Audience {
    /// Whoever reaches them may see everything anyway: nobody guards them.
    Insiders,
    /// Users that were let in, who may get what this says.
    Users(Arc<dyn Permits>),
}

/// Says what users may read.
pub trait Permits: Send + Sync {
    /// Whether a user may `get` this. An error if nobody could say.
    fn may_get<'a>(
        &'a self,
        user: &'a User,
        subject: &'a Subject,
    ) -> BoxFuture<'a, Result<bool, String>>;
}

/// The user behind a request.
pub(super) struct Visitor {
    /// None: nobody has said who asks.
    pub(super) user: Option<User>,
    pub(super) permits: Arc<dyn Permits>,
    pub(super) clock: Clock,
}

type Answers = BTreeMap<Subject, Result<(), String>>;

// === impl Visitor ===

impl Viewer for Visitor {
    fn sight(&self, subjects: BTreeSet<Subject>) -> BoxFuture<'_, Sight> {
        async move {
            let late = "it is not known yet whether you may see it: the API server is slow";
            let mut answers: Answers =
                subjects.iter().map(|it| (it.clone(), Err(late.to_owned()))).collect();
            // What is not answered in time stays hidden.
            let _: Result<(), runtime::Elapsed> =
                self.clock.timeout(ASKING_MAX, self.ask(&subjects, &mut answers)).await;
            Sight::Of(answers)
        }
        .boxed()
    }
}

impl Visitor {
    /// Whoever may get all objects of a kind in a namespace is not asked about each.
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
            return Err(format!("whoever may get {what} may see it, and nobody said who you are"));
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
