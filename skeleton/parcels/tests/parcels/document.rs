//! The OpenAPI document, and the routes that keys are stored under.

use uuid::Uuid;

use crate::stage::{Stage, TENANT};

#[test]
fn the_openapi_file_is_what_the_program_says() {
    testkit::assert_document_is_fresh(env!("CARGO_BIN_EXE_parcels"), "parcels");
}

#[tokio::test]
async fn a_key_is_stored_under_the_route_of_its_command() {
    let stage = Stage::new().await;
    let order = stage.confirmed(1).await;
    assert_eq!(stage.complete(TENANT, Uuid::new_v4(), order, "a note").await.status, 200);
    let commands = ["POST /v1/parcels/{id}/complete"];
    testkit::assert_keyed_commands(&stage.database, "parcels", &commands).await;
}
