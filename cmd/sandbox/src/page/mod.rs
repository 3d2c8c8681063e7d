//! The page for browsers: nodes with their pods, workloads, Events and controllers as they change,
//! and buttons for what scripts can do.
//!
//! # Parts
//! - `board`: what the page shows, as JSON.
//! - `index.html`, `page.css`, `page.js`: the page itself. It loads nothing from elsewhere.

mod board;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::stream;
use manager::debug::Source;
use runtime::{Clock, Latest};
use sandbox::{Request, Server};
use script::{Player, Script, World};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot};

use board::Board;

/// How many pages may be open.
const PAGES_MAX: usize = 16;
/// How many commands may wait for the one that is carried out.
const WAITING_MAX: usize = 8;
/// How long a command may take, by the user's time.
const COMMAND_LIMIT: Duration = Duration::from_secs(30);
/// The shortest time between two states that a page is sent.
const DRAW: Duration = Duration::from_millis(250);
/// How long nothing may change until it is sent the state all the same: a closed page is noticed
/// then, and the clock on the page goes on.
const DRAW_MAX: Duration = Duration::from_secs(1);
/// How fast time may run.
const SPEED_MAX: u64 = 3600;
/// A step passes at this speed, so that all happens in its order.
const STEP_SPEED: u32 = 60;
/// The longest step, in seconds.
const STEP_MAX_S: u64 = 3600;
/// Scripts, styles and requests are the page's own alone.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// What pages share.
#[derive(Clone)]
struct Site {
    server: Server,
    source: Arc<dyn Source>,
    acts: mpsc::Sender<Act>,
    pages: Arc<Semaphore>,
    /// How often somebody has set the time's speed, or had it step.
    turn: Latest<u64>,
}

/// A command of a page.
pub(crate) struct Act {
    /// A script.
    script: Script,
    output: oneshot::Sender<Vec<String>>,
}

/// The page of a world, and the commands that it sends, for [`carry_out`].
pub(crate) fn router(world: &World) -> (Router, mpsc::Receiver<Act>) {
    let (acts, received) = mpsc::channel(WAITING_MAX);
    let (server, source) = (world.cluster.server().clone(), Arc::clone(&world.source));
    let (pages, turn) = (Arc::new(Semaphore::new(PAGES_MAX)), Latest::new(0));
    let site = Site { server, source, acts, pages, turn };
    let router = Router::new()
        .route("/", get(index))
        .route("/sandbox/page.css", get(async || file("text/css", include_str!("page.css"))))
        .route("/sandbox/page.js", get(async || file("text/javascript", include_str!("page.js"))))
        .route("/sandbox/state", get(states))
        .route("/sandbox/run", post(run))
        .route("/sandbox/time", post(time))
        .with_state(site);
    (router, received)
}

/// Carries out the commands of pages, one after the other, for ever.
pub(crate) async fn carry_out(player: &mut Player<'_, World>, acts: &mut mpsc::Receiver<Act>) {
    while let Some(Act { script, output }) = acts.recv().await {
        // By the user's time: the cluster's may stand still.
        let played = Clock::system().timeout(COMMAND_LIMIT, player.play(&script)).await;
        let lines = match played {
            Ok(Ok(played)) => played.script.steps().flat_map(|step| step.output.clone()).collect(),
            Ok(Err(error)) => vec![format!("error: {error:#}")],
            Err(runtime::Elapsed) => vec![format!("error: not over after {COMMAND_LIMIT:?}")],
        };
        // A page that was closed needs no answer.
        let _ = output.send(lines);
    }
}

impl Site {
    /// Sets the speed, which ends a step in progress. Returns whose turn it is now.
    fn pace(&self, speed: u32) -> u64 {
        let mut mine = 0;
        self.turn.update(|turn| {
            self.server.runtime().clock.set_speed(speed);
            *turn += 1;
            mine = *turn;
            true
        });
        mine
    }

    /// Lets so much time pass, and has it stand still then, unless it is another's turn by then.
    fn step(&self, time: Duration) {
        let (clock, turn) = (self.server.runtime().clock.clone(), self.turn.clone());
        let mine = self.pace(STEP_SPEED);
        runtime::spawn("step", async move {
            tokio::select! {
                biased;
                () = turn.wait_for(|turn| (*turn != mine).then_some(())) => return,
                () = clock.sleep(time) => {}
            }
            turn.update(|turn| {
                if *turn == mine {
                    clock.set_speed(0);
                }
                false
            });
        });
    }
}

/// The page, for browsers; others get what an API server says there.
async fn index(State(site): State<Site>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    if accept.contains("text/html") {
        return file("text/html", include_str!("index.html"));
    }
    let request = Request::new(http::Method::GET, "/", "");
    site.server.call(Request { headers, ..request }).map(Body::from)
}

fn file(media: &'static str, text: &'static str) -> Response {
    let media = format!("{media}; charset=utf-8");
    let headers =
        [(header::CONTENT_TYPE, media.as_str()), (header::CONTENT_SECURITY_POLICY, POLICY)];
    (headers, text).into_response()
}

/// The state now and after each change, as server-sent events, until the page is closed.
async fn states(State(site): State<Site>) -> Response {
    let Ok(permit) = Arc::clone(&site.pages).try_acquire_owned() else {
        return refusal(StatusCode::TOO_MANY_REQUESTS, "too many pages are open");
    };
    let board = Board::new(site.server, site.source);
    let events = stream::unfold((board, permit, false), async |(mut board, permit, is_later)| {
        if is_later {
            let clock = Clock::system();
            clock.sleep(DRAW).await;
            let _ = clock.timeout(DRAW_MAX, board.changed()).await;
        }
        let event = Bytes::from(format!("data: {}\n\n", board.state()));
        Some((Ok::<_, std::convert::Infallible>(event), (board, permit, true)))
    });
    let headers =
        [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(events)).into_response()
}

/// `{"command": "scale deployment/web 3", "input": "…"}`: what it printed, as `{"output": […]}`.
async fn run(State(site): State<Site>, headers: HeaderMap, body: Bytes) -> Response {
    let asked = match read(&headers, &body) {
        Ok(asked) => asked,
        Err(refused) => return *refused,
    };
    let text = |field: &str| asked.get(field).and_then(Value::as_str).unwrap_or_default();
    let command = text("command").lines().next().unwrap_or_default();
    let input = text("input").lines().map(|line| format!("\n| {line}"));
    let script = format!("> {command}{}", input.collect::<String>());
    let script = match Script::parse(&script) {
        Ok(script) => script,
        Err(error) => return refusal(StatusCode::BAD_REQUEST, &error.text),
    };
    let (output, printed) = oneshot::channel();
    if site.acts.try_send(Act { script, output }).is_err() {
        return refusal(StatusCode::TOO_MANY_REQUESTS, "other commands are not over yet");
    }
    match printed.await {
        Ok(output) => answer(StatusCode::OK, &json!({ "output": output })),
        Err(_) => refusal(StatusCode::SERVICE_UNAVAILABLE, "the sandbox ends"),
    }
}

/// `{"speed": 60}`: so fast from now on, 0 stands still. `{"step": 10}`: so many seconds, and then
/// time stands still.
async fn time(State(site): State<Site>, headers: HeaderMap, body: Bytes) -> Response {
    let asked = match read(&headers, &body) {
        Ok(asked) => asked,
        Err(refused) => return *refused,
    };
    let clock = site.server.runtime().clock.clone();
    let number =
        |field: &str, max| asked.get(field).and_then(Value::as_u64).filter(|it| *it <= max);
    match (number("speed", SPEED_MAX), number("step", STEP_MAX_S)) {
        (Some(speed), None) => {
            site.pace(u32::try_from(speed).unwrap_or(1));
        }
        (None, Some(seconds)) => site.step(Duration::from_secs(seconds)),
        _ => {
            let text = "the body says neither {\"speed\": 0…3600} nor {\"step\": 0…3600}";
            return refusal(StatusCode::BAD_REQUEST, text);
        }
    }
    let now = clock.now().to_string();
    answer(StatusCode::OK, &json!({"time": now, "speed": clock.speed()}))
}

/// The body of a request that does something. A page of another site cannot send JSON without being
/// asked first whether it may, and it may not.
fn read(headers: &HeaderMap, body: &[u8]) -> Result<Value, Box<Response>> {
    let media = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    if media.is_none_or(|media| !media.starts_with("application/json")) {
        let text = "the body must be application/json";
        return Err(Box::new(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)));
    }
    serde_json::from_slice(body)
        .map_err(|error| Box::new(refusal(StatusCode::BAD_REQUEST, &error.to_string())))
}

fn refusal(code: StatusCode, text: &str) -> Response {
    answer(code, &json!({ "error": text }))
}

fn answer(code: StatusCode, body: &Value) -> Response {
    (code, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
