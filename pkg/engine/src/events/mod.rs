//! Events of controllers, which are counted, combined and limited before they are sent.
//!
//! A [`Recorder`] queues events and never blocks. One task behind it runs the correlator, which
//! combines similar events, counts equal ones and drops spam, and sends the rest: POST the first
//! time, PATCH of the count from then on. There is one recorder, and so one correlator, per
//! controller, as upstream: client-go, `tools/record/{event,events_cache}.go`. Only core/v1 Events
//! without series.

mod correlator;
mod recorder;

#[cfg(test)]
mod tests;

pub use recorder::Recorder;
