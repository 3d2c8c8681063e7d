//! Pages as a Go program writes them, and what the command line changes.

mod numbers;
mod page;
mod process;
mod registry;
mod settings;
