//! A database that belongs to another deployment: the service reads, and does nothing else until a person adopts it.

use diesel_async::SimpleAsyncConnection;
use messaging::{Brokers, admin};
use testkit::{eventually, given};
use tokio::process::Command;

use crate::doctor::{doctor, faults, subjects};
use crate::greeter::{Running, Surroundings, ask, greeter, stderr};
use crate::lifecycle::lease;
use crate::operators::{greeted, inbox};
use crate::pools::CONFIRMED;

const NOT_ADOPTED: &str =
    r#"{"status":"ready","database":"ok","broker":"away","keys":"ok","deployment":"not adopted"}"#;

/// `greeter WORDS` with the settings of the deployment.
fn command(surroundings: &Surroundings, words: &[&str]) -> Command {
    let mut command = greeter(words[0]);
    command
        .args(&words[1..])
        .env("IDEM_DATABASE__URL", surroundings.database.service_url(None))
        .env("IDEM_KAFKA__BROKERS", given("IDEM_KAFKA_BROKERS"))
        .env("IDEM_DEPLOYMENT__NAME", surroundings.deployment());
    command
}

async fn own_topics(surroundings: &Surroundings) -> usize {
    let brokers: Brokers = given("IDEM_KAFKA_BROKERS").parse().unwrap();
    let topics = admin::topics::names(&brokers).await.unwrap();
    topics.iter().filter(|topic| topic.starts_with(surroundings.deployment())).count()
}

#[tokio::test]
async fn a_database_of_another_deployment_is_only_read_until_a_person_adopts_it() {
    let surroundings = Surroundings::new().await;
    let ours = surroundings.deployment();
    let mut owner = surroundings.database.owner().await;
    owner.batch_execute("INSERT INTO deployment (name) VALUES ('production')").await.unwrap();
    owner.batch_execute(CONFIRMED).await.unwrap();
    let running = Running::start(&mut surroundings.serve());
    running.readiness(200, NOT_ADOPTED).await;
    let line = running.logged("waiting for the adoption").await;
    for part in
        ["deployment production", &format!("settings name {ours}"), "greeter adopt --by NAME --reason TEXT"]
    {
        assert_eq!(
            (line["level"].as_str(), line["message"].as_str().unwrap().contains(part)),
            (Some("WARN"), true),
            "{line}"
        );
    }
    let mut relay = command(&surroundings, &["relay"]);
    let mut relay = Running::start(relay.env("IDEM_LOG__FORMAT", "json"));
    relay.logged("waiting for the adoption").await;

    assert_eq!(running.get("/v1/greeting").await.unwrap().0, 200);
    let address = running.address("address").await;
    for spelling in ["/v1/greeting", "/%761/greeting"] {
        let (status, problem) = ask(address, "POST", spelling).await.unwrap();
        assert!(status == 503 && problem.contains("An operator can adopt it"), "{status} {problem}");
    }
    let (_, metrics) = ask(running.address("admin").await, "GET", "/metrics").await.unwrap();
    assert!(metrics.contains("idem_dependency_up{dependency=\"deployment\"} 0"), "{metrics}");
    assert!(faults(&mut doctor(&surroundings)).await.is_superset(&subjects(["deployment"])));
    for changing in [
        &["rewind", "--to-beginning", "--by", "kim", "--reason", "x"][..],
        &["redrive", "--all", "--by", "kim", "--reason", "x"],
    ] {
        let refused = inbox(&surroundings, changing).await;
        let text = stderr(&refused);
        assert!(refused.status.code() == Some(1) && text.contains("greeter adopt --by NAME"), "{text}");
    }
    let parked = inbox(&surroundings, &["parked"]).await;
    assert_eq!(parked.status.code(), Some(0), "{}", stderr(&parked));
    let status = command(&surroundings, &["outbox", "status"]).output().await.unwrap();
    assert_eq!(status.status.code(), Some(0), "{}", stderr(&status));
    assert!(!lease(&surroundings).await.taken, "a relay has begun to publish");
    assert_eq!(own_topics(&surroundings).await, 0);

    let adopt = ["adopt", "--by", "kim", "--reason", "the restore drill"];
    for message in ["the database of production is the database of", "already: nothing was changed"] {
        let adopted = command(&surroundings, &adopt).output().await.unwrap();
        let text = String::from_utf8(adopted.stdout.clone()).unwrap();
        assert!(adopted.status.success() && text.contains(message), "{text}{}", stderr(&adopted));
    }
    running.ready().await;
    relay.logged("ready").await;
    eventually("the event is published and consumed", async || {
        (greeted(&surroundings).await.len() == 1).then_some(())
    })
    .await;
    for spelling in ["/v1/greeting", "/%761/greeting"] {
        assert_eq!(ask(address, "POST", spelling).await.unwrap().0, 405);
    }
    eventually("no fault", async || faults(&mut doctor(&surroundings)).await.is_empty().then_some(())).await;
    let facts = "SELECT count(*) FROM audit_fact WHERE action = 'deployment.adopt' AND actor = '@operator:kim' \
                    AND details @> '{\"from\": \"production\", \"reason\": \"the restore drill\"}'";
    assert_eq!(surroundings.database.count(facts).await, 1);
    relay.terminate();
    assert_eq!(relay.exit_code().await, Some(0));
    running.end().await;
    surroundings.clear().await;
}

#[tokio::test]
async fn a_restored_dump_of_this_deployment_is_a_copy_until_a_person_adopts_it() {
    let surroundings = Surroundings::new().await;
    let dry_run = ["adopt", "--by", "kim", "--reason", "to see", "--dry-run"];
    let tried = command(&surroundings, &dry_run).output().await.unwrap();
    assert!(tried.status.success(), "{}", stderr(&tried));
    assert_eq!(surroundings.database.count("SELECT count(*) FROM deployment").await, 0);
    let copied =
        format!("INSERT INTO deployment (name, server) VALUES ('{}', '1/2')", surroundings.deployment());
    surroundings.database.owner().await.batch_execute(&copied).await.unwrap();
    let running = Running::start(&mut surroundings.serve());
    running.readiness(200, NOT_ADOPTED).await;
    running.logged("the database is a copy of a database of").await;
    assert!(!lease(&surroundings).await.taken);
    let adopt = ["adopt", "--by", "kim", "--reason", "the living one is gone", "--json"];
    let adopted = command(&surroundings, &adopt).output().await.unwrap();
    assert!(adopted.status.success(), "{}", stderr(&adopted));
    running.ready().await;
    running.end().await;
    surroundings.clear().await;
}

/// Another installation with the same name takes partitions, and with them messages that this database never gets.
#[tokio::test]
async fn the_doctor_names_members_of_the_group_that_use_another_database() {
    let (surroundings, another) = (Surroundings::new().await, Surroundings::new().await);
    let running = Running::start(&mut surroundings.serve());
    running.ready().await;
    eventually("no fault", async || faults(&mut doctor(&surroundings)).await.is_empty().then_some(())).await;
    let mut serve = another.serve();
    let stranger = Running::start(serve.env("IDEM_DEPLOYMENT__NAME", surroundings.deployment()));
    stranger.ready().await;
    eventually("a stranger in the group", async || {
        (faults(&mut doctor(&surroundings)).await == subjects(["consumer group"])).then_some(())
    })
    .await;
    stranger.end().await;
    eventually("no fault", async || faults(&mut doctor(&surroundings)).await.is_empty().then_some(())).await;
    running.end().await;
    surroundings.clear().await;
}
