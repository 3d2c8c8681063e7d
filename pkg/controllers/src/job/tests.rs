//! Tables, mirroring upstream's tests in `pkg/controller/job`.

mod by_index;
mod course;
mod enqueues;
mod parts;
mod upstream;
mod world;
