//! Pages as a Go program writes them, and the effects of the command line.

mod numbers;
mod page;
mod process;
mod registry;
mod settings;
