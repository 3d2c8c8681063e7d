//! Responses to reads: get, list, watch.

mod get;
mod list;
mod selection;
mod token;
mod watch;

pub(crate) mod render;

#[cfg(test)]
pub(crate) mod tests;

pub(crate) use get::get;
pub(crate) use list::list;
pub(crate) use selection::Selection;
pub(crate) use watch::Opening;
pub use watch::Watch;
