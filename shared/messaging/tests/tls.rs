//! TLS to brokers of their own: certificates of both sides, logins, and files that are renewed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "a test fails by panicking"
)]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use jsonwebtoken::get_current_timestamp;
use messaging::topics::{self, TopicSpec};
use messaging::{Brokers, Publisher, Record, Subscription, SubscriptionSettings, admin};
use serde_json::json;
use testkit::identity::SigningKey;
use testkit::{Authority, Broker, BrokerTls, eventually, identity};

/// Publishes a record and reads it as a member of a group.
async fn exchange(brokers: &Brokers) {
    topics::ensure(brokers, &[TopicSpec::new("greetings", 1)]).await.unwrap();
    let (publisher, mut reports) = Publisher::connect(brokers).unwrap();
    publisher.publish(Record { topic: "greetings", key: b"k", payload: b"hello", headers: &[] }, 1).unwrap();
    common::in_time("the report", reports.next()).await.unwrap().result.unwrap();
    let settings = SubscriptionSettings::new("readers", ["greetings"]);
    let mut subscription = Subscription::start(brokers, settings).unwrap();
    let batch = common::in_time("the record", subscription.next()).await.unwrap();
    assert_eq!(batch.messages()[0].payload.as_deref(), Some(b"hello".as_slice()));
    batch.done();
    subscription.shutdown().await;
    assert_eq!(admin::end_offsets(brokers, "greetings").await.unwrap()[&0], 1);
}

async fn health(brokers: &Brokers) -> Result<(), messaging::Error> {
    messaging::health(brokers, Duration::from_secs(2)).await
}

/// Fails if the broker is reached. A slow machine may take more than one attempt until the client knows why it is not.
async fn refused(brokers: &Brokers, expected: &str) {
    eventually(&format!("{expected}: {brokers}"), async || {
        let error = health(brokers).await.expect_err(expected).to_string();
        error.contains(expected).then_some(())
    })
    .await;
}

/// The same brokers for a client with other properties.
fn with(broker: &Broker, tls: &BrokerTls, others: &[(&str, &str)]) -> Brokers {
    let mut properties: BTreeMap<&str, &str> =
        tls.properties().iter().map(|(name, value)| (*name, value.as_str())).collect();
    properties.extend(others.iter().copied());
    Brokers::new(broker.brokers().bootstrap(), properties).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_logs_in_and_checks_the_certificate_of_the_broker() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let tls = BrokerTls::with_login(&authority, "SCRAM-SHA-512");
    let broker = Broker::with_tls(tls.clone()).await;
    exchange(&broker.brokers()).await;
    health(&with(&broker, &tls, &[("sasl.mechanism", "PLAIN")])).await.unwrap();

    let other = stranger.file("ca.pem", stranger.certificate());
    let wrong = stranger.file("password", "wrong");
    refused(&with(&broker, &tls, &[("ssl.ca.location", &other)]), "certificate verify failed").await;
    refused(&with(&broker, &tls, &[("sasl.password.file", &wrong)]), "Authentication failed").await;
    let bootstrap = broker.brokers().to_string();
    let host = bootstrap.replace("127.0.0.1", "localhost");
    let properties = tls.properties().iter().map(|(name, value)| (*name, value.as_str()));
    refused(&Brokers::new(&host, properties).unwrap(), "certificate verify failed").await;
    refused(&bootstrap.parse().unwrap(), "no Kafka broker").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_shows_its_certificate() {
    let authority = Authority::new();
    let broker = Broker::with_tls(BrokerTls::with_client_certificates(&authority)).await;
    exchange(&broker.brokers()).await;
    let trusted = authority.file("ca.pem", authority.certificate());
    let anonymous = [("security.protocol", "SSL"), ("ssl.ca.location", &trusted)];
    let anonymous = Brokers::new(broker.brokers().bootstrap(), anonymous).unwrap();
    refused(&anonymous, "SSL routines").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_logs_in_by_a_token_and_cannot_create_topics_with_it() {
    let authority = Authority::new();
    let token = identity::token("t", "orders", "kafka");
    let broker = Broker::with_tls(BrokerTls::with_token(&authority, &token)).await;
    let brokers = broker.brokers();
    let greetings = [TopicSpec::new("greetings", 1)];
    let refused_creation = topics::ensure(&brokers, &greetings).await.unwrap_err().to_string();
    assert!(
        refused_creation.contains("create the topics greetings: not with OAUTHBEARER"),
        "{refused_creation}"
    );

    topics::ensure(&with_password(&authority, &broker), &greetings).await.unwrap();
    exchange(&brokers).await;

    let stranger = SigningKey::generate(identity::KEY_ID);
    for other in [stranger.sign(&identity::claims("t", "orders", "kafka")), "no token".to_owned()] {
        authority.file("token", &other);
        assert!(health(&brokers).await.is_err(), "{other}");
    }
    let error = brokers.check_files().unwrap_err()[0].to_string();
    assert!(error.starts_with("kafka.properties.sasl_oauthbearer_token_file"), "{error}");
    assert!(error.contains("/token: it contains no JWT") && !error.contains("no token"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_goes_on_with_the_token_that_replaces_an_expired_one() {
    let authority = Authority::new();
    let mut claims = identity::claims("t", "orders", "kafka");
    let broker = Broker::with_tls(BrokerTls::with_token(&authority, &identity::signed(&claims))).await;
    let brokers = broker.brokers();
    claims["exp"] = json!(get_current_timestamp() + 10);
    authority.file("token", &identity::signed(&claims));
    topics::ensure(&with_password(&authority, &broker), &[TopicSpec::new("greetings", 1)]).await.unwrap();
    let (publisher, mut reports) = Publisher::connect(&brokers).unwrap();
    let mut publish = async |number| {
        publisher
            .publish(Record { topic: "greetings", key: b"k", payload: b"hello", headers: &[] }, number)
            .unwrap();
        common::in_time("the report", reports.next()).await.unwrap().result
    };
    publish(1).await.unwrap();
    eventually("the token has expired", async || health(&brokers).await.err()).await;
    authority.file("token", &identity::token("t", "orders", "kafka"));
    publish(2).await.unwrap();
}

/// The same brokers for a client that may create topics.
fn with_password(authority: &Authority, broker: &Broker) -> Brokers {
    let trusted = authority.file("ca.pem", authority.certificate());
    let password = authority.folder().join("password").display().to_string();
    let properties = [
        ("security.protocol", "SASL_SSL"),
        ("ssl.ca.location", &trusted),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("sasl.username", "idem"),
        ("sasl.password.file", &password),
    ];
    Brokers::new(broker.brokers().bootstrap(), properties).unwrap()
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_named() {
    let authority = Authority::new();
    let no_certificate = authority.file("ca.pem", "nothing");
    let login = [("security.protocol", "SASL_SSL"), ("sasl.mechanism", "PLAIN"), ("sasl.username", "idem")]
        .as_slice();
    let encrypted = [("security.protocol", "SSL")].as_slice();
    for (others, property, file, setting, expected) in [
        (encrypted, "ssl.ca.location", "/nowhere.pem", ".ssl_ca_location", "/nowhere.pem: No such file"),
        (encrypted, "ssl.ca.location", &no_certificate, "", "ssl.ca.location failed"),
        (login, "sasl.password.file", "/nowhere", ".sasl_password_file", "/nowhere: No such file"),
        (login, "sasl.password", "", "", "sasl.username and sasl.password must be set"),
    ] {
        let properties =
            others.iter().copied().chain([(property, file)]).filter(|(_, value)| !value.is_empty());
        let faults = Brokers::new("kafka:9093", properties).unwrap().check_files().unwrap_err();
        let fault = &faults[0];
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert_eq!(fault.setting, format!("kafka.properties{setting}"));
        assert!(fault.problem.contains(expected), "{fault}");
    }
}

#[tokio::test]
async fn renewed_files_are_noticed_once_they_can_be_used() {
    let authority = Authority::new();
    let trusted = authority.file("ca.pem", authority.certificate());
    let properties = [("security.protocol", "SSL"), ("ssl.ca.location", &trusted)];
    let mut watch = Brokers::new("kafka:9093", properties).unwrap().watch_files();
    let mut renewed = std::pin::pin!(watch.renewed());
    // Two looks at the files fit into this time.
    let mut at_once = async || tokio::time::timeout(Duration::from_secs(3), &mut renewed).await.is_ok();
    assert!(!at_once().await, "nothing changed");
    authority.file("ca.pem", "nothing");
    assert!(!at_once().await, "the file cannot be used");
    authority.file("ca.pem", Authority::new().certificate());
    common::in_time("the renewal", renewed).await;
}
