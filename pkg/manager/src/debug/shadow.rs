//! /debug/shadow: what a shadow would have written, and the manager in charge has not.

use api::Time;
use engine::{Difference, How, Phase, ShadowStatus};
use serde::Serialize;

use super::document::{Block, Cell, Page, Tone, moment};
use super::pages::{key_link, name_link, root, table_or};
use super::{Role, Source};

/// All that a shadow has found.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Found {
    now: Time,
    /// The number of differences.
    open: usize,
    /// Those that run.
    controllers: Vec<Shadowed>,
    /// Those that do not run, and why.
    not_judged: Vec<(&'static str, String)>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shadowed {
    name: &'static str,
    phase: Phase,
    #[serde(flatten)]
    status: ShadowStatus,
}

impl Found {
    /// None: this process is no shadow.
    pub(super) fn new(source: &dyn Source) -> Option<Self> {
        if source.leadership().role != Role::Shadow {
            return None;
        }
        let (mut controllers, mut not_judged) = (Vec::new(), Vec::new());
        for row in source.controllers() {
            match &row.engine {
                Ok(engine) => controllers.extend(engine.shadow().map(|status| Shadowed {
                    name: row.name,
                    phase: engine.status().phase,
                    status,
                })),
                Err(absence) => not_judged.push((row.name, absence.reason())),
            }
        }
        let open = controllers.iter().map(|it| it.status.open).sum();
        Some(Self { now: source.clock().now(), open, controllers, not_judged })
    }
}

pub(super) fn page(found: &Found) -> Page {
    let Found { now, open, controllers, not_judged } = found;
    let tone = if *open == 0 { Tone::Good } else { Tone::Bad };
    let mut blocks = vec![
        Block::Facts(vec![
            ("now", now.to_string().into()),
            ("differences", Cell::toned(open.to_string(), tone)),
        ]),
        Block::Heading("Controllers"),
        table_or(
            "none runs here",
            &["controller", "agreed", "differences", "late", "moot", "waiting", "dropped", "grace"],
            controllers.iter().map(row),
        ),
        Block::Heading("Differences"),
    ];
    let all = |list: fn(&ShadowStatus) -> &[Difference]| {
        controllers.iter().flat_map(move |it| list(&it.status).iter().map(|found| (it.name, found)))
    };
    let columns = ["controller", "key", "what is missing", "fields", "since", "why"];
    let differences = all(|status| &status.differences);
    blocks.push(table_or("none", &columns, differences.clone().map(|it| difference(it, *now))));
    for (name, found) in differences {
        blocks.push(details(name, found));
    }
    blocks.push(Block::Heading("Differences that have ended"));
    let columns = ["controller", "key", "what was missing", "since", "ended"];
    let ended = all(|status| &status.ended);
    blocks.push(table_or("none", &columns, ended.map(|it| past(it, *now))));
    blocks.push(Block::Heading("Not judged"));
    let rows = not_judged.iter().map(|(name, why)| vec![name_link(name), why.clone().into()]);
    blocks.push(table_or("none", &["controller", "why"], rows));
    Page { title: "Shadow".to_owned(), above: vec![root()], blocks }
}

/// This process is no shadow.
pub(super) fn refusal() -> Page {
    let text = "This process is no shadow: it was not started with --shadow.";
    Page {
        title: "Shadow".to_owned(),
        above: vec![root()],
        blocks: vec![Block::Note(Cell::toned(text, Tone::Bad))],
    }
}

fn row(shadowed: &Shadowed) -> Vec<Cell> {
    let Shadowed { name, phase: _, status } = shadowed;
    let ShadowStatus { grace, counts, waiting, open, .. } = status;
    let open = u64::try_from(*open).unwrap_or(u64::MAX);
    vec![
        name_link(name),
        counts.agreed.to_string().into(),
        Cell::trouble(open),
        counts.late.to_string().into(),
        counts.moot.to_string().into(),
        waiting.to_string().into(),
        Cell::trouble(counts.dropped),
        format!("{grace:?}").into(),
    ]
}

fn difference((name, found): (&str, &Difference), now: Time) -> Vec<Cell> {
    let Difference { key, fields, since, why, .. } = found;
    vec![
        name_link(name),
        key_link(name, key),
        Cell::toned(step(found), Tone::Bad),
        fields.clone().into(),
        moment(*since, now).into(),
        why.clone().into(),
    ]
}

fn past((name, found): (&str, &Difference), now: Time) -> Vec<Cell> {
    let ended = found.ended.map(|end| {
        let how = match end.how {
            How::CameTrue => "came true late",
            How::Moot => "no longer wanted",
        };
        format!("{how}, {}", moment(end.at, now))
    });
    vec![
        name_link(name),
        key_link(name, &found.key),
        step(found).into(),
        moment(found.since, now).into(),
        ended.unwrap_or_default().into(),
    ]
}

fn step(found: &Difference) -> String {
    match found.times {
        1 => found.step.clone(),
        times => format!("{times} × {}", found.step),
    }
}

/// What the shadow saw, and would do.
fn details(name: &str, found: &Difference) -> Block {
    let facts = found.facts.iter().map(|fact| format!("{}: {}\n", fact.name, fact.value));
    let text = format!("{name} {}\n{}{}", found.key, facts.collect::<String>(), found.plan);
    Block::Code(text)
}
