//! The rooms of a service and the arrows between them. Each rule returns its violations; an empty list means that the
//! rule holds.

use crate::modules::{ModulePath, Modules};

/// For each room, the rooms that it may use beside itself. `lib.rs` wires the rooms and may use all of them. A room may
/// name one item of `lib.rs`: the service's type, because handlers need it for their context.
const ARROWS: &[(&str, &[&str])] = &[
    // The entries: each is called from outside the service.
    (
        "api",
        &["transitions", "webhooks", "store", "domain", "events", "views", "error", "settings", "context"],
    ),
    ("consumers", &["transitions", "processor", "store", "domain"]),
    ("jobs", &["transitions", "reconcile", "metrics", "store", "domain", "settings"]),
    ("operator", &["transitions", "reconcile", "store", "domain", "settings", "context"]),
    // The rooms of payments behind the entries.
    ("worker", &["transitions", "processor", "store", "domain", "settings"]),
    ("webhooks", &["transitions", "store", "domain"]),
    ("reconcile", &["transitions", "processor", "store", "domain", "settings"]),
    // The one place that locks, decides, writes and announces.
    ("transitions", &["ledger", "metrics", "processor", "store", "domain", "events", "views", "error"]),
    ("ledger", &["store", "domain"]),
    // Counts, and knows no table: the store reads the gauges.
    ("metrics", &["processor", "domain"]),
    // The client of the outside system: it knows no table.
    ("processor", &["domain"]),
    ("views", &["store", "domain", "events"]),
    ("error", &["domain"]),
    ("store", &["domain", "events", "schema"]),
    // Reading the settings makes the client, because an unusable key or address must stop the start.
    ("settings", &["processor", "domain"]),
    // The service's type, which handlers and commands need for their context.
    ("context", &[]),
    // Events that no other service consumes. A consumed event belongs to `contracts`.
    ("events", &[]),
    ("schema", &[]),
    ("domain", &[]),
];

/// Crates that would give the pure room I/O, a clock, new ids or the form of the API.
const NOT_IN_DOMAIN: &[&str] = &[
    "actix_web",
    "audit",
    "crashpoint",
    "database",
    "diesel",
    "diesel_async",
    "edge",
    "idempotency",
    "inbox",
    "messaging",
    "outbox",
    "rand",
    "reqwest",
    "runtime",
    "serde",
    "serde_json",
    "tokio",
    "tracing",
    "utoipa",
];

/// Calls that read a clock or make an id.
const NOT_PURE: &[&str] =
    &["Utc::now", "Local::now", "SystemTime::now", "Instant::now", "::now_v7", "::new_v4", "::generate"];

/// Crates that the store must not know, because SQL does not depend on who asks for it.
const NOT_IN_STORE: &[&str] = &["actix_web", "edge", "inbox", "runtime", "utoipa"];

/// Crates that only the commands of people may use.
const ONLY_IN_OPERATOR: &[&str] = &["clap"];

/// All violations of one service's rooms.
pub fn violations(service: &str, modules: &Modules) -> Vec<String> {
    let mut found = Vec::new();
    arrows(service, modules, &mut found);
    outside(service, modules, &mut found);
    for circle in modules.circles() {
        let names: Vec<String> = circle.iter().map(name).collect();
        found.push(format!("{service}: {} need each other in a circle", names.join(", ")));
    }
    found
}

fn room(path: &ModulePath) -> Option<&str> {
    path.first().map(String::as_str)
}

fn name(path: &ModulePath) -> String {
    path.join("::")
}

fn arrows(service: &str, modules: &Modules, found: &mut Vec<String>) {
    for (path, module) in &modules.0 {
        let Some(from) = room(path) else { continue };
        let Some((_, allowed)) = ARROWS.iter().find(|(room, _)| *room == from) else {
            found.push(format!(
                "{service}: {} is in no room: add the room to ARROWS or move the file",
                name(path)
            ));
            continue;
        };
        for item in module.root_items.iter().filter(|item| !item.eq_ignore_ascii_case(service)) {
            found
                .push(format!("{service}: {} uses {item} of lib.rs, which only wires the rooms", name(path)));
        }
        for used in &module.names {
            let Some(to) = room(used) else { continue };
            if from != to && !allowed.contains(&to) {
                found.push(format!("{service}: {} uses {}: {from} may not use {to}", name(path), name(used)));
            }
        }
    }
}

fn outside(service: &str, modules: &Modules, found: &mut Vec<String>) {
    for (path, module) in &modules.0 {
        let forbidden = match room(path) {
            Some("domain") => NOT_IN_DOMAIN,
            Some("store") => NOT_IN_STORE,
            Some("schema") | None => continue,
            // SQL is only in the store.
            Some(_) => &["diesel", "diesel_async"],
        };
        let is_domain = room(path) == Some("domain");
        for used in &module.outside {
            let head = used.split("::").next().unwrap_or_default();
            let is_command = room(path) != Some("operator") && ONLY_IN_OPERATOR.contains(&head);
            let is_impure = is_domain && NOT_PURE.iter().any(|call| used.ends_with(call));
            if forbidden.contains(&head) || is_impure || is_command {
                found.push(format!("{service}: {} uses {used}, which does not belong there", name(path)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYOUT: &[(&str, &str)] = &[
        (
            "lib.rs",
            "mod api; mod domain; mod store; mod transitions; mod views; pub struct Orders; fn routes() { api::routes() }",
        ),
        ("api/mod.rs", "mod place_order; pub(crate) fn routes() { place_order::place(); }"),
        (
            "api/place_order.rs",
            "use crate::{Orders, transitions, views::OrderView}; use edge::Reply; pub(crate) fn place() { transitions::advance() }",
        ),
        ("consumers.rs", "use crate::transitions::{self, Cause}; fn on() { transitions::advance() }"),
        ("domain/mod.rs", "mod order; mod place; pub use order::{Order, State}; pub use place::*;"),
        (
            "domain/order.rs",
            "use contracts::Money; /// Not `edge::Reply`.\npub struct Order; pub enum State { Open }",
        ),
        (
            "domain/place.rs",
            "use super::Order; pub fn place(order: Order) {} #[cfg(test)] mod tests { use diesel::Never; }",
        ),
        ("store/mod.rs", "pub mod orders;"),
        (
            "store/orders.rs",
            "use diesel::prelude::*; use crate::domain::Order; use crate::schema::orders; pub fn lock() {}",
        ),
        ("schema.rs", "diesel::table! { orders { id -> Uuid } }"),
        (
            "transitions.rs",
            "use crate::domain::{self, place}; use crate::store::orders; pub fn advance() { orders::lock(); }",
        ),
        ("views.rs", "use crate::store::orders::lock; pub struct OrderView;"),
    ];

    /// The violations after `text` has been added to `file`.
    fn planted(file: &str, text: &str) -> Vec<String> {
        let mut sources: Vec<(&str, String)> =
            LAYOUT.iter().map(|(file, text)| (*file, (*text).to_owned())).collect();
        match sources.iter_mut().find(|(known, _)| *known == file) {
            Some((_, known)) => known.push_str(text),
            None => sources.push((file, text.to_owned())),
        }
        let modules =
            Modules::of(sources.iter().map(|(file, text)| (*file, text.as_str()))).expect("sources");
        violations("orders", &modules)
    }

    #[test]
    fn a_service_that_keeps_the_rules_has_no_violations() {
        assert_eq!(planted("domain/order.rs", ""), Vec::<String>::new());
    }

    #[test]
    fn every_forbidden_arrow_is_found() {
        for (file, text, message) in [
            (
                "store/orders.rs",
                "use crate::transitions::advance;",
                "orders: store::orders uses transitions: store may not use transitions",
            ),
            (
                "store/orders.rs",
                "fn x() { crate::views::show() }",
                "orders: store::orders uses views: store may not use views",
            ),
            (
                "store/orders.rs",
                "use super::super::api;",
                "orders: store::orders uses api: store may not use api",
            ),
            (
                "domain/order.rs",
                "use crate::{schema::{orders as o}};",
                "orders: domain::order uses schema: domain may not use schema",
            ),
            (
                "transitions.rs",
                "use crate::api::routes;",
                "orders: transitions uses api: transitions may not use api",
            ),
            (
                "consumers.rs",
                "use crate::views::{OrderView};",
                "orders: consumers uses views: consumers may not use views",
            ),
            (
                "consumers.rs",
                "mod inner { use super::super::api::routes; }",
                "orders: consumers uses api: consumers may not use api",
            ),
            (
                "views.rs",
                "vec![crate::transitions::advance()];",
                "orders: views uses transitions: views may not use transitions",
            ),
            (
                "api/place_order.rs",
                "fn x() { crate::routes() }",
                "orders: api::place_order uses routes of lib.rs, which only wires the rooms",
            ),
            ("saga.rs", "", "orders: saga is in no room: add the room to ARROWS or move the file"),
        ] {
            assert!(planted(file, text).contains(&message.to_owned()), "{text}: {:?}", planted(file, text));
        }
    }

    #[test]
    fn an_arrow_through_a_re_export_leads_to_the_module_that_defines_the_name() {
        let found = planted("domain/order.rs", "pub use crate::views::OrderView as View;");
        assert_eq!(found, ["orders: domain::order uses views: domain may not use views"]);
        // `State` is defined in `domain::order`, which names nothing of `domain`: no circle.
        assert_eq!(planted("domain/order.rs", "fn x(state: super::State) {}"), Vec::<String>::new());
    }

    #[test]
    fn circles_are_found() {
        for (file, text, circle) in [
            ("domain/order.rs", "use super::place;", "domain::order, domain::place"),
            ("domain/order.rs", "use crate::domain::place::place as p;", "domain::order, domain::place"),
            ("api/place_order.rs", "fn x() { super::routes() }", "api, api::place_order"),
        ] {
            let message = format!("orders: {circle} need each other in a circle");
            assert!(planted(file, text).contains(&message), "{text}: {:?}", planted(file, text));
        }
    }

    #[test]
    fn a_room_without_side_effects_stays_so() {
        for (file, text) in [
            ("domain/order.rs", "use serde::Serialize;"),
            ("domain/order.rs", "#[derive(utoipa::ToSchema)] struct X;"),
            ("domain/order.rs", "use chrono::Utc; fn x() { Utc::now(); }"),
            ("domain/order.rs", "fn x() { uuid::Uuid::now_v7(); }"),
            ("domain/order.rs", "use contracts::OrderId; fn x() { OrderId::generate(); }"),
            ("store/orders.rs", "use edge::Problem;"),
            ("transitions.rs", "use diesel::prelude::*;"),
            ("api/place_order.rs", "fn x() { diesel::update(y) }"),
        ] {
            assert_eq!(planted(file, text).len(), 1, "{text}: {:?}", planted(file, text));
        }
    }

    #[test]
    fn code_for_tests_comments_and_texts_do_not_count() {
        let text = "// crate::api::x\n/* use edge::X; */ const A: &str = \"edge::Reply\"; #[cfg(test)] mod tests { use crate::api::routes; }";
        assert_eq!(planted("store/orders.rs", text), Vec::<String>::new());
        let files = [
            ("domain/order.rs", "#[cfg(test)] mod tests; pub struct Order;"),
            ("domain/order/tests.rs", "use edge::Reply;"),
        ];
        assert_eq!(violations("orders", &Modules::of(files).expect("sources")), Vec::<String>::new());
    }
}
