//! What stands under all controllers, on the real API server, where it fails: outages, versions of
//! kinds that change, names that need care, standbys that live long, feature gates, connections
//! that mean ill or go dead. The manager runs as upstream's account, so each controller has no
//! more rights than the API server's bootstrap roles give it.

mod connections;
mod gates;
mod names;
mod outage;
mod standby;
mod versions;
mod wires;
