//! Bad files for each check, and what it must say of them.

use super::*;

fn files(files: &[(&str, &str)]) -> Vec<File> {
    files.iter().map(|(p, t)| File { path: (*p).to_owned(), text: (*t).to_owned() }).collect()
}

#[test]
fn of_every_file() {
    type Check = fn(&[File]) -> Complaints;
    let long = format!("{}\n| {} |\n{}\n", "é ".repeat(51), "a ".repeat(51), "a".repeat(101));
    let word = format!("fn f() {{}} // {}: later\n{}S\n", BANNED_WORDS[1], BANNED_WORDS[1]);
    let call = format!("a_{}()\n{}()\n", BANNED_WORDS[4], BANNED_WORDS[4]);
    let path = format!("see {0}x\nsee target{0}x\n", MACHINE_PATHS[1]);
    let select = format!("f();\n    {}", concat!("tokio::sel", "ect! {"));
    let (lots, biased) = (format!("{select}\n a = b"), format!("{select}\n biased;\n"));
    let by_name = "//! a\nlet n = options.flags.value(\"v\").int();\n";
    let rows: [(Check, &str, &str, &[&str]); 16] = [
        (module_docs, "a.rs", "// a\n", &["a.rs: starts without `//!`"]),
        (module_docs, "a.rs", "//! a\n", &[]),
        (banned_words, "a.md", &word, &["a.md:1: "]),
        (banned_words, "a.rs", &call, &["a.rs:2: "]),
        (banned_words, "go.sum", &word, &[]),
        (module_names, "pkg/a/src/util/b.rs", "", &["pkg/a/src/util/b.rs: a name"]),
        (module_names, "a.rs", "pub(crate) mod helpers;\n", &["a.rs:1: `mod helpers`"]),
        (module_names, "a.rs", "mod utility_bill;\n", &[]),
        (unbiased_selects, "a.rs", &lots, &["a.rs:2: a `select!`"]),
        (unbiased_selects, "a.rs", &biased, &[]),
        (flags_by_name, "pkg/manager/src/start.rs", by_name, &["pkg/manager/src/start.rs:2: "]),
        (flags_by_name, "pkg/manager/src/validation/mod.rs", by_name, &[]),
        (long_lines, "a.md", &long, &["a.md:1: 102 columns"]),
        (trailing_spaces, "Makefile", "a\nb \nc\r\n", &["Makefile:2: ", "Makefile:3: "]),
        (machine_paths, "a.yaml", &path, &["a.yaml:1: "]),
        (machine_paths, "go.sum", &path, &[]),
    ];
    for (check, path, text, expected) in rows {
        let complaints = check(&files(&[(path, text)]));
        assert_eq!(complaints.len(), expected.len(), "{path} {text:?}: {complaints:?}");
        let mut pairs = complaints.iter().zip(expected);
        assert!(pairs.all(|(is, start)| is.starts_with(start)), "{path}: {complaints:?}");
    }
}

#[test]
fn of_dead_files() {
    let alive = [
        ("pkg/a/src/lib.rs", "mod b;\npub mod c;\n"),
        ("pkg/a/src/b.rs", "mod d;\n"),
        ("pkg/a/src/b/d.rs", ""),
        ("pkg/a/src/c/mod.rs", "#[cfg(test)]\nmod tests;\n"),
        ("pkg/a/src/c/tests.rs", ""),
        ("tests/src/bin/e.rs", ""),
    ];
    assert_eq!(dead_files(&files(&alive)), Complaints::new());
    let dead =
        [("pkg/a/src/lib.rs", "// mod b;\n"), ("pkg/a/src/b.rs", ""), ("pkg/a/src/c/mod.rs", "")];
    assert_eq!(dead_files(&files(&dead)).len(), 2);
}

#[test]
fn of_the_ratchet() {
    let text =
        "//! a\n\nlet a = 1;\n".repeat(CODE_LINES_MAX + 1) + "#[cfg(test)]\nmod tests {\n1\n";
    let long = files(&[("a.rs", &text), ("tests/a.rs", &text)]);
    assert_eq!(code_lines(&text), CODE_LINES_MAX + 1);
    assert_eq!(long_files(&long, &[]).len(), 1, "too long");
    assert_eq!(long_files(&long, &[("a.rs", CODE_LINES_MAX + 1)]).len(), 0, "listed");
    assert_eq!(long_files(&long, &[("a.rs", CODE_LINES_MAX + 2)]).len(), 1, "has shrunk");
    assert_eq!(long_files(&[], &[("a.rs", 700)]).len(), 1, "is gone");
    let text = "\n".repeat(201);
    let documents = files(&[("pkg/ARCHITECTURE.md", &text), ("pkg/STYLE.md", &text)]);
    assert_eq!(long_documents(&documents), ["pkg/STYLE.md: 201 lines, may have 200"]);
}

#[test]
fn of_crates() {
    let named = |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\n{rest}");
    let lints = "[lints]\nworkspace = true\n[dependencies]\ntokio.workspace = true\n";
    let (api, binary) = (named("api", lints), named("kube-controller-manager", lints));
    let good = [
        ("Cargo.toml", "members = [\"cmd/*\", \"pkg/api\"]\nother = [\"pkg/cache\"]"),
        ("pkg/ARCHITECTURE.md", "`pkg/api` and `cmd/kube-controller-manager`"),
        ("pkg/api/Cargo.toml", &*api),
        ("cmd/kube-controller-manager/Cargo.toml", &*binary),
    ];
    assert_eq!(crates(&files(&good)), Complaints::new());
    assert_eq!(arrows(&files(&good)), Complaints::new());
    let bad =
        [("pkg/cache/Cargo.toml", "[lints]\n[x]\nworkspace = true\n"), ("pkg/new/src/lib.rs", "")];
    assert_eq!(crates(&files(&bad)).len(), 6);
    let bad = [
        ("pkg/api/Cargo.toml", &*named("api", "[dependencies]\nclient = { path = \"x\" }\n")),
        ("pkg/new/src/lib.rs", ""),
    ];
    let expected = ["pkg/api: must not know client", "pkg/new: has no row in ARROWS"];
    assert_eq!(arrows(&files(&bad)), expected);
}

#[test]
fn of_purity() {
    let tree = "api v0.1.0 (path)\nserde v1.0.0\ntokio-util v0.7.0\nkube-core v4.2.0 (*)\n";
    let expected = ["api: must not reach kube-core", "api: must not reach tokio-util"];
    assert_eq!(impure_dependencies("api", tree), expected);
    assert_eq!(impure_dependencies("api", ""), ["api: no tree"]);
    let code = "// an async fn\nuse std::fs;\n";
    let code = [
        ("pkg/api/Cargo.toml", "[package]\nname = \"api\"\n"),
        ("pkg/api/src/a.rs", code),
        ("pkg/api/src/tests.rs", code),
        ("pkg/engine/src/a.rs", code),
    ];
    assert_eq!(impure_code(&files(&code)), ["pkg/api/src/a.rs:2: `std::fs` in a pure crate"]);
}

#[test]
fn of_controllers() {
    let contract =
        "//! Job.\n//! Reads: a  Writes: b  Upstream: c\n//!\n//! # Parts\n//! `policy`: d\n";
    let good = [
        ("pkg/controllers/src/job/mod.rs", contract),
        ("pkg/controllers/src/job/snapshot.rs", ""),
        ("pkg/controllers/src/job/decide.rs", ""),
        ("pkg/controllers/src/job/policy.rs", ""),
        ("pkg/controllers/src/job/tests.rs", ""),
    ];
    assert_eq!(controller_files(&files(&good)), Complaints::new());
    let bad = [
        ("pkg/controllers/src/job/mod.rs", "//! Reads: Writes: Upstream:\n// `more`\n"),
        ("pkg/controllers/src/job/more.rs", ""),
    ];
    assert_eq!(controller_files(&files(&bad)).len(), 4);
}

#[test]
fn of_the_registry() {
    let table = r#"
pub static REGISTRY: &[Entry] = &[
    Entry {
        name: "a-controller",
        aliases: &["a"],
        folder: Some("a"),
        start: Some(|entry| entry.account),
    },
    Entry { folder: Some("b"), name: "b", aliases: &[] },
    Entry { name: "c", aliases: &["d"], ..NOT_YET },
    Entry { name: "e", ..NOT_YET },
];
fn other() -> Entry { name: "no" }
"#;
    let readme = "\
| `c` | `d` |
## Controllers
| Name | Alias | State |
|---|---|---|
| `a-controller` | `a` | works |
| `b` | | works |
| `c` | `d` | not yet |
| `e` | | not yet |

## Flags
| `--f` | | |
";
    let short = r#"
pub static REGISTRY: &[Entry] = &[Entry {
    name: "a",
    aliases: &[],
    folder: Some("a"),
}];
const OTHER: Entry = Entry { name: "no" };
"#;
    assert_eq!(registry_rows(short), [(Some("a"), vec!["a"])]);
    let good = [
        ("README.md", readme),
        ("pkg/controllers/src/a/mod.rs", ""),
        ("pkg/controllers/src/b/mod.rs", ""),
        ("pkg/controllers/src/lib.rs", ""),
        ("pkg/manager/src/registry.rs", table),
    ];
    assert_eq!(registry(&files(&good)), Complaints::new());
    assert_eq!(registry(&files(&good[..4])).len(), 1, "no registry");
    assert_eq!(registry(&files(&good[1..])).len(), 1, "no README");
    assert_eq!(registry(&files(&[good[0], good[1], good[4]])).len(), 1, "a row without folder");
    let early = readme.replace("`d` | not yet", "`d` | works");
    assert_eq!(registry(&files(&[("README.md", &early), good[1], good[2], good[4]])).len(), 1);
    let turned = table.replace("a-controller", "z-controller");
    assert_eq!(registry(&files(&[good[1], good[2], (good[4].0, &turned)])).len(), 2, "not sorted");
}

#[test]
fn of_strays() {
    let tree =
        [("Cargo.toml", ""), (".ci/run", ""), ("pkg/a/b.rs", ""), ("a.whl", ""), ("x/y", "")];
    assert_eq!(
        strays(&files(&tree)),
        ["a.whl has no place at the top", "x has no place at the top"]
    );
}

#[test]
fn of_links() {
    let text = "[a](../README.md#top) [b](#here) [c](https://a.b/c) [d](decisions/) [e](gone.md)\n";
    let documents = [("README.md", ""), ("pkg/A.md", text), ("pkg/decisions/0000-a.md", "")];
    assert_eq!(links(&files(&documents)), ["pkg/A.md: gone.md does not exist"]);
}

#[test]
fn of_decisions() {
    let whole = "# a\n## Context\n## Choice\n## What would change it\n";
    let good = [("pkg/decisions/0000-a.md", whole), ("pkg/decisions/README.md", "[a](0000-a.md)")];
    assert_eq!(decisions(&files(&good)), Complaints::new());
    let bad =
        [("pkg/decisions/0001-a.md", "## Context\n"), ("pkg/decisions/README.md", "0001-a.md")];
    assert_eq!(decisions(&files(&bad)).len(), 4);
}
