//! The scripts in `tests/scripts`, wherever they play.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use script::Difference;

/// Which scripts play: those with this in their path.
const CHOICE: &str = "SCRIPT";

/// Where scripts are, a folder for each controller.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")
}

/// All scripts that play, sorted by path.
pub fn all() -> anyhow::Result<Vec<PathBuf>> {
    let choice = std::env::var(CHOICE).unwrap_or_default();
    let mut found = Vec::new();
    for controller in entries(&folder())? {
        found.extend(entries(&controller)?);
    }
    found.retain(|path| path.extension().is_some_and(|it| it == "txt"));
    found.retain(|path| path.to_string_lossy().contains(&choice));
    found.sort();
    Ok(found)
}

/// What is to be said of a script that printed something else than it says.
pub fn complaints(path: &Path, differences: &[Difference]) -> Vec<String> {
    let name = path.strip_prefix(folder()).unwrap_or(path).display();
    let complaint = |it: &Difference| {
        let Difference { line, command, expected, actual } = it;
        let (expected, actual) = (block(expected), block(actual));
        format!("{name}:{line}: {command}\n  says:\n{expected}\n  prints:\n{actual}\n")
    };
    differences.iter().map(complaint).collect()
}

fn block(lines: &[String]) -> String {
    let lines: Vec<_> = lines.iter().map(|line| format!("    {line}")).collect();
    lines.join("\n")
}

fn entries(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let context = || folder.display().to_string();
    let entries = fs::read_dir(folder).with_context(context)?;
    entries.map(|entry| Ok(entry.with_context(context)?.path())).collect()
}
