//! The state machine of a parcel: [`decide`] names the outcome of every input in every state.

use strum::{EnumString, IntoStaticStr};

/// The state of a parcel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum State {
    /// A client has to complete it.
    Open,
    /// It is completed. An end.
    Completed,
}

/// A request of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Complete it.
    Complete,
}

/// Why an input does not fit the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// The parcel was completed before, by another request.
    Completed,
}

/// Decides which state the parcel takes.
///
/// Every pair is named: a new state or input does not compile until each of its pairs is.
pub fn decide(state: State, input: Input) -> Result<State, Conflict> {
    match (state, input) {
        (State::Open, Input::Complete) => Ok(State::Completed),
        (State::Completed, Input::Complete) => Err(Conflict::Completed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parcel_is_completed_once() {
        assert_eq!(decide(State::Open, Input::Complete), Ok(State::Completed));
        assert_eq!(decide(State::Completed, Input::Complete), Err(Conflict::Completed));
    }
}
