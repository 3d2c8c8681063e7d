//! A named client.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use api::Codec;
use bytes::Bytes;
use futures::TryFutureExt as _;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Collected, Limited};
use kube::client::Body;
use runtime::{Clock, Runtime};
use tower::BoxError;
use workqueue::TokenBucket;

use crate::requests::{log_request, log_response};
use crate::transport::AnyBody;
use crate::{Account, ApiError, Metrics, ResponseStream, Transport};

/// The longest wait for a response that is not a watch: the API server itself gives up after 60 s.
const REQUEST_LIMIT: Duration = Duration::from_secs(65);
/// The largest response that is held in memory as a whole; etcd stores objects up to 1.5 MiB.
const BODY_BYTES_MAX: usize = 32 * 1024 * 1024;
/// A whole object.
const OBJECT: &str = "application/json";
/// The metadata of an object, from a server that supports it; else the object.
const METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
/// The same for a list.
const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
/// How often a request is retried when the server says so, as client-go.
const RETRIES_MAX: u32 = 10;
/// The longest Retry-After that is obeyed.
const RETRY_AFTER_MAX: Duration = Duration::from_mins(1);

/// The settings of a client.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Requests per second; zero or less: unlimited.
    pub qps: f64,
    /// Requests that may be sent at once after idle time.
    pub burst: u32,
    /// Sent with every request.
    pub user_agent: String,
    /// `host:port` of the server, for metrics.
    pub host: String,
}

/// Called right before each write is sent; an error says why it must not be sent.
pub type Guard = Arc<dyn Fn() -> Result<(), String> + Send + Sync>;
/// Called when a request makes progress: before each try, with the time that the rate limit makes
/// it wait; and with zero at each response or error.
pub type Pace = Arc<dyn Fn(Duration) + Send + Sync>;

/// A client with a name, a rate limit and metrics. Cheap to clone; clones share the limit.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Inner>,
    guard: Option<Guard>,
    account: Option<Arc<Account>>,
    pace: Option<Pace>,
    /// The form of the responses to its writes.
    accept: &'static str,
}

struct Inner {
    transport: Transport,
    settings: Settings,
    bucket: Mutex<TokenBucket>,
    metrics: Metrics,
    runtime: Runtime,
}

/// A body, and its headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// As the server wrote it; empty if it did not.
    pub content_type: String,
    /// The version of the document, for the next [`Client::get_as`].
    pub etag: Option<String>,
    /// The bytes.
    pub body: Bytes,
}

struct Call<'a> {
    method: Method,
    path: &'a str,
    accept: &'a str,
    /// The version of the document that the caller has.
    etag: Option<&'a str>,
    body: Option<(&'static str, Bytes)>,
    limit: Duration,
    effect: Effect,
}

/// The effect of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// No effect: it may be retried at any time.
    None,
    /// It may have an effect.
    Write,
}

// === impl Client ===

impl Client {
    /// A client that sends over `transport`.
    pub fn new(
        transport: impl Into<Transport>,
        settings: Settings,
        metrics: &Metrics,
        runtime: &Runtime,
    ) -> Self {
        metrics.transports.with_label_values(&["hit"]).inc();
        let bucket = TokenBucket::new(settings.qps, settings.burst);
        let shared = Inner {
            transport: transport.into(),
            settings,
            bucket: Mutex::new(bucket),
            metrics: metrics.clone(),
            runtime: runtime.clone(),
        };
        Self { shared: Arc::new(shared), guard: None, account: None, pace: None, accept: OBJECT }
    }

    /// This client, with the same limit, calling `guard` before each write: after the wait for the
    /// rate limit, and before every retry. A refusal is [`ApiError::Fenced`]. Reads are not
    /// guarded.
    pub fn guarded(&self, guard: Guard) -> Self {
        Self { guard: Some(guard), ..self.clone() }
    }

    /// Whether its guard admits writes now, for those that go elsewhere than to the API server.
    pub fn may_write(&self) -> Result<(), ApiError> {
        self.guard.as_ref().map_or(Ok(()), |guard| guard().map_err(ApiError::Fenced))
    }

    /// This client, with the same limit, sending a token of `account` with each request. Its
    /// connection must have no credentials, which would take precedence.
    pub fn acting_as(&self, account: Arc<Account>) -> Self {
        Self { account: Some(account), ..self.clone() }
    }

    /// This client, with the same limit, calling `pace` when its requests make progress.
    pub fn paced(&self, pace: Pace) -> Self {
        Self { pace: Some(pace), ..self.clone() }
    }

    /// This client, with the same limit, asking for metadata in the responses to creates, updates
    /// and patches: nothing else of the object is sent, or ever in memory. Servers without support
    /// for that respond with the whole object. Reads are not affected.
    pub fn terse(&self) -> Self {
        Self { accept: METADATA, ..self.clone() }
    }

    /// The clock of its timeouts.
    pub fn clock(&self) -> &Clock {
        &self.shared.runtime.clock
    }

    /// `host:port` of the server.
    pub fn host(&self) -> &str {
        &self.shared.settings.host
    }

    /// GET, for a body that is read piece by piece: lists and watches. `limit` is the longest wait
    /// for the response to begin.
    pub async fn stream(
        &self,
        path: &str,
        accept: &str,
        limit: Duration,
    ) -> Result<ResponseStream, ApiError> {
        let (method, effect) = (Method::GET, Effect::None);
        let call = Call { method, path, accept, etag: None, body: None, limit, effect };
        let response = self.send(&call).await?;
        let codec = match text(&response, &header::CONTENT_TYPE) {
            Some(kind) if kind.starts_with("application/vnd.kubernetes.protobuf") => {
                Codec::Protobuf
            }
            _ => Codec::Json,
        };
        Ok(ResponseStream::new(codec, response.into_body(), self.shared.runtime.clock.clone()))
    }

    /// GET of one JSON body.
    pub async fn get(&self, path: &str) -> Result<Bytes, ApiError> {
        let (method, effect, limit) = (Method::GET, Effect::None, REQUEST_LIMIT);
        let call = Call { method, path, accept: OBJECT, etag: None, body: None, limit, effect };
        let response = self.send(&call).await?;
        self.read(&call, response).await
    }

    /// GET of one body, in the first form in `accept` that the server supports. None if `etag`
    /// still matches.
    pub async fn get_as(
        &self,
        path: &str,
        accept: &str,
        etag: Option<&str>,
    ) -> Result<Option<Document>, ApiError> {
        let (method, effect, limit) = (Method::GET, Effect::None, REQUEST_LIMIT);
        let call = Call { method, path, accept, etag, body: None, limit, effect };
        let response = self.send(&call).await?;
        if response.status() == StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let content_type = text(&response, &header::CONTENT_TYPE).unwrap_or_default().to_owned();
        let etag = text(&response, &header::ETAG).map(ToOwned::to_owned);
        Ok(Some(Document { content_type, etag, body: self.read(&call, response).await? }))
    }

    /// POST of a JSON body that stores nothing, such as a `SubjectAccessReview`, with the whole
    /// response. It counts as a read: the guard is not called, and it is retried as a read.
    pub async fn review(&self, path: &str, body: Bytes) -> Result<Bytes, ApiError> {
        let (method, effect, limit) = (Method::POST, Effect::None, REQUEST_LIMIT);
        let body = Some(("application/json", body));
        let call = Call { method, path, accept: OBJECT, etag: None, body, limit, effect };
        let response = self.send(&call).await?;
        self.read(&call, response).await
    }

    /// POST of a JSON body.
    pub async fn create(&self, path: &str, body: Bytes) -> Result<Bytes, ApiError> {
        self.whole(Method::POST, path, ("application/json", body)).await
    }

    /// PUT of a JSON body.
    pub async fn update(&self, path: &str, body: Bytes) -> Result<Bytes, ApiError> {
        self.whole(Method::PUT, path, ("application/json", body)).await
    }

    /// PATCH with a strategic merge patch.
    pub async fn patch(&self, path: &str, body: Bytes) -> Result<Bytes, ApiError> {
        let kind = "application/strategic-merge-patch+json";
        self.whole(Method::PATCH, path, (kind, body)).await
    }

    /// PATCH with a JSON merge patch.
    pub async fn merge(&self, path: &str, body: Bytes) -> Result<Bytes, ApiError> {
        self.whole(Method::PATCH, path, ("application/merge-patch+json", body)).await
    }

    /// PATCH by server-side apply of a JSON body, as this field manager; with `force` it takes
    /// fields from other managers, else they are conflicts.
    pub async fn apply(
        &self,
        path: &str,
        (field_manager, force): (&str, bool),
        body: Bytes,
    ) -> Result<Bytes, ApiError> {
        let path = format!("{path}?fieldManager={field_manager}&force={force}");
        self.whole(Method::PATCH, &path, ("application/apply-patch+yaml", body)).await
    }

    /// DELETE of an object with `DeleteOptions` as JSON.
    pub async fn delete(&self, path: &str, options: Bytes) -> Result<(), ApiError> {
        self.delete_as(path, METADATA, options).await
    }

    /// DELETE of a collection with `DeleteOptions` as JSON.
    pub async fn delete_collection(&self, path: &str, options: Bytes) -> Result<(), ApiError> {
        self.delete_as(path, METADATA_LIST, options).await
    }

    /// The response lists the deleted objects, of any number. They are not needed, so nothing is
    /// kept: the start of the response means that all is done.
    async fn delete_as(&self, path: &str, accept: &str, options: Bytes) -> Result<(), ApiError> {
        let (method, limit) = (Method::DELETE, REQUEST_LIMIT);
        let body = Some(("application/json", options));
        let effect = Effect::Write;
        let call = Call { method, path, accept, etag: None, body, limit, effect };
        let mut body = self.send(&call).await?.into_body();
        let mut size = 0_u32;
        // Read to the end, since HTTP/1.1 can reuse the connection only then.
        let read = async {
            while let Some(Ok(frame)) = body.frame().await {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                size = size.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
            }
        };
        let in_time = self.shared.runtime.clock.timeout(REQUEST_LIMIT, read).await;
        if in_time.is_err() {
            tracing::debug!(path, "the list of deleted objects is too slow; dropped");
        }
        self.observe_answer(&call, size);
        Ok(())
    }

    /// A write.
    async fn whole(
        &self,
        method: Method,
        path: &str,
        body: (&'static str, Bytes),
    ) -> Result<Bytes, ApiError> {
        let (accept, limit, effect) = (self.accept, REQUEST_LIMIT, Effect::Write);
        let call = Call { method, path, accept, etag: None, body: Some(body), limit, effect };
        let response = self.send(&call).await?;
        self.read(&call, response).await
    }

    async fn read(&self, call: &Call<'_>, response: Response<AnyBody>) -> Result<Bytes, ApiError> {
        let bytes = self.collect(response).await?;
        self.observe_answer(call, u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        Ok(bytes)
    }

    fn observe_answer(&self, call: &Call<'_>, size: u32) {
        let labels = [call.method.as_str(), &self.shared.settings.host];
        self.shared.metrics.response_size.with_label_values(&labels).observe(f64::from(size));
    }

    /// Sends until the response does not ask to retry. 429 and 5xx with Retry-After are retried, as
    /// client-go does; but a write with a 5xx may have been done, and the client cannot decide to
    /// repeat it: a second POST could create a second object.
    async fn send(&self, call: &Call<'_>) -> Result<Response<AnyBody>, ApiError> {
        let mut tries = 0;
        loop {
            let sent = self.send_once(call).await;
            self.note(Duration::ZERO);
            let error = match sent {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            let is_undone = error.is_too_many_requests()
                || (call.effect == Effect::None && error.status().is_some_and(|it| it.code >= 500));
            let later = error.status().and_then(|status| status.retry_after);
            let Some(delay) = later.filter(|_| is_undone && tries < RETRIES_MAX) else {
                return Err(error);
            };
            tries += 1;
            let labels = [&*error.label(), call.method.as_str(), &self.shared.settings.host];
            self.shared.metrics.retries.with_label_values(&labels).inc();
            self.shared.runtime.clock.sleep(delay.min(RETRY_AFTER_MAX)).await;
        }
    }

    async fn send_once(&self, call: &Call<'_>) -> Result<Response<AnyBody>, ApiError> {
        self.throttle(call).await?;
        let Inner { transport, settings, metrics, runtime, .. } = &*self.shared;
        let started = runtime.clock.instant();
        let bearer = match &self.account {
            Some(account) => Some(Box::pin(account.bearer()).await?),
            None => None,
        };
        let request = self.request(call, bearer.clone())?;
        if let Err(error) = self.ask_guard(call) {
            let labels = [&*error.label(), call.method.as_str(), &settings.host];
            metrics.requests.with_label_values(&labels).inc();
            return Err(error);
        }
        log_request(&settings.host, &request);
        let sent = runtime.clock.timeout(call.limit, transport.send(request)).await;
        let labels = [call.method.as_str(), &settings.host];
        let elapsed = runtime.clock.instant().duration_since(started);
        metrics.duration.with_label_values(&labels).observe(elapsed.as_secs_f64());
        let answer = match sent {
            Err(_) => Err(ApiError::Timeout(format!(
                "{} {}: no answer within {:?}",
                call.method, call.path, call.limit
            ))),
            Ok(Err(error)) => Err(ApiError::from_transport(&*error)),
            Ok(Ok(response)) => Ok(response),
        };
        log_response((&call.method, &settings.host, call.path), &answer, elapsed);
        let code = answer.as_ref().map_or_else(ApiError::label, |r| r.status().as_str().to_owned());
        metrics.requests.with_label_values(&[&*code, call.method.as_str(), &settings.host]).inc();
        let response = answer?;
        let known = call.etag.is_some() && response.status() == StatusCode::NOT_MODIFIED;
        if response.status().is_success() || known {
            return Ok(response);
        }
        if let (401, Some(account), Some(bearer)) =
            (response.status().as_u16(), &self.account, &bearer)
        {
            account.reject(bearer);
        }
        Err(self.failure(response).await)
    }

    fn note(&self, wait: Duration) {
        if let Some(pace) = &self.pace {
            pace(wait);
        }
    }

    fn ask_guard(&self, call: &Call<'_>) -> Result<(), ApiError> {
        if call.effect == Effect::Write { self.may_write() } else { Ok(()) }
    }

    fn request(
        &self,
        call: &Call<'_>,
        bearer: Option<HeaderValue>,
    ) -> Result<Request<Body>, ApiError> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(call.path)
            .header(header::USER_AGENT, &self.shared.settings.user_agent)
            .header(header::ACCEPT, call.accept);
        if let Some(bearer) = bearer {
            request = request.header(header::AUTHORIZATION, bearer);
        }
        if let Some(etag) = call.etag {
            request = request.header(header::IF_NONE_MATCH, etag);
        }
        let mut body = Bytes::new();
        if let Some((kind, bytes)) = &call.body {
            request = request.header(header::CONTENT_TYPE, *kind);
            body = bytes.clone();
        }
        let size = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let labels = [call.method.as_str(), &self.shared.settings.host];
        self.shared.metrics.request_size.with_label_values(&labels).observe(f64::from(size));
        request.body(Body::from(body)).map_err(|error| ApiError::from_transport(&error))
    }

    /// Waits for the rate limit. A guarded write does not wait beyond the shutdown of the process:
    /// it is refused.
    async fn throttle(&self, call: &Call<'_>) -> Result<(), ApiError> {
        let Inner { bucket, metrics, settings, runtime, .. } = &*self.shared;
        let now = runtime.clock.instant();
        let delay = bucket.lock().unwrap_or_else(PoisonError::into_inner).reserve(now);
        let labels = [call.method.as_str(), &settings.host];
        metrics.limiter_duration.with_label_values(&labels).observe(delay.as_secs_f64());
        self.note(delay);
        if delay > Duration::from_secs(1) {
            let (method, path) = (&call.method, call.path);
            tracing::debug!(?delay, %method, path, "waiting for the rate limit");
        }
        if delay.is_zero() {
            return Ok(());
        }
        let waited = runtime.clock.sleep(delay);
        if self.guard.is_none() || call.effect == Effect::None {
            waited.await;
            return Ok(());
        }
        let waited = runtime.cancel.run_until_cancelled(waited).await;
        waited.ok_or_else(|| ApiError::Fenced("asked to stop".to_owned()))
    }

    async fn failure(&self, response: Response<AnyBody>) -> ApiError {
        let code = response.status().as_u16();
        let seconds = text(&response, &header::RETRY_AFTER);
        let retry_after = seconds.and_then(|s| s.parse().ok()).map(Duration::from_secs);
        match self.collect(response).await {
            Ok(body) => ApiError::from_answer(code, retry_after, &body),
            Err(error) => error,
        }
    }

    async fn collect(&self, response: Response<AnyBody>) -> Result<Bytes, ApiError> {
        let body = collected(response.into_body());
        match self.shared.runtime.clock.timeout(REQUEST_LIMIT, body).await {
            Err(_) => Err(ApiError::Timeout(format!("the answer stopped for {REQUEST_LIMIT:?}"))),
            Ok(Err(error)) => Err(ApiError::from_transport(&*error)),
            Ok(Ok(body)) => Ok(body),
        }
    }
}

/// The whole body.
fn collected(body: AnyBody) -> impl Future<Output = Result<Bytes, BoxError>> + Send {
    Limited::new(body, BODY_BYTES_MAX).collect().map_ok(Collected::to_bytes)
}

/// The value of a header, if it exists and is text.
fn text<'a>(response: &'a Response<AnyBody>, name: &HeaderName) -> Option<&'a str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}
