//! The pages for people.

use api::Time;
use engine::{EngineStatus, Explanation, Failure, Phase, Unsettled};

use super::document::{Block, Cell, Page, Table, Tone, length, moment};
use super::html::Encoded;
use super::model::{Controller, Informer, Overview, State, Trouble};
use super::{Leadership, Role};

const ROOT: &str = "/debug/controllers";
/// Longer texts are cut in the table of all controllers.
const SHORT_MAX: usize = 100;

pub(super) fn overview(overview: &Overview) -> Page {
    let Overview { now, leadership, attention, controllers, informers } = overview;
    let (here, absent): (Vec<_>, Vec<_>) =
        controllers.iter().partition(|controller| controller.status.is_some());
    let mut blocks = vec![
        Block::Facts(standing(leadership, *now)),
        Block::Heading("Needs attention"),
        troubles(attention),
        Block::Heading("Controllers"),
        table_or(
            "none runs here",
            &[
                "controller",
                "state",
                "workers",
                "queued",
                "delayed",
                "in work",
                "oldest in work",
                "unsettled",
                "failing",
                "last error",
                "last plan",
            ],
            here.iter().filter_map(|controller| running(controller, *now)),
        ),
        Block::Heading("Informers"),
        table_or(
            "none",
            &[
                "kind",
                "synced",
                "objects",
                "unreadable",
                "version",
                "relists",
                "last event",
                "failing since",
                "error",
            ],
            informers.iter().map(|status| informer(status, *now)),
        ),
        Block::Heading("Not running"),
    ];
    let rows = absent.iter().map(|controller| {
        let reason = controller.reason.clone().unwrap_or_default();
        vec![name_link(controller.name), words(controller.state), reason.into()]
    });
    blocks.push(table_or("none", &["controller", "state", "why"], rows));
    Page { title: "Controllers".to_owned(), above: Vec::new(), blocks }
}

pub(super) fn controller(controller: &Controller, now: Time) -> Page {
    let Controller { name, aliases, state, reason, stalled, status } = controller;
    let mut facts = vec![("now", now.to_string().into()), ("state", words(*state))];
    facts.extend(reason.iter().map(|reason| ("why", reason.clone().into())));
    if !aliases.is_empty() {
        facts.push(("aliases", aliases.join(", ").into()));
    }
    facts.extend(status.iter().flat_map(|status| figures(status, now)));
    let stalled = stalled
        .iter()
        .map(|why| Block::Note(Cell::toned(format!("Its loop stalls: {why}"), Tone::Bad)));
    let mut blocks: Vec<_> = stalled.chain([Block::Facts(facts)]).collect();
    if let Some(status) = status {
        blocks.push(Block::Heading("Explain a key"));
        blocks.push(Block::AskKey(explain_path(name)));
        blocks.extend(lists(name, status, now));
    }
    Page { title: (*name).to_owned(), above: vec![root()], blocks }
}

pub(super) fn explanation(name: &str, explanation: &Explanation, role: Role) -> Page {
    let now = explanation.at;
    let mut blocks: Vec<_> = caveats(explanation, role).into_iter().map(Block::Note).collect();
    if let Some(plan) = &explanation.plan {
        blocks.push(Block::Heading("What it would do"));
        blocks.push(Block::Code(plan.text.clone()));
        blocks.push(Block::Folded(
            "The plan as JSON, with bodies that you may see",
            format!("{:#}", plan.json),
        ));
    }
    if !explanation.summary.is_empty() {
        blocks.push(Block::Heading("What it sees"));
        let facts = explanation.summary.iter();
        blocks
            .push(Block::Facts(facts.map(|fact| (fact.name, fact.value.clone().into())).collect()));
    }
    if !explanation.live_reads.is_empty() {
        blocks.push(Block::Heading("What was read live"));
        blocks.push(Block::Code(explanation.live_reads.join("\n")));
    }
    blocks.push(Block::Heading("What blocks it"));
    blocks.extend(holds(explanation, now));
    blocks.push(Block::Heading("Where the key is"));
    blocks.push(Block::Facts(place(explanation, now)));
    blocks.push(Block::Heading("Explain another key"));
    blocks.push(Block::AskKey(explain_path(name)));
    Page {
        title: explanation.key.clone(),
        above: vec![root(), (name.to_owned(), format!("{ROOT}/{name}"))],
        blocks,
    }
}

/// There is no such controller.
pub(super) fn unknown(name: &str, names: &[&'static str]) -> Page {
    let rows = names.iter().map(|name| vec![name_link(name)]);
    let blocks = vec![
        Block::Note(Cell::toned(format!("There is no controller {name:?}."), Tone::Bad)),
        Block::Heading("Controllers"),
        table_or("none", &["controller"], rows),
    ];
    Page { title: "Not found".to_owned(), above: vec![root()], blocks }
}

/// A request about `name` that cannot be answered.
pub(super) fn refused(name: &str, why: &str) -> Page {
    let blocks = vec![Block::Note(Cell::toned(why, Tone::Bad)), Block::AskKey(explain_path(name))];
    let above = vec![root(), (name.to_owned(), format!("{ROOT}/{name}"))];
    Page { title: "No explanation".to_owned(), above, blocks }
}

// === Parts of the overview ===

fn standing(leadership: &Leadership, now: Time) -> Vec<(&'static str, Cell)> {
    let role = match leadership.role {
        Role::NoElection => "acts without leader election".into(),
        Role::Leader => Cell::toned("leader", Tone::Good),
        Role::Shadow => "shadow: another process leads, nothing is written".into(),
        Role::Standby => "standby: caches are warm, nothing is written".into(),
    };
    let mut facts = vec![("now", now.to_string().into()), ("role", role)];
    let at = |time: &Option<Time>| time.map(|at| Cell::from(moment(at, now)));
    facts.extend(leadership.identity.iter().map(|id| ("identity", id.clone().into())));
    facts.extend(at(&leadership.since).map(|at| ("since", at)));
    facts.extend(at(&leadership.renewed).map(|at| ("last renewal", at)));
    facts
}

fn troubles(attention: &[Trouble]) -> Block {
    let row = |Trouble { subject, words, is_controller }: &Trouble| {
        let subject = if *is_controller { name_link(subject) } else { subject.clone().into() };
        vec![subject, Cell::toned(words.clone(), Tone::Bad)]
    };
    if attention.is_empty() {
        return Block::Note(Cell::toned("Nothing: no failure, no stall.", Tone::Good));
    }
    table_or("", &["what", "trouble"], attention.iter().map(row))
}

fn running(controller: &Controller, now: Time) -> Option<Vec<Cell>> {
    let status = controller.status.as_ref()?;
    let state = match &controller.stalled {
        Some(_) => Cell::toned("stalled", Tone::Bad),
        None => words(controller.state),
    };
    let oldest = status.in_work.first().map(|work| length(now.since(work.since)));
    let error = status
        .last_error
        .as_ref()
        .map(|last| format!("{}, {}: {}", moment(last.at, now), last.key, short(&last.error)));
    let plan = status
        .plans
        .first()
        .map(|last| format!("{}, {}: {}", moment(last.at, now), last.key, short(&last.why)));
    Some(vec![
        name_link(controller.name),
        state,
        format!("{}/{}", status.workers_alive, status.workers).into(),
        status.queued.to_string().into(),
        status.delayed.to_string().into(),
        status.in_work.len().to_string().into(),
        oldest.unwrap_or_else(|| "-".to_owned()).into(),
        status.unsettled.to_string().into(),
        Cell::trouble(status.failing.len() as u64),
        error.unwrap_or_else(|| "-".to_owned()).into(),
        plan.unwrap_or_else(|| "-".to_owned()).into(),
    ])
}

/// The start of a text that the page of the controller shows in full.
fn short(text: &str) -> String {
    match text.char_indices().nth(SHORT_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn informer(informer: &Informer, now: Time) -> Vec<Cell> {
    let at = |time: Option<Time>| time.map_or_else(|| "-".to_owned(), |at| moment(at, now));
    let synced = if informer.synced { ("yes", Tone::Good) } else { ("no", Tone::Bad) };
    vec![
        informer.resource.clone().into(),
        Cell::toned(synced.0, synced.1),
        informer.objects.to_string().into(),
        Cell::trouble(informer.unreadable as u64),
        informer.resource_version.clone().into(),
        informer.relists.to_string().into(),
        at(informer.last_event).into(),
        at(informer.failing_since).into(),
        Cell::error(informer.error.clone()),
    ]
}

// === Parts of a controller ===

fn figures(status: &EngineStatus, now: Time) -> Vec<(&'static str, Cell)> {
    let cannot_start = status.cannot_start.as_ref();
    let cannot_start =
        cannot_start.map(|why| ("cannot start", Cell::toned(why.clone(), Tone::Bad)));
    let mut facts: Vec<_> = cannot_start.into_iter().collect();
    facts.extend([
        ("workers", format!("{} of {}", status.workers_alive, status.workers).into()),
        ("queued", status.queued.to_string().into()),
        ("delayed", status.delayed.to_string().into()),
        ("unsettled", status.unsettled.to_string().into()),
        ("syncs", status.syncs.to_string().into()),
        ("failed syncs", status.failures.to_string().into()),
        ("panics", Cell::trouble(status.panics)),
        ("reads", status.reads.join(", ").into()),
    ]);
    if let Some(last) = &status.last_error {
        let text = format!("{}, {}: {}", moment(last.at, now), last.key, last.error);
        facts.push(("last error", text.into()));
    }
    facts
}

fn lists(name: &str, status: &EngineStatus, now: Time) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !status.waiting_for.is_empty() {
        let rows = status.waiting_for.iter().map(|kind| {
            let since = kind.since.map_or_else(|| "-".to_owned(), |at| moment(at, now));
            vec![kind.resource.clone().into(), since.into(), Cell::error(kind.error.clone())]
        });
        let heading = match status.phase {
            Phase::Running => "Works without these caches: kinds that cannot be listed",
            Phase::NotStarted | Phase::WaitingForCaches | Phase::Stopped => {
                "Waits for these caches"
            }
        };
        blocks.push(Block::Heading(heading));
        blocks.push(table_or("none", &["kind", "failing since", "error"], rows));
    }
    let rows = status
        .in_work
        .iter()
        .map(|work| vec![key_link(name, &work.key), moment(work.since, now).into()]);
    blocks.push(Block::Heading("In work"));
    blocks.push(table_or("none", &["key", "since"], rows));
    blocks.push(Block::Heading("Failing"));
    let columns = ["key", "failures", "since", "last", "error"];
    blocks.push(table_or(
        "none",
        &columns,
        status.failing.iter().map(|failure| failing(name, failure, now)),
    ));
    if !status.given_up.is_empty() {
        blocks.push(Block::Heading("Given up until something changes"));
        let rows = status.given_up.iter().map(|failure| failing(name, failure, now));
        blocks.push(table_or("none", &columns, rows));
    }
    let rows = status.plans.iter().map(|plan| {
        let outcome = match &plan.error {
            Some(error) => Cell::toned(error.clone(), Tone::Bad),
            None => Cell::toned("ok", Tone::Good),
        };
        vec![
            moment(plan.at, now).into(),
            key_link(name, &plan.key),
            plan.actions.to_string().into(),
            outcome,
            plan.why.clone().into(),
        ]
    });
    blocks.push(Block::Heading("Last plans that wrote something"));
    blocks.push(table_or("none", &["when", "key", "actions", "outcome", "why"], rows));
    blocks
}

fn failing(name: &str, failure: &Failure, now: Time) -> Vec<Cell> {
    vec![
        key_link(name, &failure.key),
        failure.failures.to_string().into(),
        moment(failure.since, now).into(),
        moment(failure.at, now).into(),
        Cell::toned(failure.error.clone(), Tone::Bad),
    ]
}

// === Parts of an explanation ===

fn caveats(explanation: &Explanation, role: Role) -> Vec<Cell> {
    let mut notes = Vec::new();
    if role == Role::Standby {
        notes.push(
            "This process does not lead, so it acts on nothing. Its caches are warm: this is what \
             it would decide if it led. What controllers keep besides, such as the garbage \
             collector's graph, begins then."
                .into(),
        );
    }
    if !explanation.incomplete.is_empty() {
        let kinds = explanation.incomplete.join(", ");
        let text = format!("These caches are not complete, what follows may be wrong: {kinds}");
        notes.push(Cell::toned(text, Tone::Bad));
    }
    if !explanation.found {
        notes.push(Cell::toned("The cache holds no such object.", Tone::Bad));
    }
    notes.extend(
        explanation
            .error
            .as_ref()
            .map(|error| Cell::toned(format!("There is no plan: {error}"), Tone::Bad)),
    );
    notes
}

fn holds(explanation: &Explanation, now: Time) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(Unsettled { meanwhile, awaits, since, until }) = &explanation.unsettled {
        let text =
            format!("Earlier writes are not visible in the caches yet; until then {meanwhile}.");
        blocks.push(Block::Note(text.into()));
        blocks.push(Block::Code(awaits.join("\n")));
        let until = until.map(|until| ("at most until", moment(until, now).into()));
        let last = ("last write", moment(*since, now).into());
        blocks.push(Block::Facts([Some(last), until].into_iter().flatten().collect()));
    }
    for write in &explanation.ambiguous_writes {
        let text =
            format!("{write}; the controller finds that out before it acts for the key again.");
        blocks.push(Block::Note(text.into()));
    }
    if blocks.is_empty() {
        blocks.push(Block::Note("Nothing.".into()));
    }
    blocks
}

fn place(explanation: &Explanation, now: Time) -> Vec<(&'static str, Cell)> {
    let place = &explanation.place;
    let at = |time: Option<Time>| time.map_or_else(|| Cell::from("-"), |at| moment(at, now).into());
    let mut facts = vec![
        ("looked at", explanation.at.to_string().into()),
        ("queued since", at(place.queued_since)),
        ("in work since", at(place.in_work_since)),
        ("delayed until", at(place.delayed_until)),
        ("failures in a row", Cell::trouble(explanation.retries)),
    ];
    if let Some(last) = &explanation.last_error {
        let text = format!("{}: {}", moment(last.at, now), last.error);
        facts.push(("last error", Cell::toned(text, Tone::Bad)));
    }
    facts
}

// === Links ===

pub(super) fn root() -> (String, String) {
    ("Controllers".to_owned(), ROOT.to_owned())
}

fn explain_path(name: &str) -> String {
    format!("{ROOT}/{name}/explain")
}

pub(super) fn name_link(name: &str) -> Cell {
    Cell::linked(name, format!("{ROOT}/{name}"))
}

pub(super) fn key_link(name: &str, key: &str) -> Cell {
    Cell::linked(key, format!("{}?key={}", explain_path(name), Encoded(key)))
}

fn words(state: State) -> Cell {
    let tone = match state {
        State::Running => Tone::Good,
        State::WaitingForCaches | State::Stopped => Tone::Bad,
        State::Standby => Tone::Plain,
        State::Off | State::GateOff | State::NeedsCloud => Tone::Faint,
    };
    Cell::toned(state.words(), tone)
}

/// A table, or a word if it would be empty.
pub(super) fn table_or(
    word: &'static str,
    columns: &[&'static str],
    rows: impl Iterator<Item = Vec<Cell>>,
) -> Block {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return Block::Note(Cell::toned(word, Tone::Faint));
    }
    Block::Table(Table { columns: columns.to_vec(), rows })
}
