//! What stock is and what may happen to it. Pure: no clock, no database, no network.

pub mod item;
pub mod reservation;

pub use item::{Entry, NotReserved, Rejection, Stock};
pub use reservation::{Decision, Impossible, Input, Line, Reservation, State, decide};
