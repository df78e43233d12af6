//! The rules of a parcel.
//!
//! Pure functions and plain types: no I/O, no clock, no new ids, no JSON. `transitions` carries the decisions out.

mod parcel;

pub use parcel::{Conflict, Input, State, decide};
