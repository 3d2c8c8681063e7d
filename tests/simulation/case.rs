//! A case: a seed, its faults and its acts; as a file, a script with comments.

use std::fmt;

use script::Script;

use crate::dice::Dice;
use crate::fault::{self, Plan};
use crate::{focus, workload};

/// What a run is made from.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) nodes: usize,
    /// How many managers contend; one alone runs without an election.
    pub(crate) managers: usize,
    pub(crate) plan: Plan,
    /// Commands with their input.
    pub(crate) acts: Vec<String>,
}

impl Case {
    /// The case of a seed.
    pub(crate) fn draw(seed: u64) -> Self {
        if let Some(case) = focus::draw(seed) {
            return case;
        }
        let dice = Dice::new(seed);
        let managers = if dice.chance(0.3) { 2 } else { 1 };
        let forced = std::env::var("MANAGERS").ok().and_then(|it| it.parse().ok());
        let managers = forced.unwrap_or(managers);
        let mut plan = fault::draw(&dice, managers);
        // The choices of all else are others.
        let others = Dice::new(seed.rotate_left(17));
        plan.extend(fault::discovery(&others));
        plan.extend(fault::admission(&others));
        let acts = workload::draw(&dice);
        let nodes = usize::try_from(workload::NODES).unwrap_or(0);
        Self { seed, nodes, managers, plan, acts }
    }

    /// Whether a word is in its acts.
    pub(crate) fn has(&self, word: &str) -> bool {
        self.acts.iter().any(|act| act.contains(word))
    }

    /// Reads a file.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let script = Script::parse(text)?;
        let (mut seed, mut managers, mut plan) = (1, 1, Plan::new());
        for line in text.lines() {
            if let Some(number) = line.strip_prefix("# seed ") {
                seed = number.parse()?;
            }
            if let Some(number) = line.strip_prefix("# managers ") {
                managers = number.parse()?;
            }
            if let Some((point, fault)) =
                line.strip_prefix("# fault ").and_then(|it| it.split_once(": "))
            {
                let point = point.parse().map_err(anyhow::Error::msg)?;
                plan.insert(point, fault.parse().map_err(anyhow::Error::msg)?);
            }
        }
        let acts = script.steps().map(ToString::to_string).collect();
        Ok(Self { seed, nodes: script.nodes, managers, plan, acts })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "@nodes {}\n# seed {}\n# managers {}", self.nodes, self.seed, self.managers)?;
        for (point, fault) in &self.plan {
            writeln!(f, "# fault {point}: {fault}")?;
        }
        self.acts.iter().try_for_each(|act| f.write_str(act))
    }
}
