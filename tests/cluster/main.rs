//! What needs the real components, a module per subject: `tests/README.md` says how to use them.
//! One program, so that it is linked once.

mod bootstrap;
mod cleaners;
mod conformance;
mod contest;
mod cron;
mod cronjob;
mod csrapproving;
mod csrsigning;
mod devicetainteviction;
mod differential;
mod disruption;
mod endpoints;
mod garbagecollector;
mod harness;
mod job;
mod leader;
mod machinery;
mod namespace;
mod nodelifecycle;
mod pvcprotection;
mod replicaset;
mod replicationcontroller;
mod resourceclaim;
mod resourcequota;
mod sandbox;
mod schema;
mod serviceaccount;
mod serving;
mod statefulset;
mod swap;
mod tainteviction;
mod ttlafterfinished;
mod volumes;
mod workloads;
