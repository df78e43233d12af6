//! `PathSegment`: what a variable segment of a URL's path may be.

use std::str::FromStr;

use crate::OperationId;

/// An id or a name that may be a segment of a path, such as the id in `/v1/orders/{id}`.
pub trait PathSegment: FromStr {
    /// What it names, for the response if there is none.
    const RESOURCE: &'static str;
}

impl PathSegment for OperationId {
    const RESOURCE: &'static str = "operation";
}
