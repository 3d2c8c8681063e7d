//! Tables; each row names the upstream test or rule that it stands for.
//!
//! Not translated: TestDependentsRace, since a mutex holds the whole graph; what of
//! TestGarbageCollectorConstruction, TestGetDeletableResources and TestGarbageCollectorSync is not
//! about the graph but about informers that come and go, which are the engine's.

mod conflicts;
mod dot;
mod drops;
mod events;
mod items;
mod orphans;
mod random;
mod world;
