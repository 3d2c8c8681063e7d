//! The habits that no lint knows: what a crate may depend on, which files a controller has, that
//! the registry and the README agree, and how files look.
//!
//! A check is a pure function from files to complaints. `mod samples` shows each of them a bad
//! file, so that none can pass by looking away.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, iter};

mod deployed;
mod samples;

/// What stands at the top of the tree, besides names that begin with a dot.
const TOP: [&str; 10] = [
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "Makefile",
    "README.md",
    "cmd",
    "config",
    "deploy",
    "pkg",
    "tests",
];

/// Crates that run on values alone, so that tables, simulation and replay need no mocks.
const PURE: [&str; 9] = [
    "api",
    "apimachinery",
    "cel",
    "cloud",
    "controller",
    "controllers",
    "hollow",
    "schema",
    "strategies",
];

/// What pure crates must not reach, by the start of the name: async, I/O, time zones' and
/// randomness' sources, metrics, logs.
const IMPURE: [&str; 17] = [
    "async-",
    "axum",
    "futures",
    "getrandom",
    "h2",
    "hyper",
    "kube",
    "log",
    "mio",
    "prometheus",
    "rand",
    "reqwest",
    "rustls",
    "socket2",
    "tokio",
    "tower",
    "tracing",
];

/// What pure crates must not say: the parts of std and of the language that `cargo tree` misses.
const IMPURE_CODE: [&str; 9] = [
    ".await",
    "Instant::now",
    "SystemTime::now",
    "async fn",
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
];

/// The crates of this workspace, lowest first, and which others each may depend on. No crate of the
/// product depends on one of the emulator (`pkg/sandbox`).
const ARROWS: [(&str, &[&str]); 29] = [
    ("apimachinery", &[]),
    ("mutant", &[]),
    ("cel", &[]),
    ("api", &["apimachinery", "mutant"]),
    ("metrics", &[]),
    ("runtime", &["api"]),
    ("cloud", &["api"]),
    ("controller", &["api", "cloud", "mutant"]),
    ("controllers", &["api", "apimachinery", "cel", "cloud", "controller", "mutant"]),
    ("schema", &["apimachinery"]),
    ("strategies", &["api", "apimachinery", "schema"]),
    ("hollow", &["api", "apimachinery", "cloud"]),
    ("sandbox", &["api", "apimachinery", "hollow", "runtime", "schema", "strategies"]),
    ("profile", &["runtime"]),
    ("https", &["runtime"]),
    ("workqueue", &["api", "metrics", "runtime"]),
    ("client", &["api", "metrics", "runtime", "workqueue"]),
    ("auth", &["api", "client", "metrics", "runtime"]),
    ("discovery", &["api", "client"]),
    ("server", &["api", "runtime"]),
    ("cache", &["api", "client", "controller", "discovery", "metrics", "mutant", "runtime"]),
    ("leader", &["api", "cache", "client", "controller", "metrics", "mutant", "runtime"]),
    (
        "engine",
        &[
            "api",
            "cache",
            "client",
            "cloud",
            "controller",
            "discovery",
            "metrics",
            "mutant",
            "runtime",
            "workqueue",
        ],
    ),
    (
        "manager",
        &[
            "api",
            "apimachinery",
            "auth",
            "cache",
            "client",
            "cloud",
            "controller",
            "controllers",
            "engine",
            "https",
            "leader",
            "metrics",
            "profile",
            "runtime",
            "server",
            "workqueue",
        ],
    ),
    ("why", &["api", "client", "controller", "controllers", "engine", "metrics", "runtime"]),
    ("script", &["api", "client", "engine", "manager", "runtime", "sandbox", "why"]),
    ("kube-controller-manager", &["manager"]),
    ("kubectl-why", &["client", "runtime", "why"]),
    ("sandbox-cli", &["api", "manager", "runtime", "sandbox", "script"]),
];

/// Lines of code that a file may have. A ratchet: a file that is longer stands in [`LONG`] with its
/// length, may not grow, and leaves the list when it shrinks.
const CODE_LINES_MAX: usize = 600;
const LONG: [(&str, usize); 0] = [];

/// Documents that people read from start to end, and how many lines they may have.
const SHORT_DOCUMENTS: [(&str, usize); 2] = [("pkg/ARCHITECTURE.md", 420), ("pkg/STYLE.md", 200)];

/// Unfinished work is an issue, not a word in the code. Split so that this file passes.
const BANNED_WORDS: [&str; 6] = [
    concat!("FIX", "ME"),
    concat!("TO", "DO"),
    concat!("XX", "X"),
    concat!("db", "g!"),
    concat!("to", "do!"),
    concat!("unimpl", "emented!"),
];

/// Names that say nothing of what is inside.
const BANNED_MODULES: [&str; 7] =
    ["common", "helper", "helpers", "misc", "util", "utilities", "utils"];

/// Paths of a developer's machine. Split so that this file passes.
const MACHINE_PATHS: [&str; 3] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/wo", "rk/")];

/// A text file of the repository.
struct File {
    /// From the root, with `/` between the parts.
    path: String,
    text: String,
}

/// What is wrong, a line each.
type Complaints = Vec<String>;

#[test]
fn modules_start_with_what_they_are() {
    all_well(&module_docs(&repository()));
}

#[test]
fn no_banned_words() {
    all_well(&banned_words(&repository()));
}

#[test]
fn modules_have_telling_names() {
    all_well(&module_names(&repository()));
}

#[test]
fn selects_are_biased() {
    all_well(&unbiased_selects(&repository()));
}

#[test]
fn flags_are_read_by_their_handles() {
    all_well(&flags_by_name(&repository()));
}

#[test]
fn lines_fit() {
    all_well(&long_lines(&repository()));
}

#[test]
fn no_trailing_spaces() {
    all_well(&trailing_spaces(&repository()));
}

#[test]
fn no_machine_paths() {
    all_well(&machine_paths(&repository()));
}

#[test]
fn every_source_file_is_compiled() {
    all_well(&dead_files(&repository()));
}

#[test]
fn files_stay_short() {
    all_well(&long_files(&repository(), &LONG));
}

#[test]
fn documents_stay_short() {
    all_well(&long_documents(&repository()));
}

#[test]
fn every_crate_follows_the_workspace() {
    all_well(&crates(&repository()));
}

#[test]
fn arrows_go_one_way() {
    all_well(&arrows(&repository()));
}

#[test]
fn pure_crates_depend_on_nothing_impure() {
    let complaints = PURE.map(|name| impure_dependencies(name, &cargo_tree(name)));
    all_well(&complaints.concat());
}

#[test]
fn pure_crates_are_plain_code() {
    all_well(&impure_code(&repository()));
}

#[test]
fn controllers_have_the_same_five_files() {
    all_well(&controller_files(&repository()));
}

#[test]
fn registry_folders_and_readme_agree() {
    all_well(&registry(&repository()));
}

#[test]
fn nothing_strays_to_the_top() {
    all_well(&strays(&repository()));
}

#[test]
fn links_lead_somewhere() {
    all_well(&links(&repository()));
}

#[test]
fn decisions_are_listed_and_whole() {
    all_well(&decisions(&repository()));
}

fn all_well(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

// === The world: the files, and cargo ===

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is a folder of the repository")
}

/// All text files that git tracks or would track; without git, all outside `target`.
fn repository() -> Vec<File> {
    let mut paths = git_files().unwrap_or_else(|| {
        let mut found = Vec::new();
        walk(root(), &mut found);
        found
    });
    paths.sort();
    let read = |path: String| {
        // A picture has no text.
        let text = String::from_utf8(fs::read(root().join(&path)).ok()?).unwrap_or_default();
        Some(File { path, text })
    };
    let files: Vec<File> = paths.into_iter().filter_map(read).collect();
    assert!(find(&files, "Cargo.toml").is_some(), "found no files below {}", root().display());
    files
}

fn git_files() -> Option<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = text.split_terminator('\0').map(str::to_owned).collect();
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

fn walk(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder can be read").flatten() {
        let path: PathBuf = entry.path();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && ![".git", "target"].iter().any(|skip| entry.file_name() == *skip) {
            walk(&path, found);
        } else if !is_folder && let Ok(path) = path.strip_prefix(root()) {
            found.push(path.to_string_lossy().replace('\\', "/"));
        }
    }
}

fn cargo_tree(name: &str) -> String {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let arguments =
        ["tree", "--offline", "--locked", "-e", "normal", "--prefix", "none", "-p", name];
    let output = Command::new(cargo).args(arguments).current_dir(root()).output();
    let output = output.expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

// === Every file ===

fn module_docs(files: &[File]) -> Complaints {
    let silent = |file: &&File| is_rust(file) && !file.text.starts_with("//!");
    files.iter().filter(silent).map(|f| format!("{}: starts without `//!`", f.path)).collect()
}

fn banned_words(files: &[File]) -> Complaints {
    each_line(files, is_written_here, |line| {
        let word = BANNED_WORDS.iter().find(|word| has_word(line, word))?;
        Some(format!("`{word}`: make it an issue"))
    })
}

fn module_names(files: &[File]) -> Complaints {
    let named =
        |path: &str| path.split('/').any(|part| is_banned_module(part.trim_end_matches(".rs")));
    let bad_paths = files.iter().filter(|file| is_rust(file) && named(&file.path));
    let mut complaints: Complaints =
        bad_paths.map(|file| format!("{}: a name that says nothing", file.path)).collect();
    complaints.extend(each_line(files, is_rust, |line| {
        let name = declared_module(line).filter(|name| is_banned_module(name))?;
        Some(format!("`mod {name}` says nothing"))
    }));
    complaints
}

/// A `select!` that draws lots. No seed reaches them.
fn unbiased_selects(files: &[File]) -> Complaints {
    let mut complaints = Complaints::new();
    for file in files.iter().filter(|file| is_rust(file)) {
        let starts = file.text.match_indices(concat!("tokio::sel", "ect! {"));
        for (at, start) in starts {
            let (before, after) = (&file.text[..at], &file.text[at + start.len()..]);
            if !after.trim_start().starts_with("biased;") {
                let line = before.matches('\n').count() + 1;
                complaints.push(format!("{}:{line}: a `select!` without `biased;`", file.path));
            }
        }
    }
    complaints
}

/// Code that reads a flag by its name, and is neither a check nor shows all of them: the flag would
/// not count as one that works, or do so by chance.
fn flags_by_name(files: &[File]) -> Complaints {
    let may = ["flags", "config", "validation"].map(|part| format!("pkg/manager/src/{part}/"));
    let is_reader = |file: &File| {
        let is_manager = is_rust(file) && file.path.starts_with("pkg/manager/src/");
        is_manager && !is_test(&file.path) && !may.iter().any(|part| file.path.starts_with(part))
    };
    each_line(files, is_reader, |line| {
        let by_name = line.contains("flags.value(");
        by_name.then(|| "reads a flag by its name; it needs a handle".to_owned())
    })
}

fn long_lines(files: &[File]) -> Complaints {
    each_line(
        files,
        |file| has_ending(file, &["md", "rs"]),
        |line| {
            let width = line.chars().count();
            let is_wide = |word: &str| word.chars().count() > 80;
            let cannot_break = line.starts_with('|') || line.split(' ').any(is_wide);
            (width > 100 && !cannot_break).then(|| format!("{width} columns"))
        },
    )
}

fn trailing_spaces(files: &[File]) -> Complaints {
    each_line(files, is_written_here, |line| {
        line.ends_with([' ', '\t', '\r']).then(|| "trailing space".to_owned())
    })
}

fn machine_paths(files: &[File]) -> Complaints {
    each_line(files, is_written_here, |line| {
        let path = MACHINE_PATHS.iter().find(|path| {
            // Inside a longer path, as in `target/root/`, the parts mean something else.
            let starts = |at: usize| {
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~})".contains(c))
            };
            line.match_indices(**path).any(|(at, _)| starts(at))
        })?;
        Some(format!("`{path}` exists on one machine only"))
    })
}

fn dead_files(files: &[File]) -> Complaints {
    let declares = |parent: &str, module: &str| {
        find(files, parent)
            .is_some_and(|f| f.text.lines().any(|l| declared_module(l) == Some(module)))
    };
    let is_dead = |file: &&File| {
        let Some((folder, name)) = file.path.rsplit_once('/') else { return false };
        let module = name.trim_end_matches(".rs");
        let is_root = folder.ends_with("/src/bin") || folder == "tests";
        let is_module = file.path.contains("/src/") || file.path.starts_with("tests/");
        if !is_rust(file) || !is_module || is_root {
            return false;
        }
        let (place, module) = match module {
            "lib" | "main" => return false,
            "mod" => folder.rsplit_once('/').unwrap_or((folder, "")),
            _ => (folder, module),
        };
        let parents = [
            format!("{place}/lib.rs"),
            format!("{place}/main.rs"),
            format!("{place}/mod.rs"),
            format!("{place}.rs"),
        ];
        !parents.iter().any(|parent| declares(parent, module))
    };
    files.iter().filter(is_dead).map(|f| format!("{}: no module declares it", f.path)).collect()
}

fn long_files(files: &[File], long: &[(&str, usize)]) -> Complaints {
    let mut complaints = Complaints::new();
    for file in files.iter().filter(|file| is_rust(file) && !is_test(&file.path)) {
        let lines = code_lines(&file.text);
        let listed = long.iter().find(|(path, _)| *path == file.path).map(|(_, lines)| *lines);
        let complaint = match listed {
            Some(listed) if lines < listed => format!("LONG says {listed}, lower or strike it"),
            _ if lines > listed.unwrap_or(CODE_LINES_MAX) => "split it".to_owned(),
            _ => continue,
        };
        complaints.push(format!("{}: {lines} lines of code, {complaint}", file.path));
    }
    let gone = long.iter().filter(|(path, _)| find(files, path).is_none());
    complaints.extend(gone.map(|(path, _)| format!("{path}: is in LONG, but not there")));
    complaints
}

fn long_documents(files: &[File]) -> Complaints {
    let too_long = |(path, max): &(&str, usize)| {
        let Some(file) = find(files, path) else { return Some(format!("{path}: is missing")) };
        let lines = file.text.lines().count();
        (lines > *max).then(|| format!("{path}: {lines} lines, may have {max}"))
    };
    SHORT_DOCUMENTS.iter().filter_map(too_long).collect()
}

// === Crates ===

fn crates(files: &[File]) -> Complaints {
    let workspace = find(files, "Cargo.toml").map_or("", |file| &file.text);
    let members = after(workspace, "members = [").split(']').next().unwrap_or_default();
    let members = quoted(members);
    let map = find(files, "pkg/ARCHITECTURE.md").map_or("", |file| &file.text);
    let mut complaints = Complaints::new();
    for (folder, manifest) in crate_folders(files) {
        let mut must = |holds: bool, rule: &str| {
            if !holds {
                complaints.push(format!("{folder}: {rule}"));
            }
        };
        let parent = folder.rsplit_once('/').map_or("", |(parent, _)| parent);
        let is_member = |member: &&str| *member == folder || *member == format!("{parent}/*");
        must(members.iter().any(is_member), "not a member of the workspace");
        must(map.contains(&format!("`{folder}`")), "not in the code map of ARCHITECTURE.md");
        let lints = manifest.map(|file| section(&file.text, "lints")).unwrap_or_default();
        must(lints.contains(&"workspace = true"), "without `[lints] workspace = true`");
    }
    complaints
}

fn arrows(files: &[File]) -> Complaints {
    let ours: BTreeSet<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    let mut complaints = Complaints::new();
    for (folder, manifest) in crate_folders(files) {
        let name = manifest.map_or("", |file| package(&file.text));
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
            complaints.push(format!("{folder}: has no row in ARROWS"));
            continue;
        };
        let lines = manifest.map(|file| section(&file.text, "dependencies")).unwrap_or_default();
        let names = lines.iter().filter_map(|line| line.split(['.', ' ', '=']).next());
        let wrong = names.filter(|name| ours.contains(name) && !allowed.contains(name));
        complaints.extend(wrong.map(|other| format!("{folder}: must not know {other}")));
    }
    complaints
}

/// The crates below `pkg` and `cmd`: the folder, and the manifest if there is one.
fn crate_folders(files: &[File]) -> Vec<(&str, Option<&File>)> {
    let folders = files.iter().filter_map(|file| {
        let is_ours = ["cmd/", "pkg/"].iter().any(|top| file.path.starts_with(top));
        let sources = file.path.split_once("/src/").filter(|_| is_rust(file));
        let folder = sources.map(|(folder, _)| folder);
        folder.or_else(|| file.path.strip_suffix("/Cargo.toml")).filter(|_| is_ours)
    });
    let folders: BTreeSet<&str> = folders.collect();
    let manifest = |folder| find(files, &format!("{folder}/Cargo.toml"));
    folders.into_iter().map(|folder| (folder, manifest(folder))).collect()
}

/// The name that a manifest gives to its package.
fn package(manifest: &str) -> &str {
    let name = section(manifest, "package").into_iter().find_map(|l| l.strip_prefix("name = "));
    name.map_or("", |name| name.trim_matches('"'))
}

fn impure_dependencies(name: &str, tree: &str) -> Complaints {
    let names: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let impure = |other: &&&str| IMPURE.iter().any(|start| other.starts_with(start));
    let seen = if names.contains(name) { None } else { Some(format!("{name}: no tree")) };
    let found = names.iter().filter(impure).map(|other| format!("{name}: must not reach {other}"));
    found.chain(seen).collect()
}

fn impure_code(files: &[File]) -> Complaints {
    let folders = crate_folders(files).into_iter().filter(|(_, manifest)| {
        manifest.is_some_and(|manifest| PURE.contains(&package(&manifest.text)))
    });
    let pure: Vec<String> = folders.map(|(folder, _)| format!("{folder}/src/")).collect();
    let is_pure = |file: &File| {
        let inside = pure.iter().any(|folder| file.path.starts_with(folder));
        inside && is_rust(file) && !is_test(&file.path)
    };
    each_line(files, is_pure, |line| {
        let found = IMPURE_CODE.iter().find(|word| line.contains(**word))?;
        (!line.trim_start().starts_with("//")).then(|| format!("`{found}` in a pure crate"))
    })
}

// === Controllers ===

fn controller_files(files: &[File]) -> Complaints {
    let mut complaints = Complaints::new();
    for (controller, names) in controller_folders(files) {
        let place = format!("pkg/controllers/src/{controller}");
        let contract = find(files, &format!("{place}/mod.rs")).map_or("", |file| &file.text);
        let missing = ["mod.rs", "snapshot.rs", "decide.rs", "tests.rs"].iter();
        let missing = missing.filter(|name| !names.contains(*name));
        complaints.extend(missing.map(|name| format!("{place}: has no {name}")));
        let words =
            ["Reads:", "Writes:", "Upstream:"].iter().filter(|word| !contract.contains(**word));
        complaints
            .extend(words.map(|word| format!("{place}/mod.rs: its contract has no `{word}`")));
        let docs = contract.lines().take_while(|line| line.starts_with("//!"));
        let parts: Vec<&str> = docs.skip_while(|line| *line != "//! # Parts").collect();
        for name in &names {
            let usual = name.starts_with("tests/")
                || ["mod.rs", "snapshot.rs", "decide.rs", "report.rs", "tests.rs"].contains(name);
            let part = format!("`{}", name.trim_end_matches(".rs"));
            if !usual && (name.contains('/') || !parts.iter().any(|line| line.contains(&part))) {
                complaints
                    .push(format!("{place}/{name}: not one of the five, nor under `# Parts`"));
            }
        }
    }
    complaints
}

/// The controllers' folders, and their files by name.
fn controller_folders(files: &[File]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut folders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for file in files {
        let path = file.path.strip_prefix("pkg/controllers/src/").and_then(|p| p.split_once('/'));
        if let Some((folder, name)) = path {
            folders.entry(folder).or_default().insert(name);
        }
    }
    folders
}

/// A controller as the registry or the README shows it: name, aliases, and whether it is there.
type Row<'a> = (Vec<&'a str>, bool);

fn registry(files: &[File]) -> Complaints {
    let Some(table) = find(files, "pkg/manager/src/registry.rs") else {
        return vec!["pkg/manager/src/registry.rs: is missing".to_owned()];
    };
    let rows = registry_rows(&table.text);
    let readme = readme_rows(find(files, "README.md").map_or("", |file| &file.text));
    let shown: Vec<Row<'_>> =
        rows.iter().map(|(folder, names)| (names.clone(), folder.is_some())).collect();
    let folders: BTreeSet<&str> = rows.iter().filter_map(|(folder, _)| *folder).collect();
    let on_disk: BTreeSet<&str> = controller_folders(files).into_keys().collect();
    let checks = [
        (!rows.is_empty(), "REGISTRY has no rows".to_owned()),
        (
            shown.is_sorted_by(|(a, _), (b, _)| a.first() < b.first()),
            format!("REGISTRY is not sorted: {shown:?}"),
        ),
        (folders == on_disk, format!("REGISTRY has {folders:?}, pkg/controllers/src {on_disk:?}")),
        (readme == shown, format!("README.md has {readme:?}, REGISTRY {shown:?}")),
    ];
    checks.into_iter().filter(|(holds, _)| !holds).map(|(_, complaint)| complaint).collect()
}

/// Folder, if it has one, and names of each `Entry { .. }` of the static table.
fn registry_rows(text: &str) -> Vec<(Option<&str>, Vec<&str>)> {
    let table = after(text, "static REGISTRY");
    let end = ["\n];", "\n}];"].iter().filter_map(|end| table.find(end)).min();
    let table = &table[..end.unwrap_or(table.len())];
    let row = |entry| {
        let name = quoted(after(entry, "name:")).into_iter().take(1);
        let aliases = after(entry, "aliases:").split(']').next().unwrap_or_default();
        let folder = quoted(after(entry, "folder: Some(")).first().copied();
        (folder, name.chain(quoted(aliases)).collect())
    };
    table.split("Entry {").skip(1).map(row).collect()
}

/// The rows of the table below the heading "Controllers": their cells are name, aliases, state.
fn readme_rows(text: &str) -> Vec<Row<'_>> {
    let part = after(text, "## Controllers\n").split("\n## ").next().unwrap_or_default();
    let rows = part.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let names = row.split('|').take(3).flat_map(backticked).collect();
        (names, !row.ends_with("| not yet |"))
    })
    .collect()
}

// === Documents ===

/// The top level is the README's table of contents: what a tool has left there is committed unseen.
fn strays(files: &[File]) -> Complaints {
    let tops: BTreeSet<_> = files.iter().filter_map(|file| file.path.split('/').next()).collect();
    let strange = tops.into_iter().filter(|top| !top.starts_with('.') && !TOP.contains(top));
    strange.map(|top| format!("{top} has no place at the top")).collect()
}

fn links(files: &[File]) -> Complaints {
    let mut complaints = Complaints::new();
    for file in files.iter().filter(|file| has_ending(file, &["md"])) {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in file.text.split("](").skip(1) {
            let target = target.split([')', ' ']).next().unwrap_or_default();
            let path = target.split('#').next().unwrap_or_default();
            if path.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let path = resolve(folder, path);
            let inside = format!("{path}/");
            if !files.iter().any(|other| other.path == path || other.path.starts_with(&inside)) {
                complaints.push(format!("{}: {target} does not exist", file.path));
            }
        }
    }
    complaints
}

/// The path that `link` means in a document of `folder`, both from the root.
fn resolve<'a>(folder: &'a str, link: &'a str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(link.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

fn decisions(files: &[File]) -> Complaints {
    let list = find(files, "pkg/decisions/README.md").map_or("", |file| &file.text);
    let records = files.iter().filter_map(|file| {
        let name = file.path.strip_prefix("pkg/decisions/").filter(|name| *name != "README.md")?;
        Some((name, file))
    });
    let mut complaints = Complaints::new();
    for (number, (name, file)) in records.enumerate() {
        let heads = ["## Context", "## Choice", "## What would change it"];
        let lacks = heads.iter().filter(|head| !file.text.lines().any(|line| line == **head));
        complaints.extend(lacks.map(|head| format!("{}: has no `{head}`", file.path)));
        if !list.contains(&format!("]({name})")) {
            complaints.push(format!("{}: not listed in pkg/decisions/README.md", file.path));
        }
        if !name.starts_with(&format!("{number:04}-")) {
            complaints.push(format!("{}: should have number {number:04}", file.path));
        }
    }
    complaints
}

// === Reading text ===

fn find<'a>(files: &'a [File], path: &str) -> Option<&'a File> {
    files.iter().find(|file| file.path == path)
}

fn has_ending(file: &File, endings: &[&str]) -> bool {
    file.path.rsplit_once('.').is_some_and(|(_, ending)| endings.contains(&ending))
}

fn is_rust(file: &File) -> bool {
    has_ending(file, &["rs"])
}

/// Whether people write it: not a lock file, nor a licence.
fn is_written_here(file: &File) -> bool {
    !has_ending(file, &["lock", "sum"]) && file.path != "LICENSE"
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

fn is_banned_module(name: &str) -> bool {
    BANNED_MODULES.contains(&name)
}

/// `path:line: complaint` for each line that gives one.
fn each_line(
    files: &[File],
    applies: impl Fn(&File) -> bool,
    complaint: impl Fn(&str) -> Option<String>,
) -> Complaints {
    let lines = files.iter().filter(|file| applies(file)).flat_map(|file| {
        file.text.split_terminator('\n').zip(1_usize..).zip(iter::repeat(&file.path))
    });
    lines
        .filter_map(|((line, number), path)| Some(format!("{path}:{number}: {}", complaint(line)?)))
        .collect()
}

/// Whether `word` stands in the line by itself.
fn has_word(line: &str, word: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let after = &line[at + word.len()..];
        !line[..at].ends_with(joins) && (word.ends_with('!') || !after.starts_with(joins))
    })
}

/// The name in `mod name;` or `pub mod name {`.
fn declared_module(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.trim().split([' ', ';', '{']).collect();
    match *words.as_slice() {
        ["mod", name, ..] => Some(name),
        [public, "mod", name, ..] if public.starts_with("pub") => Some(name),
        _ => None,
    }
}

/// Lines that hold code, up to the tests at the end of the file.
fn code_lines(text: &str) -> usize {
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    text.lines().filter(is_code).count()
}

/// The lines of a section of a TOML file.
fn section<'a>(toml: &'a str, name: &str) -> Vec<&'a str> {
    let head = format!("[{name}]");
    let lines = toml.lines().skip_while(|line| *line != head).skip(1);
    lines.take_while(|line| !line.starts_with('[')).collect()
}

fn after<'a>(text: &'a str, sign: &str) -> &'a str {
    text.split_once(sign).map_or("", |(_, rest)| rest)
}

fn quoted(text: &str) -> Vec<&str> {
    text.split('"').skip(1).step_by(2).collect()
}

fn backticked(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}
