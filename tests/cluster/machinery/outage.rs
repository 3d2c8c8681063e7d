//! The API server dies and comes back.
