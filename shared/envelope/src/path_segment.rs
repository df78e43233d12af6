//! `PathSegment`: the types of the variable segments of a URL's path.

use std::fmt::Display;
use std::str::FromStr;

use crate::OperationId;

/// An id or a name that may be a segment of a path, such as the id in `/v1/orders/{id}`. `Display` writes the one spelling by
/// which two requests are compared.
pub trait PathSegment: FromStr + Display {
    /// The kind of resource that the segment names, such as `order`. The 404 of an unknown one shows it.
    const RESOURCE: &'static str;
}

impl PathSegment for OperationId {
    const RESOURCE: &'static str = "operation";
}
