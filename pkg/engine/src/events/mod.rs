//! Events: what controllers have to tell, counted, combined and limited before it is sent.
//!
//! A [`Recorder`] queues them without ever blocking. Behind it one task asks the correlator, which
//! combines similar events, counts equal ones and drops spam, and sends what is left: POST the
//! first time, PATCH of the count from then on. One recorder, so one correlator, per controller, as
//! upstream: client-go, `tools/record/{event,events_cache}.go`. Only core/v1 Events without series.

mod correlator;
mod recorder;

#[cfg(test)]
mod tests;

pub use recorder::Recorder;
