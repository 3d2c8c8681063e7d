//! A port on 127.0.0.1, and the responses to its clients.

mod connections;
mod fixture;
mod limits;

pub(crate) use fixture::{
    Folder, Log, certificate, client, client_with, connect, get, open, serve, settings, subject,
    within,
};
