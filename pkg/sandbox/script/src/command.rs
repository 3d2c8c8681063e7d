//! Commands, from words.

use std::time::Duration;

use crate::NodeAct;

/// The longest that `settle` and `until` wait if they do not say.
const LIMIT: Duration = Duration::from_mins(2);

/// A command of a script. What each does stands at the top of this crate.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// `apply`, `create`, `replace`
    Write(How),
    /// `delete`
    Delete {
        /// What.
        target: Target,
        /// `propagationPolicy`, as kubectl's `--cascade` calls it.
        cascade: Option<String>,
        /// `gracePeriodSeconds`
        grace_seconds: Option<i64>,
    },
    /// `scale`
    Scale(Target, i64),
    /// `set image`: the container and the image.
    SetImage(Target, String, String),
    /// `patch`: the subresource and the patch.
    Patch(Target, &'static str, serde_json::Value),
    /// `patch json`: the operations.
    Edit(Target, serde_json::Value),
    /// `label` and `annotate`: the field of `metadata`, the key, the value; none: it is removed.
    Mark(Target, &'static str, String, Option<String>),
    /// `rollout`
    Rollout(Rollout, Target),
    /// `cordon`, `uncordon`
    Cordon(String, bool),
    /// `taint`: the node, the key, the value and the effect; none: all with the key go.
    Taint(String, String, Option<(String, String)>),
    /// `evict`
    Evict(Target),
    /// `show`
    Show(Target),
    /// `get`: the paths.
    Get(Target, Vec<String>),
    /// `events`: the reason, or all.
    Events(Option<String>, Option<String>),
    /// `explain`
    Explain(Target),
    /// `why`: the user, if it is not the administrator.
    Why(Target, Option<String>),
    /// `kill`, `revive`, `partition`, `heal`, `terminate`
    Node(NodeAct, String),
    /// `join`: the node, and the id of its bootstrap token.
    Join(String, String),
    /// `fail`
    Fail(Target),
    /// `tick`
    Tick(Duration),
    /// `settle`
    Settle(Duration),
    /// `until`: the path and the value.
    Until(Target, String, String, Duration),
    /// `until`, without a path: there is no such object any more.
    UntilGone(Target, Duration),
    /// `say`
    Say(String),
}

/// How documents are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Server-side apply, forced.
    Apply,
    /// POST.
    Create,
    /// PUT.
    Replace,
}

/// What `rollout` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rollout {
    /// A new revision with the same contents.
    Restart,
    /// No further steps.
    Pause,
    /// Further steps.
    Resume,
    /// Back to this revision; none: the last one.
    Undo(Option<u64>),
    /// How far it is.
    Status,
    /// Which revisions there are.
    History,
}

/// Objects that a command is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// As it was written: `deployment`, `deploy`, `deployments.apps`.
    pub resource: String,
    /// One by name; empty: by selector, or all.
    pub name: String,
    /// The label selector; empty: all.
    pub selector: String,
    /// None: that of the script.
    pub namespace: Option<String>,
    /// How many of them, the oldest first.
    pub first: Option<usize>,
}

/// The words of a command, with their options taken out.
struct Words {
    plain: Vec<String>,
    options: Vec<(String, String)>,
}

impl Command {
    /// Reads a command.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(said) = text.strip_prefix("say ") {
            return Ok(Self::Say(said.to_owned()));
        }
        let mut words = Words::split(text)?;
        let verb = words.next("a command")?;
        let command = match verb.as_str() {
            "apply" => Self::Write(How::Apply),
            "create" => Self::Write(How::Create),
            "replace" => Self::Write(How::Replace),
            "delete" => Self::delete(&mut words)?,
            "scale" => Self::Scale(words.target()?, words.number("a number of replicas")?),
            "set" => Self::set_image(&mut words)?,
            "patch" => Self::patch(&mut words)?,
            "label" => Self::mark(&mut words, "labels")?,
            "annotate" => Self::mark(&mut words, "annotations")?,
            "rollout" => Self::rollout(&mut words)?,
            "cordon" | "uncordon" => Self::Cordon(words.next("a node")?, verb == "cordon"),
            "taint" => Self::taint(&mut words)?,
            "evict" => Self::Evict(words.target()?),
            "show" => Self::Show(words.target()?),
            "get" => Self::Get(words.target()?, words.rest()),
            "events" => Self::Events(words.option("-l"), words.option("-n")),
            "explain" => Self::Explain(words.target()?),
            "why" => {
                let user = words.option("--as");
                Self::Why(words.target()?, user)
            }
            "kill" => Self::Node(NodeAct::Kill, words.next("a node")?),
            "revive" => Self::Node(NodeAct::Revive, words.next("a node")?),
            "partition" => Self::Node(NodeAct::Partition, words.next("a node")?),
            "heal" => Self::Node(NodeAct::Heal, words.next("a node")?),
            "terminate" => Self::Node(NodeAct::Terminate, words.next("a node")?),
            "join" => Self::Join(words.next("a node")?, words.next("the id of a bootstrap token")?),
            "fail" => Self::Fail(words.target()?),
            "tick" => Self::Tick(words.duration()?.ok_or("how long? such as `tick 10s`")?),
            "settle" => Self::Settle(words.duration()?.unwrap_or(LIMIT)),
            "until" => Self::until(&mut words)?,
            _ => return Err(format!("unknown command {verb:?}")),
        };
        words.nothing_left().map(|()| command)
    }

    /// Whether only the sandbox can do it.
    pub fn needs_sandbox(&self) -> bool {
        matches!(
            self,
            Self::Node(..) | Self::Join(..) | Self::Fail(_) | Self::Explain(_) | Self::Why(..)
        )
    }

    /// Whether it asks how things are, and may be done twice.
    pub fn only_looks(&self) -> bool {
        match self {
            Self::Show(_) | Self::Get(..) | Self::Events(..) | Self::Why(..) => true,
            Self::Rollout(what, _) => matches!(what, Rollout::Status | Rollout::History),
            _ => false,
        }
    }

    /// Whether it changes nodes.
    pub fn changes_nodes(&self) -> bool {
        let is_node = |target: &Target| matches!(&*target.resource, "node" | "nodes" | "no");
        match self {
            Self::Cordon(..) | Self::Taint(..) | Self::Node(..) | Self::Join(..) => true,
            Self::Delete { target, .. }
            | Self::Patch(target, ..)
            | Self::Edit(target, _)
            | Self::Mark(target, ..) => is_node(target),
            _ => false,
        }
    }

    fn delete(words: &mut Words) -> Result<Self, String> {
        let cascade = words.option("--cascade");
        let grace = words.option("--grace").map(|text| text.parse::<i64>());
        let grace_seconds = grace.transpose().map_err(|error| format!("--grace: {error}"))?;
        Ok(Self::Delete { target: words.target()?, cascade, grace_seconds })
    }

    fn set_image(words: &mut Words) -> Result<Self, String> {
        match words.next("`image`")?.as_str() {
            "image" => {}
            other => return Err(format!("set {other:?} is not known, only `set image`")),
        }
        let target = words.target()?;
        let (container, image) = words.pair("CONTAINER=IMAGE")?;
        Ok(Self::SetImage(target, container, image))
    }

    fn patch(words: &mut Words) -> Result<Self, String> {
        let is_edit = words.takes("json");
        let subresource = if words.takes("status") {
            "/status"
        } else if words.takes("approval") {
            "/approval"
        } else {
            ""
        };
        let target = words.target()?;
        let patch = words.next("a JSON patch")?;
        let patch = serde_json::from_str(&patch).map_err(|error| format!("{patch}: {error}"))?;
        Ok(if is_edit {
            Self::Edit(target, patch)
        } else {
            Self::Patch(target, subresource, patch)
        })
    }

    fn mark(words: &mut Words, field: &'static str) -> Result<Self, String> {
        let target = words.target()?;
        let word = words.next("KEY=VALUE, or KEY-")?;
        match (word.split_once('='), word.strip_suffix('-')) {
            (Some((key, value)), _) => {
                Ok(Self::Mark(target, field, key.to_owned(), Some(value.to_owned())))
            }
            (None, Some(key)) => Ok(Self::Mark(target, field, key.to_owned(), None)),
            (None, None) => Err(format!("{word:?}: expected KEY=VALUE, or KEY-")),
        }
    }

    fn rollout(words: &mut Words) -> Result<Self, String> {
        let what = match words.next("what to do with a rollout")?.as_str() {
            "restart" => Rollout::Restart,
            "pause" => Rollout::Pause,
            "resume" => Rollout::Resume,
            "undo" => {
                let to = words.option("--to").map(|text| text.parse());
                Rollout::Undo(to.transpose().map_err(|error| format!("--to: {error}"))?)
            }
            "status" => Rollout::Status,
            "history" => Rollout::History,
            other => return Err(format!("rollout {other:?} is not known")),
        };
        Ok(Self::Rollout(what, words.target()?))
    }

    fn taint(words: &mut Words) -> Result<Self, String> {
        let node = words.next("a node")?;
        let word = words.next("KEY=VALUE:EFFECT, or KEY-")?;
        if let Some(key) = word.strip_suffix('-') {
            return Ok(Self::Taint(node, key.to_owned(), None));
        }
        let (taint, effect) =
            word.rsplit_once(':').ok_or_else(|| format!("{word:?}: KEY=VALUE:EFFECT"))?;
        let (key, value) = taint.split_once('=').unwrap_or((taint, ""));
        Ok(Self::Taint(node, key.to_owned(), Some((value.to_owned(), effect.to_owned()))))
    }

    fn until(words: &mut Words) -> Result<Self, String> {
        let target = words.target()?;
        if words.takes("gone") {
            return Ok(Self::UntilGone(target, words.duration()?.unwrap_or(LIMIT)));
        }
        let (path, value) = words.pair("PATH=VALUE, or `gone`")?;
        Ok(Self::Until(target, path, value, words.duration()?.unwrap_or(LIMIT)))
    }
}

/// A word that begins with a dash, but no number.
fn is_option(word: &str) -> bool {
    let rest = word.strip_prefix('-').unwrap_or_default();
    !rest.is_empty() && rest.parse::<u64>().is_err()
}

// === impl Words ===

impl Words {
    /// Words are parted by spaces; quotes of both kinds keep them together.
    fn split(text: &str) -> Result<Self, String> {
        let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
        for c in text.chars() {
            match (quote, c) {
                (Some(open), _) if c == open => quote = None,
                (None, '\'' | '"') => (quote, begun) = (Some(c), true),
                (None, ' ') => {
                    if begun {
                        words.push(std::mem::take(&mut word));
                    }
                    begun = false;
                }
                _ => {
                    word.push(c);
                    begun = true;
                }
            }
        }
        if quote.is_some() {
            return Err(format!("a quote is open: {text}"));
        }
        if begun {
            words.push(word);
        }
        Self::sort(words)
    }

    fn sort(words: Vec<String>) -> Result<Self, String> {
        let (mut plain, mut options) = (Vec::new(), Vec::new());
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if !is_option(&word) {
                plain.push(word);
            } else if let Some((name, value)) = word.split_once('=') {
                options.push((name.to_owned(), value.to_owned()));
            } else {
                let value = words.next().ok_or_else(|| format!("{word}: its value is missing"))?;
                options.push((word, value));
            }
        }
        plain.reverse();
        Ok(Self { plain, options })
    }

    fn next(&mut self, what: &str) -> Result<String, String> {
        self.plain.pop().ok_or_else(|| format!("{what} is missing"))
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_next = self.plain.last().is_some_and(|next| next == word);
        if is_next {
            self.plain.pop();
        }
        is_next
    }

    fn rest(&mut self) -> Vec<String> {
        let mut rest = std::mem::take(&mut self.plain);
        rest.reverse();
        rest
    }

    fn option(&mut self, name: &str) -> Option<String> {
        let at = self.options.iter().position(|(known, _)| known == name)?;
        Some(self.options.remove(at).1)
    }

    fn target(&mut self) -> Result<Target, String> {
        let word = self.next("what it is about, such as deployment/web,")?;
        let (resource, name) = word.split_once('/').unwrap_or((&word, ""));
        let first = self.option("--first").map(|text| text.parse());
        Ok(Target {
            resource: resource.to_owned(),
            name: name.to_owned(),
            selector: self.option("-l").unwrap_or_default(),
            namespace: self.option("-n"),
            first: first.transpose().map_err(|error| format!("--first: {error}"))?,
        })
    }

    fn number(&mut self, what: &str) -> Result<i64, String> {
        let word = self.next(what)?;
        word.parse().map_err(|_| format!("{word:?} is not {what}"))
    }

    fn pair(&mut self, what: &str) -> Result<(String, String), String> {
        let word = self.next(what)?;
        let (key, value) = word.split_once('=').ok_or_else(|| format!("{word:?}: {what}"))?;
        Ok((key.to_owned(), value.to_owned()))
    }

    /// `90s`, `500ms`, `2m`, `1h`.
    fn duration(&mut self) -> Result<Option<Duration>, String> {
        let Some(word) = self.plain.pop() else { return Ok(None) };
        let at = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
        let (number, unit) = word.split_at(at);
        let odd = || format!("{word:?} is no time such as 10s");
        let number: u64 = number.parse().map_err(|_| odd())?;
        let unit_ms = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(odd()),
        };
        Ok(Some(Duration::from_millis(number.saturating_mul(unit_ms))))
    }

    fn nothing_left(&self) -> Result<(), String> {
        let words = self.plain.iter().rev().chain(self.options.iter().map(|(name, _)| name));
        let words: Vec<_> = words.map(String::as_str).collect();
        if words.is_empty() { Ok(()) } else { Err(format!("not understood: {}", words.join(" "))) }
    }
}
