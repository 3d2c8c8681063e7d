//! The way of a manager to the server: a tower service that lets requests go wrong as the plan
//! says, writes down each of them, and shows the writes to the oracle.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;
use manager::registry::REGISTRY;
use runtime::{Cancel, Clock, Process};
use sandbox::{Server, User};
use serde_json::{Value, json};
use tower::{BoxError, ServiceExt as _};

use crate::discovery;
use crate::fault::Fault;
use crate::flow::Flow;
use crate::lease::Sent;
use crate::older;
use crate::oracle::{Stream, Tried, Written};
use crate::site::Site;
use crate::wire::Wire;

pub(crate) type SiteResponse = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// A life of the manager: from its start to its end. After it has ended nothing that it sends is
/// done.
#[derive(Clone)]
pub(crate) struct Life {
    pub(crate) site: Site,
    /// The manager and the number of the life, such as `a1`.
    pub(crate) name: String,
    /// What it runs in.
    pub(crate) process: Process,
    /// Of its machine.
    pub(crate) clock: Clock,
    /// Its connection to the network.
    pub(crate) wire: Wire,
    /// Asks it to end, as SIGTERM does.
    pub(crate) quit: Cancel,
    /// Cancelled when it ends.
    power: Cancel,
}

/// What a request is about.
#[derive(Clone)]
pub(crate) struct About {
    life: String,
    /// The last part of its user agent, which names the controller.
    pub(crate) account: String,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    /// When it was sent.
    sent: Duration,
}

/// What becomes of the machine while a process stands still.
#[derive(Clone, Copy)]
pub(crate) enum Machine {
    /// It continues.
    Up,
    /// It is suspended: nothing waits, and only some clocks advance.
    Suspended,
}

// === impl About ===

impl About {
    fn new(life: &str, request: &http::request::Parts, sent: Duration) -> Self {
        let agent = request.headers.get(header::USER_AGENT).and_then(|it| it.to_str().ok());
        let account = agent.and_then(|it| it.rsplit('/').next()).unwrap_or_default();
        Self {
            life: life.to_owned(),
            account: account.rsplit(':').next().unwrap_or_default().to_owned(),
            method: request.method.clone(),
            path: request.uri.path().to_owned(),
            query: request.uri.query().unwrap_or_default().to_owned(),
            sent,
        }
    }

    /// Of which life it is.
    pub(crate) fn life(&self) -> &str {
        &self.life
    }

    /// Whether it is about the Lease that is contended for.
    pub(crate) fn is_of_election(&self) -> bool {
        self.account == "leader-election"
    }

    /// The user that sends it: a controller as its service account, as with
    /// `--use-service-account-credentials`, and all else as the manager. The user agent says it
    /// rather than a token, so that no request for one gets in the way.
    fn user(&self) -> User {
        let own = REGISTRY.iter().any(|entry| {
            entry.account == self.account && entry.user == manager::registry::User::Account
        });
        if own {
            User::account("kube-system", &self.account)
        } else {
            User::new("system:kube-controller-manager", &[])
        }
    }

    pub(crate) fn watches(&self) -> bool {
        self.query.split('&').any(|it| it == "watch=true" || it == "watch=1")
    }

    /// What its path ends with: of a watch, the resource.
    pub(crate) fn collection(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Whether it is a write that must come to an end.
    pub(crate) fn counts(&self) -> bool {
        self.method != Method::GET
            && !self.path.contains("/events")
            && !self.path.contains("/leases")
            && !self.path.contains("reviews")
    }

    /// Its verb and what it writes to: `create-pods`; none: it is no write.
    pub(crate) fn write(&self) -> Option<String> {
        let verb = match self.method.as_str() {
            "POST" => "create",
            "PUT" => "update",
            "PATCH" => "patch",
            "DELETE" => "delete",
            _ => return None,
        };
        let parts: Vec<_> = self.path.trim_matches('/').split('/').collect();
        let (["api", _, within @ ..] | ["apis", _, _, within @ ..]) = parts.as_slice() else {
            return None;
        };
        let of = match within {
            ["namespaces", _, part, rest @ ..] if !matches!(*part, "status" | "finalize") => {
                [&[*part], rest].concat()
            }
            other => other.to_vec(),
        };
        Some(match of.as_slice() {
            [plural, _, part] => format!("{verb}-{plural}/{part}"),
            [plural, ..] => format!("{verb}-{plural}"),
            [] => return None,
        })
    }

    /// What it asks for, if it lists or watches.
    pub(crate) fn stream(&self) -> Stream {
        let part = |name| self.parameter(name).unwrap_or_default();
        let (labels, fields) = (part("labelSelector"), part("fieldSelector"));
        Stream {
            life: self.life.clone(),
            plural: self.collection().to_owned(),
            is_part: !labels.is_empty() || !fields.is_empty(),
            asks: format!("{} {} {labels} {fields}", self.account, self.path),
            listing: self.parameter("sendInitialEvents") == Some("true"),
        }
    }

    fn line(&self, code: &str, fault: Option<Fault>) -> String {
        let Self { life, account, method, path, query, .. } = self;
        let query = if query.is_empty() { String::new() } else { format!("?{query}") };
        let fault = fault.map(|it| format!(" [{it}]")).unwrap_or_default();
        format!("{life} {account} {method} {path}{query} {code}{fault}")
    }
}

// === impl Life ===

impl tower::Service<Request<Body>> for Life {
    type Response = SiteResponse;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<SiteResponse, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let life = self.clone();
        Box::pin(async move {
            match life.power.run_until_cancelled(life.take(request)).await {
                Some(answer) => answer,
                // No manager waits for the response.
                None => std::future::pending().await,
            }
        })
    }
}

impl Life {
    pub(crate) fn new(site: &Site, name: String, clock: Clock) -> Self {
        Self {
            site: site.clone(),
            name,
            process: Process::new(),
            clock,
            wire: Wire::new(),
            quit: Cancel::new(),
            power: Cancel::new(),
        }
    }

    /// It ends where it is.
    pub(crate) fn end(&self) {
        self.power.cancel();
        self.process.kill();
        let mut log = self.site.log();
        log.contest.leave(&self.name);
        log.oracle.knowledge.leave(&self.name);
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.power.is_cancelled()
    }

    /// It stops for so long.
    pub(crate) fn stop(&self, time: Duration, machine: Machine) {
        let (clock, machine_clock) = (self.site.runtime.clock.clone(), self.clock.clone());
        let process = self.process.clone();
        process.stop();
        let again = async move {
            clock.sleep(time).await;
            match machine {
                Machine::Suspended => machine_clock.slept(time),
                Machine::Up => {}
            }
            process.go_on();
        };
        runtime::outside(|| runtime::spawn("continue", again));
    }

    /// It is off the network for so long.
    pub(crate) fn cut(&self, time: Duration) {
        self.wire.cut(&self.site.runtime.clock, time);
    }

    async fn take(&self, request: Request<Body>) -> Result<SiteResponse, BoxError> {
        // Once a promise is broken, the run is over: what follows may be a storm without end.
        if !self.site.log().oracle.broken.is_empty() {
            return std::future::pending().await;
        }
        let (parts, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let about = About::new(&self.name, &parts, self.site.now());
        self.judge_sent(&about);
        self.site.log().oracle.knowledge.asks(&self.name, &about.account, about.sent);
        let (of, what) = ((&*self.name, &*about.account), (about.method.as_str(), &*about.path));
        let sync = self.site.log().oracle.making(of, what, &body);
        let fault = self.site.log().fault(&about);
        if let Some(fault) = fault {
            self.site.log().trouble(&about, about.sent, fault);
        }
        if let Some(Fault::Cut(millis)) = fault {
            self.cut(Duration::from_millis(millis));
        }
        let line = self.wire.line();
        let result = if self.wire.is_cut() {
            line.breaks().await;
            Err(broken("the network was away"))
        } else {
            let met = line.carry(self.meet(&about, fault, (parts, body.clone()))).await;
            met.unwrap_or_else(Err)
        };
        let code = match &result {
            Ok(answer) => answer.status().as_u16().to_string(),
            Err(error) => error.to_string(),
        };
        self.site.trace(&about.line(&code, fault));
        if about.counts() {
            let at = self.site.now();
            // A response that cannot be decoded shows nothing.
            let is_answered = result.as_ref().is_ok_and(|answer| answer.status().is_success());
            let tried = Tried {
                sync,
                account: &about.account,
                method: about.method.as_str(),
                path: &about.path,
                body: &body,
                is_told: is_answered && fault != Some(Fault::Garbage),
                is_later: code == "429",
                is_conflict: code == "409",
                at,
            };
            self.site.log().oracle.tried(&tried);
        }
        result
    }

    /// Whether it may be sent now.
    fn judge_sent(&self, about: &About) {
        let sent = Sent {
            life: &self.name,
            account: &about.account,
            method: about.method.as_str(),
            path: &about.path,
            at: about.sent,
        };
        if about.method != Method::GET {
            self.site.look();
            self.site.judge_election();
        }
        let mut log = self.site.log();
        log.contest.sent(&sent);
        log.complain();
    }

    /// Lets a request meet its fault.
    async fn meet(
        &self,
        about: &About,
        fault: Option<Fault>,
        request: (http::request::Parts, Bytes),
    ) -> Result<SiteResponse, BoxError> {
        let refused = std::io::ErrorKind::ConnectionRefused;
        match fault {
            Some(Fault::Refuse) => return Err(std::io::Error::new(refused, "refused").into()),
            Some(Fault::Drop) => return Err(broken("the connection broke")),
            Some(Fault::Lost) => {
                self.forward(about, request, None).await?;
                return Err(broken("the connection broke"));
            }
            Some(Fault::Timeout) => {
                self.forward(about, request, None).await?;
                let (code, reason) = match about.sent.as_millis() % 4 {
                    0 => (500, "InternalError"),
                    1 => (502, ""),
                    2 => (503, "ServiceUnavailable"),
                    _ => (504, "Timeout"),
                };
                return Ok(failed(code, reason));
            }
            Some(Fault::CrashAfter) => {
                self.forward(about, request, None).await?;
                self.end();
                return std::future::pending().await;
            }
            Some(Fault::CrashBefore) => {
                self.end();
                return std::future::pending().await;
            }
            Some(Fault::Forbidden) => return Ok(failed(403, "Forbidden")),
            Some(Fault::Invalid) => return Ok(failed(422, "Invalid")),
            Some(Fault::Rewritten) => return self.forward(about, rewritten(request), None).await,
            Some(Fault::Conflict) => return Ok(failed(409, "Conflict")),
            Some(Fault::TooMany) => return Ok(failed(429, "TooManyRequests")),
            Some(Fault::Internal) => return Ok(failed(500, "InternalError")),
            Some(Fault::Unavailable) => return Ok(failed(503, "ServiceUnavailable")),
            Some(Fault::Garbage) => {
                let answer = self.forward(about, request, None).await?;
                let is_ok = answer.status().is_success();
                return Ok(if is_ok { whole(200, "<html>".to_owned()) } else { answer });
            }
            Some(Fault::Delay(millis)) if about.is_of_election() => {
                return self.stray(about, request, Duration::from_millis(millis)).await;
            }
            Some(Fault::Delay(millis)) => {
                self.site.runtime.clock.sleep(Duration::from_millis(millis)).await;
            }
            Some(Fault::Stop(millis)) => {
                let answer = self.forward(about, request, None).await;
                self.stop(Duration::from_millis(millis), Machine::Up);
                self.process.running().await;
                return answer;
            }
            Some(Fault::Suspend(millis)) => {
                let answer = self.forward(about, request, None).await;
                self.stop(Duration::from_millis(millis), Machine::Suspended);
                self.process.running().await;
                return answer;
            }
            Some(Fault::Quit) => {
                let answer = self.forward(about, request, None).await;
                self.quit.cancel();
                return answer;
            }
            Some(Fault::Behind(seconds)) => self.set_wall([0, seconds]),
            Some(Fault::Ahead(seconds)) => self.set_wall([seconds, 0]),
            // Those of watches.
            _ => {}
        }
        self.forward(about, request, fault).await
    }

    /// Whether there was a request that no role allows.
    fn judge_refusals(&self, server: &Server) {
        let mut log = self.site.log();
        server.refusals().iter().for_each(|it| log.oracle.refused(&it.message));
    }

    /// Sets its clock so many seconds ahead, and so many behind.
    fn set_wall(&self, [ahead, behind]: [u64; 2]) {
        let by = [ahead, behind].map(Duration::from_secs);
        let now = self.site.now();
        self.site.log().oracle.sets_clock(&self.name, by, now);
        let [ahead, behind] = [ahead, behind].map(|it| i64::try_from(it).unwrap_or(0));
        self.clock.set_wall((ahead - behind).saturating_mul(1000));
    }

    /// A request that is on its way for so long, and arrives even if no client waits for the
    /// response any more.
    async fn stray(
        &self,
        about: &About,
        request: (http::request::Parts, Bytes),
        time: Duration,
    ) -> Result<SiteResponse, BoxError> {
        let (life, about) = (self.clone(), about.clone());
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let arrival = async move {
            life.site.runtime.clock.sleep(time).await;
            let answer = life.forward(&about, request, None).await;
            let code = answer.as_ref().map_or(0, |answer| answer.status().as_u16());
            life.site.trace(&about.line(&format!("arrives, {code}"), None));
            // The client may not wait for the response any more.
            let _ = sender.send(answer);
        };
        runtime::outside(|| runtime::spawn("stray", arrival));
        receiver.await?
    }

    /// Serves the list of groups.
    async fn discover(
        &self,
        about: &About,
        mut request: Request<Full<Bytes>>,
        fault: Option<Fault>,
    ) -> Result<SiteResponse, BoxError> {
        let wrong = discovery::wrong(about, fault);
        if wrong.is_some() {
            request.headers_mut().remove(header::IF_NONE_MATCH);
        }
        let server = self.site.cluster.server().service_as(about.user());
        let (head, body) = server.oneshot(request).await?.into_parts();
        let body = body.collect().await?.to_bytes();
        let at = self.site.now();
        let knowledge = &mut self.site.log().oracle.knowledge;
        knowledge.discovered(&self.name, &about.account, wrong, at);
        Ok(match wrong {
            Some(fault) => discovery::bent(fault, head, &body),
            None => Response::from_parts(head, Full::new(body).map_err(Into::into).boxed_unsync()),
        })
    }

    /// It has read something, or heard that there is no such thing.
    fn hears(&self, about: &About, status: StatusCode, body: &[u8]) {
        let (at, mut log) = (self.site.now(), self.site.log());
        let of = (self.name.as_str(), about.account.as_str());
        if status == StatusCode::OK {
            log.oracle.heard(of, &about.path, body, at);
            log.oracle.heard_lease(of, &about.path, Some(body), at);
            if about.lists() {
                log.oracle.knowledge.listed(&about.stream(), body, at);
            }
        } else if status == StatusCode::NOT_FOUND {
            log.oracle.heard_lease(of, &about.path, None, at);
        }
    }

    async fn forward(
        &self,
        about: &About,
        (parts, body): (http::request::Parts, Bytes),
        fault: Option<Fault>,
    ) -> Result<SiteResponse, BoxError> {
        let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut request = Request::from_parts(parts, Full::new(body));
        let trimmed = about.method != Method::GET && ask_for_whole(request.headers_mut());
        if about.discovers() {
            return self.discover(about, request, fault).await;
        }
        self.site.look();
        let (server, fault) = older::answers(&self.site, about, fault, request.uri_mut());
        let answer = server.service_as(about.user()).oneshot(request).await?;
        if answer.status() == StatusCode::FORBIDDEN {
            self.judge_refusals(&server);
        }
        if about.watches() && answer.status() == StatusCode::OK {
            let flow = |body| Flow::new(self, about, body, fault);
            if let Some(revision) =
                about.parameter("resourceVersion").and_then(|it| it.parse().ok())
                && about.parameter("sendInitialEvents").is_none()
            {
                let at = self.site.now();
                self.site.log().oracle.knowledge.watched(&about.stream(), revision, at);
            }
            return Ok(answer.map(|body| flow(body).body()));
        }
        let (head, body) = answer.into_parts();
        let mut body = body.collect().await?.to_bytes();
        if about.method == Method::GET {
            self.hears(about, head.status, &body);
        } else {
            let got = serde_json::from_slice(&body).unwrap_or_default();
            let (code, at) = (head.status.as_u16(), self.site.now());
            let written = Written {
                life: &self.name,
                account: &about.account,
                method: about.method.as_str(),
                path: &about.path,
                code,
                sent: &sent,
                got: &got,
                at,
            };
            let mut log = self.site.log();
            if about.collection() == "subjectaccessreviews" {
                body = log.oracle.reviewed(&written).to_string().into();
            }
            let judged = log.oracle.judge(&written);
            log.oracle.look(self.site.cluster.server(), at);
            if let Some(judged) = judged {
                log.oracle.judge_after(&judged);
            }
            let server = self.site.cluster.server();
            log.contest.look(server, about.is_of_election(), at);
            if about.is_of_election() && code < 300 {
                log.contest.renewed(&self.name, &sent, about.sent);
            }
            if trimmed && code < 300 {
                body = json!({"metadata": got["metadata"]}).to_string().into();
            }
        }
        let body = Full::new(self.site.with_odd_bytes(body));
        Ok(Response::from_parts(head, body.map_err(Into::into).boxed_unsync()))
    }
}

/// As admission makes it.
fn rewritten((parts, body): (http::request::Parts, Bytes)) -> (http::request::Parts, Bytes) {
    let object: Option<Value> = serde_json::from_slice(&body).ok();
    let Some(mut object) = object.filter(|_| parts.method == Method::POST) else {
        return (parts, body);
    };
    object["metadata"]["labels"]["rewritten"] = "yes".into();
    (parts, object.to_string().into())
}

pub(crate) fn broken(text: &str) -> BoxError {
    std::io::Error::new(std::io::ErrorKind::ConnectionReset, text.to_owned()).into()
}

/// The oracle judges whole objects, also where the manager wants no more than metadata. Whether it
/// does.
fn ask_for_whole(headers: &mut HeaderMap) -> bool {
    let accept = headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    let accept = accept.as_ref().and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("as=PartialObjectMetadata;"))
}

pub(crate) fn status(code: u16, reason: &str) -> Value {
    let message = format!("simulated {reason}");
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code})
}

fn failed(code: u16, reason: &str) -> SiteResponse {
    let mut answer = whole(code, status(code, reason).to_string());
    if code == 429 {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}

pub(crate) fn whole(code: u16, body: String) -> SiteResponse {
    let mut answer = Response::new(Full::from(body).map_err(Into::into).boxed_unsync());
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or_default();
    let kind = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, kind);
    answer
}
