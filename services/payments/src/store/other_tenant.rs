//! Runs each query that takes a tenant as the tenant that owns the rows and as another one.

use chrono::DateTime;
use contracts::{Currency, Money, OrderId, PaymentId, RefundId};
use envelope::TenantId;
use runtime::Service as _;
use testkit::TestDatabase;
use uuid::Uuid;

use super::ledger::NewPosting;
use super::payments::NewPayment;
use super::refunds::NewRefund;
use super::{balances, erasure, ledger, payments, refunds};
use crate::Payments;
use crate::domain::ledger::{Posting, Purpose};

const REFERENCE: &str = "basket 1";

#[tokio::test]
async fn no_query_finds_what_another_tenant_stored() {
    let database = TestDatabase::with(vec![Payments::migrations()]).await;
    let [owner, other]: [TenantId; 2] = ["acme", "globex"].map(|name| name.parse().unwrap());
    let order = OrderId::from(Uuid::now_v7());
    let (payment, refund) = (PaymentId::of(order), RefundId::from(Uuid::now_v7()));
    store(&database, &owner, order, (payment, refund)).await;

    for (tenant, finds) in [(&other, false), (&owner, true)] {
        let mut connection = database.connection().await.unwrap();
        let mut tx = database.begin().await.unwrap();
        let lists = async |order, reference| {
            let mut connection = database.connection().await.unwrap();
            let filter = (order, reference);
            !payments::list(&mut connection, tenant, filter, Uuid::max(), 9).await.unwrap().is_empty()
        };
        let found = [
            ("payments::find", payments::find(&mut connection, tenant, payment).await.unwrap().is_some()),
            (
                "payments::lock_of_tenant",
                payments::lock_of_tenant(&mut tx, tenant, payment).await.unwrap().is_some(),
            ),
            ("payments::list", lists(None, None).await),
            ("payments::list by order", lists(Some(order), None).await),
            ("payments::list by reference", lists(None, Some(REFERENCE)).await),
            ("refunds::find", refunds::find(&mut connection, tenant, refund).await.unwrap().is_some()),
            (
                "refunds::list",
                !refunds::list(&mut connection, tenant, Uuid::max(), 9).await.unwrap().is_empty(),
            ),
            ("balances::balances", !balances::balances(&mut connection, tenant).await.unwrap().is_empty()),
            (
                "erasure::erase_texts",
                !erasure::erase_texts(&mut tx, tenant, None, Uuid::nil(), 9).await.unwrap().0.is_empty(),
            ),
        ];
        tx.commit().await.unwrap();
        let wrong: Vec<_> = found.into_iter().filter(|(_, found)| *found != finds).collect();
        assert!(wrong.is_empty(), "as {tenant}: {wrong:?}");
    }
}

/// Stores a payment with a posting and a refund.
async fn store(
    database: &TestDatabase,
    tenant: &TenantId,
    order: OrderId,
    (payment, refund): (PaymentId, RefundId),
) {
    let amount = Money::new(450, Currency::Eur);
    let mut tx = database.begin().await.unwrap();
    let new = NewPayment {
        id: payment,
        tenant,
        order: Some(order),
        operation: None,
        reference: Some(REFERENCE),
        amount,
        payment_method: "pm_card_visa",
        expires_at: DateTime::UNIX_EPOCH,
    };
    assert!(payments::add(&mut tx, &new).await.unwrap());
    tx.flush().await.unwrap(); // the refund refers to it
    let new = NewRefund {
        id: refund,
        tenant,
        payment,
        cause: "order_cancelled",
        operation: None,
        reason: None,
        amount: 450,
        follows: None,
    };
    refunds::insert(&mut tx, &new).await.unwrap();
    let posting = Posting::capture(amount, Purpose::OpenOrder);
    let (tenant, cause) = (tenant.clone(), payment.to_string());
    ledger::add(&mut tx, NewPosting { tenant, posting, cause, payment, refund: None });
    tx.commit().await.unwrap();
}
