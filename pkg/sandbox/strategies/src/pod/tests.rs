//! Pods as upstream's tests and a real API server see them.

mod deletion;
mod golden;
mod print;
mod qos;
mod updates;
