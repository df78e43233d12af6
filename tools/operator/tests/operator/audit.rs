//! `operator audit` beside an unharmed installation, and beside harmed ones.

use audits::Database;
use diesel_async::SimpleAsyncConnection;
use e2e::payments::SECRET_KEY;
use e2e::{Customer, Part, Stack};
use serde_json::Value;
use testkit::http;
use uuid::Uuid;

use super::{run, sources};

#[tokio::test(flavor = "multi_thread")]
async fn an_unharmed_installation_breaks_no_promise_and_each_planted_violation_is_named() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    customer.buys(2).await;
    stack.at_rest().await;
    let sources = sources(&stack);
    let output = run(&sources, &["audit", "--topics", customer.tenant()]).await;
    assert!(output.is_success(), "{output:?}");
    assert!(output.stdout.ends_with("times; violations: 0; not asked: 0\n"), "{output:?}");
    for question in audits::all() {
        let row = output.stdout.lines().find(|line| line.starts_with(question.file));
        let row = row.unwrap_or_else(|| panic!("{} was not asked:\n{}", question.file, output.stdout));
        let asked = Database::all()
            .filter(|database| question.is_asked_of(*database))
            .all(|database| row.contains(database.name()));
        assert!(asked && row.ends_with("  0"), "{row}");
    }

    // A row of one database, seen by a question to this database.
    let stock = "UPDATE item SET on_hand = on_hand + 1";
    stack.database(Part::INVENTORY).owner().await.batch_execute(stock).await.unwrap();
    let output = run(&sources, &["audit"]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    let named = "\nservices/inventory/audits/stock_is_conserved.sql (inventory): ";
    assert!(output.stdout.contains(named), "{output:?}");
    assert!(
        output
            .stdout
            .contains("\n  ./dev psql inventory <services/inventory/audits/stock_is_conserved.sql\n"),
        "{output:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_violation_that_only_several_databases_together_show_is_named() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(2).await.id;
    stack.at_rest().await;
    // The provider's own books stay consistent: charge, PaymentIntent and balance lose one cent together.
    let provider = "UPDATE charge SET amount = amount - 1, amount_captured = amount_captured - 1;
                    UPDATE payment_intent SET amount_received = amount_received - 1;
                    UPDATE balance_transaction SET amount = amount - 1, net = net - 1;";
    stack.database(Part::PROVIDER).owner().await.batch_execute(provider).await.unwrap();
    let released = "UPDATE reservation SET state = 'released'";
    stack.database(Part::INVENTORY).owner().await.batch_execute(released).await.unwrap();
    let output = run(&sources(&stack), &["audit", "--json"]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    let violations = |question: &str| {
        let rows = report["asked"].as_array().unwrap();
        let row = rows.iter().find(|row| row["question"] == question).unwrap();
        row["violations"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    for question in ["orders and stock agree", "orders and money agree"] {
        let found = violations(question);
        assert!(found.len() == 1 && found[0].contains(&order.to_string()), "{question}: {report:#}");
    }
    assert_eq!(violations("our ledger and the processor's balance agree").len(), 1, "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_charge_of_another_program_is_no_difference_and_one_of_this_deployment_is() {
    let stack = Stack::start().await;
    Customer::stocked(&stack, 10).await.buys(1).await;
    stack.at_rest().await;
    take_there(&stack, "").await;
    let output = run(&sources(&stack), &["audit"]).await;
    assert!(output.is_success(), "{output:?}");

    let (reference, kafka) = (Uuid::now_v7().to_string(), stack.kafka());
    let ours = kafka.topics.deployment();
    take_there(&stack, &format!("&metadata[reference]={reference}&metadata[deployment]={ours}")).await;
    let output = run(&sources(&stack), &["audit"]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    let named = format!("payment {reference}: our ledger says 0 EUR receivable");
    assert!(output.stdout.contains(&named), "{output:?}");
}

/// Charges a card at the processor without our services.
async fn take_there(stack: &Stack, metadata: &str) {
    let form = format!(
        "amount=500&currency=eur&payment_method=pm_card_visa&payment_method_types[]=card&confirm=true{metadata}"
    );
    let post = http::client().post(format!("http://{}/v1/payment_intents", stack.address("provider")));
    let post = post.header("Content-Type", "application/x-www-form-urlencoded").body(form);
    let post = post.bearer_auth(SECRET_KEY).header("Idempotency-Key", Uuid::new_v4().to_string());
    let intent: Value = post.send().await.unwrap().json().await.unwrap();
    assert_eq!(intent["status"], "succeeded", "{intent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_command_line_ends_with_two() {
    let output = run(&[], &["audit", "--everything"]).await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{}", output.stderr);
}
