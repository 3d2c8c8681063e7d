//! Tables, mirroring upstream's k8s.io/endpointslice (`reconciler_test.go`, `utils_test.go`,
//! `topologycache`, `trafficdist`) and its `pkg/controller/endpointslice`.

mod changes;
mod distribution;
mod topology;
mod world;
