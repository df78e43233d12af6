//! The rules of stock: the arithmetic of one item, and the state machine of a reservation.
//!
//! Pure functions and plain types: no I/O, no clock, no new ids, no JSON. `transitions` carries the decisions out.

mod item;
mod reservation;

pub use item::{ItemDetails, Rejection, Stock};
pub use reservation::{
    Decision, Inconsistency, Input, Reservation, ReservationLine, State, Stocks, decide, release, reserve,
    ship,
};
