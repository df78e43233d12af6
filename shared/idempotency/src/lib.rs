#![doc = include_str!("../README.md")]

#[cfg(all(feature = "mutant-no-fingerprint", not(debug_assertions)))]
compile_error!("a mutant must not leave the workshop: build without the features mutant-…");

mod answer;
mod canonical;
mod execute;
mod fingerprint;
mod group;
mod intent;
mod key;
mod lookup;
mod phased;
mod record;
mod retention;
mod sight;

pub use answer::{CommandError, Outcome, StoredResponse};
pub use canonical::{JsonError, JsonErrorKind, Limits, canonicalise};
pub use execute::{execute, execute_natural};
pub use fingerprint::{Fingerprint, FingerprintInput};
pub use group::{GroupCommit, GroupSettings};
pub use intent::{KeyScope, KeyedRequest, Operation};
pub use key::{Key, KeyError, KeyPolicy};
pub use lookup::{KeyRecord, records_of};
pub use phased::{Conclusion, OperationRecord, OperationState, WaitPolicy, conclude, operation, start};
pub use retention::Retention;
