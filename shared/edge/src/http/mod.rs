//! The middleware of every HTTP request: spans, body limits, path segments and response headers.

mod body;
mod cors;
mod head_as_get;
mod path_segment;
mod request_span;
mod response_headers;
mod unread_body;

pub(crate) use body::read_json;
pub(crate) use path_segment::path_parameters;

pub use body::RawBody;
pub use cors::CorsOrigins;
pub use head_as_get::head_as_get;
pub use path_segment::Segment;
pub use request_span::{RequestSpan, request_span};
pub use response_headers::response_headers;
