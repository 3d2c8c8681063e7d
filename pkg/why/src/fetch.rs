//! Reading what the rules ask for.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{Key, Resource};
use client::{ApiError, Client, Connection, Settings};
use futures::{StreamExt, stream};
use runtime::Runtime;
use serde_json::Value;

use crate::json::text;
use crate::look::Thing;
use crate::{Facts, Names, Need, Report, Seen, Subject, decision, rules};

/// As client-go asks for it.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;\
                          as=APIGroupDiscoveryList";
/// Requests per second, and at once: a person waits, and nobody else must.
const RATE: (f64, u32) = (50.0, 100);
/// How many reads are in progress at once.
const TOGETHER_MAX: usize = 8;
/// Objects in a page of a list, and of a list in all: a part would look like all.
const PAGE: usize = 500;
const OBJECTS_MAX: usize = 50_000;
/// How often the rules may ask for more. Each round is a step along the chain, or a few.
const ROUNDS_MAX: usize = 24;
/// How many things the rules may ask for in all.
const NEEDS_MAX: usize = 1000;

/// Reads an API server, and cannot write.
#[derive(Clone)]
pub struct Reader {
    pub(crate) client: Client,
    runtime: Runtime,
}

/// What somebody asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// As it was written: `deployment`, `deploy`, `deployments.apps`.
    pub kind: String,
    /// The name.
    pub name: String,
    /// Where it is, if the kind lives in namespaces.
    pub namespace: String,
}

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum AskError {
    /// The API server does not know the kind.
    #[error("the server doesn't have a resource type {0:?}")]
    Kind(String),
    /// There is no such object.
    #[error("{0}")]
    NotFound(String),
    /// It may not be read.
    #[error("{0}")]
    Forbidden(String),
    /// The API server could not be asked, or its answer not be read.
    #[error("{0}")]
    Server(String),
}

impl AskError {
    /// The exit code of `kubectl why`.
    pub const fn code(&self) -> u8 {
        match self {
            Self::Kind(_) | Self::NotFound(_) => 4,
            Self::Forbidden(_) => 5,
            Self::Server(_) => 7,
        }
    }
}

impl Reader {
    /// A reader over `connection`, from which it takes the writes away.
    pub fn new(connection: Connection, runtime: &Runtime) -> Self {
        let connection = connection.reading();
        let (qps, burst) = RATE;
        let version = env!("CARGO_PKG_VERSION");
        let user_agent = format!("kubectl-why/{version}");
        let host = connection.host.clone();
        let settings = Settings { qps, burst, user_agent, host };
        let metrics = client::Metrics::new(&metrics::Registry::default());
        let metrics = metrics.expect("a new registry is empty");
        let client = Client::new(connection.transport, settings, &metrics, runtime);
        Self { client, runtime: runtime.clone() }
    }

    /// The kinds that are served.
    async fn names(&self) -> Result<Names, AskError> {
        let mut documents = Vec::new();
        for path in ["/api", "/apis"] {
            let document = self.client.get_as(path, AGGREGATED, None).await;
            let document = document.map_err(|error| AskError::Server(error.to_string()))?;
            let body = document.map(|it| it.body).unwrap_or_default();
            let parsed = serde_json::from_slice::<Value>(&body);
            documents.push(parsed.map_err(|error| AskError::Server(format!("{path}: {error}")))?);
        }
        let names = Names::read(&documents);
        if names.is_empty() {
            let text = "the server has no aggregated discovery (it is older than 1.27)";
            return Err(AskError::Server(text.to_owned()));
        }
        Ok(names)
    }

    /// Reads these, each once.
    pub(crate) async fn read(&self, facts: &mut Facts, needs: BTreeSet<Need>) {
        let reads = needs.into_iter().map(|need| async move {
            let seen = self.one(&need).await;
            (need, seen)
        });
        let read: Vec<_> =
            stream::iter(reads.collect::<Vec<_>>()).buffered(TOGETHER_MAX).collect().await;
        for (need, seen) in read {
            facts.add(need, seen);
        }
    }

    async fn one(&self, need: &Need) -> Seen {
        let read = match need {
            Need::List(resource, namespace, fields) => {
                self.list(resource, namespace, fields).await.map(Seen::Objects)
            }
            Need::Get(resource, namespace, name) => {
                self.object(resource, namespace, name).await.map(Seen::Object)
            }
        };
        match read {
            Ok(seen) => seen,
            Err(error) if error.is_not_found() => Seen::Absent,
            Err(error) => Seen::Unseen(need.unseen(error.is_forbidden(), error.to_string())),
        }
    }

    async fn object(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Arc<Value>, ApiError> {
        let path = resource.object_path(&Key::new(namespace, name))?;
        parse(&self.client.get(&path).await?).map(Arc::new)
    }

    async fn list(
        &self,
        resource: &Resource,
        namespace: &str,
        fields: &str,
    ) -> Result<Vec<Arc<Value>>, ApiError> {
        let start = format!("{}?limit={PAGE}", resource.collection_path(namespace));
        let start = match fields {
            "" => start,
            fields => format!("{start}&fieldSelector={}", client::percent_encoded(fields)),
        };
        let (mut path, mut found) = (start.clone(), Vec::new());
        loop {
            let mut page = parse(&self.client.get(&path).await?)?;
            let items = page.pointer_mut("/items").map(Value::take);
            found.extend(items.into_iter().flat_map(array).map(Arc::new));
            if found.len() > OBJECTS_MAX {
                return Err(ApiError::Decode(format!("there are more than {OBJECTS_MAX}")));
            }
            match text(&page, "/metadata/continue") {
                "" => return Ok(found),
                token => {
                    path = format!("{start}&continue={}", client::percent_encoded(token));
                }
            }
        }
    }
}

fn array(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        _ => Vec::new(),
    }
}

fn parse(body: &[u8]) -> Result<Value, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::Decode(error.to_string()))
}

/// Answers a question.
pub async fn ask(reader: &Reader, question: &Question) -> Result<Report, AskError> {
    let names = reader.names().await?;
    let found = names.find(&question.kind);
    let resource = found.ok_or_else(|| AskError::Kind(question.kind.clone()))?;
    let namespace = if resource.namespaced { question.namespace.as_str() } else { "" };
    let object = reader.object(resource, namespace, &question.name).await;
    let object = object.map_err(|error| match &error {
        error if error.is_not_found() => AskError::NotFound(error.to_string()),
        error if error.is_forbidden() => AskError::Forbidden(error.to_string()),
        error => AskError::Server(error.to_string()),
    })?;
    let thing = Thing::new(resource, &object);
    let now = reader.runtime.clock.now();
    let mut facts = Facts::default();
    let name = question.name.clone();
    let need = Need::Get(resource.clone(), namespace.to_owned(), name);
    facts.add(need, Seen::Object(object));
    let mut asked = 0;
    let mut examined = rules::examined(&facts, &thing, &names, now);
    for _ in 0..ROUNDS_MAX {
        asked += examined.needs.len();
        if examined.needs.is_empty() || asked > NEEDS_MAX {
            break;
        }
        reader.read(&mut facts, std::mem::take(&mut examined.needs)).await;
        examined = rules::examined(&facts, &thing, &names, now);
    }
    let subject = Subject::new(resource, namespace, &question.name);
    let mut report = Report::new(subject, now, examined.findings);
    report.decisions = decision::of(reader, &mut facts, &thing).await;
    report.unseen = facts.unseen();
    Ok(report)
}
