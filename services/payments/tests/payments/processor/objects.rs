//! The objects of the scripted processor, and the requests by key.

use std::collections::{HashMap, VecDeque};

use serde_json::{Value, json};

use super::Fate;
use crate::http::Received;

/// Status and body, and whether they are the stored response of the key.
pub(super) type Reply = (u16, Value, bool);

pub(super) struct ProcessorState {
    pub(super) fates: VecDeque<Fate>,
    pub(super) received: Vec<Received>,
    /// The number of requests that were held so far.
    pub(super) held: usize,
    /// The first response to each key.
    responses: HashMap<String, (u16, Value)>,
    /// `PaymentIntents` and refunds, the newest first.
    objects: Vec<Value>,
    /// Amounts in minor units.
    pub(super) charges: Vec<i64>,
    pub(super) refunds: Vec<i64>,
    pub(super) refunds_are: &'static str,
    pub(super) tells_fee: bool,
    pub(super) page: usize,
}

impl Default for ProcessorState {
    fn default() -> Self {
        Self {
            fates: VecDeque::new(),
            received: Vec::new(),
            held: 0,
            responses: HashMap::new(),
            objects: Vec::new(),
            charges: Vec::new(),
            refunds: Vec::new(),
            refunds_are: "succeeded",
            tells_fee: true,
            page: 100,
        }
    }
}

impl ProcessorState {
    pub(super) fn carry_out(&mut self, request: &Received) -> Reply {
        if request.method == "GET" {
            return self.read(request, true);
        }
        if let Some((status, body)) = self.responses.get(request.key()) {
            return (*status, body.clone(), true);
        }
        let (status, body) = match request.path.as_str() {
            "/v1/payment_intents" => self.charge(request),
            "/v1/refunds" => self.refund(request),
            path if path.ends_with("/cancel") => (200, self.cancel(path)),
            path => panic!("a request to {path}"),
        };
        self.responses.insert(request.key().to_owned(), (status, body.clone()));
        (status, body, false)
    }

    pub(super) fn fail_for_ever(&mut self, request: &Received, acted: bool) -> Reply {
        if acted {
            self.carry_out(request);
        }
        let failure = json!({ "error": { "type": "api_error" } });
        self.responses.insert(request.key().to_owned(), (500, failure.clone()));
        (500, failure, false)
    }

    pub(super) fn lag(&mut self, request: &Received) -> Reply {
        self.read(request, false)
    }

    pub(super) fn insert(&mut self, object: Value) {
        self.objects.insert(0, object);
    }

    pub(super) fn amend(&mut self, kind: &str, member: &str, value: &Value) {
        for object in self.objects.iter_mut().filter(|object| object["object"] == kind) {
            object[member] = value.clone();
        }
    }

    fn charge(&mut self, request: &Received) -> (u16, Value) {
        let amount: i64 = request.parameter("amount").parse().unwrap();
        let number = self.responses.len() + 1;
        let mut intent = json!({
            "id": format!("pi_{number}"), "object": "payment_intent", "amount": amount, "amount_received": amount,
            "currency": request.parameter("currency"), "status": "succeeded", "metadata": metadata(request),
            "latest_charge": self.charge_object(number, amount),
        });
        match request.parameter("payment_method").as_str() {
            "pm_card_visa" => self.charges.push(amount),
            "pm_card_chargeDeclined" => {
                let error = json!({ "type": "card_error", "code": "card_declined", "decline_code": "generic_decline" });
                return (402, json!({ "error": error }));
            }
            "pm_card_authenticationRequired" => {
                intent["status"] = "requires_action".into();
                intent["amount_received"] = 0.into();
            }
            "pm_card_processing" => {
                intent["status"] = "processing".into();
                intent["amount_received"] = 0.into();
            }
            card => panic!("no such card: {card}"),
        }
        self.insert(intent.clone());
        (200, intent)
    }

    /// The intent with its fee, if the processor knows the fee at once.
    fn charge_object(&self, number: usize, amount: i64) -> Value {
        let fee = json!({ "id": format!("txn_{number}"), "fee": amount / 100, "currency": "eur" });
        let fee = if self.tells_fee { fee } else { Value::Null };
        json!({ "id": format!("ch_{number}"), "object": "charge", "balance_transaction": fee })
    }

    fn refund(&mut self, request: &Received) -> (u16, Value) {
        let amount: i64 = request.parameter("amount").parse().unwrap();
        self.refunds.push(amount);
        let refund = json!({
            "id": format!("re_{}", self.responses.len() + 1), "object": "refund", "amount": amount,
            "currency": "eur", "status": self.refunds_are, "metadata": metadata(request),
            "payment_intent": request.parameter("payment_intent"),
        });
        self.insert(refund.clone());
        (200, refund)
    }

    fn cancel(&mut self, path: &str) -> Value {
        let id = path.split('/').nth(3).unwrap();
        let intent = self.objects.iter_mut().find(|object| object["id"] == id).unwrap();
        intent["status"] = "canceled".into();
        intent.clone()
    }

    fn read(&self, request: &Received, shows_all: bool) -> Reply {
        let mut path = request.path.split('/').skip(2);
        let kind = if path.next() == Some("refunds") { "refund" } else { "payment_intent" };
        let mut objects = self.objects.iter().filter(|object| object["object"] == kind);
        if let Some(id) = path.next() {
            return match objects.find(|object| object["id"] == id) {
                Some(object) => (200, object.clone(), false),
                None => (404, json!({ "error": { "type": "invalid_request_error" } }), false),
            };
        }
        let of = |object: &&Value| {
            request.asked("payment_intent").is_none_or(|intent| object["payment_intent"] == intent)
        };
        let mut listed: Vec<&Value> = if shows_all { objects.filter(of).collect() } else { Vec::new() };
        if let Some(last) = request.asked("starting_after") {
            let place = listed.iter().position(|object| object["id"] == last).unwrap();
            listed.drain(..=place);
        }
        let has_more = listed.len() > self.page;
        listed.truncate(self.page);
        (200, json!({ "object": "list", "data": listed, "has_more": has_more }), false)
    }
}

fn metadata(request: &Received) -> Value {
    json!({
        "reference": request.parameter("metadata[reference]"),
        "deployment": request.parameter("metadata[deployment]"),
    })
}
