//! `--controllers`: which controllers run, and why the others do not.

use crate::gates::Gates;
use crate::migration::{Migration, Side};
use crate::options::Options;
use crate::registry::{Entry, REGISTRY, unjudged};

/// The selection of controllers from the table.
#[derive(Default)]
pub struct Choice<'a> {
    /// They run.
    pub run: Vec<&'a Entry>,
    /// A feature gate that they require is off.
    pub gated: Vec<&'a Entry>,
    /// They would need a cloud provider, and there is none.
    pub cloud: Vec<&'a Entry>,
    /// `--controllers` does not enable them.
    pub disabled: Vec<&'a Entry>,
    /// Leader migration leaves them to another component.
    pub foreign: Vec<&'a Entry>,
    /// They are enabled, but cannot run with these options, for this reason.
    pub lacking: Vec<(&'a Entry, &'static str)>,
}

/// The words of `list` that are not controllers, with upstream's text
/// (k8s.io/controller-manager/options/generic.go).
pub fn unknown(list: &[String], table: &[Entry]) -> Vec<String> {
    let names = list.iter().filter(|word| *word != "*");
    let names = names.map(|word| word.strip_prefix('-').unwrap_or(word));
    let unknown = names.filter(|name| find(name, table).is_none());
    unknown.map(|name| format!("{name:?} is not in the list of known controllers")).collect()
}

/// Whether there is a cloud to control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ground {
    /// No, as in upstream and in the product.
    Bare,
    /// Yes, as in the sandbox.
    Cloud,
}

/// Sorts the rows of `table` by upstream's rules (`NewController` in
/// cmd/kube-controller-manager/app/controllermanager.go and `IsControllerEnabled` in
/// k8s.io/controller-manager): the first of `name` and `-name` decides; a name that is not listed
/// is enabled if the list has `*` and the controller is on by default. Aliases count as their
/// canonical names.
pub fn choose<'a>(list: &[String], table: &'a [Entry], gates: &Gates) -> Choice<'a> {
    choose_on(Ground::Bare, list, table, gates)
}

fn choose_on<'a>(ground: Ground, list: &[String], table: &'a [Entry], gates: &Gates) -> Choice<'a> {
    let words = list.iter().filter_map(|word| {
        let (name, on) = word.strip_prefix('-').map_or((word.as_str(), true), |name| (name, false));
        Some((find(name, table)?.name, on))
    });
    let words: Vec<_> = words.collect();
    let all = list.iter().any(|word| word == "*");
    let mut choice = Choice::default();
    for row in table {
        let listed = words.iter().find(|(name, _)| *name == row.name).map(|(_, on)| *on);
        let enabled = row.always_on || listed.unwrap_or(all && row.on_by_default);
        let place = if !gates.let_run(row) {
            &mut choice.gated
        } else if row.cloud && ground == Ground::Bare {
            &mut choice.cloud
        } else if !enabled {
            &mut choice.disabled
        } else {
            &mut choice.run
        };
        place.push(row);
    }
    choice
}

impl Choice<'static> {
    /// What these options select.
    pub fn of(options: &Options) -> Self {
        choose(&options.controllers, REGISTRY, &options.gates).with(options)
    }

    /// What these options select where there is a cloud.
    pub fn on_cloud(options: &Options) -> Self {
        choose_on(Ground::Cloud, &options.controllers, REGISTRY, &options.gates).with(options)
    }
}

impl Choice<'_> {
    /// The same selection without the controllers that cannot run with these options.
    pub fn with(mut self, options: &Options) -> Self {
        let lacks = |row: &Entry| {
            let why = unjudged(row.name).filter(|_| options.shadow.is_some());
            why.or_else(|| (row.lacks)(options))
        };
        let lacking = self.run.iter().filter_map(|row| Some((*row, lacks(row)?)));
        self.lacking = lacking.collect();
        self.run.retain(|row| lacks(row).is_none());
        self
    }

    /// The same selection without the controllers that run in another component.
    pub(crate) fn migrated(mut self, migration: Option<&Migration>) -> Self {
        let is_foreign =
            |row: &&Entry| migration.is_some_and(|it| it.side(row.name) == Side::Foreign);
        let (foreign, run) = self.run.into_iter().partition(is_foreign);
        (self.foreign, self.run) = (foreign, run);
        self
    }

    /// Whether the controller of this folder runs.
    pub fn runs(&self, folder: &str) -> bool {
        self.run.iter().any(|row| row.folder == Some(folder))
    }

    /// Logs which controllers do not run: a line for each, as upstream does.
    pub fn log(&self) {
        for row in &self.gated {
            let gates = row.gates;
            tracing::info!(controller = row.name, ?gates, "skipping: a feature gate is off");
        }
        for row in &self.cloud {
            tracing::info!(controller = row.name, "skipping a cloud provider controller");
        }
        for row in &self.foreign {
            let name = row.name;
            tracing::info!(controller = name, "skipping: leader migration leaves it to others");
        }
        for (row, why) in &self.lacking {
            tracing::info!(controller = row.name, "{why}");
        }
        for row in &self.disabled {
            tracing::info!(controller = row.name, "controller is disabled");
        }
    }
}

/// A word of `--controllers`, with an alias replaced by its canonical name.
pub(crate) fn canonical(word: &str, table: &[Entry]) -> String {
    let (dash, name) = word.strip_prefix('-').map_or(("", word), |name| ("-", name));
    format!("{dash}{}", find(name, table).map_or(name, |row| row.name))
}

fn find<'a>(name: &str, table: &'a [Entry]) -> Option<&'a Entry> {
    table.iter().find(|row| row.name == name || row.aliases.contains(&name))
}
