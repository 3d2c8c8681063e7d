//! The engine's tests: expectations, and whole syncs against a fake API server.

mod chains;
mod clouds;
mod counts;
mod creates;
mod deletes;
mod expectations;
mod fences;
mod guards;
mod idle;
mod inspect;
mod pace;
mod patches;
mod reads;
mod record;
mod requeue;
mod rounds;
mod seeds;
mod selections;
mod stall;
mod status;
mod steps;
mod unserved;
mod updates;
mod world;
