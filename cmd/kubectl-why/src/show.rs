//! Asking, and printing the answer.

use std::io::{IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use client::{ConfigError, ConnectOptions, connect, context_namespace};
use runtime::Runtime;
use why::text::Style;
use why::{AskError, Question, Reader, Report, State, ask};

use crate::arguments::{Arguments, Colours, Output};

/// The command line is wrong.
pub(crate) const USAGE: u8 = 3;
/// The kubeconfig cannot be used.
const CONFIG: u8 = 6;
/// The API server cannot be asked.
pub(crate) const UNREACHABLE: u8 = 7;

/// How often a watch asks.
const PERIOD: Duration = Duration::from_secs(2);
/// How often in a row a watch may get no answer.
const FAILURES_MAX: u32 = 30;
/// Where neither flags nor the kubeconfig name a namespace.
const NAMESPACE: &str = "default";

/// Answers; the result is the exit code.
pub(crate) async fn run(arguments: &Arguments) -> u8 {
    let Some((kind, name)) = arguments.target() else {
        return failed("say what it is about as KIND/NAME, such as deployment/web", USAGE);
    };
    let runtime = Runtime::system();
    let (reader, namespace) = match reader(arguments, &runtime).await {
        Ok(made) => made,
        Err(error) => return failed(&error.to_string(), CONFIG),
    };
    let question = Question { kind: kind.to_owned(), name: name.to_owned(), namespace };
    if arguments.watch {
        return watch(arguments, &reader, &question, &runtime).await;
    }
    match ask(&reader, &question).await {
        Ok(report) => {
            print(&written(arguments, &report));
            report.state.code()
        }
        Err(error) => failed(&error.to_string(), error.code()),
    }
}

/// Asks again and again, and prints what changed, until the object is settled.
async fn watch(
    arguments: &Arguments,
    reader: &Reader,
    question: &Question,
    runtime: &Runtime,
) -> u8 {
    let (mut last, mut failures) = (None::<Report>, 0);
    loop {
        match ask(reader, question).await {
            Ok(report) => {
                failures = 0;
                let is_new = last.as_ref().is_none_or(|last| changed(last, &report));
                if is_new && !show_change(arguments, last.as_ref(), &report) {
                    return report.state.code();
                }
                if report.state == State::Settled {
                    return report.state.code();
                }
                last = Some(report);
            }
            Err(AskError::Server(text)) if failures < FAILURES_MAX && last.is_some() => {
                failures += 1;
                failed(&text, UNREACHABLE);
            }
            Err(error) => return failed(&error.to_string(), error.code()),
        }
        runtime.clock.sleep(PERIOD).await;
    }
}

/// Whether a report says something else than the last one; that time passes is nothing new.
fn changed(last: &Report, report: &Report) -> bool {
    lines(last) != lines(report)
}

/// The findings as lines without times.
fn lines(report: &Report) -> Vec<String> {
    let findings = report.findings.iter().map(|it| {
        let waits = it.waiting_for.iter().map(|what| format!("; waits for {what}"));
        format!("{}{}", it.sentence(), waits.collect::<String>())
    });
    std::iter::once(report.cause.clone()).chain(findings).collect()
}

/// Prints the first report whole, and of later ones the cause and what is new and what is gone.
/// False: nobody reads any more.
fn show_change(arguments: &Arguments, last: Option<&Report>, report: &Report) -> bool {
    if arguments.output == Output::Json {
        return print(&format!("{}\n", json(report)));
    }
    let Some(last) = last else { return print(&written(arguments, report)) };
    let (before, now) = (lines(last), lines(report));
    let mut text = format!("\n{} {}\n", report.at, report.cause);
    let gone = before.iter().skip(1).filter(|line| !now.contains(line));
    text.extend(gone.map(|line| format!("  - {line}\n")));
    let new = now.iter().skip(1).filter(|line| !before.contains(line));
    text.extend(new.map(|line| format!("  + {line}\n")));
    print(&text)
}

fn written(arguments: &Arguments, report: &Report) -> String {
    match arguments.output {
        Output::Json => format!("{}\n", json(report)),
        Output::Text => why::text::write(report, style(arguments)),
    }
}

fn json(report: &Report) -> String {
    serde_json::to_string_pretty(report).unwrap_or_default()
}

fn style(arguments: &Arguments) -> Style {
    let colours = match arguments.color {
        Colours::Always => true,
        Colours::Never => false,
        Colours::Auto => std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    };
    Style { colours }
}

/// A reader of the cluster, and the namespace of the question.
async fn reader(arguments: &Arguments, runtime: &Runtime) -> Result<(Reader, String), ConfigError> {
    let mut files = kubeconfigs(arguments).into_iter();
    let options = ConnectOptions {
        kubeconfig: files.next(),
        more_kubeconfigs: files.collect(),
        master: arguments.server.clone(),
        context: arguments.context.clone(),
        impersonate: arguments.impersonate.clone(),
        ..ConnectOptions::default()
    };
    let default = context_namespace(&options)?;
    let namespace = arguments.namespace.clone().or(default);
    let connection = connect(&options).await?;
    Ok((Reader::new(connection, runtime), namespace.unwrap_or_else(|| NAMESPACE.to_owned())))
}

/// As kubectl looks for them, in the order in which they count. None: there is none; then there is
/// the pod's service account, or a server's address.
fn kubeconfigs(arguments: &Arguments) -> Vec<PathBuf> {
    if let Some(given) = &arguments.kubeconfig {
        return vec![given.clone()];
    }
    if let Some(paths) = std::env::var_os("KUBECONFIG").filter(|paths| !paths.is_empty()) {
        let named = std::env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty());
        let (there, absent): (Vec<_>, Vec<_>) = named.partition(|path| path.exists());
        // If none of them is there, the first is named in the error.
        return if there.is_empty() { absent.into_iter().take(1).collect() } else { there };
    }
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".kube/config"));
    home.into_iter().filter(|path| path.exists()).collect()
}

/// Prints; false: nobody reads any more, which is no failure.
fn print(text: &str) -> bool {
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok()
}

/// Says why there is no answer.
pub(crate) fn failed(text: &str, code: u8) -> u8 {
    let _ = writeln!(std::io::stderr(), "error: {text}");
    code
}
