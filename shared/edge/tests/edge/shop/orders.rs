//! Orders: commands with each possible outcome.

use std::collections::BTreeMap;

use actix_web::web::Data;
use actix_web::{HttpResponse, get, post};
use contracts::{OrderId, Sku};
use diesel::prelude::*;
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use edge::{
    Command, CommandError, CommandRequest, Edge, Filter, IdempotencyKey, Idempotent, KeyedProblems, Listing,
    Page, PageQuery, Principal, Problem, ReadProblems, Reply, Segment, ValidationErrors,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::placed;

pub(super) mod problem {
    edge::problem_types! {
        /// A rejection by a business rule.
        TOO_MUCH = "too-much", 422, "The amount is too large", retryable: false;
        /// A refusal that a retry may overcome.
        NOT_YET = "not-yet", 422, "The item is not there yet", retryable: true;
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PlaceOrder {
    lines: Vec<OrderLine>,
    #[serde(default)]
    note: Option<String>,
    #[serde(default)]
    weight: Option<f64>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OrderLine {
    sku: Sku,
    amount: i64,
}

impl Command for PlaceOrder {
    const SCOPE: &'static str = "orders:write";

    fn validate(&self, errors: &mut ValidationErrors) {
        errors.require(self.lines.len() == 1, "/lines", "an order has one line");
        for (i, line) in self.lines.iter().enumerate() {
            errors.require(line.amount >= 1, format!("/lines/{i}/amount"), "an amount is at least 1");
        }
        errors.require(self.note.as_ref().is_none_or(|note| note.len() < 100), "/note", "a note is short");
        errors.require(self.weight.is_none_or(|weight| weight > 0.0), "/weight", "a weight is positive");
    }
}

#[derive(Debug, Queryable, Selectable, Insertable, Serialize, ToSchema)]
#[diesel(table_name = placed)]
pub(super) struct Order {
    pub(super) id: Uuid,
    #[serde(skip)]
    tenant_id: String,
    sku: String,
    amount: i64,
    cancelled: bool,
}

impl Order {
    fn new(request: &CommandRequest<PlaceOrder>) -> Self {
        let (tenant_id, line) = (request.tenant().to_string(), &request.lines[0]);
        Self {
            id: Uuid::now_v7(),
            tenant_id,
            sku: line.sku.to_string(),
            amount: line.amount,
            cancelled: false,
        }
    }
}

/// The note of an order selects the outcome of the command.
#[utoipa::path(
    operation_id = "placeOrder",
    params(IdempotencyKey),
    request_body = PlaceOrder,
    responses((status = 201, body = Order), KeyedProblems<PlaceOrder>),
    security(("bearer" = []))
)]
#[post("/v1/orders")]
pub(super) async fn place(request: Idempotent<PlaceOrder>) -> Result<HttpResponse, Problem> {
    request
        .execute(async |tx, request| {
            let order = Order::new(request);
            diesel::insert_into(placed::table).values(&order).execute(tx).await?;
            match request.note.as_deref() {
                // Waits until the test releases the lock.
                Some("wait") => tx.batch_execute("SELECT pg_advisory_xact_lock_shared(1)").await?,
                Some("too much") => return Err(CommandError::rejected(&problem::TOO_MUCH, "Order less.")),
                Some("not yet") => return Err(CommandError::refused(&problem::NOT_YET, "Send it again.")),
                Some("fail") => tx.batch_execute("SELECT canary_in_a_statement FROM nowhere").await?,
                Some("contend") => {
                    let lose = "DO $$ BEGIN RAISE EXCEPTION 'canary' USING ERRCODE = '40001'; END $$";
                    tx.batch_execute(lose).await?;
                }
                Some("unserialisable") => return Ok(Reply::ok(&BTreeMap::from([((), 1)]))),
                Some("large") => return Ok(Reply::ok(&"x".repeat(300_000))),
                Some("panic") => panic!("canary in a panic"),
                _ => {}
            }
            audit::record(tx, request.fact("order.place", "order", order.id));
            Ok(Reply::created(format!("/v1/orders/{}", order.id), &order).version(1))
        })
        .await
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CancelOrder {}

impl Command for CancelOrder {
    const SCOPE: &'static str = "orders:write";
}

#[utoipa::path(
    operation_id = "cancelOrder",
    params(("id" = OrderId, Path), IdempotencyKey),
    request_body = CancelOrder,
    responses((status = 200, body = Order), KeyedProblems<CancelOrder>),
    security(("bearer" = []))
)]
#[post("/v1/orders/{id}/cancel")]
pub(super) async fn cancel(
    order: Segment<OrderId>,
    request: Idempotent<CancelOrder>,
) -> Result<HttpResponse, Problem> {
    let id = order.0.uuid();
    request
        .execute(async move |tx, request| {
            let order = placed::table.find(id).filter(placed::tenant_id.eq(request.tenant().as_str()));
            let cancelled =
                diesel::update(order).set(placed::cancelled.eq(true)).returning(Order::as_select());
            let order: Option<Order> = cancelled.get_result(tx).await.optional()?;
            Ok(Reply::ok(&order.ok_or_else(|| CommandError::Rejected(Problem::not_found("order")))?))
        })
        .await
}

#[utoipa::path(
    operation_id = "getOrder",
    params(("id" = OrderId, Path)),
    responses((status = 200, body = Order), ReadProblems),
    security(("bearer" = []))
)]
#[get("/v1/orders/{id}")]
pub(super) async fn read(
    who: Principal,
    order: Segment<OrderId>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    who.require("orders:read")?;
    let mut connection = edge.database().connection().await?;
    let order = placed::table.find(order.0.uuid()).filter(placed::tenant_id.eq(who.tenant().as_str()));
    let order: Option<Order> = order.select(Order::as_select()).first(&mut connection).await.optional()?;
    Ok(HttpResponse::Ok().json(order.ok_or_else(|| Problem::not_found("order"))?))
}

/// The list has no filter.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
pub(super) struct AllOrders {}

impl Filter for AllOrders {
    const SCOPE: &'static str = "orders:read";
}

#[utoipa::path(
    operation_id = "listOrders",
    params(PageQuery),
    responses((status = 200, body = Listing<Order>), ReadProblems),
    security(("bearer" = []))
)]
#[get("/v1/orders")]
pub(super) async fn list(
    who: Principal,
    page: Page<AllOrders>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    let mut connection = edge.database().connection().await?;
    let orders = placed::table
        .filter(placed::tenant_id.eq(who.tenant().as_str()))
        .filter(placed::id.lt(page.before()));
    let orders = orders.order(placed::id.desc()).limit(page.fetch()).select(Order::as_select());
    let orders: Vec<Order> = orders.load(&mut connection).await?;
    Ok(HttpResponse::Ok().json(page.listing(orders, |order| order.id, Ok::<_, Problem>)?))
}
