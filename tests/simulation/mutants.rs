//! Deliberate bugs (`pkg/mutant`): the simulation must find each of them, or it would find no other
//! such one.
//!
//! A bug is there for a whole process, and tests share theirs. So each bug has a process of its
//! own: the test starts its own binary again, for the same test, with the bug's name in `MUTANT`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context as _, bail, ensure};
use manager::registry::REGISTRY;
use mutant::Mutant;

use crate::case::Case;
use crate::cores;
use crate::oracle::{Broken, RULES, Rule};
use crate::run::run;
use crate::shrink;

/// Which bug the process has.
const BUG: &str = "MUTANT";
/// How many seeds are tried with a bug; not set: its kept case alone.
const SEEDS: &str = "MUTANTS";
/// Only bugs with one of these words, between commas, in their names.
const ONLY: &str = "ONLY";
/// Only cases in whose text this word stands.
const WORD: &str = "WORD";
/// Writes the shrunk cases to files.
const UPDATE: &str = "UPDATE";
/// What a process with a bug says.
const SAYS: &str = "with the bug: ";

/// `make sim-mutants` tries seeds until one of them shows the bug; the test plays the one that was
/// kept of those. A bug without a kept case fails it.
#[test]
fn deliberate_bugs_are_found() -> anyhow::Result<()> {
    if let Some(bug) = named()? {
        println!("{SAYS}{}", with(bug)?);
        return Ok(());
    }
    let only = env::var(ONLY).unwrap_or_default();
    let is_wanted = |bug: &Mutant| only.split(',').any(|it| format!("{bug:?}").contains(it));
    let bugs: Vec<_> = Mutant::ALL.iter().copied().filter(is_wanted).collect();
    ensure!(!bugs.is_empty(), "{only} is in the name of no bug");
    let (mut table, mut hidden) = (Vec::new(), Vec::new());
    let look_for = |at: usize| {
        let result = in_a_process_of_its_own(bugs[at]);
        println!("{}", line(bugs[at], &result));
        result
    };
    let tell = |at: usize, result: anyhow::Result<String>| {
        hidden.extend(result.is_err().then(|| format!("{:?}", bugs[at])));
        table.push(line(bugs[at], &result));
        ControlFlow::Continue(())
    };
    cores::each(bugs.len(), look_for, tell);
    println!("{:22} {:>6} {:>8}  broken promise\n{}", "bug", "seeds", "seconds", table.join("\n"));
    ensure!(hidden.is_empty(), "{} are not found: {}", hidden.len(), hidden.join(", "));
    Ok(())
}

/// What is kept of the bugs shows them, and not a bug of ours.
#[test]
fn cases_of_deliberate_bugs_are_well_without_them() -> anyhow::Result<()> {
    for bug in Mutant::ALL.iter().copied() {
        let case = kept(bug)?;
        if let Some(broken) = run(&case)?.broken {
            bail!("{}: {broken}", file(bug).display());
        }
    }
    Ok(())
}

/// A new rule must find something; and a bug that breaks no rule is looked for in vain.
#[test]
fn each_rule_is_broken_by_a_bug_and_each_bug_breaks_one_rule() -> anyhow::Result<()> {
    let mut names = BTreeSet::new();
    for rule in RULES {
        ensure!(names.insert(rule.name()), "{} is there twice", rule.name());
        ensure!(!rule.bugs().is_empty(), "no bug breaks {}", rule.name());
    }
    for bug in Mutant::ALL.iter().copied() {
        let rules: Vec<_> = RULES.iter().filter(|rule| rule.bugs().contains(&bug)).collect();
        ensure!(rules.len() == 1, "{bug:?} is to break {} rules", rules.len());
        kept(bug)?;
    }
    Ok(())
}

/// A controller whose own code has no bug may be one that the simulation never comes near.
#[test]
fn each_controller_has_a_bug_of_its_own() -> anyhow::Result<()> {
    // The simulation has no cloud.
    let rows = REGISTRY.iter().filter(|entry| !entry.cloud);
    let folders = rows.filter_map(|entry| entry.folder);
    for folder in folders.collect::<BTreeSet<_>>() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../pkg/controllers/src").join(folder);
        let files = fs::read_dir(&path).with_context(|| path.display().to_string())?;
        let mut texts = Vec::new();
        for file in files {
            let path = file?.path();
            if path.extension().is_some_and(|it| it == "rs") {
                texts.push(fs::read_to_string(&path)?);
            }
        }
        let is_in = |bug: Mutant| {
            let hook = format!("mutant::is(Mutant::{bug:?})");
            texts.iter().any(|text| text.contains(&hook))
        };
        ensure!(Mutant::ALL.iter().copied().any(is_in), "{folder} has no bug of its own");
    }
    Ok(())
}

/// The bug that the process is to have.
fn named() -> anyhow::Result<Option<Mutant>> {
    let Ok(name) = env::var(BUG) else { return Ok(None) };
    let bug = Mutant::ALL.iter().copied().find(|bug| format!("{bug:?}") == name);
    bug.with_context(|| format!("{name} is no bug")).map(Some)
}

/// From now on the process has it.
pub(crate) fn switch_on() -> anyhow::Result<()> {
    mutant::only(named()?);
    Ok(())
}

fn line(bug: Mutant, result: &anyhow::Result<String>) -> String {
    let name = format!("{bug:?}");
    match result {
        Ok(text) => format!("{name:22} {text}"),
        Err(error) => format!("{name:22} NOT FOUND: {error:#}"),
    }
}

/// `no-fence.txt` is a case that shows `NoFence`.
fn file(bug: Mutant) -> PathBuf {
    let mut name = String::new();
    for letter in format!("{bug:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("simulation/mutants");
    folder.join(name).with_extension("txt")
}

/// The case that is kept of a bug: it breaks the rule that the bug is to break.
fn kept(bug: Mutant) -> anyhow::Result<Case> {
    let path = file(bug);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let breaks = text.lines().find_map(|line| line.strip_prefix("# breaks "));
    ensure!(breaks == Some(rule(bug)?), "{}: breaks {breaks:?}", path.display());
    Case::parse(&text).with_context(|| path.display().to_string())
}

/// The rule that a bug is to break.
fn rule(bug: Mutant) -> anyhow::Result<&'static str> {
    Ok(Rule::of(bug).with_context(|| format!("{bug:?} breaks no rule"))?.name())
}

/// What it says there, as a part of the table.
fn in_a_process_of_its_own(bug: Mutant) -> anyhow::Result<String> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["--nocapture", "--exact", "mutants::deliberate_bugs_are_found"]);
    let output = command.env(BUG, format!("{bug:?}")).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let said = said.lines().find_map(|line| Some(line.split_once(SAYS)?.1));
    if let Some(said) = said {
        return Ok(said.to_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find(|line| line.starts_with("Error: "));
    bail!("{}", said.unwrap_or("its process ended"))
}

#[expect(clippy::disallowed_methods, reason = "how long it really takes")]
fn now() -> Instant {
    Instant::now()
}

/// In a process with the bug: how it was found, in columns.
fn with(bug: Mutant) -> anyhow::Result<String> {
    let begun = now();
    let Some(seeds) = env::var(SEEDS).ok().map(|text| text.parse::<u64>()).transpose()? else {
        let case = kept(bug)?;
        mutant::only(Some(bug));
        let broken = run(&case)?.broken.context("its kept case shows nothing")?;
        ensure!(broken.rule() == rule(bug)?, "it breaks {broken}");
        return Ok(columns("kept", begun, &broken));
    };
    let rule = rule(bug)?;
    let word = env::var(WORD).unwrap_or_default();
    let mut others = BTreeMap::new();
    for seed in 0..seeds {
        let case = Case::draw(seed);
        if !case.to_string().contains(&word) {
            continue;
        }
        mutant::only(Some(bug));
        let Some(broken) = run(&case)?.broken else { continue };
        if broken.rule() != rule {
            *others.entry(broken.rule()).or_insert(0) += 1;
            continue;
        }
        mutant::only(None);
        if run(&case)?.broken.is_some() {
            continue;
        }
        if env::var_os(UPDATE).is_some() {
            keep(bug, &case, rule)?;
        }
        let tried = (seed + 1).to_string();
        return Ok(columns(&tried, begun, &broken));
    }
    bail!("{seeds} seeds keep {rule}; others break: {others:?}")
}

fn columns(seeds: &str, begun: Instant, broken: &Broken) -> String {
    let text = broken.to_string().lines().collect::<Vec<_>>().join(" ");
    let text: String = text.chars().take(110).collect();
    format!("{seeds:>6} {:>8.1}  {text}", begun.elapsed().as_secs_f64())
}

/// Shrinks the case, and writes it to its file.
fn keep(bug: Mutant, case: &Case, rule: &str) -> anyhow::Result<()> {
    mutant::only(Some(bug));
    let short = shrink::shrink(case, rule)?;
    mutant::only(None);
    let is_well = run(&short)?.broken.is_none();
    let kept = if is_well { &short } else { case };
    let path = file(bug);
    fs::create_dir_all(path.parent().context("a folder")?)?;
    fs::write(&path, format!("# The bug {bug:?}.\n# breaks {rule}\n{kept}"))?;
    Ok(())
}
