//! `operator audit` beside an unharmed installation, and beside harmed ones.

use audits::Database;
use e2e::{Customer, Part, Stack};

use super::{plant, run, sources};

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
    plant(&stack, Part::ORDERS, "DELETE FROM audit_fact WHERE action = 'order.place'").await;
    let output = run(&sources, &["audit"]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    let file = "services/orders/audits/an_order_was_placed_once.sql";
    let named = format!("\n{file} (orders): ");
    assert!(output.stdout.contains(&named), "{output:?}");
    assert!(output.stdout.contains(&format!("\n  ./dev psql orders <{file}\n")), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_command_line_ends_with_two() {
    let output = run(&[], &["audit", "--everything"]).await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{}", output.stderr);
}
