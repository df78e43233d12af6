//! The response 202.

use utoipa::IntoResponses;

use crate::AcceptedOperation;

/// The response 202 of a command without an outcome. The document needs [`AcceptedOperation`] among its schemas.
#[derive(IntoResponses)]
#[response(
    status = 202,
    description = "Accepted; the operation shows the outcome. The command is carried out once, also if the request is repeated",
    headers(
        ("Location" = String, description = "The operation, which will show the outcome"),
        ("Retry-After" = i32, description = "Seconds after which to read the operation"),
    )
)]
pub struct Accepted(pub AcceptedOperation);
