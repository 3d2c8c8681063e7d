//! Whether a token is deleted. As `evalSecret` in upstream's
//! `pkg/controller/bootstrap/tokencleaner.go`.

use api::{BootstrapToken, Expiration, Kind};
use controller::{ObjectRef, Plan, Step, Why, Write};
use mutant::Mutant;

use super::snapshot::Snapshot;

pub(super) fn decide(s: &Snapshot) -> Plan {
    let token = &*s.token;
    if token.unreadable {
        return Plan::rest("the token cannot be read");
    }
    if token.meta.is_terminating() {
        return Plan::rest("the token is being deleted");
    }
    match token.expiration {
        Expiration::Never => Plan::rest("the token never expires"),
        Expiration::At(at) if at > s.now && !mutant::is(Mutant::TokenGoesEarly) => {
            Plan::rest(format!("expires at {at}")).again_after(Some(at.since(s.now)))
        }
        Expiration::At(at) => delete(token, format!("expired at {at}")),
        Expiration::Unparsable => {
            delete(token, "its expiration is no time, which counts as expired")
        }
    }
}

fn delete(token: &BootstrapToken, why: impl Into<Why>) -> Plan {
    let object = ObjectRef::new(&BootstrapToken::RESOURCE, &token.meta);
    Plan::one(why, Step::InOrder(vec![Write::delete(object).into()]))
}
