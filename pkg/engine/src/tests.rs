//! The engine's tests: what keys await, and whole syncs against an API server that the test plays.

mod chains;
mod counts;
mod creates;
mod deletes;
mod expectations;
mod fences;
mod guards;
mod idle;
mod inspect;
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
