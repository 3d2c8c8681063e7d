//! Scripts: a user's commands on a cluster, one a line, and their output.
//!
//! ```text
//! # A Deployment is scaled.
//! @nodes 3
//!
//! > apply
//! | apiVersion: apps/v1
//! | kind: Deployment
//! | …
//! deployment.apps/web serverside-applied
//!
//! > settle
//! > show pods -l app=web
//! NAME                READY  STATUS   RESTARTS
//! web-7d4b9c5f-xxxxx  1/1    Running  0  (3 times)
//! ```
//!
//! A script is a text with its own expected output: lines with `>` are commands, `|` what a command
//! is given, `@` how the cluster is set up, `#` for people; all else is output. It plays on
//! anything that is a [`Cluster`]: the sandbox in this process, in virtual time, or a real API
//! server. What differs between two runs that are both right (names that are made up, addresses,
//! ages) is left out of the output.
//!
//! # Settings
//!
//! | setting | what it says |
//! |---|---|
//! | `@nodes 5` | how many nodes there are, `node-0` and so on; 3 |
//! | `@controllers LIST` | the manager's `--controllers` |
//! | `@flags FLAG…` | further flags of the manager |
//! | `@sandbox-only REASON` | why it cannot play on a real API server |
//!
//! # Commands
//!
//! | command | what it does |
//! |---|---|
//! | `apply`, `create`, `replace` | the YAML documents below it; `apply` is server-side, forced |
//! | `delete TARGET [--cascade background\|foreground\|orphan] [--grace S]` | |
//! | `scale TARGET N` | by `/scale` |
//! | `set image TARGET CONTAINER=IMAGE` | |
//! | `patch TARGET JSON`, `patch status\|approval TARGET JSON` | a merge patch |
//! | `patch json TARGET JSON` | a JSON patch: a list of operations |
//! | `label TARGET K=V`, `annotate TARGET K=V` | `K-` removes |
//! | `rollout restart\|pause\|resume\|undo\|status\|history TARGET` | `undo` takes `--to N` |
//! | `cordon NODE`, `uncordon NODE`, `taint NODE K=V:EFFECT`, `taint NODE K-` | |
//! | `evict TARGET` | by `/eviction` |
//! | `show RESOURCE [-l SELECTOR]` | the server's table; equal rows are counted |
//! | `get TARGET PATH…` | fields, such as `.status.replicas` |
//! | `events [-l REASON]` | what was recorded; of nodes only with `-l` |
//! | `explain TARGET` | what its controller would do now, and why; sandbox only |
//! | `why TARGET [--as USER]` | what `kubectl why` says of it, and its exit code |
//! | `kill\|revive\|partition\|heal\|terminate NODE`, `fail TARGET` | sandbox only |
//! | `join NODE TOKEN` | a kubelet joins by TLS bootstrap, with the id of a token; sandbox only |
//! | `tick 10s` | time passes |
//! | `settle [60s]` | until nothing changes for three seconds |
//! | `until TARGET PATH=VALUE [60s]` | until a field is so, for each object of the target |
//! | `until TARGET gone [60s]` | until there is no such object |
//! | `say TEXT` | for the audience of the demo |
//!
//! A `TARGET` is `deployment/web`, or a resource with `-l SELECTOR` and perhaps `--first N`. `-n
//! NAMESPACE` goes with every command. In a document or a patch, `<<rs/web .metadata.uid>>` stands
//! for that field of that object; `<<rs/web -n other .metadata.uid or none>>` is `none` if there is
//! no such object.

mod cluster;
mod command;
mod fill;
mod normal;
mod parse;
mod play;
mod resources;
mod rollout;
mod show;
#[cfg(test)]
mod tests;
mod wait;
mod world;

pub use cluster::{Ask, Cluster, NodeAct, Reply, Unsupported};
pub use command::Command;
pub use parse::{Entry, Script, ScriptError, Step};
pub use play::{Difference, Played, Player, Progress};
pub use world::{Refused, World, WorldOptions, said};
