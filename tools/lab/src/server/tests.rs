//! The server without a stack behind it.

use actix_web::http::StatusCode;
use actix_web::http::header::{HOST, ORIGIN};
use actix_web::test::{TestRequest, call_service, init_service};

use super::*;

const PORT: u16 = 8080;

/// Sends one request; returns its status, the policy header, and the actions that it caused.
async fn send(request: TestRequest) -> (StatusCode, Option<String>, Vec<Action>) {
    send_in(LabState::default(), request).await
}

/// The same, in this state.
async fn send_in(state: LabState, request: TestRequest) -> (StatusCode, Option<String>, Vec<Action>) {
    let (actions, mut performed) = mpsc::unbounded_channel();
    let state = Arc::new(watch::Sender::new(state));
    let app = App::new()
        .app_data(Data::new(PageData { state, actions }))
        .wrap(from_fn(|request, next| origin::check(PORT, request, next)))
        .wrap(headers())
        .configure(routes);
    let response = call_service(&init_service(app).await, request.to_request()).await;
    let policy = response.headers().get(CONTENT_SECURITY_POLICY);
    let policy = policy.map(|policy| policy.to_str().unwrap().to_owned());
    (response.status(), policy, std::iter::from_fn(|| performed.try_recv().ok()).collect())
}

fn press(host: &'static str, origin: Option<&'static str>) -> TestRequest {
    let request = TestRequest::post().uri("/actions/stop-broker").insert_header((HOST, host));
    match origin {
        Some(origin) => request.insert_header((ORIGIN, origin)),
        None => request,
    }
}

#[actix_web::test]
async fn the_page_itself_presses_its_buttons() {
    for host in ["127.0.0.1:8080", "localhost:8080", "[::1]:8080"] {
        let origin: &'static str = Box::leak(format!("http://{host}").into_boxed_str());
        let (status, _, performed) = send(press(host, Some(origin))).await;
        assert_eq!((status, performed.as_slice()), (StatusCode::ACCEPTED, [Action::StopBroker].as_slice()));
    }
}

#[actix_web::test]
async fn an_action_that_is_not_done_yet_is_not_begun_again() {
    let state = LabState { acting: [Action::StopBroker].into(), ..LabState::default() };
    let request = press("127.0.0.1:8080", Some("http://127.0.0.1:8080"));
    let (status, _, performed) = send_in(state, request).await;
    assert_eq!((status, performed.len()), (StatusCode::CONFLICT, 0));
}

#[actix_web::test]
async fn a_button_pressed_by_another_page_is_refused_and_nothing_is_done() {
    for origin in [
        None, // not a browser, or a very old one
        Some("null"),
        Some("https://attacker.example"),
        Some("http://127.0.0.1:8081"), // another program of this machine
        Some("https://127.0.0.1:8080"),
        Some("http://localhost:8080"), // not the address that was asked
    ] {
        let (status, _, performed) = send(press("127.0.0.1:8080", origin)).await;
        assert_eq!((status, performed.len()), (StatusCode::FORBIDDEN, 0), "{origin:?}");
    }
}

#[actix_web::test]
async fn a_foreign_name_that_resolves_to_the_loopback_is_refused_for_reads_too() {
    for host in
        ["attacker.example:8080", "attacker.example", "127.0.0.1", "127.0.0.1:80", "127.0.0.1.example:8080"]
    {
        for path in ["/", "/events", "/lab.js"] {
            let (status, _, _) = send(TestRequest::get().uri(path).insert_header((HOST, host))).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{host} {path}");
        }
        let origin: &'static str = Box::leak(format!("http://{host}").into_boxed_str());
        let (status, _, performed) = send(press(host, Some(origin))).await;
        assert_eq!((status, performed.len()), (StatusCode::FORBIDDEN, 0), "{host}");
    }
}

#[actix_web::test]
async fn every_response_forbids_the_page_other_hosts() {
    for path in ["/", "/lab.js", "/lab.css", "/nothing"] {
        let request = TestRequest::get().uri(path).insert_header((HOST, "127.0.0.1:8080"));
        let (_, policy, _) = send(request).await;
        let policy = policy.unwrap();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{path}: {policy}");
    }
}

#[test]
fn an_address_that_other_machines_can_reach_is_refused() {
    for text in ["127.0.0.1:8080", "[::1]:8080"] {
        assert_eq!(loopback(text), Ok(text.parse().unwrap()));
    }
    for text in ["0.0.0.0:8080", "[::]:8080", "192.168.1.2:8080", "10.0.0.1:8080"] {
        assert!(loopback(text).unwrap_err().contains("on 127.0.0.1 or [::1] alone"), "{text}");
    }
    assert!(loopback("localhost").is_err());
}

#[test]
fn an_address_that_the_page_could_not_use_is_refused() {
    for text in ["127.1.2.3:8080", "127.0.0.1:0", "[::1]:80"] {
        assert!(loopback(text).unwrap_err().contains("at a port other than 0 and 80"), "{text}");
    }
}
