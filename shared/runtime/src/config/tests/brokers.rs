//! The settings of the brokers: each fault is named by its variable.

use super::*;

#[test]
fn every_fault_of_the_brokers_is_named_by_its_variable() {
    let brokers = [("IDEM_KAFKA__BROKERS", "kafka:9092?sslmode=disable")];
    let properties = [
        ("IDEM_KAFKA__PROPERTIES__SECURITY_PROTOCOL", "SASL_SSL"),
        ("IDEM_KAFKA__PROPERTIES__SASL_USRNAME", "hunter2"),
        ("IDEM_KAFKA__PROPERTIES__SASL_PASSWORD_FILE", "/nowhere"),
        ("IDEM_KAFKA__PROPERTIES__SOCKET_TIMEOUT_MS", "hunter2"),
        ("IDEM_KAFKA__PROPERTIES__ACKS", "1"),
        ("IDEM_KAFKA__PROPERTIES__ENABLE_SSL_CERTIFICATE_VERIFICATION", "false"),
    ];
    let names = [
        "IDEM_KAFKA__BROKERS",
        "IDEM_KAFKA__PROPERTIES__ACKS",
        "IDEM_KAFKA__PROPERTIES__ENABLE_SSL_CERTIFICATE_VERIFICATION",
        "IDEM_KAFKA__PROPERTIES__SASL_USRNAME",
        "IDEM_KAFKA__PROPERTIES__SOCKET_TIMEOUT_MS",
    ];
    assert_eq!(faulty(Needs::Relay, &[COMPLETE, &brokers, &properties]), names);
    // A command that needs no brokers is told of wrong properties, too.
    assert_eq!(faulty(Needs::Nothing, &[&properties]), names[1..]);
    let text = read(Needs::Relay, &[COMPLETE, &brokers, &properties]).err().unwrap().to_string();
    assert!(!text.contains("hunter2") && text.contains("IDEM_KAFKA__PROPERTIES__…"), "{text}");

    let remote = [("IDEM_KAFKA__BROKERS", "kafka:9092")];
    assert_eq!(faulty(Needs::Relay, &[COMPLETE, &remote]), ["IDEM_KAFKA__PROPERTIES__SECURITY_PROTOCOL"]);
    let plain = [("IDEM_KAFKA__PROPERTIES__SECURITY_PROTOCOL", "PLAINTEXT")];
    assert_eq!(faulty(Needs::Relay, &[COMPLETE, &remote, &plain]), [""; 0]);
    let login = [properties[0], properties[2]];
    assert_eq!(
        faulty(Needs::Relay, &[COMPLETE, &remote, &login]),
        ["IDEM_KAFKA__PROPERTIES__SASL_PASSWORD_FILE"]
    );
}

#[test]
fn a_variable_overrides_a_property_of_the_defaults() {
    let defaults = ["[kafka.properties]\nsocket.timeout.ms = 5000\n\"socket.keepalive.enable\" = true"];
    let variable = ("IDEM_KAFKA__PROPERTIES__SOCKET_TIMEOUT_MS", "6000");
    let mut reader =
        SettingsReader::new("shop", &defaults, [variable].map(|(a, b)| (a.to_owned(), b.to_owned())));
    let properties = reader.table("kafka.properties");
    let expected = [("socket.keepalive.enable", "true"), ("socket.timeout.ms", "6000")];
    assert!(
        properties.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(expected),
        "{properties:?}"
    );
    reader.finish(|_| true).unwrap();
}
