#[test]
fn the_openapi_file_is_what_the_program_says() {
    testkit::assert_document_is_fresh(env!("CARGO_BIN_EXE_inventory"), "inventory");
}
