//! What the settings take, and how they refuse.

use super::*;

fn read(variables: &[(&str, &str)]) -> Result<Settings, WrongSettings> {
    Settings::read(|name| {
        variables.iter().find(|(given, _)| *given == name).map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn every_fault_is_told_at_once() {
    let faults = read(&[
        ("IDEM_HTTP__BIND", "here"),
        ("IDEM_HTTP__PORT", "70000"),
        ("IDEM_DATABASE__MIGRATION_URL", "mysql://x"),
        ("IDEM_WEBHOOK__URL", "http://127.0.0.1:1/hook"),
        ("IDEM_BANK__DELAY_MS", "soon"),
        ("IDEM_KEYS__WINDOW_MS", "0"),
        ("IDEM_LOG__LEVEL", "info,[="),
        ("IDEM_LOG__FORMAT", "xml"),
    ])
    .unwrap_err();
    let text = faults.to_string();
    for name in [
        "HTTP__BIND",
        "HTTP__PORT",
        "DATABASE__URL",
        "MIGRATION_URL",
        "LOG__LEVEL",
        "LOG__FORMAT",
        "WEBHOOK__SECRET",
        "BANK__DELAY_MS",
        "KEYS__WINDOW_MS",
    ] {
        assert!(text.contains(name), "{name} is not told of in {text}");
    }
    assert_eq!(faults.0.len(), 9);
}

#[test]
fn the_database_is_the_only_thing_that_must_be_set() {
    let settings = read(&[("IDEM_DATABASE__URL", "postgres://localhost/provider")]).unwrap();
    assert_eq!((settings.port, settings.log_format), (8084, LogFormat::Pretty));
    assert!(settings.migration_url.is_none());
}

#[test]
fn a_wrong_value_is_not_repeated() {
    let faults = read(&[("IDEM_HTTP__PORT", "hunter2"), ("IDEM_DATABASE__URL", "hunter2")]).unwrap_err();
    assert!(!faults.to_string().contains("hunter2"));
}

#[test]
fn a_secret_that_is_being_rolled_signs_beside_the_new_one() {
    let settings = read(&[
        ("IDEM_DATABASE__URL", "postgres://localhost/provider"),
        ("IDEM_WEBHOOK__URL", "http://127.0.0.1:1/a, http://127.0.0.1:1/b"),
        ("IDEM_WEBHOOK__SECRET", "whsec_new,whsec_old"),
    ])
    .unwrap();
    let seen: Vec<(&str, usize)> =
        settings.endpoints.iter().map(|endpoint| (endpoint.url.as_str(), endpoint.secrets.len())).collect();
    assert_eq!(seen, [("http://127.0.0.1:1/a", 2), ("http://127.0.0.1:1/b", 2)]);
    assert!(!format!("{settings:?}").contains("whsec_"), "a secret can be printed");
}
