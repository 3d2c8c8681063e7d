//! The program as a process: its errors for bad input, and the output of a script.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{env, fs, process};

use anyhow::{Context as _, ensure};

fn run(arguments: &[&str]) -> anyhow::Result<Output> {
    Ok(Command::new(env!("CARGO_BIN_EXE_sandbox")).args(arguments).output()?)
}

/// Issue: bad input gets a clear message that names the flag or the file, and no code 0.
#[test]
fn bad_input_is_named() -> anyhow::Result<()> {
    let folder = env::temp_dir().join(format!("sandbox-program-{}", process::id()));
    fs::create_dir_all(&folder)?;
    let (odd, broken) = (folder.join("odd.txt"), folder.join("broken.json"));
    fs::write(&odd, "# A story\n\n> dance deployment/web\n")?;
    fs::write(&broken, "{\"revision\": \"soon\"}")?;
    let (odd, broken) = (odd.display().to_string(), broken.display().to_string());
    let rows: &[(&[&str], &[&str])] = &[
        (&["--speed", "0x"], &["--speed", "\"0x\" is no speed such as 60x (1x to 3600x)"]),
        (&["--script", "/no/such/file"], &["Error: --script /no/such/file: No such file"]),
        (&["--script", &odd], &["Error: --script", &odd, "line 3: unknown command \"dance\""]),
        (&["--load", &broken, "--port", "0"], &["Error: --load", &broken]),
        (
            &["--filename", "/no/such/file", "--port", "0"],
            &["Error: -f /no/such/file: No such file"],
        ),
        (
            &["--controllers", "nodes", "--port", "0"],
            &["Error: \"nodes\" is not in the list of known controllers"],
        ),
    ];
    for (arguments, expected) in rows {
        let output = run(arguments)?;
        let text = String::from_utf8(output.stderr)?;
        for part in *expected {
            assert!(text.contains(part), "{arguments:?}: {part:?} is not in {text}");
        }
        assert!(!output.status.success(), "{arguments:?}");
    }
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// `--script`: in virtual time, so that half an hour takes no time; comments are shown too.
#[test]
fn a_script_is_played() -> anyhow::Result<()> {
    let path = env::temp_dir().join(format!("sandbox-story-{}.txt", process::id()));
    fs::write(&path, "# A story\n@nodes 2\n> tick 30m\n> show nodes\n")?;
    let output = run(&["--script", &path.display().to_string()])?;
    fs::remove_file(&path)?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let nodes = "NAME    STATUS  ROLES   VERSION\nnode-0  Ready   <none>  v1.36.3\nnode-1  Ready";
    ensure!(text.starts_with("# A story\n> tick 30m\n> show nodes\n"), "{text}");
    ensure!(text.contains(nodes), "{text}");
    Ok(())
}

/// `--save` and `--load`: the cluster's time continues where it was, also if it ran faster.
#[test]
fn a_saved_state_continues() -> anyhow::Result<()> {
    let folder = env::temp_dir().join(format!("sandbox-state-{}", process::id()));
    fs::create_dir_all(&folder)?;
    let (first, second) = (folder.join("first.json"), folder.join("second.json"));
    serve_once(&["--speed", "3600x"], &first)?;
    serve_once(&["--load", &first.display().to_string()], &second)?;
    let time = |path: &Path| anyhow::Ok(sandbox::Server::saved_at(&fs::read(path)?));
    let (before, after) = (time(&first)?, time(&second)?);
    ensure!(before.is_some() && before <= after, "{before:?}, then {after:?}");
    fs::remove_dir_all(&folder)?;
    Ok(())
}

/// Starts the program, and ends it by SIGTERM once it is up.
fn serve_once(arguments: &[&str], save: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandbox"));
    command.args(["--port", "0", "--save"]).arg(save).args(arguments);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let lines = BufReader::new(child.stdout.take().context("its output")?).lines();
    for line in lines {
        // The first thing that it shows after the greeting: it waits for signals then.
        if line?.contains("node-0: ready") {
            let id = child.id().to_string();
            ensure!(Command::new("kill").args(["-TERM", &id]).status()?.success(), "kill");
        }
    }
    ensure!(child.wait()?.success(), "{arguments:?}");
    Ok(())
}
