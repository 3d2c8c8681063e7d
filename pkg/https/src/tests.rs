//! A port on 127.0.0.1, and what clients get from it.

mod connections;
mod fixture;
mod limits;

pub(crate) use fixture::{
    Folder, Log, certificate, client, client_with, connect, get, open, serve, settings, subject,
    within,
};
