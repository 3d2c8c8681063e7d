//! A standby beside a leader that is busy.
