//! What stands under all controllers, on the real API server, where it fails: outages, versions of
//! kinds that change, names that need care, standbys that live long, feature gates, connections
//! that mean ill or go dead. The manager runs as upstream's account, so each controller has no
//! more rights than the API server's bootstrap roles give it.

#[path = "machinery/connections.rs"]
mod connections;
#[path = "machinery/gates.rs"]
mod gates;
#[path = "machinery/names.rs"]
mod names;
#[path = "machinery/outage.rs"]
mod outage;
#[path = "machinery/standby.rs"]
mod standby;
#[path = "machinery/versions.rs"]
mod versions;
#[path = "machinery/wires.rs"]
mod wires;
