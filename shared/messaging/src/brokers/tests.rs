use super::properties::OWN;
use super::*;
use crate::SubscriptionSettings;

const LOCAL: &str = "localhost:9092";
const LOGIN: [(&str, &str); 4] = [
    ("security_protocol", "SASL_SSL"),
    ("sasl_mechanism", "PLAIN"),
    ("sasl_username", "orders"),
    ("sasl_password_file", "/secret"),
];

/// The refused settings, with the rest of the sentence.
fn faults(addresses: &str, properties: &[(&str, &str)]) -> Vec<String> {
    let faults = Brokers::new(addresses, properties.iter().copied()).err().unwrap_or_default();
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn an_address_is_host_and_port_alone() {
    for bad in [
        "",
        "kafka",
        "kafka:",
        ":9092",
        "kafka:0",
        "kafka:http",
        "kafka:9092,",
        "a:1,,b:2",
        "a:1?sslmode=disable",
    ] {
        let error = bad.parse::<Brokers>().unwrap_err().to_string();
        assert!(error.contains("kafka.brokers must be host:port"), "{bad:?}: {error}");
        assert_eq!(error.contains("IDEM_KAFKA__PROPERTIES__"), bad.contains('?'), "{bad:?}: {error}");
    }
    for good in [LOCAL, "127.0.0.1:1,[::1]:2"] {
        assert_eq!(good.parse::<Brokers>().unwrap().bootstrap(), good);
    }
}

#[test]
fn plain_text_leaves_the_machine_only_if_it_is_set() {
    for remote in ["kafka:9092", "10.0.0.7:9092", "localhost:9092,kafka:9092", "localhost.example:1"] {
        let refused = faults(remote, &[]);
        assert!(refused[0].starts_with("kafka.properties.security_protocol is missing"), "{refused:?}");
        for protocol in ["PLAINTEXT", "SSL", "ssl"] {
            assert_eq!(faults(remote, &[("security.protocol", protocol)]), [""; 0], "{remote}");
        }
    }
}

#[test]
fn a_login_is_never_sent_in_plain_text_and_none_is_left_out() {
    assert_eq!(faults(LOCAL, &LOGIN), [""; 0]);
    for protocol in [None, Some("PLAINTEXT"), Some("SASL_PLAINTEXT"), Some("SSL")] {
        let mut properties = LOGIN.to_vec();
        properties.retain(|(name, _)| *name != "security_protocol");
        properties.extend(protocol.map(|protocol| ("security_protocol", protocol)));
        let refused = faults(LOCAL, &properties);
        assert!(refused[0].starts_with("kafka.properties.security_protocol must be SASL_SSL"), "{refused:?}");
    }
    for protocol in [&[][..], &[("security.protocol", "plaintext")]] {
        let refused = faults(LOCAL, &[protocol, &[("ssl.ca.location", "/ca.pem")]].concat());
        assert!(refused[0].starts_with("kafka.properties.security_protocol must be SSL"), "{refused:?}");
    }
}

#[test]
fn every_fault_is_named_and_no_value_is_repeated() {
    let refused = faults(
        "hunter2",
        &[
            ("security_protocol", "hunter2"),
            ("sasl.usrname", "hunter2"),
            ("sasl_pasword_file", "hunter2"),
            ("socket.timeout.ms", "hunter2"),
            ("group_id", "hunter2"),
            ("enable.ssl.certificate.verification", "false"),
            ("ssl.endpoint.identification.algorithm", "none"),
            ("sasl_oauthbearer_token", "hunter2"),
            ("sasl_mechanism", "PLAIN"),
            ("sasl_mechanisms", "PLAIN"),
            ("ssl_key", "hunter2"),
        ],
    );
    for (fault, expected) in refused.iter().zip([
        "kafka.brokers must be host:port",
        "kafka.properties.security_protocol has a value that librdkafka refuses",
        "kafka.properties.sasl_usrname is not a property of librdkafka",
        "kafka.properties.sasl_pasword_file is not a property of librdkafka",
        "kafka.properties.socket_timeout_ms has a value",
        "kafka.properties.group_id must not be set",
        "kafka.properties.enable_ssl_certificate_verification must be true",
        "kafka.properties.ssl_endpoint_identification_algorithm must be https",
        "kafka.properties.sasl_oauthbearer_token must be given by a file",
        "kafka.properties.sasl_mechanisms is set twice",
        "kafka.properties.ssl_key is not a property of librdkafka",
    ]) {
        assert!(fault.starts_with(expected) && !fault.contains("hunter2"), "{fault}");
    }
    assert_eq!(refused.len(), 11, "{refused:?}");
}

#[test]
fn a_token_needs_its_mechanism_and_the_mechanism_its_token() {
    let with = |properties: &[(&str, &str)]| faults("kafka:1", &[&LOGIN[..1], properties].concat());
    let (mechanism, token) = (("sasl_mechanism", "OAUTHBEARER"), ("sasl_oauthbearer_token_file", "/token"));
    assert_eq!(with(&[mechanism, token]), [""; 0]);
    assert!(with(&[mechanism])[0].starts_with("kafka.properties.sasl_oauthbearer_token_file is missing"));
    assert!(with(&[token])[0].starts_with("kafka.properties.sasl_mechanism must be OAUTHBEARER"));
}

#[test]
fn a_file_is_the_value_of_a_property_unless_librdkafka_has_a_property_of_that_name() {
    let mut given = LOGIN.to_vec();
    given.extend([
        ("ssl_ca_location", "/ca.pem"),
        ("ssl_crl_location", "probe"),
        ("ssl_key_password_file", "/passphrase"),
    ]);
    let brokers = Brokers::new("kafka:1", given).unwrap();
    let files: Vec<_> =
        brokers.properties.files().map(|(setting, path)| format!("{setting}={}", path.display())).collect();
    let expected =
        ["sasl_password_file=/secret", "ssl_ca_location=/ca.pem", "ssl_key_password_file=/passphrase"];
    assert_eq!(files, expected.map(|file| format!("kafka.properties.{file}")));
    // librdkafka has this property, and this build of it does not support it.
    let refused = faults(LOCAL, &[("sasl_oauthbearer_assertion_file", "/assertion")]);
    assert!(refused[0].contains("assertion_file has a value that librdkafka refuses"), "{refused:?}");
}

#[test]
fn what_the_clients_set_cannot_be_given() {
    let brokers: Brokers = LOCAL.parse().unwrap();
    let defaults = brokers.client_config("test").unwrap();
    let subscription = SubscriptionSettings::new("group", ["topic"]);
    let configs =
        [crate::publisher::client_config(&brokers).unwrap(), subscription.client_config(&brokers).unwrap()];
    for config in configs {
        let set = config.config_map();
        let own = set.keys().filter(|name| defaults.get(name).is_none());
        for name in own.chain([&"bootstrap.servers", &"client.id"]) {
            assert!(OWN.split(' ').any(|own| own == *name), "{name} can be given, and is then overwritten");
        }
    }
}

#[test]
fn a_password_is_not_in_the_debug_text() {
    let properties = [("security.protocol", "SASL_SSL"), ("sasl.password", "hunter2")];
    assert_eq!(format!("{:?}", Brokers::new(LOCAL, properties).unwrap()), r#"Brokers("localhost:9092")"#);
}
