//! The REST client: named clients, each with its own rate limit, over one connection.
//!
//! Every request goes through this crate, so every request is limited, timed out, retried when the
//! server asks for it, and counted as upstream counts it (`rest_client_*`). Bodies are bytes here;
//! the crates above decode them.

mod account;

mod config;
mod connect;
mod credentials;
mod dial;
mod encoding;
mod error;
mod gate;
mod kubeconfig;
mod metrics;
mod network;
mod plugin;
mod proxy;
mod requests;
mod response_stream;
mod rest;
mod spread;
mod status;
mod tls;
mod transport;

#[cfg(test)]
mod tests;

pub use account::Account;
pub use config::GatedUser;
pub use connect::{
    ConfigError, ConnectOptions, Connection, authority_data, client_certificate, connect,
    context_namespace,
};
pub use encoding::percent_encoded;
pub use error::ApiError;
pub use metrics::Metrics;
pub use requests::{LOG_ANSWERS, LOG_HEADERS};
pub use response_stream::ResponseStream;
pub use rest::{Client, Document, Guard, Pace, Settings};
pub use status::{Cause, Status};
pub use transport::Transport;
