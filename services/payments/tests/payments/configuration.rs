//! The messages about a wrong configuration.

use std::process::{Command, Output};

/// `payments serve` with a name, these variables and no others.
fn serve(variables: &[(&str, &str)]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_payments"));
    program
        .arg("serve")
        .env_clear()
        .env("IDEM_DEPLOYMENT__NAME", "test")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn all_errors_are_reported_at_once_without_a_secret() {
    let output = serve(&[
        ("IDEM_PROCESSOR__URL", "ftp://user:canary@processor"),
        ("IDEM_PROCESSOR__SECRET_KEY", "canary\n"),
        ("IDEM_DEPLOYMENT__NAME", "\t"),
        ("IDEM_PROCESSOR__TIMEOUT_MILLISECONDS", "30000"),
        ("IDEM_WORKER__CONCURRENCY", "0"),
        ("IDEM_WORKER__LEASE_SECONDS", "10"),
    ]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8(output.stderr).unwrap();
    for error in [
        "IDEM_PROCESSOR__URL must be an http or https URL",
        "IDEM_DEPLOYMENT__NAME must be 1 to 64 characters",
        "IDEM_WORKER__CONCURRENCY must be a whole number from 1 to 1024",
        "IDEM_PROCESSOR__TOTAL_TIMEOUT_MILLISECONDS must be at least processor.timeout_milliseconds",
        "IDEM_WORKER__LEASE_SECONDS must be more than processor.total_timeout_milliseconds",
        "IDEM_DATABASE__URL is missing",
    ] {
        assert!(stderr.contains(error), "{error:?} is not in {stderr}");
    }
    assert!(!stderr.contains("canary"), "{stderr}");
}

/// Otherwise a retry under a key that the processor has deleted would charge twice.
#[test]
fn a_key_life_beyond_the_memory_of_the_processor_is_refused() {
    let stderr = String::from_utf8(serve(&[("IDEM_WORKER__KEY_LIFE_SECONDS", "86400")]).stderr).unwrap();
    let refusal = "IDEM_WORKER__KEY_LIFE_SECONDS must be";
    assert!(stderr.contains(refusal) && stderr.contains("85800"), "{stderr}");
    let stderr = String::from_utf8(serve(&[("IDEM_WORKER__KEY_LIFE_SECONDS", "85800")]).stderr).unwrap();
    assert!(!stderr.contains(refusal), "{stderr}");
}

#[test]
fn the_secrets_of_the_demo_and_a_live_key_over_plain_http_are_for_development_only() {
    let demo = [
        ("IDEM_PROCESSOR__URL", "http://processor"),
        ("IDEM_PROCESSOR__SECRET_KEY", "sk_test_idem"),
        ("IDEM_PROCESSOR__WEBHOOK_SECRETS", "whsec_other,whsec_idem"),
    ];
    let live =
        [("IDEM_PROCESSOR__URL", "http://processor"), ("IDEM_PROCESSOR__SECRET_KEY", "sk_live_canary")];
    let refusals = |variables: &[(&str, &str)]| {
        let stderr = String::from_utf8(serve(variables).stderr).unwrap();
        assert!(!stderr.contains("canary"), "{stderr}");
        stderr.lines().filter(|line| line.contains("IDEM_MODE__DEVELOPMENT")).count()
    };
    assert_eq!((refusals(&demo), refusals(&live)), (2, 1));
    let development = ("IDEM_MODE__DEVELOPMENT", "true");
    assert_eq!(refusals(&[&demo[..], &live[1..], &[development]].concat()), 0);
}

#[test]
fn a_key_that_cannot_be_sent_is_refused_and_not_shown() {
    let output = serve(&[("IDEM_PROCESSOR__SECRET_KEY", "canary\u{1}")]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("IDEM_PROCESSOR__SECRET_KEY must be printable ASCII"), "{stderr}");
    assert!(!stderr.contains("canary"), "{stderr}");
}
