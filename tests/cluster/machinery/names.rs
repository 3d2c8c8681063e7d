//! Names that need escaping in paths.
