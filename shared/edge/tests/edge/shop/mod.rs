//! A service with few routes: place, cancel, read and list orders; put and read items.

mod items;
mod orders;
mod transfers;

pub(crate) use transfers::{done, not_now};

use utoipa::OpenApi;
use utoipa_actix_web::service_config::ServiceConfig;

diesel::table! {
    placed (id) { id -> Uuid, tenant_id -> Text, sku -> Text, amount -> BigInt, cancelled -> Bool, }
}
diesel::table! {
    item (tenant_id, sku) { tenant_id -> Text, sku -> Text, price -> BigInt, version -> BigInt, }
}

pub(crate) const TABLES: &str = "
    CREATE TABLE placed (
        id uuid PRIMARY KEY, tenant_id text NOT NULL, sku text NOT NULL, amount bigint NOT NULL, cancelled boolean NOT NULL
    );
    CREATE TABLE item (
        tenant_id text, sku text, price bigint NOT NULL, version bigint NOT NULL, PRIMARY KEY (tenant_id, sku)
    );
    GRANT ALL ON placed, item TO idem_service";

#[derive(OpenApi)]
#[openapi(
    info(title = "A shop"),
    components(schemas(contracts::OrderId, edge::AcceptedOperation, edge::ValidationError))
)]
struct Api;

pub(crate) fn document() -> utoipa::openapi::OpenApi {
    use utoipa_actix_web::AppExt;
    actix_web::App::new().into_utoipa_app().openapi(Api::openapi()).configure(routes).split_for_parts().1
}

pub(crate) fn routes(app: &mut ServiceConfig<'_>) {
    app.service(orders::place).service(orders::cancel).service(orders::read).service(orders::list);
    app.service(items::put).service(items::price).service(items::read).service(items::orders);
    app.service(transfers::start);
    edge::operations(app, "orders:read", &["orders:write"]);
    edge::idempotency_keys(app);
}
