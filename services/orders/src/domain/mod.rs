//! What an order is and may become. Pure: no clock, no database, no network.

mod order;
mod place;

pub use order::{Conflict, Decision, Input, Order, State, Tell, decide};
pub use place::{Place, Placed, PlacedLine, Price, Rejection, place};
