//! The engine's tests: what keys await, and whole syncs against a small API server.

mod expectations;
