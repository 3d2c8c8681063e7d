//! Feature gates take effect.
