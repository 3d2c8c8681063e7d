//! Tables of rules: objects in, findings out.
