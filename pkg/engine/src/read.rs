//! Live reads, for plans that ask for them. Nothing here changes anything: all requests are GETs,
//! except reviews, which are POSTs that store nothing, and questions to the cloud.
//!
//! An answer is complete or an error. A response that is too long or too slow is an error.

use std::sync::Arc;
use std::time::Duration;

use api::{Codec, InvalidName, Listed, Meta, Metadata, Object, Raw, Resource, Text, wire};
use bytes::Bytes;
use cache::frames::{ListDecoder, OBJECT_BYTES_MAX};
use client::{ApiError, Client};
use controller::{Answer, Form, ListForm, Query, Refused, Selector, Typed};
use discovery::Discovery;
use futures::{StreamExt, stream};

use crate::provider::Provider;

/// The number of reads of one step in progress at once; the rate limit bounds them over time. Long
/// documents are read one by one, so that a single one is in memory.
const TOGETHER_MAX: usize = 16;
/// Objects in a page of a list, as client-go's pager.
const PAGE: usize = 500;
/// The most objects of an answer. A longer list is an error: a part would look like all.
const OBJECTS_MAX: usize = 200_000;
/// The longest JSON response without a kind; parsed, it takes several times as much memory.
const JSON_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How long a response may be silent. The API server itself gives up after 60 seconds.
const SILENCE_MAX: Duration = Duration::from_secs(65);
/// The time limit of one read, with all its pages and the delays that the server asks for.
const READ_MAX: Duration = Duration::from_mins(10);

/// The number of objects that are requested to find out the result of a write.
const HELD_MAX: usize = 50;

/// Receives the items of a list.
type Sink<'a> = &'a mut (dyn FnMut(Codec, &[u8]) -> Result<(), ApiError> + Send);

/// The objects that exist.
pub(crate) struct Held {
    /// The version of the list.
    version: u64,
    /// All objects; none if there are more than [`HELD_MAX`].
    pub(crate) objects: Option<Vec<Meta>>,
}

/// Where queries go, besides the API server.
pub(crate) struct Doors<'a> {
    pub(crate) discovery: &'a Discovery,
    pub(crate) provider: &'a Provider,
}

/// The answers to `queries`, in their order.
pub(crate) async fn fetch(client: &Client, doors: &Doors<'_>, queries: &[Query]) -> Vec<Answer> {
    let is_long = queries.iter().any(|query| matches!(query, Query::Document(_)));
    let together = if is_long { 1 } else { TOGETHER_MAX };
    let reads: Vec<_> = queries.iter().map(|query| answer(client, doors, query)).collect();
    stream::iter(reads).buffered(together).collect().await
}

async fn answer(client: &Client, doors: &Doors<'_>, query: &Query) -> Answer {
    let asked = ask(client, doors, query);
    let read = match client.clock().timeout(READ_MAX, asked).await {
        Ok(read) => read,
        Err(_) => Err(ApiError::Timeout(format!("{query}: not read within {READ_MAX:?}"))),
    };
    read.unwrap_or_else(|error| Answer::Failed(refused(&error)))
}

/// An error is not an answer. A missing object is one, where that is certain.
async fn ask(client: &Client, doors: &Doors<'_>, query: &Query) -> Result<Answer, ApiError> {
    match query {
        Query::Get { resource, key, form } => {
            let path = match resource.object_path(key) {
                Ok(path) => path,
                Err(error) => return Ok(unasked(error)),
            };
            get(client, &path, form).await
        }
        Query::Path(path) => json(&client.get(path).await?),
        Query::Document(excerpt) => {
            let body = client.get(excerpt.path()).await?;
            not_too_long(&body)?;
            Ok(Answer::Document(excerpt.of(&body).into()))
        }
        Query::List { resource, namespace, selector, form } => {
            let path = resource.collection_path(namespace);
            or_not_found(match form {
                ListForm::Metadata => all(client, &path, selector).await.map(Answer::All),
                ListForm::Views(typed) => views(client, &path, selector, typed).await,
            })
        }
        Query::Review { resource, namespace, about: _, body } => {
            let body = Bytes::copy_from_slice(body.0.as_bytes());
            json(&client.review(&resource.collection_path(namespace), body).await?)
        }
        Query::Served => doors.discovery.served().await.map(Answer::Served),
        Query::Cloud(ask) => Ok(doors.provider.ask(ask).await),
    }
}

async fn get(client: &Client, path: &str, form: &Form) -> Result<Answer, ApiError> {
    match form {
        Form::Whole => {
            let body = client.get(path).await;
            or_not_found(body.and_then(|it| parse(&it)).map(|it| Answer::Found(Box::new(it))))
        }
        // An unknown path says nothing about the object.
        Form::Metadata => {
            let found = metadata(client, path).await?;
            Ok(found.map_or(Answer::NotFound, |it| Answer::Metadata(Box::new(it))))
        }
        Form::View(typed) => or_not_found(view(client, path, typed).await),
    }
}

fn or_not_found(read: Result<Answer, ApiError>) -> Result<Answer, ApiError> {
    match read {
        Err(error) if error.is_not_found() => Ok(Answer::NotFound),
        read => read,
    }
}

/// JSON without a kind.
fn json(body: &[u8]) -> Result<Answer, ApiError> {
    not_too_long(body)?;
    let value = serde_json::from_slice(body);
    let value = value.map_err(|error| ApiError::Decode(error.to_string()))?;
    Ok(Answer::Json(Arc::new(value)))
}

fn not_too_long(body: &[u8]) -> Result<(), ApiError> {
    if body.len() <= JSON_BYTES_MAX {
        return Ok(());
    }
    Err(ApiError::Decode(format!("an answer of {} bytes is too long", body.len())))
}

/// The answer about an object that cannot be requested.
fn unasked(error: InvalidName) -> Answer {
    if error.is_absent() { Answer::NotFound } else { Answer::Failed(refused(&error.into())) }
}

/// The metadata of one object; none: there is no such object.
pub(crate) async fn metadata(client: &Client, path: &str) -> Result<Option<Metadata>, ApiError> {
    let (codec, body) = match body(client, path, Metadata::ACCEPT).await {
        Ok(found) => found,
        Err(error) if error.is_object_missing() => return Ok(None),
        Err(error) => return Err(error),
    };
    Metadata::decode(codec, &body).map(Some).map_err(|error| ApiError::Decode(error.0))
}

/// The view of one object.
async fn view(client: &Client, path: &str, typed: &Typed) -> Result<Answer, ApiError> {
    let (codec, body) = body(client, path, typed.accept()).await?;
    let object = typed.decode(codec, &body).map_err(|error| ApiError::Decode(error.0))?;
    Ok(Answer::Views(typed.collect(vec![object])))
}

/// One object, in a form that the server chooses.
async fn body(client: &Client, path: &str, accept: &str) -> Result<(Codec, Vec<u8>), ApiError> {
    let mut answer = client.stream(path, accept, SILENCE_MAX).await?;
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk(SILENCE_MAX).await? {
        if body.len() + chunk.len() > OBJECT_BYTES_MAX {
            return Err(ApiError::Decode("an object that is too long".to_owned()));
        }
        body.extend_from_slice(&chunk);
    }
    Ok((answer.codec, body))
}

/// The metadata of the objects of a list.
async fn all(client: &Client, path: &str, selector: &Selector) -> Result<Vec<Listed>, ApiError> {
    let (mut found, start) = (Vec::new(), selecting(path, selector, ""));
    pages(client, &start, Metadata::ACCEPT_LIST, &mut |codec, item| {
        found.push(Listed::decode(codec, item).map_err(|error| ApiError::Decode(error.0))?);
        bounded(found.len())
    })
    .await?;
    Ok(found)
}

/// The views of the objects of a list.
async fn views(
    client: &Client,
    path: &str,
    selector: &Selector,
    typed: &Typed,
) -> Result<Answer, ApiError> {
    let (mut found, start) = (Vec::new(), selecting(path, selector, typed.field_selector()));
    pages(client, &start, typed.accept_list(), &mut |codec, item| {
        found.push(typed.decode(codec, item).map_err(|error| ApiError::Decode(error.0))?);
        bounded(found.len())
    })
    .await?;
    Ok(Answer::Views(typed.collect(found)))
}

fn bounded(objects: usize) -> Result<(), ApiError> {
    if objects <= OBJECTS_MAX {
        return Ok(());
    }
    Err(ApiError::Decode(format!("more than {OBJECTS_MAX} objects, which are too many to hold")))
}

/// The path of the first page.
fn selecting(path: &str, selector: &Selector, fields: &str) -> String {
    let both = [fields, &selector.fields];
    let fields: Vec<_> = both.into_iter().filter(|part| !part.is_empty()).collect();
    let mut path = format!("{path}?limit={PAGE}");
    for (name, value) in
        [("labelSelector", &*selector.labels), ("fieldSelector", &fields.join(","))]
    {
        if !value.is_empty() {
            path = format!("{path}&{name}={}", client::percent_encoded(value));
        }
    }
    path
}

/// All pages of a list.
async fn pages(client: &Client, start: &str, accept: &str, take: Sink<'_>) -> Result<(), ApiError> {
    let mut path = start.to_owned();
    loop {
        let list = page(client, &path, accept, take).await?;
        if list.r#continue.is_empty() {
            return Ok(());
        }
        path = format!("{start}&continue={}", client::percent_encoded(&list.r#continue));
    }
}

/// One page of a list.
async fn page(
    client: &Client,
    path: &str,
    accept: &str,
    take: Sink<'_>,
) -> Result<wire::ListMeta, ApiError> {
    let mut answer = client.stream(path, accept, SILENCE_MAX).await?;
    let mut list = ListDecoder::new(answer.codec);
    while let Some(chunk) = answer.chunk(SILENCE_MAX).await? {
        list.feed(&chunk);
        while let Some(item) = list.pop()? {
            take(answer.codec, item)?;
        }
    }
    Ok(list.finish()?)
}

/// The metadata of the objects of a kind in a namespace, at most as many as fit into a short list;
/// or only of the object with this name. A consistent read.
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
    let mut objects = Vec::new();
    let list = page(client, &query, Metadata::ACCEPT_LIST, &mut |codec, item| {
        let object = Listed::decode(codec, item).map_err(|error| ApiError::Decode(error.0))?;
        objects.push(object.meta);
        bounded(objects.len())
    })
    .await?;
    let version = list.resource_version.parse();
    let version = version
        .map_err(|_| ApiError::Decode("the version of a list is not a number".to_owned()))?;
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
    let status = error.status();
    let bare = status.is_some_and(|status| status.bare);
    Refused { code: status.map(|status| status.code), text: error.to_string(), bare }
}
