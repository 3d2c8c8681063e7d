//! Live reads, for plans that ask for them. All of them are GETs.

use std::time::Duration;

use api::{Codec, InvalidName, Listed, Meta, Metadata, Object, Raw, Resource, Text, wire};
use cache::frames::ListDecoder;
use client::{ApiError, Client};
use controller::{Answer, Query, Refused};
use discovery::Discovery;
use futures::{StreamExt, stream};

/// How many reads of one step are under way at once; the rate limit bounds them over time.
const TOGETHER_MAX: usize = 16;
/// How many objects a page of a list has, as client-go's pager asks for.
const PAGE: usize = 500;
/// How long an answer may be silent. The API server itself gives up after 60 seconds.
const SILENCE_MAX: Duration = Duration::from_secs(65);

/// How many objects are asked for to see what came of a write.
const HELD_MAX: usize = 50;

/// What there is.
pub(crate) struct Held {
    /// The version of the list.
    version: u64,
    /// All there are; none if there are more.
    pub(crate) objects: Option<Vec<Meta>>,
}

/// The answers to `queries`, in their order.
pub(crate) async fn fetch(
    client: &Client,
    discovery: &Discovery,
    queries: &[Query],
) -> Vec<Answer> {
    let reads: Vec<_> = queries.iter().map(|query| answer(client, discovery, query)).collect();
    stream::iter(reads).buffered(TOGETHER_MAX).collect().await
}

async fn answer(client: &Client, discovery: &Discovery, query: &Query) -> Answer {
    let read = match query {
        Query::Object { resource, key } => {
            let path = match resource.object_path(key) {
                Ok(path) => path,
                Err(error) => return unasked(error),
            };
            let body = client.get(&path).await;
            body.and_then(|body| parse(&body)).map(|found| Answer::Found(Box::new(found)))
        }
        Query::Metadata { resource, key } => {
            let path = match resource.object_path(key) {
                Ok(path) => path,
                Err(error) => return unasked(error),
            };
            let found = metadata(client, &path).await;
            found.map(|it| it.map_or(Answer::NotFound, |it| Answer::Metadata(Box::new(it))))
        }
        Query::All { resource, namespace } => {
            all(client, resource, namespace).await.map(Answer::All)
        }
        Query::Served => discovery.served().await.map(Answer::Served),
    };
    match read {
        Ok(answer) => answer,
        // That the path is not served says nothing about the object.
        Err(error) if matches!(query, Query::Metadata { .. }) => Answer::Failed(refused(&error)),
        Err(error) if error.is_not_found() => Answer::NotFound,
        Err(error) => Answer::Failed(refused(&error)),
    }
}

/// About an object that cannot be asked for.
fn unasked(error: InvalidName) -> Answer {
    if error.is_absent() { Answer::NotFound } else { Answer::Failed(refused(&error.into())) }
}

/// The metadata of one object; none: there is no such object.
pub(crate) async fn metadata(client: &Client, path: &str) -> Result<Option<Metadata>, ApiError> {
    let mut answer = match client.stream(path, Metadata::ACCEPT, SILENCE_MAX).await {
        Ok(answer) => answer,
        Err(error) if error.is_object_missing() => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk(SILENCE_MAX).await? {
        if body.len() + chunk.len() > cache::frames::OBJECT_BYTES_MAX {
            return Err(ApiError::Decode("an object that is too long".to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    Metadata::decode(answer.codec, &body).map(Some).map_err(|error| ApiError::Decode(error.0))
}

/// The metadata of all objects of a kind in a namespace, page by page.
async fn all(
    client: &Client,
    resource: &Resource,
    namespace: &Text,
) -> Result<Vec<Listed>, ApiError> {
    let path = resource.collection_path(namespace);
    let (mut found, mut from) = (Vec::new(), String::new());
    loop {
        let (objects, list) = page(client, &format!("{path}?limit={PAGE}{from}")).await?;
        found.extend(objects);
        if list.r#continue.is_empty() {
            return Ok(found);
        }
        from = format!("&continue={}", client::percent_encoded(&list.r#continue));
    }
}

/// One page of a list of metadata.
async fn page(client: &Client, path: &str) -> Result<(Vec<Listed>, wire::ListMeta), ApiError> {
    let mut answer = client.stream(path, Metadata::ACCEPT_LIST, SILENCE_MAX).await?;
    let (mut found, mut list) = (Vec::new(), ListDecoder::new(answer.codec));
    while let Some(chunk) = answer.chunk(SILENCE_MAX).await? {
        list.feed(&chunk);
        while let Some(item) = list.pop()? {
            let item = Listed::decode(answer.codec, item);
            found.push(item.map_err(|error| ApiError::Decode(error.0))?);
        }
    }
    Ok((found, list.finish()?))
}

/// The metadata of what there is of a kind in a namespace, at most so much as fits into a short
/// list; or only the object with this name. It is a consistent read.
pub(crate) async fn held(
    client: &Client,
    resource: &Resource,
    namespace: &Text,
    name: Option<&str>,
) -> Result<Held, ApiError> {
    let path = resource.collection_path(namespace);
    let query = match name {
        Some(name) => {
            // As `EscapeValue` of apimachinery's pkg/fields.
            let name = name.replace('\\', r"\\").replace(',', r"\,").replace('=', r"\=");
            let fields = client::percent_encoded(&format!("metadata.name={name}"));
            format!("{path}?fieldSelector={fields}")
        }
        None => format!("{path}?limit={HELD_MAX}"),
    };
    let (objects, list) = page(client, &query).await?;
    let version = list.resource_version.parse();
    let version = version
        .map_err(|_| ApiError::Decode("the version of a list is not a number".to_owned()))?;
    let objects = objects.into_iter().map(|object| object.meta).collect();
    Ok(Held { version, objects: list.r#continue.is_empty().then_some(objects) })
}

impl Held {
    /// The version at which a cache shows these objects.
    pub(crate) fn shows(&self) -> u64 {
        match &self.objects {
            Some(all) => all.iter().map(|meta| meta.resource_version).max().unwrap_or(0),
            None => self.version,
        }
    }
}

/// The metadata of an object in JSON, and the object.
pub(crate) fn parse(body: &[u8]) -> Result<(Meta, Raw), ApiError> {
    let meta = Meta::decode(Codec::Json, body).map_err(|error| ApiError::Decode(error.0))?;
    let raw = Raw::parse(body).map_err(|error| ApiError::Decode(error.0))?;
    Ok((meta, raw))
}

/// The error as a fact.
pub(crate) fn refused(error: &ApiError) -> Refused {
    Refused { code: error.status().map(|status| status.code), text: error.to_string() }
}
