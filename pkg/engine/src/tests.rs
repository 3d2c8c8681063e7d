//! The engine's tests: what keys await, and whole syncs against an API server that the test plays.

mod creates;
mod deletes;
mod expectations;
mod fences;
mod patches;
mod requeue;
mod status;
mod steps;
mod world;
