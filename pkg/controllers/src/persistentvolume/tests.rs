//! Tables, mirroring upstream's `pkg/controller/volume/persistentvolume/*_test.go`.

mod binding;
mod matching;
mod metrics;
mod notation;
mod provisioning;
mod reclaim;
mod safety;
mod status;
mod world;
