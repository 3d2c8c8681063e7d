//! Types of expressions in CEL, as the API server and its manager check them: a parser, a checker
//! of types, and the types of kinds from their OpenAPI schemas. Nothing here evaluates an
//! expression.
//!
//! What is said of an expression has upstream's words and places. Those are of cel-go v0.26, with
//! the environment of k8s.io/apiserver v0.36 for expressions that are stored.
//!
//! **Invariant:** no input panics, and none takes more stack or time than the limits here. What is
//! beyond them is [`Failure::Unknown`], never a verdict.

mod admission;
mod ast;
mod checker;
mod declarations;
mod excerpt;
mod lexer;
mod literals;
mod parser;
mod report;
mod schema;
mod types;
mod unify;

#[cfg(test)]
mod tests;

pub use admission::{Policy, Variables};
pub use checker::{Environment, Failure, check};
pub use declarations::Declarations;
pub use excerpt::excerpt;
pub use schema::{Document, Missing};
pub use types::{Fields, Type};
