//! Malformed requests: refused with the protocol's errors, and nothing is written.

use crate::simulator::{KEY, Simulator, VISA, charge_form, read};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_test_key_is_refused() {
    let sim = Simulator::start().await;
    let url = sim.url("/v1/payment_intents");
    let anonymous = read(sim.client.post(&url)).await.unwrap();
    assert_eq!((anonymous.status, anonymous.error("type")), (401, "invalid_request_error".into()));
    for wrong in ["sk_live_canary", "sk_test_", "pk_test_canary"] {
        let refused = read(sim.client.get(&url).bearer_auth(wrong)).await.unwrap();
        assert_eq!(refused.status, 401, "{wrong}");
        assert!(!String::from_utf8_lossy(&refused.bytes).contains("canary"), "the key was repeated");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_parameters_are_named_and_nothing_is_written() {
    let sim = Simulator::start().await;
    let without =
        |name: &str| charge_form(VISA, "100").into_iter().filter(|(n, _)| *n != name).collect::<Vec<_>>();
    let with = |name: &'static str, value: &'static str| {
        let mut form: Vec<(&str, &str)> = without(name);
        form.push((name, value));
        form
    };
    let cases = [
        (without("amount"), "parameter_missing", "amount"),
        (without("currency"), "parameter_missing", "currency"),
        (with("amount", "-5"), "parameter_invalid_integer", "amount"),
        (with("amount", "1.5"), "parameter_invalid_integer", "amount"),
        (with("amount", "49"), "amount_too_small", "amount"),
        (with("amount", "100000000"), "amount_too_large", "amount"),
        (with("currency", "xxx"), "", "currency"),
        (with("confirm", "yes"), "", "confirm"),
        (with("confirm", "false"), "", "confirm"),
        (without("confirm"), "", "confirm"),
        (with("off_session", "perhaps"), "", "off_session"),
        (with("capture_method", "later"), "", "capture_method"),
        (with("expand[]", "latest_charge"), "", "expand"),
        (with("card[number]", "4242424242424242"), "parameter_unknown", "card[number]"),
        (with("payment_method_types[1]", "sofort"), "", "payment_method_types"),
        (with("metadata[]", "x"), "", "metadata[]"),
        (with("amuont", "1"), "parameter_unknown", "amuont"),
    ];
    for (form, code, param) in cases {
        let refused = sim.post("/v1/payment_intents", Some("k"), &form).await;
        assert_eq!(refused.status, 400, "{form:?}");
        assert_eq!(refused.error("type"), "invalid_request_error");
        assert_eq!(refused.error("code").as_str().unwrap_or_default(), code, "{}", refused.json());
        assert_eq!(refused.error("param"), param, "{form:?}");
    }
    let no_card = sim.post("/v1/payment_intents", Some("k"), &without("payment_method")).await;
    assert_eq!((no_card.status, no_card.error("code")), (400, "payment_intent_unexpected_state".into()));
    assert_eq!(sim.number("SELECT count(*) AS number FROM payment_intent").await, 0);
    assert_eq!(sim.number("SELECT count(*) AS number FROM idempotency_key").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_forms_are_refused() {
    let sim = Simulator::start().await;
    let post = || sim.client.post(sim.url("/v1/payment_intents")).bearer_auth("sk_test_1");
    let form = |body: Vec<u8>| post().header("Content-Type", "application/x-www-form-urlencoded").body(body);
    for (request, status) in [
        (post().header("Content-Type", "application/json").body(r#"{"amount":1}"#), 400),
        (form(b"amount=%00&currency=eur".to_vec()), 400),
        (form(vec![b'a'; 65 * 1024]), 413),
        (form(b"amount=1&currency=eur".to_vec()).header(KEY, "k".repeat(256)), 400),
        (form(b"amount=1&currency=eur".to_vec()).header(KEY, "a").header(KEY, "b"), 400),
    ] {
        let refused = read(request).await.unwrap();
        assert_eq!((refused.status, refused.error("type")), (status, "invalid_request_error".into()));
    }
    assert_eq!(sim.number("SELECT count(*) AS number FROM payment_intent").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_object_is_404_in_the_protocols_words() {
    let sim = Simulator::start().await;
    for path in ["/v1/payment_intents/pi_nobody", "/v1/payment_intents/%00", "/v1/refunds/re_nobody"] {
        let missing = sim.get(path).await;
        assert_eq!((missing.status, missing.error("code")), (404, "resource_missing".into()), "{path}");
    }
    for path in ["/v1/nothing", "/nothing", "/v1/payment_intents/pi_1/cancel"] {
        let unrecognized = sim.get(path).await;
        assert_eq!(unrecognized.status, 404, "{path}");
        assert!(unrecognized.error("message").as_str().unwrap().contains("Unrecognized request URL"));
    }
}
