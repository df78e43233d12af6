use std::io::Write;
use std::time::Duration;

use contracts::streams;
use diesel_migrations::EmbeddedMigrations;
use edge::Limits;
use envelope::Stream;
use idempotency::KeyPolicy;
use secrecy::ExposeSecret;
use utoipa::openapi::OpenApi;
use utoipa_actix_web::service_config::ServiceConfig;

use super::*;
use crate::NoCommand;

mod brokers;

struct Shop;

impl Service for Shop {
    const NAME: &'static str = "shop";
    const STREAM: Stream = streams::ORDERS;
    const DEFAULTS: &'static str =
        "[http]\nport = 8090\n[shop]\nclosing_seconds = 3\n[log]\nlevel = \"debug\"";
    const PROBLEMS: &'static [&'static edge::ProblemType] = &[];
    const DOCUMENT: &'static str = "{}";

    type Settings = (Duration, SecretString);
    type Command = NoCommand;

    fn settings(reader: &mut SettingsReader) -> Self::Settings {
        (reader.seconds("shop.closing_seconds", 1..=10), reader.secret("shop.till", "the key of the till"))
    }

    fn migrations() -> EmbeddedMigrations {
        database::RELIABILITY
    }

    fn api() -> OpenApi {
        OpenApi::default()
    }

    fn routes(_: &mut ServiceConfig<'_>) {}
}

const COMPLETE: &[(&str, &str)] = &[
    ("IDEM_DATABASE__URL", "postgres://a:b@localhost/d"),
    ("IDEM_KAFKA__BROKERS", "localhost:9092"),
    ("IDEM_MODE__DEVELOPMENT", "true"),
    ("IDEM_SHOP__TILL", "hunter2"),
];

fn read(needs: Needs, variables: &[&[(&str, &str)]]) -> Result<Config<Shop>, ConfigErrors> {
    let variables = variables.concat();
    Config::read(needs, variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())))
}

/// The variables that the errors name, in order.
fn faulty(needs: Needs, variables: &[&[(&str, &str)]]) -> Vec<String> {
    let Err(errors) = read(needs, variables) else { return Vec::new() };
    let names = errors.errors.iter().map(|error| error.text.split(' ').next().unwrap_or_default().to_owned());
    names.collect()
}

#[test]
fn the_defaults_alone_name_what_is_missing() {
    let missing = faulty(Needs::Serve, &[]);
    let expected = [
        "IDEM_AUTH__JWKS",
        "IDEM_DATABASE__URL",
        "IDEM_KAFKA__BROKERS",
        "IDEM_DEPLOYMENT__NAME",
        "IDEM_SHOP__TILL",
    ];
    assert_eq!(missing, expected);
}

#[test]
fn all_errors_are_in_one_list() {
    let variables: &[(&str, &str)] = &[
        ("IDEM_HTTP__PORT", "hunter2"),
        ("IDEM_HTTP__BIND", "here"),
        ("IDEM_HTPP__PORT", "8091"),
        ("IDEM_DATABASE__POOL_SIZE", "0"),
        ("IDEM_DATABASE__URL", "mysql://hunter2"),
        ("IDEM_IDEMPOTENCY__KEY_POLICY", "none"),
        ("IDEM_IDEMPOTENCY__MISMATCH_STATUS", "410"),
        ("IDEM_KAFKA__BROKERS", "hunter2"),
        ("IDEM_DEPLOYMENT__NAME", "a b"),
        ("IDEM_LOG__FORMAT", "xml"),
        ("IDEM_LOG__LEVEL", "[="),
        ("IDEM_RELAY__IN_PROCESS", "perhaps"),
        ("IDEM_SHOP__CLOSING_SECONDS", "11"),
        ("IDEM_AUTH__JWKS", "/nowhere/jwks.json"),
        ("IDEM_AUTH__JWKS_REFRESH_SECONDS", "0"),
        ("IDEM_AUTH__JWKS_PLAIN_HTTP", "perhaps"),
        ("IDEM_AUTH__ALGORITHMS", "EdDSA,HS256"),
        ("IDEM_AUTH__TENANT_CLAIM", "a \"claim\""),
        ("IDEM_AUTH__LEEWAY_SECONDS", "61"),
        ("IDEM_LIMITS__REQUESTS_PER_SECOND", "-1"),
        ("IDEM_LIMITS__BURST", "0"),
        ("IDEM_LIMITS__CLIENT_PERCENT", "101"),
    ];
    let errors = read(Needs::Serve, &[variables]).err().expect("a list of errors");
    let text = errors.to_string();
    for (variable, _) in variables {
        assert!(text.contains(&format!("- {variable} ")), "{variable} is not named in {text}");
    }
    assert!(text.contains("- IDEM_SHOP__TILL is missing: the key of the till"), "{text}");
    assert!(text.contains("- IDEM_AUTH__ISSUER must be the issuer of your tokens"), "{text}");
    assert!(text.starts_with("shop: 24 errors in the configuration"), "{text}");
    assert!(!text.contains("hunter2"), "a value is repeated, and it may be a secret: {text}");
}

#[test]
fn spans_leave_the_machine_in_plain_text_only_in_development() {
    let errors = |url, mode| {
        let variables = [("IDEM_TRACES__ENDPOINT", url), ("IDEM_MODE__DEVELOPMENT", mode)];
        read(Needs::Nothing, &[&variables]).err().map(|errors| errors.to_string())
    };
    let refused = errors("http://collector:4318/v1/traces", "false").unwrap();
    assert!(refused.contains("IDEM_TRACES__ENDPOINT must be an https URL"), "{refused}");
    for (url, mode) in [
        ("http://collector:4318/v1/traces", "true"),
        ("http://127.0.0.1:4318/v1/traces", "false"),
        ("https://collector/v1/traces", "false"),
    ] {
        assert_eq!(errors(url, mode), None, "{url}");
    }
    assert!(errors("collector:4318", "true").is_some(), "this is no http or https URL");
}

#[test]
fn a_variable_that_nothing_reads_is_an_error() {
    for typo in ["IDEM_HTTP__PROT", "IDEM_HTPP__PORT", "IDEM_HTTP__PORT__X", "IDEM_HTTP__", "IDEM___PORT"] {
        let errors =
            read(Needs::Nothing, &[&[(typo, "1")]]).err().unwrap_or_else(|| panic!("{typo} was accepted"));
        let text = errors.to_string();
        assert!(text.contains(&format!("{typo} is not a setting of shop")), "{text}");
    }
}

#[test]
fn variables_of_scripts_are_ignored() {
    let foreign: &[(&str, &str)] =
        &[("IDEM_PORT_BASE", "x"), ("IDEM_CRASH", "execute.after_commit:1"), ("PATH__X", "y")];
    assert_eq!(faulty(Needs::Nothing, &[foreign]), Vec::<String>::new());
}

#[test]
fn an_empty_variable_is_an_absent_one() {
    let config = read(Needs::Nothing, &[&[("IDEM_HTTP__PORT", ""), ("IDEM_ADMIN__PORT", "")]]).ok().unwrap();
    assert_eq!((config.http.address.port(), config.http.admin.port()), (8090, 9090));
}

#[test]
fn the_environment_overrides_the_service_and_the_service_overrides_all_services() {
    let config = read(Needs::Relay, &[COMPLETE, &[("IDEM_SHOP__CLOSING_SECONDS", "4")]]).ok().unwrap();
    assert_eq!(config.service.0, Duration::from_secs(4));
    assert_eq!(config.log.filter.to_string(), "debug");
    assert_eq!(config.database.pool_size, 16);
    assert_eq!(config.edge.key_policy, KeyPolicy::Uuid);
    assert_eq!(config.edge.mismatch_status, 409);
}

#[test]
fn a_command_needs_only_its_own_settings() {
    assert_eq!(faulty(Needs::Nothing, &[]), Vec::<String>::new());
    assert_eq!(faulty(Needs::Migrate, &[]), ["IDEM_DATABASE__MIGRATION_URL"]);
    let missing = ["IDEM_DATABASE__URL", "IDEM_KAFKA__BROKERS", "IDEM_DEPLOYMENT__NAME"];
    assert_eq!(faulty(Needs::Relay, &[]), missing);
    assert_eq!(faulty(Needs::Migrate, &[&[("IDEM_HTTP__PORT", "x")]]).first().unwrap(), "IDEM_HTTP__PORT");
}

#[test]
fn text_that_looks_like_a_number_stays_text() {
    let config = read(Needs::Relay, &[COMPLETE, &[("IDEM_DEPLOYMENT__NAME", "007")]]).ok().unwrap();
    assert_eq!(config.topics.deployment(), "007");
    let config = read(Needs::Relay, &[COMPLETE, &[("IDEM_SHOP__TILL", "0123")]]).ok().unwrap();
    assert_eq!(config.service.1.expose_secret(), "0123");
}

#[test]
fn a_secret_can_be_read_from_a_file() {
    let path = std::env::temp_dir().join(format!("runtime-secret-{}", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(b"from the file\n").unwrap();
    let file = path.to_str().unwrap();
    let others = &COMPLETE[..3];
    let config = read(Needs::Relay, &[others, &[("IDEM_SHOP__TILL_FILE", file)]]).ok().unwrap();
    assert_eq!(config.service.1.expose_secret(), "from the file");
    assert_eq!(
        faulty(Needs::Relay, &[COMPLETE, &[("IDEM_SHOP__TILL_FILE", file)]]),
        ["IDEM_SHOP__TILL_FILE"]
    );
    std::fs::remove_file(&path).unwrap();
    assert_eq!(faulty(Needs::Relay, &[others, &[("IDEM_SHOP__TILL_FILE", file)]]), ["IDEM_SHOP__TILL_FILE"]);
}

#[test]
fn impossible_ports_are_refused() {
    assert_eq!(faulty(Needs::Nothing, &[&[("IDEM_HTTP__PORT", "65000")]]), ["IDEM_ADMIN__PORT"]);
    assert_eq!(faulty(Needs::Nothing, &[&[("IDEM_ADMIN__PORT", "8090")]]), ["IDEM_ADMIN__PORT"]);
    assert_eq!(faulty(Needs::Nothing, &[&[("IDEM_HTTP__PORT", "0")]]), Vec::<String>::new());
}

#[test]
fn a_default_that_nothing_reads_is_an_error() {
    let mut reader = SettingsReader::new("shop", &["[http]\nport = 1\nprot = 2"], []);
    reader.number::<u16>("http.port", 0..=9);
    let errors = reader.finish(|_| true).unwrap_err();
    assert!(errors.to_string().contains("http.prot is in the defaults"), "{errors}");
}

#[test]
fn a_placeholder_is_not_refused_on_top() {
    let mut reader = SettingsReader::new("shop", &["[shop]\nhours = \"many\""], []);
    reader.number::<u16>("shop.hours", 1..=24);
    reader.refuse("shop.hours", "in the morning");
    reader.text("shop.name", "what it is called");
    reader.refuse("shop.name", "short");
    let ConfigErrors { errors, .. } = reader.finish(|_| true).unwrap_err();
    let texts: Vec<_> = errors.into_iter().map(|error| error.text).collect();
    let expected = [
        "IDEM_SHOP__HOURS must be a whole number from 1 to 24",
        "IDEM_SHOP__NAME is missing: what it is called",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn an_unusable_key_set_is_an_error_with_its_location_and_reason() {
    let path = std::env::temp_dir().join(format!("runtime-jwks-{}", std::process::id()));
    let file = path.to_str().unwrap();
    for (text, what) in [
        ("no JSON", "it is not a JWKS document"),
        (r#"{"keys":[]}"#, "it holds no key that can be used"),
        (
            r#"{"keys":[{"kty":"RSA","kid":"a","alg":"RS256"}]}"#,
            "key a is for RS256, which auth.algorithms does not allow",
        ),
    ] {
        std::fs::write(&path, text).unwrap();
        let errors = read(Needs::Serve, &[COMPLETE, &[("IDEM_AUTH__JWKS", file)]]).err().expect("an error");
        let text = errors.to_string();
        let start =
            format!("IDEM_AUTH__JWKS must be the path or URL of a key set: the key set {file} is not usable");
        assert!(text.contains(&start) && text.contains(what), "{text}");
    }
    std::fs::write(&path, testkit::identity::jwks()).unwrap();
    assert_eq!(faulty(Needs::Serve, &[COMPLETE, &[("IDEM_AUTH__JWKS", file)]]), Vec::<String>::new());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn the_names_of_the_demo_are_for_development_only() {
    let auth = [("IDEM_AUTH__JWKS", "https://id.example/jwks")];
    let faulty = |more: &[(&str, &str)]| faulty(Needs::Serve, &[COMPLETE, &auth, more]);
    let names = ["IDEM_AUTH__ISSUER", "IDEM_DEPLOYMENT__NAME"];
    assert_eq!(faulty(&[("IDEM_MODE__DEVELOPMENT", "false")]), names);
    let own = [
        ("IDEM_MODE__DEVELOPMENT", "false"),
        ("IDEM_AUTH__ISSUER", "https://id.example"),
        ("IDEM_DEPLOYMENT__NAME", "shop"),
    ];
    assert_eq!(faulty(&own), Vec::<String>::new());
}

#[test]
fn the_url_of_a_key_set_is_https_unless_it_is_this_machine_or_allowed() {
    let faulty = |url, allowed| {
        let auth = [("IDEM_AUTH__JWKS", url), ("IDEM_AUTH__JWKS_PLAIN_HTTP", allowed)];
        faulty(Needs::Serve, &[COMPLETE, &auth])
    };
    let fine: &[String] = &[];
    assert_eq!(faulty("https://id.example/jwks", ""), fine);
    assert_eq!(faulty("http://127.0.0.1:9/jwks", ""), fine);
    assert_eq!(faulty("http://id.example/jwks", "true"), fine);
    assert_eq!(faulty("http://id.example/jwks", ""), ["IDEM_AUTH__JWKS"]);
    assert_eq!(faulty("ftp://id.example/jwks", "true"), ["IDEM_AUTH__JWKS"]);
}

#[test]
fn no_requests_per_second_are_no_limit_and_a_client_has_a_part_of_its_tenants() {
    let limits = |number| {
        let config = read(Needs::Nothing, &[&[("IDEM_LIMITS__REQUESTS_PER_SECOND", number)]]).ok().unwrap();
        let Limits { tenant, client, .. } = config.edge.limits;
        [tenant, client].map(|limit| limit.map(|limit| (limit.per_second.get(), limit.burst.get())))
    };
    assert_eq!(limits(""), [Some((100, 200)), Some((80, 160))]);
    assert_eq!(limits("1"), [Some((1, 200)), Some((1, 160))]);
    assert_eq!(limits("0"), [None, None]);
}

#[test]
fn rows_are_kept_for_days_and_as_tables_only_if_it_is_set() {
    let Ok(Config { retention, .. }) = read(Needs::Relay, &[COMPLETE]) else {
        panic!("the defaults are refused")
    };
    assert_eq!(retention.outbox, outbox::RetentionSettings::default());
    assert_eq!(retention.inbox, chrono::TimeDelta::days(35));
    let set = [("IDEM_OUTBOX__KEEP_DETACHED_DAYS", "90"), ("IDEM_OUTBOX__KEEP_DAYS", "30")];
    let Ok(Config { retention, .. }) = read(Needs::Relay, &[COMPLETE, &set]) else {
        panic!("the settings are refused")
    };
    assert_eq!((retention.outbox.keep_days, retention.outbox.keep_detached_days), (30, 90));
    // A grace of no day would drop events of the present.
    let none = [("IDEM_OUTBOX__KEEP_DAYS", "0"), ("IDEM_INBOX__KEEP_DAYS", "0")];
    assert_eq!(faulty(Needs::Relay, &[COMPLETE, &none]), ["IDEM_OUTBOX__KEEP_DAYS", "IDEM_INBOX__KEEP_DAYS"]);
}
