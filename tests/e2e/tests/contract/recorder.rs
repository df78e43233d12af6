//! Sends requests, keeps the first of each documented response, and compares them with the examples of the services.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use e2e::{Customer, Part};
use harness::Api;
use harness::{DocumentedResponse, Request, Response};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::stable::Ids;

/// Set to write the examples instead of comparing them.
const WRITE: &str = "IDEM_WRITE_EXAMPLES";

pub(crate) struct Recorder<'c> {
    pub(crate) customer: &'c Customer,
    ids: Ids,
    responses: BTreeMap<DocumentedResponse, Value>,
    /// A request of each operation that succeeded.
    requests: BTreeMap<(Part, String), (Request, Value)>,
}

impl<'c> Recorder<'c> {
    pub(crate) fn new(customer: &'c Customer) -> Self {
        Self { customer, ids: Ids::default(), responses: BTreeMap::new(), requests: BTreeMap::new() }
    }

    /// Sends a request that gets this response.
    pub(crate) async fn gets(&mut self, status: u16, code: &str, request: &Request) -> Response {
        self.gets_by(&self.customer.api, status, code, request).await
    }

    /// Sends a request by this client, and gets this response.
    pub(crate) async fn gets_by(
        &mut self,
        api: &Api<'_>,
        status: u16,
        code: &str,
        request: &Request,
    ) -> Response {
        let response = api.send(request).await.unwrap();
        self.keep(request, &response);
        let given = (response.status, response.code());
        assert_eq!(given, (status, code.to_owned()), "{}: {}", request.name(), response.json());
        response
    }

    /// Sends a command that makes something; returns its id.
    pub(crate) async fn creates(&mut self, request: &Request) -> Uuid {
        let created = self.gets(201, "", request).await.json();
        created["id"].as_str().and_then(|id| id.parse().ok()).expect("an id")
    }

    pub(crate) fn keep(&mut self, request: &Request, response: &Response) {
        let documented = DocumentedResponse::of(request, response)
            .unwrap_or_else(|| panic!("{} is documented", request.name()));
        let operation = (documented.part, documented.operation.clone());
        if response.status < 300 && !self.requests.contains_key(&operation) {
            let body = request.body.as_deref().and_then(|body| serde_json::from_str(body).ok());
            let body = self.ids.stable(&body.unwrap_or_default());
            self.requests.insert(operation, (request.clone(), body));
        }
        if !self.responses.contains_key(&documented) {
            let body = self.ids.stable(&response.json());
            self.responses.insert(documented, body);
        }
    }

    pub(crate) fn has(&self, documented: &DocumentedResponse) -> bool {
        self.responses.contains_key(documented)
    }

    /// A request that succeeded of each operation whose document lists this problem.
    pub(crate) fn requests_documenting(&self, part: Part, code: &str) -> Vec<Request> {
        let documented = DocumentedResponse::all();
        let lists = |operation: &str| {
            documented.iter().any(|it| (it.part, &*it.operation, &*it.code) == (part, operation, code))
        };
        let requests = self.requests.iter().filter(|((of, operation), _)| *of == part && lists(operation));
        requests.map(|(_, (request, _))| request.clone()).collect()
    }

    /// Fails unless the examples of each service are these responses. Their ids may have other numbers: those depend on the requests that
    /// other services got before.
    pub(crate) fn compare_with_the_examples(&self) {
        for part in Part::SERVICES {
            let seen = serde_json::to_string_pretty(&self.examples(part)).unwrap() + "\n";
            let file = examples_of(part);
            if std::env::var_os(WRITE).is_some() {
                std::fs::write(&file, seen).unwrap();
            } else {
                let stored = std::fs::read_to_string(&file).unwrap();
                assert!(
                    renumbered(&stored) == renumbered(&seen),
                    "services/{0}/examples.json differs from the responses of {0}; renew it with `{WRITE}=1 ./dev test -p e2e --test contract`, \
                     and then openapi/{0}.json. Seen:\n{seen}",
                    part.name()
                );
            }
        }
    }

    /// The examples in the form that `edge::publish` reads.
    fn examples(&self, part: Part) -> Value {
        let mut examples = json!({});
        for ((_, operation), (_, body)) in self.requests.iter().filter(|((of, _), _)| *of == part) {
            if !body.is_null() {
                examples[operation]["request"] = body.clone();
            }
        }
        for (documented, body) in self.responses.iter().filter(|(documented, _)| documented.part == part) {
            let (operation, status, code) =
                (&documented.operation, documented.status.to_string(), &documented.code);
            let example = match (code.is_empty(), documented.is_shared()) {
                (true, _) if body.is_null() => continue,
                (true, _) => &mut examples[operation][status],
                (false, false) => &mut examples[operation][status][code],
                (false, true) => &mut examples["problems"][code],
            };
            if example.is_null() {
                *example = body.clone();
            }
        }
        examples.sort_all_objects();
        examples
    }
}

/// The same examples, with ids that are numbered in the order of the file.
fn renumbered(examples: &str) -> String {
    Ids::default().text(examples)
}

fn examples_of(part: Part) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../services").join(part.name()).join("examples.json")
}
