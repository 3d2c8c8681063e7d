//! Tables, mirroring upstream's `node_lifecycle_controller_test.go` and
//! `scheduler/rate_limited_queue_test.go`.

mod life;
mod taints;
mod world;
mod zones;
