use crate::stage::Stage;

#[test]
fn the_openapi_file_is_what_the_program_says() {
    testkit::assert_document_is_fresh(env!("CARGO_BIN_EXE_inventory"), "inventory");
}

#[actix_web::test]
async fn a_key_is_stored_under_the_route_of_its_command() {
    let stage = Stage::new().await;
    stage.client().stock("TEA", 5).await;
    let commands = ["POST /v1/items/{sku}/adjustments"];
    testkit::assert_keyed_commands(&stage.database, "inventory", &commands).await;
}
