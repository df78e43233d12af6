#![doc = include_str!("../README.md")]

mod canonical;
mod erasure;
mod execute;
mod fence;
mod fingerprint;
mod group;
mod key;
mod key_lookup;
mod key_records;
mod keyed_request;
mod metrics;
mod outcome;
mod phased;
mod record;
mod release;
mod replay_cache;
mod stored_response;

pub use canonical::{JsonError, JsonErrorKind, canonicalise};
pub use erasure::{ResponsesOf, drop_tombstones, erase_expired_keys, erase_operations, expire_responses};
pub use execute::{execute, execute_natural};
pub use fence::fence_key;
pub use fingerprint::{Fingerprint, FingerprintInput};
pub use group::GroupExecutor;
pub use key::{Key, KeyError, KeyPolicy};
pub use key_records::{KeyRecord, KeyRecords, records_of};
pub use keyed_request::{KeyScope, KeyedRequest, Operation};
pub use metrics::{IdempotencyMetrics, KeyRefusal, OperationStep, RequestEnd};
pub use outcome::{CommandError, Outcome};
pub use phased::{Conclusion, OperationRecord, OperationState, WaitPolicy, conclude, operation, start};
pub use record::RecordState;
pub use release::{HeldKey, KeyRelease, release_key};
pub use replay_cache::ReplayCache;
pub use stored_response::{Retention, StoredResponse};
