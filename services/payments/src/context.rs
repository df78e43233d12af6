//! The service's type, and the context that its endpoints, jobs and commands get: settings, database and clients.
//!
//! `lib.rs` implements [`runtime::Service`] for it. The rooms name this file, so no arrow of theirs runs up to `lib.rs`.

/// The service.
pub struct Payments;

/// The context of this service.
pub(crate) type Context = runtime::Context<Payments>;
