//! The page of the sandbox, in a real browser without a window, over Chromium's debugging pipe.

#![expect(clippy::disallowed_methods, reason = "a real browser keeps real time")]

use super::LIMIT;
use anyhow::{Context, bail, ensure};
use cluster_tests::{Sandbox, wait_until};
use serde_json::{Value, json};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Its pipes are its descriptors 3 and 4: here both ends of one socket.
const START: &str = "exec \"$0\" --headless --no-sandbox --disable-gpu --window-size=1280,1000 \
    --remote-debugging-pipe --user-data-dir=\"$1\" about:blank 3<&0 4>&0 </dev/null";
/// Whose pictures are wanted: a folder.
const PICTURES: &str = "PAGE_PICTURES";

/// A browser with one page.
struct Browser {
    process: Child,
    pipe: BufReader<UnixStream>,
    calls: u64,
    /// The page, once it is there.
    session: Option<String>,
    /// What scripts of the page have thrown.
    thrown: Vec<String>,
}

/// Issue: nodes with their pods, workloads, events, controllers, buttons for what scripts can do,
/// time controls. Each step is one that a user takes, and waits for what the user then sees.
#[tokio::test]
async fn the_page_shows_and_does_what_scripts_do() -> anyhow::Result<()> {
    let Some(program) = browser() else {
        ensure!(std::env::var("CI").is_err(), "none of {BROWSERS:?} is installed");
        eprintln!("skipped: none of {BROWSERS:?} is installed");
        return Ok(());
    };
    let sandbox = Sandbox::start(3).await?;
    let mut browser = Browser::start(&program, sandbox.dir())?;
    browser.open(&format!("{}/", sandbox.url())).await?;
    let played = play(&mut browser, &sandbox).await;
    let page = browser.value("document.body.innerText").await.unwrap_or_default();
    played.with_context(|| format!("the page: {page}"))?;
    ensure!(browser.thrown.is_empty(), "{:?}", browser.thrown);
    Ok(())
}

async fn play(browser: &mut Browser, sandbox: &Sandbox) -> anyhow::Result<()> {
    browser.sees("many('#nodes article') === 3").await?;
    browser.sees("said('#controllers').includes('deployment-controller')").await?;
    browser.does("one('#sample').click()").await?;
    browser.sees("many('#nodes .pod.ready') === 3").await?;
    browser.sees("said('#workloads').includes('3/3 ready')").await?;
    browser.sees("said('#events').includes('SuccessfulCreate')").await?;
    browser.does("press('#workloads', '+')").await?;
    browser.sees("many('#nodes .pod.ready') === 4").await?;
    browser.picture("page").await?;

    // A node dies: its pods are made anew elsewhere, minutes later: seconds at this speed.
    browser.does("press('#nodes article', 'kill')").await?;
    browser.does("press('#speeds', '60×')").await?;
    browser.sees("said('#nodes article').includes('not ready')").await?;
    browser.sees("many('#nodes article:first-child .pod.ready') === 0").await?;
    browser.sees("many('#nodes .pod.ready') === 4").await?;
    browser.picture("killed").await?;

    browser.does("press('#speeds', 'Pause')").await?;
    browser.sees("state.speed === 0").await?;
    let paused = browser.value("said('#time')").await?;
    browser.does("press('#speeds', 'Step 10 s')").await?;
    let passed = format!("Date.parse(said('#time')) - Date.parse('{paused}') >= 9000");
    browser.sees(&format!("{passed} && state.speed === 0")).await?;
    browser.does("press('#speeds', '1×')").await?;
    browser.sees("state.speed === 1").await?;

    browser.does("one('#line').value = 'why deployment/web-1'").await?;
    browser.does("one('#command').requestSubmit()").await?;
    browser.sees("said('#output').includes('exit code 0')").await?;
    browser.does("one('#line').value = 'fly away'").await?;
    browser.does("one('#command').requestSubmit()").await?;
    browser.sees("said('#output').includes('error: ')").await?;
    browser.does("one('#nodes .pod.ready').click()").await?;
    browser.does("press('#pod', 'delete')").await?;
    browser.sees("said('#output').includes('deleted')").await?;
    let pods = sandbox.kubectl("get deployment web-1 -o jsonpath={.spec.replicas}").await?;
    ensure!(pods.out == "4", "{pods:?}");
    Ok(())
}

/// A page of another site can have a browser send a request, but not one with JSON; clients that
/// are no browsers get what an API server says.
#[tokio::test]
async fn only_the_page_itself_can_do_something() -> anyhow::Result<()> {
    let sandbox = Sandbox::start(1).await?;
    let asked: &[(&[&str], &str)] = &[
        (&["/"], "\"/api/v1\""),
        (&["-H", "Accept: text/html", "/"], "<title>sandbox</title>"),
        (&["-d", "{\"command\": \"kill node-0\"}", "/sandbox/run"], "must be application/json"),
        (&["-d", "{\"speed\": 0}", "/sandbox/time"], "must be application/json"),
        (&["-H", "Content-Type: application/json", "-d", "{", "/sandbox/run"], "EOF"),
        (
            &["-H", "Content-Type: application/json", "-d", "{\"speed\": 3601}", "/sandbox/time"],
            "0…3600",
        ),
        (
            &["-H", "Content-Type: application/json", "-d", "{\"command\": \"x\"}", "/sandbox/run"],
            "error",
        ),
    ];
    for (args, expected) in asked {
        let (path, options) = args.split_last().context("a path")?;
        let url = format!("{}{path}", sandbox.url());
        let output = Command::new("curl").args(["-sS"]).args(options).arg(url).output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(said.contains(expected), "{args:?}: {said}");
    }
    let nodes = sandbox.kubectl("get nodes --no-headers").await?;
    ensure!(nodes.out.contains(" Ready "), "{nodes:?}");
    Ok(())
}

fn browser() -> Option<String> {
    let is_there = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    BROWSERS.into_iter().find(is_there).map(str::to_owned)
}

// === impl Browser ===

impl Browser {
    fn start(program: &str, profile: &Path) -> anyhow::Result<Self> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let process = Command::new("sh")
            .args(["-c", START, program])
            .arg(profile.join("browser"))
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        ours.set_nonblocking(true)?;
        let pipe = BufReader::new(UnixStream::from_std(ours)?);
        Ok(Self { process, pipe, calls: 0, session: None, thrown: Vec::new() })
    }

    /// Opens the page.
    async fn open(&mut self, url: &str) -> anyhow::Result<()> {
        let made = self.call("Target.createTarget", json!({"url": "about:blank"})).await?;
        let target = json!({"targetId": made["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", target).await?;
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        self.call("Runtime.enable", json!({})).await?;
        self.call("Page.enable", json!({})).await?;
        let tools = "
            var one = (where) => document.querySelector(where);
            var said = (where) => one(where)?.innerText ?? '';
            var many = (where) => document.querySelectorAll(where).length;
            var press = (where, name) => [...one(where).querySelectorAll('button')]
                .find((it) => it.textContent === name).click();";
        let tools = json!({ "source": tools });
        self.call("Page.addScriptToEvaluateOnNewDocument", tools).await?;
        self.call("Page.navigate", json!({ "url": url })).await.map(drop)
    }

    /// Waits until an expression is true.
    async fn sees(&mut self, expression: &str) -> anyhow::Result<()> {
        wait_until(expression, LIMIT, async || {
            Ok(self.evaluate(expression).await?.as_bool().filter(|is_so| *is_so).map(drop))
        })
        .await
    }

    /// Does something, once what it is done to is there.
    async fn does(&mut self, statement: &str) -> anyhow::Result<()> {
        let tried = format!("(() => {{ {statement}; return true; }})()");
        wait_until(statement, LIMIT, async || Ok(Some(self.evaluate(&tried).await?)))
            .await
            .map(drop)
    }

    async fn value(&mut self, expression: &str) -> anyhow::Result<String> {
        let value = self.evaluate(expression).await?;
        Ok(value.as_str().unwrap_or_default().to_owned())
    }

    async fn evaluate(&mut self, expression: &str) -> anyhow::Result<Value> {
        let asked = json!({"expression": expression, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", asked).await?;
        let thrown = &answer["exceptionDetails"];
        ensure!(thrown.is_null(), "{expression}: {}", thrown["exception"]["description"]);
        Ok(answer["result"]["value"].take())
    }

    /// Stores a picture of the page, if somebody wants it.
    async fn picture(&mut self, name: &str) -> anyhow::Result<()> {
        let Some(folder) = std::env::var_os(PICTURES) else { return Ok(()) };
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"})).await?;
        let path = Path::new(&folder).join(format!("{name}.png.base64"));
        Ok(std::fs::write(path, shot["data"].as_str().unwrap_or_default())?)
    }

    /// Sends a command, and returns its result.
    async fn call(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        self.calls += 1;
        let mut message = json!({"id": self.calls, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let answered = tokio::time::timeout(LIMIT, async {
            self.pipe.get_mut().write_all(format!("{message}\0").as_bytes()).await?;
            loop {
                let mut bytes = Vec::new();
                if self.pipe.read_until(0, &mut bytes).await? == 0 {
                    bail!("the browser has ended");
                }
                let mut said: Value =
                    serde_json::from_slice(bytes.strip_suffix(b"\0").unwrap_or(&bytes))?;
                if said["method"] == "Runtime.exceptionThrown" {
                    self.thrown.push(said["params"]["exceptionDetails"].to_string());
                }
                if said["id"] == self.calls {
                    ensure!(said["error"].is_null(), "{method}: {}", said["error"]);
                    return Ok(said["result"].take());
                }
            }
        });
        answered.await.with_context(|| format!("{method}: no answer"))?
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
