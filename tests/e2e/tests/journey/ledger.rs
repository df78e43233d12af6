//! What `payments` tells the world about its ledger, and that it is held to it.

use contracts::LedgerSealed;
use e2e::{Customer, Stack};
use messaging::admin;
use testkit::eventually;

/// Every head that was told, in the order of telling.
async fn told(stack: &Stack) -> Vec<LedgerSealed> {
    let messages = admin::read_all(&stack.topics().brokers(), &stack.topics().ledger()).await.unwrap();
    messages
        .iter()
        .map(|message| serde_json::from_slice(message.payload.as_deref().unwrap()).unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ledgers_heads_reach_their_topic_and_the_ledger_is_held_to_each_of_them() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    // Two heads at least: the second order is placed when all that the first one posted has been told.
    for _ in 0..2 {
        customer.sees(&customer.places(1, "pm_card_visa").await, "confirmed").await;
        stack.at_rest().await;
        eventually("all that was posted is told", async || {
            let posted = stack.count("payments", "SELECT count(*) FROM ledger_transaction").await;
            told(&stack).await.last().is_some_and(|head| head.position == posted).then_some(())
        })
        .await;
    }

    let mut heads = told(&stack).await;
    // Delivery is at least once.
    heads.dedup();
    assert!(heads.len() >= 2, "{heads:?}");
    let mut position = 0;
    for LedgerSealed { position: next, hash, transactions } in heads {
        assert_eq!(next, position + transactions, "a head is missing, or told twice");
        position = next;
        let (code, said) =
            stack.operate("payments", &["ledger", "verify", "--head", &format!("{next}:{hash}")]).await;
        assert_eq!(code, 0, "{said}");
        let another = hash.chars().map(|digit| if digit == '0' { '1' } else { '0' }).collect::<String>();
        let (code, said) =
            stack.operate("payments", &["ledger", "verify", "--head", &format!("{next}:{another}")]).await;
        assert_eq!(code, 1, "{said}");
    }
}
