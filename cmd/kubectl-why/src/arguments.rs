//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Says why an object of a cluster is not as it should be: what its controller wants, what is
/// there, what it waits for, and what comes next, along the chain from the object to the cause.
///
/// It sends nothing but GETs. What RBAC does not let it see is listed, and never taken for absent.
///
/// Exit codes: 0 settled, 1 in progress, 2 stuck, 3 wrong usage, 4 no such object or kind, 5 not
/// allowed to read the object, 6 bad kubeconfig, 7 the API server cannot be asked.
#[derive(Debug, Parser)]
#[command(name = "kubectl-why", bin_name = "kubectl why", version)]
pub(crate) struct Arguments {
    /// KIND/NAME, or KIND NAME. The kind as for kubectl: plural, singular, short, with its group
    #[arg(required = true, num_args = 1..=2, value_name = "KIND/NAME")]
    pub(crate) target: Vec<String>,
    /// The namespace of the object; else that of the context
    #[arg(short, long)]
    pub(crate) namespace: Option<String>,
    /// The context of the kubeconfig; else its current one
    #[arg(long)]
    pub(crate) context: Option<String>,
    /// The kubeconfig; else the files of $KUBECONFIG, merged as kubectl merges them, else
    /// ~/.kube/config, else the pod's service account
    #[arg(long)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The address of the API server; else that of the kubeconfig
    #[arg(short, long)]
    pub(crate) server: Option<String>,
    /// The user to impersonate
    #[arg(long = "as", value_name = "USER")]
    pub(crate) impersonate: Option<String>,
    /// How the answer is written
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
    /// Asks again until the object is settled, and prints what changed
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Whether there are colours
    #[arg(long, value_enum, default_value_t = Colours::Auto)]
    pub(crate) color: Colours,
}

/// How the answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Text,
    /// The same as data.
    Json,
}

/// Whether there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colours {
    /// On a terminal.
    Auto,
    /// Yes.
    Always,
    /// No.
    Never,
}

impl Arguments {
    /// Kind and name.
    pub(crate) fn target(&self) -> Option<(&str, &str)> {
        let (kind, name) = match self.target.as_slice() {
            [one] => one.split_once('/')?,
            [kind, name] => (kind.as_str(), name.as_str()),
            _ => return None,
        };
        let is_whole = !kind.is_empty() && !name.is_empty() && !kind.contains('/');
        (is_whole && !name.contains('/')).then_some((kind, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_kind_and_a_name() {
        let target = |words: &[&str]| {
            let words = std::iter::once(&"why").chain(words);
            let arguments = Arguments::try_parse_from(words).ok()?;
            arguments.target().map(|(kind, name)| format!("{kind} {name}"))
        };
        for (words, expected) in [
            (&["deploy/web"][..], Some("deploy web")),
            (&["deployments.apps", "web", "-n", "shop"], Some("deployments.apps web")),
            (&["web"], None),
            (&["deploy/"], None),
            (&["/web"], None),
            (&["deploy/a/b"], None),
            (&["a", "b", "c"], None),
            (&[], None),
        ] {
            assert_eq!(target(words).as_deref(), expected, "{words:?}");
        }
    }
}
