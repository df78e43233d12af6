//! The operators' commands as processes: what they print, and their exit codes.

use std::process::Output;

use contracts::OrderId;
use contracts::events::OrderConfirmed;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Uuid as SqlUuid};
use diesel_async::RunQueryDsl;
use envelope::{Envelope, Event, EventId, Timestamp};
use messaging::{Publisher, Record};
use serde_json::Value;
use testkit::{eventually, given};
use uuid::Uuid;

use crate::greeter::{Running, Surroundings, greeter, stderr};

/// `greeter inbox WORDS`, with only the settings that such a command needs.
pub(crate) async fn inbox(surroundings: &Surroundings, words: &[&str]) -> Output {
    let mut command = greeter("inbox");
    command
        .args(words)
        .env("IDEM_DATABASE__URL", surroundings.database.service_url(None))
        .env("IDEM_KAFKA__BROKERS", given("IDEM_KAFKA_BROKERS"))
        .env("IDEM_DEPLOYMENT__NAME", surroundings.deployment());
    command.output().await.unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub(crate) async fn confirm(
    surroundings: &Surroundings,
    order: OrderId,
    sequences: std::ops::RangeInclusive<i64>,
) {
    let brokers = given("IDEM_KAFKA_BROKERS").parse().unwrap();
    let (publisher, mut acks) = Publisher::connect(&brokers).unwrap();
    let event = testkit::confirmed(order);
    let topic = format!("{}.orders.events", surroundings.deployment());
    let (key, payload) = (order.to_string(), serde_json::to_vec(&event).unwrap());
    for sequence in sequences {
        let envelope = Envelope {
            id: EventId::generate(),
            kind: OrderConfirmed::TYPE.to_owned(),
            source: "orders".to_owned(),
            aggregate: order.uuid(),
            sequence,
            time: Timestamp::from_rfc3339("2026-11-20T12:00:00Z"),
            tenant: "acme".parse().unwrap(),
            traceparent: None,
        };
        let headers = envelope.to_headers();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        let record = Record { topic: &topic, key: key.as_bytes(), payload: &payload, headers: &headers };
        publisher.publish(record, 0).unwrap();
        acks.next().await.unwrap().result.unwrap();
    }
}

/// The greeted orders and their sequence numbers.
pub(crate) async fn greeted(surroundings: &Surroundings) -> Vec<(Uuid, i64)> {
    #[derive(QueryableByName)]
    struct Greeted {
        #[diesel(sql_type = SqlUuid)]
        order_id: Uuid,
        #[diesel(sql_type = BigInt)]
        number: i64,
    }
    let mut connection = surroundings.database.connection().await.unwrap();
    let rows: Vec<Greeted> = diesel::sql_query("SELECT order_id, number FROM greeted ORDER BY n")
        .load(&mut connection)
        .await
        .unwrap();
    rows.into_iter().map(|row| (row.order_id, row.number)).collect()
}

#[tokio::test]
async fn a_message_is_parked_by_a_bug_and_redriven_in_order_after_the_fix() {
    let surroundings = Surroundings::new().await;
    let mut serve = surroundings.serve();
    let running = Running::start(serve.env("IDEM_GREETER__SHY", "true").env("IDEM_INBOX__ATTEMPTS", "1"));
    running.ready().await;
    let order = OrderId::generate();
    confirm(&surroundings, order, 1..=3).await;
    let list = eventually("one parked and two held messages", async || {
        let output = inbox(&surroundings, &["parked", "--json"]).await;
        let list: Value = serde_json::from_str(&stdout(&output)).unwrap();
        (list["messages"].as_array().unwrap().len() == 3).then_some(list)
    })
    .await;
    let parked = &list["messages"][0];
    assert_eq!((&parked["error"], &parked["held_behind"]), (&"too shy to greet".into(), &2.into()));
    let id = parked["message_id"].as_str().unwrap();
    let shown = inbox(&surroundings, &["show", id]).await;
    assert!(stdout(&shown).contains("too shy to greet") && shown.status.success(), "{}", stderr(&shown));

    // Another process, which has the fix, redrives while the instance runs.
    let redrive = ["redrive", id, "--by", "kim", "--reason", "no longer shy"];
    let redriven = inbox(&surroundings, &redrive).await;
    assert_eq!(redriven.status.code(), Some(0), "{}{}", stdout(&redriven), stderr(&redriven));
    assert_eq!(stdout(&redriven).matches(OrderConfirmed::TYPE).count(), 3, "{}", stdout(&redriven));
    let again = inbox(&surroundings, &redrive).await;
    assert!(again.status.success() && stdout(&again).contains("nothing to redrive"), "{}", stdout(&again));
    assert_eq!(greeted(&surroundings).await, [1, 2, 3].map(|number| (order.uuid(), number)));

    let rewind = ["rewind", "--to-beginning", "--by", "kim", "--reason", "x"];
    let refused = inbox(&surroundings, &rewind).await;
    assert_eq!(refused.status.code(), Some(1), "{}", stdout(&refused));
    assert!(stdout(&refused).contains("stop every instance"), "{}", stdout(&refused));
    running.end().await;
    let rewound = inbox(&surroundings, &rewind).await;
    assert_eq!(rewound.status.code(), Some(0), "{}{}", stdout(&rewound), stderr(&rewound));
    surroundings.clear().await;
}

#[tokio::test]
async fn operator_commands_need_an_operator_a_reason_and_a_database_only() {
    let mut anonymous = greeter("inbox");
    let output = anonymous.args(["redrive", "--all"]).output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--by <NAME>") && stderr(&output).contains("--reason <TEXT>"));

    let mut unconfigured = greeter("inbox");
    let output = unconfigured.arg("parked").output().await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("greeter: 1 error in the configuration"), "{}", stderr(&output));

    let mut away = greeter("inbox");
    away.arg("parked").env("IDEM_DATABASE__URL", "postgres://a:b@127.0.0.1:1/c");
    let output = away.output().await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("greeter: PostgreSQL is unavailable"), "{}", stderr(&output));
}
