#![doc = include_str!("../README.md")]

mod answer;
mod canonical;
mod execute;
mod fingerprint;
mod intent;
mod key;
mod record;
mod retention;

pub use answer::{Answer, Failure, Receipt};
pub use canonical::{JsonFault, JsonFaultKind, Limits, canonicalise};
pub use execute::{execute, execute_natural};
pub use fingerprint::{Fingerprint, FingerprintInput};
pub use intent::{Intent, Operation, Scope};
pub use key::{Key, KeyError, KeyPolicy};
pub use retention::Retention;
