//! Kinds that nothing in this project reads.

use serde_json::Value;

use crate::value::{get, keep};
use crate::{Environment, Strategy, generation};

/// A kind whose objects are stored as they are sent. What all kinds have in common holds: the
/// generation counts changes of `spec`, an update keeps the status, an update of the status keeps
/// the spec. Nothing is defaulted or validated.
pub struct Plain;

impl Strategy for Plain {
    fn prepare_create(&self, object: &mut Value, _env: &Environment<'_>) {
        if get(object, "spec").is_some() {
            generation::start(object);
        }
    }

    fn prepare_update(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "status");
        if get(old, "spec").is_some() {
            generation::count(new, old, &["/spec"]);
        }
    }

    fn prepare_status(&self, new: &mut Value, old: &Value, _env: &Environment<'_>) {
        keep(new, old, "spec");
    }
}
