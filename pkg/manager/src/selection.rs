//! `--controllers`: which controllers run.

use std::collections::BTreeSet;

use crate::registry::Entry;

/// The rows that `list` switches on, by upstream's rules (`IsControllerEnabled` in
/// k8s.io/controller-manager): the first of `name` and `-name` decides; a name that is not listed
/// is on if the list has `*` and the controller is on by default. Aliases count as the names that
/// they stand for. An error names every word that is no controller.
pub fn select<'a>(list: &[String], table: &'a [Entry]) -> Result<Vec<&'a Entry>, String> {
    let mut unknown = BTreeSet::new();
    let mut words = Vec::new();
    for word in list.iter().map(|word| word.trim()) {
        let (off, name) = word.strip_prefix('-').map_or((false, word), |name| (true, name));
        match table.iter().find(|row| row.name == name || row.aliases.contains(&name)) {
            Some(row) => words.push((row.name, !off)),
            None if word == "*" => {}
            None => {
                unknown.insert(format!("{name:?} is not in the list of known controllers"));
            }
        }
    }
    if !unknown.is_empty() {
        let known: Vec<_> = table.iter().map(|row| row.name).collect();
        let unknown: Vec<_> = unknown.into_iter().collect();
        return Err(format!("--controllers: {} (known: {})", unknown.join(", "), known.join(", ")));
    }
    let all = list.iter().any(|word| word.trim() == "*");
    let is_on = |row: &&Entry| {
        let listed = words.iter().find(|(name, _)| *name == row.name).map(|(_, on)| *on);
        listed.unwrap_or(all && row.on_by_default)
    };
    Ok(table.iter().filter(is_on).collect())
}
