//! The ways into the server: a tower service, and HTTP.

mod body;
mod foreign;
mod listen;
mod service;

#[cfg(test)]
mod tests;

pub use body::Body;
pub use service::Service;
