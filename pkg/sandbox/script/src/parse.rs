//! Scripts as text.

use std::fmt;

use crate::Command;

/// A script.
#[derive(Clone, Debug)]
pub struct Script {
    /// How many nodes there are at the start.
    pub nodes: usize,
    /// What `--controllers` says; empty: as the manager does by itself.
    pub controllers: String,
    /// Further flags of the manager.
    pub flags: Vec<String>,
    /// Why it plays on the sandbox alone, if it does.
    pub sandbox_only: Option<String>,
    /// Its lines.
    pub entries: Vec<Entry>,
}

/// A part of a script.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A line that does nothing: a comment, a setting, or an empty one.
    Line(String),
    /// A command.
    Step(Box<Step>),
}

/// A command with what belongs to it.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its line in the file, from 1.
    pub line: usize,
    /// As it is written.
    pub text: String,
    /// What it means.
    pub command: Command,
    /// The lines that it is given.
    pub input: Vec<String>,
    /// The lines that it prints.
    pub output: Vec<String>,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptError {
    /// From 1.
    pub line: usize,
    /// What is wrong.
    pub text: String,
}

impl Script {
    /// Reads a script.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let mut script = Self {
            nodes: 3,
            controllers: String::new(),
            flags: Vec::new(),
            sandbox_only: None,
            entries: Vec::new(),
        };
        for (line, text) in (1..).zip(text.lines()) {
            script.read(line, text).map_err(|text| ScriptError { line, text })?;
        }
        Ok(script)
    }

    fn read(&mut self, line: usize, text: &str) -> Result<(), String> {
        if let Some(command) = text.strip_prefix("> ") {
            let (input, output) = (Vec::new(), Vec::new());
            let (text, command) = (command.to_owned(), Command::parse(command)?);
            let step = Step { line, text, command, input, output };
            self.entries.push(Entry::Step(Box::new(step)));
            return Ok(());
        }
        if let Some(setting) = text.strip_prefix('@') {
            self.set(setting.trim())?;
        }
        if text.is_empty() || text.starts_with(['#', '@']) {
            self.entries.push(Entry::Line(text.to_owned()));
            return Ok(());
        }
        let Some(Entry::Step(step)) = self.entries.last_mut() else {
            return Err(format!("{text:?} is neither a command (`> …`) nor below one"));
        };
        match text.strip_prefix('|') {
            Some(input) if step.output.is_empty() => {
                step.input.push(input.strip_prefix(' ').unwrap_or(input).to_owned());
            }
            _ => step.output.push(text.to_owned()),
        }
        Ok(())
    }

    fn set(&mut self, setting: &str) -> Result<(), String> {
        let (name, value) = setting.split_once(' ').unwrap_or((setting, ""));
        match name {
            "nodes" => {
                self.nodes = value.parse().map_err(|_| format!("{value:?} is no number"))?;
            }
            "controllers" => value.clone_into(&mut self.controllers),
            "flags" => self.flags = value.split_whitespace().map(str::to_owned).collect(),
            "sandbox-only" => self.sandbox_only = Some(value.to_owned()),
            _ => {
                let known = "nodes, controllers, flags, sandbox-only";
                return Err(format!("unknown setting {name:?}: {known}"));
            }
        }
        Ok(())
    }

    /// Whether it changes nodes, which other scripts would see.
    pub fn is_about_nodes(&self) -> bool {
        self.steps().any(|step| step.command.changes_nodes())
    }

    /// The commands.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Line(_) => None,
            Entry::Step(step) => Some(&**step),
        })
    }
}

/// As it was read.
impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            match entry {
                Entry::Line(line) => writeln!(f, "{line}")?,
                Entry::Step(step) => step.fmt(f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "> {}", self.text)?;
        for line in &self.input {
            writeln!(f, "{}", format!("| {line}").trim_end())?;
        }
        self.output.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.text)
    }
}

impl std::error::Error for ScriptError {}
