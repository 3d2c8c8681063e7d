//! Parses the command line: clap splits it, and the differences from pflag are handled here.

use std::collections::{BTreeMap, BTreeSet};

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

use super::{Flag, Flags, Kind, SECTIONS, all, handles};
use crate::config;
use crate::registry::{Entry, REGISTRY};

const PROGRAM: &str = "kube-controller-manager";
const ABOUT: &str = "Runs the controllers of a Kubernetes cluster: loops that watch its state \
                     through the API server and move it towards what was asked for.";
/// Id of the arguments that are not flags; all of them are refused.
const OTHER: &str = "other words";

/// Why there are no values.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// The help was requested; this is its text.
    Help(String),
    /// The command line is malformed; the text is pflag's.
    Bad(String),
    /// The command line is well-formed, but its content is refused.
    Refused(String),
}

impl Failure {
    /// The text to print.
    pub fn text(&self) -> &str {
        let (Self::Help(text) | Self::Bad(text) | Self::Refused(text)) = self;
        text
    }
}

/// The table as a clap command, which splits arguments and prints the help.
pub fn command() -> Command {
    let args = SECTIONS.iter().flat_map(|section| {
        section.flags.iter().map(|flag| arg(flag).help_heading(format!("{} flags", section.title)))
    });
    Command::new(PROGRAM)
        .about(ABOUT)
        .override_usage(format!("{PROGRAM} [flags]"))
        .disable_help_flag(true)
        .disable_version_flag(true)
        .next_line_help(true)
        .args(args)
        .arg(Arg::new(OTHER).num_args(0..).action(ArgAction::Append).hide(true))
}

fn arg(flag: &'static Flag) -> Arg {
    let arg = Arg::new(flag.name)
        .long(flag.name)
        .short(short(flag))
        .action(ArgAction::Append)
        .value_name(flag.kind.name())
        .help(help(flag))
        .hide(flag.deprecated.is_some());
    if flag.kind.is_switch() {
        let value = if flag.kind == Kind::Version { "true|raw" } else { "bool" };
        arg.num_args(0..=1).require_equals(true).default_missing_value("true").value_name(value)
    } else {
        arg.num_args(1).allow_hyphen_values(true)
    }
}

/// The shorthand of a flag, after a single dash.
fn short(flag: &Flag) -> Option<char> {
    match flag.name {
        "help" => Some('h'),
        "v" => Some('v'),
        _ => None,
    }
}

fn help(flag: &Flag) -> StyledStr {
    let is_zero = ["", "0", "0s", "[]", "false"].contains(&flag.default);
    let default = if is_zero { String::new() } else { format!(" (default {})", flag.default) };
    let idle = if flag.works() { "" } else { " [no effect yet]" };
    let names = if flag.name == "controllers" { controllers() } else { String::new() };
    format!("{}{default}{idle}{names}", flag.help).into()
}

/// The names for `--controllers`, for the help.
fn controllers() -> String {
    let names = |rows: &mut dyn Iterator<Item = &Entry>| {
        rows.map(|row| row.name).collect::<Vec<_>>().join(", ")
    };
    let all = names(&mut REGISTRY.iter());
    let off = names(&mut REGISTRY.iter().filter(|row| !row.on_by_default));
    format!("\nAll controllers: {all}\nOff by default: {off}")
}

/// The values of the flags in `words`, the command line without the program's name.
pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Flags, Failure> {
    let words: Vec<_> = words.into_iter().map(normalized).collect();
    let matches = command().no_binary_name(true).try_get_matches_from(&words);
    let matches = matches.map_err(|error| Failure::Bad(refusal(&error, &words)))?;
    let mut values = BTreeMap::new();
    let mut given = BTreeSet::new();
    for flag in all() {
        let mut value = flag.default_value();
        for text in matches.get_many::<String>(flag.name).into_iter().flatten() {
            let new = flag.kind.parse(text).map_err(|what| {
                let short = short(flag).map(|letter| format!("-{letter}, "));
                let name = format!("{}--{}", short.unwrap_or_default(), flag.name);
                Failure::Bad(format!("invalid argument {text:?} for {name:?} flag: {what}"))
            })?;
            // The first one replaces the default, even that of a list.
            if given.insert(flag.name) {
                value = new;
            } else {
                flag.kind.add(&mut value, new);
            }
        }
        values.insert(flag.name, (flag, value));
    }
    let mut flags = Flags { values, given };
    if flags.switch(handles::HELP) {
        return Err(Failure::Help(command().render_help().to_string()));
    }
    let others: Vec<_> = matches.get_many::<String>(OTHER).into_iter().flatten().collect();
    if others.iter().any(|word| !word.is_empty()) {
        let others: Vec<_> = others.iter().map(|word| format!("{word:?}")).collect();
        let others = others.join(" ");
        return Err(Failure::Bad(format!(
            "{PROGRAM:?} does not take any arguments, got [{others}]"
        )));
    }
    let config = flags.text(handles::CONFIG).to_owned();
    if flags.given.contains("config") {
        config::apply(&config, &mut flags).map_err(Failure::Refused)?;
    }
    Ok(flags)
}

/// `--a_b=c` as `--a-b=c`, if that is a flag.
fn normalized(word: String) -> String {
    let Some(long) = word.strip_prefix("--") else { return word };
    let (name, value) = long.split_at(long.find('=').unwrap_or(long.len()));
    let name = name.replace('_', "-");
    if all().any(|flag| flag.name == name) { format!("--{name}{value}") } else { word }
}

/// clap's error with pflag's text.
fn refusal(error: &clap::Error, words: &[String]) -> String {
    let Some(ContextValue::String(shown)) = error.get(ContextKind::InvalidArg) else {
        return error.to_string();
    };
    let shown = shown.split([' ', '=']).next().unwrap_or_default();
    let long = shown.strip_prefix("--");
    let word = words.iter().find(|word| word.starts_with(shown)).map_or(shown, String::as_str);
    match (error.kind(), long) {
        (ErrorKind::UnknownArgument, Some(name)) if name.is_empty() || name.starts_with('-') => {
            format!("bad flag syntax: {word}")
        }
        (ErrorKind::UnknownArgument, Some(_)) => format!("unknown flag: {shown}"),
        (ErrorKind::UnknownArgument, None) => {
            let letter = shown.chars().nth(1).unwrap_or('-');
            format!("unknown shorthand flag: {letter:?} in {word}")
        }
        // Only the last word can lack its value.
        (ErrorKind::InvalidValue, _) if words.last().is_some_and(|word| word == "-v") => {
            "flag needs an argument: 'v' in -v".to_owned()
        }
        (ErrorKind::InvalidValue, _) => format!("flag needs an argument: {shown}"),
        _ => error.to_string(),
    }
}
