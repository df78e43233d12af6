//! A request of the client, with the responses to all of its copies and retries.

use harness::Response;
use serde::Serialize;

/// A request under one key, sent once or several times.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Exchange {
    /// Counts the requests of this run.
    pub(crate) number: u64,
    /// The kind of request, such as `order`.
    pub(crate) request: &'static str,
    pub(crate) key: String,
    /// How many copies the client sends at once.
    pub(crate) copies: usize,
    /// Copies without a final response yet.
    pub(crate) open: usize,
    /// Copies that the client no longer repeats, because five minutes have passed.
    pub(crate) given_up: usize,
    /// Sendings that ended without a response, and were sent again under the same key.
    pub(crate) lost: usize,
    /// The responses that are not marked as replays.
    pub(crate) executed: usize,
    /// The responses with `Idempotent-Replayed: true`.
    pub(crate) replayed: usize,
    /// The status of the last response.
    pub(crate) status: Option<u16>,
    /// The problem code of the last response; empty without one.
    pub(crate) code: String,
    /// The order in the response.
    pub(crate) order: Option<String>,
    /// Whether all successful responses have the same bytes.
    pub(crate) is_equal: bool,
    #[serde(skip)]
    first: Option<Response>,
}

impl Exchange {
    pub(super) fn new(number: u64, request: &'static str, key: &str, copies: usize) -> Self {
        let (key, open) = (key.to_owned(), copies);
        Self { number, request, key, copies, open, is_equal: true, ..Self::default() }
    }

    /// Counts the final response to one copy.
    pub(crate) fn end(&mut self, response: &Response) {
        self.open = self.open.saturating_sub(1);
        self.status = Some(response.status);
        self.code = response.code();
        if response.status >= 400 {
            return;
        }
        if response.is_replay() {
            self.replayed += 1;
        } else {
            self.executed += 1;
        }
        self.order = response.json()["id"].as_str().map(str::to_owned);
        let first = self.first.get_or_insert_with(|| response.clone());
        self.is_equal &= first.stored_part() == response.stored_part();
    }

    /// Counts a copy that is given up: no final response came within the time.
    pub(crate) fn give_up(&mut self) {
        self.open = self.open.saturating_sub(1);
        self.given_up += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use harness::Part;
    use reqwest::header::HeaderMap;

    use super::*;

    fn response(status: u16, is_replayed: bool, body: &str) -> Response {
        let mut response = Response {
            request: String::new(),
            instance: Part::ORDERS.instance(1),
            status,
            headers: HeaderMap::default(),
            body: body.as_bytes().to_vec(),
            took: Duration::ZERO,
        };
        if is_replayed {
            response.headers.insert("idempotent-replayed", "true".parse().unwrap());
        }
        response
    }

    #[test]
    fn replays_are_counted_apart_and_other_bytes_are_seen() {
        let mut exchange = Exchange::new(1, "order", "key", 4);
        exchange.end(&response(201, false, r#"{"id":"a"}"#));
        exchange.end(&response(201, true, r#"{"id":"a"}"#));
        assert_eq!((exchange.executed, exchange.replayed, exchange.open), (1, 1, 2));
        assert!(exchange.is_equal && exchange.order.as_deref() == Some("a"));
        exchange.end(&response(409, false, r#"{"code":"idempotency-key-reused"}"#));
        assert_eq!((exchange.executed, exchange.code.as_str()), (1, "idempotency-key-reused"));
        exchange.end(&response(201, true, r#"{"id":"b"}"#));
        assert!(!exchange.is_equal);
    }

    #[test]
    fn a_copy_without_a_final_response_is_counted_as_given_up() {
        let mut exchange = Exchange::new(1, "order", "key", 2);
        exchange.end(&response(201, false, r#"{"id":"a"}"#));
        exchange.give_up();
        assert_eq!((exchange.open, exchange.executed, exchange.given_up), (0, 1, 1));
    }
}
