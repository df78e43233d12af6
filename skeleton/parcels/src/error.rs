//! The problem that only `parcels` has, and which error becomes it.

use edge::{CommandError, problem_types};

use crate::domain::Conflict;

problem_types! {
    /// The parcel was completed before.
    PARCEL_COMPLETED = "parcel-completed", 409, "The parcel is completed already", retryable: false;
}

impl From<Conflict> for CommandError {
    fn from(conflict: Conflict) -> Self {
        match conflict {
            Conflict::Completed => Self::rejected(&PARCEL_COMPLETED, "Read the parcel to see its note."),
        }
    }
}
