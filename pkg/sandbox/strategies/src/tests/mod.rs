//! Tables. Each row names the upstream test or the rule that it stands for.

mod defaults;
mod formats;
mod metadata;
mod printers;
mod printers_rest;
mod resources;
mod rules;
mod updates;
mod warnings;

/// Five minutes before now.
const EARLIER: &str = "2024-05-01T11:55:00Z";
