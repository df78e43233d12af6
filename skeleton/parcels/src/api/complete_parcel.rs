//! `POST /v1/parcels/{id}/complete`: completes a parcel.

use actix_web::{HttpResponse, post};
use edge::problem_types::NOT_FOUND;
use edge::{
    Command, IdempotencyKey, Idempotent, KeyedProblems, Problem, ProblemType, Reply, Segment,
    ValidationErrors,
};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::PARCEL_COMPLETED;
use crate::events::ParcelId;
use crate::transitions;
use crate::views::ParcelView;

/// The completion of a parcel.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompleteParcel {
    /// A note in your words: 1 to 200 characters.
    #[schema(value_type = edge::Text)]
    note: String,
}

/// Complete a parcel.
///
/// A parcel is completed once. Another request for a completed parcel is rejected.
#[utoipa::path(
    operation_id = "completeParcel",
    tag = "parcels",
    params(("id" = ParcelId, Path, description = "The parcel"), IdempotencyKey),
    request_body = CompleteParcel,
    responses((status = 200, description = "The parcel is completed", body = ParcelView), KeyedProblems<CompleteParcel>),
    security(("bearer" = ["parcels:write"])),
)]
#[post("/v1/parcels/{id}/complete")]
pub(crate) async fn complete_parcel(
    command: Idempotent<CompleteParcel>,
    Segment(id): Segment<ParcelId>,
) -> Result<HttpResponse, Problem> {
    command
        .execute(async move |tx, request| {
            let row = transitions::complete(tx, request.tenant(), id, &request.note).await?;
            audit::record(tx, request.fact("parcel.complete", "parcel", id));
            Ok(Reply::ok(&ParcelView::from(&*row)))
        })
        .await
}

impl Command for CompleteParcel {
    const SCOPE: &'static str = "parcels:write";
    const PROBLEMS: &'static [&'static ProblemType] = &[&NOT_FOUND, &PARCEL_COMPLETED];

    fn validate(&self, errors: &mut ValidationErrors) {
        errors.require_text(&self.note, "/note", "note");
    }
}
