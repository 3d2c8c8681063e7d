//! Tests of applying. `sequences.jsonl` are random sequences of writes, with what apimachinery's
//! field manager (as of Kubernetes 1.36.3) made of them.

mod fields;
mod objects;
mod rules;
mod sequences;
