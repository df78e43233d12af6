//! Replays and key scopes: one key has one response.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use idempotency::{CommandError, KeyScope, Operation, Outcome, Retention, StoredResponse};

use database::{Tx, UnitOfWork};

use crate::shop::{
    self, KEY, assert_untouched, caller, effects, records, request, request_in, response, send,
};

/// A response with repeated header names, an order of headers, and all byte values.
fn intricate() -> StoredResponse {
    let headers =
        [("link", "</b>; rel=next"), ("content-type", "application/octet-stream"), ("link", "</a>")];
    StoredResponse {
        status: 207,
        headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        body: (0..=u8::MAX).cycle().take(300_000).collect(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_gets_the_stored_response() {
    let database = shop::open().await;
    let command = async |tx: &mut Tx, operation: &Operation| {
        shop::order(tx, operation).await?;
        Ok(intricate())
    };
    let first =
        idempotency::execute(&database, Retention::default(), request(KEY, "a"), command).await.unwrap();
    assert_eq!(first, Outcome::Executed(intricate()));

    let elsewhere = database.second_instance();
    for instance in [&*database, &elsewhere, &database] {
        let again =
            idempotency::execute(instance, Retention::default(), request(KEY, "a"), command).await.unwrap();
        let Outcome::Replayed { response: stored, .. } = again else { panic!("{again:?}") };
        assert_eq!(stored, intricate());
    }
    assert_eq!((effects(&database).await, records(&database).await), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_response_stays_empty() {
    let database = shop::open().await;
    let empty = StoredResponse { status: 204, headers: Vec::new(), body: Vec::new() };
    let outcome = empty.clone();
    let command = async move |_: &mut Tx, _: &Operation| Ok(outcome);
    let first =
        idempotency::execute(&database, Retention::default(), request(KEY, "a"), command.clone()).await;
    assert_eq!(first.unwrap(), Outcome::Executed(empty.clone()));
    let again = idempotency::execute(&database, Retention::default(), request(KEY, "a"), command).await;
    assert!(matches!(again.unwrap(), Outcome::Replayed { response: stored, .. } if stored == empty));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_request_with_the_same_key_is_refused() {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    assert_eq!(send(&database, request(KEY, "b")).await.unwrap(), Outcome::Reused);
    // The first record is unchanged.
    assert!(matches!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Replayed { .. }));
    assert_eq!(effects(&database).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_key_with_the_same_request_is_another_command() {
    let database = shop::open().await;
    send(&database, request(KEY, "a")).await.unwrap();
    let other = send(&database, request("00000000-0000-4000-8000-000000000000", "a")).await.unwrap();
    assert!(matches!(other, Outcome::Executed(_)));
    assert_eq!(effects(&database).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_of_another_client_is_another_command() {
    let database = shop::open().await;
    let scope = |tenant: &str, client: &str, method: &str, route: &str| KeyScope {
        caller: caller(tenant, client),
        method: method.to_owned(),
        route: route.to_owned(),
    };
    let scopes = [
        scope("acme", "web-shop", "POST", "/v1/orders"),
        scope("globex", "web-shop", "POST", "/v1/orders"),
        scope("acme", "call-centre", "POST", "/v1/orders"),
        scope("acme", "web-shop", "PATCH", "/v1/orders"),
        scope("acme", "web-shop", "POST", "/v1/orders/{id}/cancel"),
        // The same letters, divided differently between tenant and client.
        scope("acm", "eweb-shop", "POST", "/v1/orders"),
    ];
    let mut firsts = Vec::new();
    for scope in &scopes {
        let outcome = send(&database, request_in(scope.clone(), KEY, "a")).await.unwrap();
        let Outcome::Executed(stored) = outcome else { panic!("{scope:?}: {outcome:?}") };
        firsts.push(stored);
    }
    for (scope, first) in scopes.into_iter().zip(firsts) {
        let outcome = send(&database, request_in(scope.clone(), KEY, "a")).await.unwrap();
        assert!(
            matches!(outcome, Outcome::Replayed { response: stored, .. } if stored == first),
            "{scope:?}"
        );
    }
    assert_eq!(effects(&database).await, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_is_undone_stored_and_replayed() {
    let database = shop::open().await;
    let reject = async |tx: &mut Tx, operation: &Operation| {
        shop::order(tx, operation).await?;
        tx.buffer(shop::Later(operation.clone()));
        Err(CommandError::Rejected(response(422, "out of stock")))
    };
    let first =
        idempotency::execute(&database, Retention::default(), request(KEY, "a"), reject).await.unwrap();
    assert_eq!(first, Outcome::Executed(response(422, "out of stock")));
    assert_eq!((effects(&database).await, records(&database).await), (0, 1));

    // The cause of the rejection is gone, but the stored response stays. A new attempt needs a new key.
    let again = send(&database, request(KEY, "a")).await.unwrap();
    assert!(
        matches!(again, Outcome::Replayed { response: stored, .. } if stored == response(422, "out of stock"))
    );
    assert_eq!(effects(&database).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_constraint_may_become_a_rejection() {
    let database = shop::open().await;
    let once_only = async |tx: &mut Tx, operation: &Operation| {
        shop::leave(tx, operation, "the only one").await.map_err(|error| {
            let error = database::Error::from(error);
            if error.is_constraint("effect_note_key") {
                CommandError::Rejected(response(409, "taken"))
            } else {
                error.into()
            }
        })?;
        Ok(response(201, "yours"))
    };
    let other = "00000000-0000-4000-8000-000000000000";
    idempotency::execute(&database, Retention::default(), request(KEY, "a"), once_only).await.unwrap();
    let refused = idempotency::execute(&database, Retention::default(), request(other, "a"), once_only).await;
    assert_eq!(refused.unwrap(), Outcome::Executed(response(409, "taken")));
    let again = idempotency::execute(&database, Retention::default(), request(other, "a"), once_only).await;
    assert!(
        matches!(again.unwrap(), Outcome::Replayed { response: stored, .. } if stored == response(409, "taken"))
    );
    assert_eq!((effects(&database).await, records(&database).await), (1, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_undone_and_not_stored() {
    let database = shop::open().await;
    let refuse = async |tx: &mut Tx, operation: &Operation| {
        shop::order(tx, operation).await?;
        tx.buffer(shop::Later(operation.clone()));
        Err(CommandError::Refused(response(422, "not yet")))
    };
    let refused =
        idempotency::execute(&database, Retention::default(), request(KEY, "a"), refuse).await.unwrap();
    assert_eq!(refused, Outcome::Refused(response(422, "not yet")));
    assert_untouched(&database).await;
    assert!(matches!(send(&database, request(KEY, "a")).await.unwrap(), Outcome::Executed(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn record_and_effects_name_the_same_operation() {
    let database = shop::open().await;
    let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let command = async move |tx: &mut Tx, operation: &Operation| {
        assert_eq!(tx.traceparent().as_deref(), Some(traceparent));
        assert_eq!(operation.caller, caller("acme", "web-shop"));
        tx.buffer(shop::Later(operation.clone()));
        shop::order(tx, operation).await
    };
    let mut request = request(KEY, "a");
    request.traceparent = Some(traceparent.to_owned());
    idempotency::execute(&database, Retention::default(), request, command).await.unwrap();

    let mut connection = database.connection().await.unwrap();
    let operations: Vec<uuid::Uuid> =
        shop::effect::table.select(shop::effect::operation_id).load(&mut connection).await.unwrap();
    let recorded: uuid::Uuid = shop::idempotency_record::table
        .select(shop::idempotency_record::operation_id)
        .filter(shop::idempotency_record::key.eq(KEY))
        .filter(shop::idempotency_record::state.eq("completed"))
        .first(&mut connection)
        .await
        .unwrap();
    assert_eq!(operations, [recorded, recorded]);
}
