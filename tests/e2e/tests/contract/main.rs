#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]
//! The OpenAPI documents and the running services say the same: each documented response is given, and each example is one.
//! Each operation is also sent without a token, without its scope, and by another tenant.

mod common_problems;
mod half_request;
mod of_services;
mod other_tenant;
mod outages;
mod recorder;
mod stable;

use std::collections::BTreeSet;

use e2e::{Customer, Stack};
use harness::DocumentedResponse;

use recorder::Recorder;

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_response_is_given_and_every_example_is_one() {
    let mut stack = Stack::start().await;
    let customer = Customer::of(&stack);
    let mut recorder = Recorder::new(&customer);
    of_services::responses(&stack, &mut recorder).await;
    common_problems::responses(&stack, &mut recorder).await;
    other_tenant::finds_nothing(&mut stack, &recorder).await;
    outages::responses(&mut stack, &mut recorder).await;

    let missing = DocumentedResponse::all().into_iter().filter(|it| !recorder.has(it));
    let missing: BTreeSet<DocumentedResponse> =
        missing.filter(|it| !of_services::reaches_nobody(it)).collect();
    assert!(missing.is_empty(), "documented, but not given: {missing:#?}");
    recorder.compare_with_the_examples();
}
