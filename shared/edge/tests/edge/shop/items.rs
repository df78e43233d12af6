//! Items: commands without a key, and conditional requests.

use actix_web::web::Data;
use actix_web::{HttpResponse, get, post, put};
use contracts::Sku;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use edge::{
    Command, Edge, IdempotencyKey, Idempotent, IfNoneMatch, KeyedProblems, Listing, Natural, NaturalProblems,
    Page, PageQuery, Precondition, Principal, Problem, ReadProblems, Reply, Segment, ValidationErrors,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::orders::{AllOrders, Order};
use super::{item, placed};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PutItem {
    price: i64,
}

impl Command for PutItem {
    const SCOPE: &'static str = "inventory:write";

    fn validate(&self, errors: &mut ValidationErrors) {
        errors.require(self.price >= 1, "/price", "a price is at least 1");
    }
}

#[derive(Debug, Queryable, Selectable, Serialize, ToSchema)]
#[diesel(table_name = item)]
struct Item {
    price: i64,
    #[serde(skip)]
    version: i64,
}

#[utoipa::path(
    operation_id = "putItem",
    params(("sku" = Sku, Path), Precondition),
    request_body = PutItem,
    responses((status = 200, body = Item), Precondition, NaturalProblems<PutItem>),
    security(("bearer" = []))
)]
#[put("/v1/items/{sku}")]
pub(super) async fn put(
    request: Natural<PutItem>,
    Segment(sku): Segment<Sku>,
    expected: Precondition,
) -> Result<HttpResponse, Problem> {
    request
        .execute(async move |tx, request| {
            let found = item::table.find((request.tenant().as_str(), sku.as_str())).for_update();
            let found: Option<Item> = found.select(Item::as_select()).first(tx).await.optional()?;
            found.as_ref().map_or(Ok(()), |item| expected.exclude(item.version))?;
            if let Some(same) = found.as_ref().filter(|item| item.price == request.price) {
                return Ok(Reply::ok(same).version(same.version));
            }
            expected.require(found.as_ref().map(|item| item.version))?;
            let version = found.map_or(1, |item| item.version + 1);
            let row = (
                item::tenant_id.eq(request.tenant().as_str()),
                item::sku.eq(sku.as_str()),
                item::price.eq(request.price),
                item::version.eq(version),
            );
            let put = diesel::insert_into(item::table).values(row).on_conflict((item::tenant_id, item::sku));
            put.do_update()
                .set((item::price.eq(request.price), item::version.eq(version)))
                .execute(tx)
                .await?;
            audit::record(tx, request.fact("item.put", "item", sku.as_str()));
            Ok(Reply::ok(&Item { price: request.price, version }).version(version))
        })
        .await
}

#[utoipa::path(
    operation_id = "priceItem",
    params(("sku" = Sku, Path), IdempotencyKey),
    request_body = PutItem,
    responses((status = 200, body = Item), KeyedProblems<PutItem>),
    security(("bearer" = []))
)]
#[post("/v1/items/{sku}/price")]
pub(super) async fn price(
    request: Idempotent<PutItem>,
    Segment(sku): Segment<Sku>,
) -> Result<HttpResponse, Problem> {
    request
        .execute(async move |tx, request| {
            audit::record(tx, request.fact("item.price", "item", sku.as_str()));
            Ok(Reply::ok(&Item { price: request.price, version: 1 }))
        })
        .await
}

#[utoipa::path(
    operation_id = "getItem",
    params(("sku" = Sku, Path), IfNoneMatch),
    responses((status = 200, body = Item), IfNoneMatch, ReadProblems),
    security(("bearer" = []))
)]
#[get("/v1/items/{sku}")]
pub(super) async fn read(
    who: Principal,
    Segment(sku): Segment<Sku>,
    known: IfNoneMatch,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    who.require("orders:read")?;
    let mut connection = edge.database().connection().await?;
    let item = item::table.find((who.tenant().as_str(), sku.as_str())).select(Item::as_select());
    let item: Option<Item> = item.first(&mut connection).await.optional()?;
    let item = item.ok_or_else(|| Problem::not_found("item"))?;
    Ok(known.respond(item.version, &item))
}

#[utoipa::path(
    operation_id = "listOrdersOfItem",
    params(("sku" = Sku, Path), PageQuery),
    responses((status = 200, body = Listing<Order>), ReadProblems),
    security(("bearer" = []))
)]
#[get("/v1/items/{sku}/orders")]
pub(super) async fn orders(
    who: Principal,
    Segment(sku): Segment<Sku>,
    page: Page<AllOrders>,
    edge: Data<Edge>,
) -> Result<HttpResponse, Problem> {
    let mut connection = edge.database().connection().await?;
    let orders = placed::table
        .filter(placed::tenant_id.eq(who.tenant().as_str()))
        .filter(placed::sku.eq(sku.as_str()))
        .filter(placed::id.lt(page.before()));
    let orders = orders.order(placed::id.desc()).limit(page.fetch()).select(Order::as_select());
    let orders: Vec<Order> = orders.load(&mut connection).await?;
    Ok(HttpResponse::Ok().json(page.listing(orders, |order| order.id, Ok::<_, Problem>)?))
}
