//! Which lines are written: the flags `-v` and `--vmodule`, as k8s.io/klog/v2, internal/verbosity.

use std::path::Path;

use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Level, Metadata};
use tracing_subscriber::layer::{Context, Filter};

/// Our own crates.
pub(super) const OURS: [&str; 10] = [
    "auth", "cache", "client", "engine", "https", "leader", "manager", "profile", "runtime",
    "server",
];
/// From this verbosity on libraries log at debug. Their traces are never written, nor compiled:
/// they are too many, and may contain secrets.
const LIBRARIES: u32 = 9;

/// The verbosity from which lines are written: everywhere, and in single source files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Threshold {
    pub(super) verbosity: u32,
    modules: Vec<Module>,
    quiet: bool,
}

/// A part of `--vmodule`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Module {
    pattern: Vec<char>,
    verbosity: u32,
}

impl Threshold {
    /// From `-v` and `--vmodule`. The latter must be validated already.
    pub(super) fn new(verbosity: u32, modules: &str) -> Self {
        let parse = |part: &str| {
            let (pattern, number) = part.split_once('=')?;
            let verbosity = number.parse().ok().filter(|verbosity| *verbosity > 0)?;
            Some(Module { pattern: pattern.chars().collect(), verbosity })
        };
        let modules = modules.split(',').filter_map(parse).collect();
        Self { verbosity, modules, quiet: false }
    }

    /// Only warnings and errors.
    pub(super) fn quiet() -> Self {
        Self { verbosity: 0, modules: Vec::new(), quiet: true }
    }

    pub(super) fn lets_through(&self, metadata: &Metadata<'_>) -> bool {
        if self.quiet {
            return *metadata.level() <= Level::WARN;
        }
        let Some(needed) = verbosity(metadata) else { return false };
        needed <= self.verbosity || needed <= self.of_file(metadata.file().unwrap_or_default())
    }

    /// The level of the first pattern that matches the name of the file without its extension.
    fn of_file(&self, path: &str) -> u32 {
        if self.modules.is_empty() {
            return 0;
        }
        let stem = Path::new(path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let stem: Vec<char> = stem.chars().collect();
        let first = self.modules.iter().find(|module| matches(&module.pattern, &stem));
        first.map_or(0, |module| module.verbosity)
    }
}

impl<S> Filter<S> for Threshold {
    fn enabled(&self, metadata: &Metadata<'_>, _context: &Context<'_, S>) -> bool {
        self.lets_through(metadata)
    }

    fn callsite_enabled(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.lets_through(metadata) { Interest::always() } else { Interest::never() }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        let modules = self.modules.iter().map(|module| module.verbosity);
        Some(match modules.fold(self.verbosity, u32::max) {
            _ if self.quiet => LevelFilter::WARN,
            0..=3 => LevelFilter::INFO,
            _ => LevelFilter::DEBUG,
        })
    }
}

/// The lowest verbosity at which such a line is written; none: never.
pub(super) fn verbosity(metadata: &Metadata<'_>) -> Option<u32> {
    let name = metadata.target().split("::").next().unwrap_or_default();
    match (*metadata.level(), OURS.contains(&name)) {
        (Level::ERROR | Level::WARN, _) | (Level::INFO, true) => Some(0),
        (Level::DEBUG, true) if metadata.target() == client::LOG_HEADERS => Some(8),
        (Level::DEBUG, true) if metadata.target() == client::LOG_ANSWERS => Some(6),
        (Level::DEBUG, true) => Some(4),
        (Level::INFO | Level::DEBUG, false) => Some(LIBRARIES),
        (Level::TRACE, _) => None,
    }
}

/// Go's `filepath.Match` for a name without a slash: `*`, `?`, `[a-z]`, `[^a-z]` and `\`. A broken
/// pattern matches nothing.
pub(super) fn matches(pattern: &[char], name: &[char]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, left) => left.is_none(),
        (Some((&'*', rest)), _) => (0..=name.len()).any(|skipped| matches(rest, &name[skipped..])),
        (Some((&'[', rest)), Some((&char, left))) => {
            class(rest, char).is_some_and(|(is_in, rest)| is_in && matches(rest, left))
        }
        (Some((&'?', rest)), Some((_, left))) => matches(rest, left),
        (Some((&'\\', rest)), Some((char, left))) => match rest.split_first() {
            Some((escaped, rest)) => escaped == char && matches(rest, left),
            None => false,
        },
        (Some((wanted, rest)), Some((char, left))) => wanted == char && matches(rest, left),
        (Some(_), None) => false,
    }
}

/// Whether the class, whose `[` is consumed, contains the character; and the rest after its `]`.
fn class(pattern: &[char], char: char) -> Option<(bool, &[char])> {
    let (negated, mut rest) = match pattern.split_first()? {
        (&'^', rest) => (true, rest),
        _ => (false, pattern),
    };
    let (mut is_in, mut is_empty) = (false, true);
    loop {
        if let (Some((&']', after)), false) = (rest.split_first(), is_empty) {
            return Some((is_in != negated, after));
        }
        let (low, after) = member(rest)?;
        let (high, after) = match after.split_first() {
            Some((&'-', after)) => member(after)?,
            _ => (low, after),
        };
        is_in |= (low..=high).contains(&char);
        (rest, is_empty) = (after, false);
    }
}

/// A character of a class, which may be escaped.
fn member(pattern: &[char]) -> Option<(char, &[char])> {
    match pattern.split_first()? {
        (&'\\', rest) => rest.split_first().map(|(char, rest)| (*char, rest)),
        (&('-' | ']'), _) => None,
        (char, rest) => Some((*char, rest)),
    }
}
