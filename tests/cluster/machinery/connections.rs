//! Clients that occupy connections.
