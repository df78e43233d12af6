//! The page names each part that cannot be read, and has the rest. The program writes nothing.

use diesel_async::SimpleAsyncConnection;
use e2e::{Customer, Part, Stack};

use super::{ends, last_line, run, sources, variable};

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_or_not_given_is_named_and_the_rest_is_printed() {
    let stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(2).await.id.to_string();
    stack.at_rest().await;
    let mut without_orders = sources(&stack);
    for (name, url) in &mut without_orders {
        if *name == variable(Part::ORDERS) {
            *url = "postgres://orders:canary@127.0.0.1:1/orders".to_owned();
        }
    }
    let output = run(&without_orders, &["explain", &order]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    let has = |text: &str| output.stdout.lines().any(|line| line.contains(text));
    assert!(has("not read: the database orders cannot be read: "), "{output:?}");
    assert!(has("of orders entered, sequence 1"), "{output:?}");
    assert!(ends(last_line(&output), "orders unread"), "{output:?}");
    assert!(!output.text().contains("canary"), "a password is printed: {output:?}");

    let other = Part::SERVICES.into_iter().find(|service| *service != Part::ORDERS).unwrap();
    let mut without_other = sources(&stack);
    without_other.retain(|(name, _)| *name != variable(other));
    let unread = format!("the database {} cannot be read: no URL is given", other.name());
    let output = run(&without_other, &["explain", &order]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains(&format!("not read: {unread}")), "{output:?}");
    let line = last_line(&output);
    assert!(ends(line, "confirmed") && line.contains(&format!("{} unread", other.name())), "{output:?}");
    let output = run(&without_other, &["audit"]).await;
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains(&format!("not asked: {unread}")), "{output:?}");
    assert!(output.stdout.contains("violations: 0; not asked: "), "{output:?}");
}

/// A read of the timeline then writes a row, as the owner may.
const A_READ_THAT_WRITES: &str = "
    CREATE TABLE planted (n integer);
    CREATE FUNCTION plant() RETURNS boolean LANGUAGE plpgsql AS 'BEGIN INSERT INTO planted VALUES (1); RETURN true; END';
    ALTER TABLE order_timeline RENAME TO kept_timeline;
    CREATE VIEW order_timeline AS SELECT * FROM kept_timeline WHERE plant();";

#[tokio::test(flavor = "multi_thread")]
async fn a_write_in_a_session_of_the_program_is_refused_by_the_server() {
    let mut stack = Stack::start().await;
    let customer = Customer::stocked(&stack, 10).await;
    let order = customer.buys(1).await.id.to_string();
    stack.at_rest().await;
    stack.stop_services().await;
    stack.database(Part::ORDERS).owner().await.batch_execute(A_READ_THAT_WRITES).await.unwrap();
    let mut sources = sources(&stack);
    for (name, url) in &mut sources {
        if *name == variable(Part::ORDERS) {
            *url = stack.database(Part::ORDERS).owner_url();
        }
    }
    for arguments in [&["explain", &order][..], &["audit"]] {
        let output = run(&sources, arguments).await;
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(output.stdout.contains("cannot execute INSERT in a read-only transaction"), "{output:?}");
    }
    assert_eq!(stack.count(Part::ORDERS, "SELECT count(*) FROM planted").await, 0);
}
