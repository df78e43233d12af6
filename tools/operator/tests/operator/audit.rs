//! `operator audit` beside an unharmed installation, and beside harmed ones.

use audits::Database;
use diesel_async::SimpleAsyncConnection;
use e2e::{Customer, Part, Stack};

use super::{run, sources, violations};

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
    let released = "UPDATE reservation SET state = 'released'";
    stack.database(Part::INVENTORY).owner().await.batch_execute(released).await.unwrap();
    let violations = violations(&stack, "orders and stock agree").await;
    assert!(violations.len() == 1 && violations[0].contains(&order.to_string()), "{violations:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_command_line_ends_with_two() {
    let output = run(&[], &["audit", "--everything"]).await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{}", output.stderr);
}
