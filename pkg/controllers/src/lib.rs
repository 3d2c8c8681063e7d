//! The controllers: one folder each, named as upstream's in `pkg/controller`, none of which knows
//! another.
//!
//! A folder holds `mod.rs` (what the controller reads, writes and promises, its options and its
//! watch table), `snapshot.rs` (what it reads), `decide.rs` (what it wants), `report.rs` (the
//! status it writes) and `tests.rs`.
#![deny(clippy::wildcard_enum_match_arm)]

pub mod attachdetach;
pub mod bootstrapsigner;
pub mod cloudnodelifecycle;
pub mod clusterroleaggregation;
pub mod clustertrustbundlepublisher;
pub mod cronjob;
pub mod csrapproving;
pub mod csrcleaner;
pub mod csrsigning;
pub mod daemonset;
pub mod deployment;
pub mod devicetainteviction;
pub mod disruption;
pub mod endpoint;
pub mod endpointslice;
pub mod endpointslicemirroring;
pub mod ephemeralvolume;
pub mod garbagecollector;
pub mod job;
pub mod legacytokencleaner;
pub mod namespace;
pub mod nodeipam;
pub mod nodelifecycle;
pub mod persistentvolume;
pub mod podautoscaler;
pub mod podcertificaterequestcleaner;
pub mod podgc;
pub mod podgroupprotection;
pub mod pvcprotection;
pub mod pvprotection;
pub mod replicaset;
pub mod resourceclaim;
pub mod resourcepoolstatusrequest;
pub mod resourcequota;
pub mod rootcacertpublisher;
pub mod route;
pub mod selinuxwarning;
pub mod service;
pub mod serviceaccount;
pub mod serviceaccounttoken;
pub mod servicecidrs;
pub mod statefulset;
pub mod storageversiongc;
pub mod storageversionmigrator;
pub mod tainteviction;
pub mod tokencleaner;
pub mod ttl;
pub mod ttlafterfinished;
pub mod vacprotection;
pub mod validatingadmissionpolicystatus;
pub mod volumeexpand;
