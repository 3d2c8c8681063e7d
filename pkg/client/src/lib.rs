//! The REST client: named clients, each with its own rate limit, over one connection.
//!
//! Every request passes here, so every request is limited, timed out, retried where the server
//! asks for it, and counted as upstream counts it (`rest_client_*`). Bodies go out and come in as
//! bytes; what they mean is known above.

mod account;
mod answer;
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
mod rest;
mod spread;
mod status;
mod tls;
mod transport;

#[cfg(test)]
mod tests;

pub use account::Account;
pub use answer::Answer;
pub use config::GatedUser;
pub use connect::{
    ConfigError, ConnectOptions, Connection, authority_data, client_certificate, connect,
};
pub use encoding::percent_encoded;
pub use error::ApiError;
pub use metrics::Metrics;
pub use requests::{LOG_ANSWERS, LOG_HEADERS};
pub use rest::{Client, Document, Guard, Pace, Settings};
pub use status::{Cause, Status};
pub use transport::Transport;
