//! The fault matrix: each write of a controller in its story meets each fault, and the cluster must
//! end as it does without.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use anyhow::Context as _;
use cluster_tests::Normal;
use serde_json::Value;

use crate::case::Case;
use crate::cores;
use crate::fault::{Fault, OF_WRITES, Plan, Point};
use crate::run::{Outcome, Stats, run};

/// What is no part of the end: it differs from run to run.
const FLEETING: [&str; 3] = ["events", "events.events.k8s.io", "leases.coordination.k8s.io"];

/// What is listed of the pods of Services.
const ENDPOINTS: [&str; 2] = ["Endpoints", "EndpointSlice"];

/// How often each fault met a write of each controller, and how often that showed at the end.
#[derive(Default)]
pub(crate) struct Matrix {
    cells: BTreeMap<(String, &'static str), Cell>,
    pub(crate) complaints: Vec<String>,
    pub(crate) stats: Stats,
}

#[derive(Clone, Copy, Default)]
struct Cell {
    runs: u64,
    wrong: u64,
}

/// A story without faults.
struct Story {
    account: String,
    case: Case,
    end: Vec<String>,
    writes: u64,
}

/// Plays all stories whose names have one of these words; of the writes every `step`-th.
pub(crate) fn matrix(step: usize, words: &str) -> anyhow::Result<Matrix> {
    let mut matrix = Matrix::default();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("simulation/stories");
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = paths.collect::<anyhow::Result<Vec<_>>>()?;
    let is_wanted = |path: &PathBuf| words.split(',').any(|it| path.to_string_lossy().contains(it));
    paths.retain(is_wanted);
    paths.sort();
    let mut stories = Vec::new();
    let read = |at: usize| story(&paths[at]);
    cores::each(paths.len(), read, |_, story| {
        stories.push(story);
        ControlFlow::Continue(())
    });
    for story in stories {
        let (story, reference) = story?;
        if let Some(story) = matrix.learn(story, &reference) {
            matrix.cells_of(&story, step)?;
        }
    }
    Ok(matrix)
}

/// Plays a story without faults.
fn story(path: &Path) -> anyhow::Result<(Story, Outcome)> {
    // An account of several controllers has several stories.
    let stem = path.file_stem().and_then(|it| it.to_str()).context("a name")?;
    let account = stem.split('.').next().unwrap_or(stem).to_owned();
    let case = Case::parse(&fs::read_to_string(path)?);
    let case = case.with_context(|| path.display().to_string())?;
    let reference = run(&case)?;
    let end = end(&reference.state)?;
    let writes = reference.writes.get(&account).copied().unwrap_or(0);
    Ok((Story { account, case, end, writes }, reference))
}

impl Story {
    /// What is wrong with the end under this fault.
    fn with(&self, point: &Point, fault: Fault) -> anyhow::Result<(Stats, Option<String>)> {
        let context = format!("{point}: {fault}");
        let case = Case { plan: Plan::from([(point.clone(), fault)]), ..self.case.clone() };
        let outcome = run(&case).with_context(|| context.clone())?;
        let is = end(&outcome.state)?;
        let complaint = match &outcome.broken {
            Some(broken) => Some(broken.to_string()),
            None if is != self.end => {
                Some(format!("ends differently: {}", difference(&self.end, &is)))
            }
            None => None,
        };
        Ok((outcome.stats, complaint.map(|text| format!("{context}: {text}"))))
    }
}

impl Matrix {
    /// A story that passes without faults, and in which something is written.
    fn learn(&mut self, story: Story, reference: &Outcome) -> Option<Story> {
        let Story { account, writes, .. } = &story;
        self.stats.add(&reference.stats);
        println!("{account}: {} requests, {writes} writes", reference.stats.requests);
        if let Some(broken) = &reference.broken {
            let text = format!("{account}, no fault: {broken}");
            self.complaints.push(text);
            return None;
        }
        if *writes == 0 {
            self.complaints.push(format!("{account}: writes nothing in its story"));
        }
        Some(story)
    }

    fn cells_of(&mut self, story: &Story, step: usize) -> anyhow::Result<()> {
        let point = |number| Point::Write(story.account.clone(), number);
        let mut cells = Vec::new();
        for (index, number) in (0..story.writes).enumerate() {
            let faults = OF_WRITES.into_iter().enumerate();
            let faults = faults.filter(|(at, _)| (index + at) % step == 0);
            cells.extend(faults.map(|(_, fault)| (point(number), fault)));
        }
        let mut failure = None;
        let try_cell = |at: usize| {
            let (point, fault) = &cells[at];
            story.with(point, *fault)
        };
        cores::each(cells.len(), try_cell, |at, result| match result {
            Ok((stats, complaint)) => {
                self.stats.add(&stats);
                let name = (story.account.clone(), cells[at].1.name());
                let cell = self.cells.entry(name).or_default();
                cell.runs += 1;
                cell.wrong += u64::from(complaint.is_some());
                self.complaints.extend(complaint);
                ControlFlow::Continue(())
            }
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        });
        failure.map_or(Ok(()), Err)
    }
}

/// All objects at the end of a run, without what differs between equal clusters.
fn end(state: &[u8]) -> anyhow::Result<Vec<String>> {
    let state: Value = serde_json::from_slice(state)?;
    let tables = state.get("objects").and_then(Value::as_object).context("no objects")?;
    let lasting = tables.iter().filter(|(table, _)| !FLEETING.contains(&table.as_str()));
    let objects = lasting.flat_map(|(_, objects)| objects.as_array().into_iter().flatten());
    let mut objects: Vec<Value> = objects.cloned().collect();
    for object in &mut objects {
        // Updates are not tracked here, so it is the first apply that says whose fields were there.
        if let Some(fields) = object.pointer_mut("/metadata/managedFields")
            && let Some(fields) = fields.as_array_mut()
        {
            fields.retain(|it| it["manager"] != "before-first-apply");
            if fields.is_empty()
                && let Some(metadata) = object["metadata"].as_object_mut()
            {
                metadata.remove("managedFields");
            }
        }
        // What the nodes report of themselves is not the manager's.
        if object.get("kind").is_some_and(|kind| kind == "Node")
            && let Some(object) = object.as_object_mut()
        {
            object.remove("status");
        }
        // When it was made.
        if object["kind"] == "CertificateSigningRequest"
            && let Some(certificate) = object.pointer_mut("/status/certificate")
        {
            *certificate = "made".into();
        }
        if let Some(kind) = object["kind"].as_str()
            && ENDPOINTS.contains(&kind)
            && let Some(metadata) = object["metadata"].as_object_mut()
        {
            // How often it was written; and what triggered that, of which a new manager knows less.
            metadata.remove("generation");
            metadata.remove("annotations");
        }
    }
    let mut normal = Normal::default();
    normal.learn(&objects);
    let line = |it: &Value| without_draws(&normal.object(it).to_string());
    let mut lines: Vec<_> = objects.iter().map(line).collect();
    lines.sort();
    Ok(lines)
}

/// A text without the ends of names that were drawn, such as those of volumes with tokens.
fn without_draws(text: &str) -> String {
    let is_drawn = |end: &str| end.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c));
    let plain = |word: &str| match word.rsplit_once('-') {
        Some((base, end)) if end.len() == 5 && is_drawn(end) => format!("{base}-*"),
        _ => word.to_owned(),
    };
    let words: Vec<_> = text.split('"').map(plain).collect();
    words.join("\"")
}

fn difference(wanted: &[String], is: &[String]) -> String {
    let only = |these: &[String], those: &[String]| {
        let only: Vec<_> = these.iter().filter(|it| !those.contains(it)).cloned().collect();
        only.join("\n    ")
    };
    format!("\n  without:\n    {}\n  with:\n    {}", only(wanted, is), only(is, wanted))
}

/// A table: controllers by faults, how many runs, and of them how many went wrong.
impl fmt::Display for Matrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:36}", "")?;
        for fault in OF_WRITES {
            write!(f, "{:>13}", fault.name())?;
        }
        let accounts: std::collections::BTreeSet<_> = self.cells.keys().map(|key| &key.0).collect();
        for account in accounts {
            write!(f, "\n{account:36}")?;
            for fault in OF_WRITES {
                let cell = self.cells.get(&(account.clone(), fault.name()));
                let Cell { runs, wrong } = cell.copied().unwrap_or_default();
                let text = if wrong == 0 { runs.to_string() } else { format!("{runs} ({wrong}!)") };
                write!(f, "{text:>13}")?;
            }
        }
        write!(f, "\n{}", self.stats)
    }
}
