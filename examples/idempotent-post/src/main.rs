//! `POST /tickets` with an `Idempotency-Key` sells a seat. Sent twice, it sells it once.
#![allow(missing_docs, reason = "an example has no callers")]

use actix_web::error::{ErrorBadRequest, ErrorServiceUnavailable};
use actix_web::http::StatusCode;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, Result, web};
use database::{Database, RELIABILITY, Settings, Tx};
use diesel::ExpressionMethods;
use diesel_async::RunQueryDsl;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use envelope::{Caller, ClientId};
use idempotency::{CommandError, Fingerprint, FingerprintInput, Key, KeyPolicy, KeyScope, KeyedRequest};
use idempotency::{Operation, Outcome, Retention, StoredResponse, canonicalise, execute};

const MIGRATIONS: EmbeddedMigrations = embed_migrations!();
diesel::table! { ticket (id) { id -> Uuid, seat -> Text } }

#[derive(Clone, serde::Deserialize)]
struct Sale {
    seat: String,
}

async fn sell(database: web::Data<Database>, http: HttpRequest, body: web::Bytes) -> Result<HttpResponse> {
    let key = http.headers().get("Idempotency-Key").map_or(&b""[..], |value| value.as_bytes());
    let key = Key::parse(key, KeyPolicy::Uuid).map_err(ErrorBadRequest)?;
    let canonical = canonicalise(&body).map_err(ErrorBadRequest)?;
    let sale: Sale = serde_json::from_slice(&body).map_err(ErrorBadRequest)?;
    // In your service, tenant and client come from the token.
    let caller = Caller { tenant: "theatre".parse().map_err(ErrorBadRequest)?, client: ClientId::system() };
    let fingerprint = Fingerprint::of(&FingerprintInput {
        method: "POST",
        route_template: "/tickets",
        path_parameters: &[],
        query: &[],
        media_type: "application/json",
        actor: caller.client.as_str(),
        body: &canonical,
    });
    let scope = KeyScope { caller, method: "POST".to_owned(), route: "/tickets".to_owned() };
    let request = KeyedRequest { scope, key, fingerprint, traceparent: None };
    let command = async move |tx: &mut Tx, operation: &Operation| {
        let row = (ticket::id.eq(operation.id.uuid()), ticket::seat.eq(&sale.seat));
        let sold =
            diesel::insert_into(ticket::table).values(row).on_conflict_do_nothing().execute(tx).await?;
        if sold == 0 {
            return Err(CommandError::Rejected(response(StatusCode::CONFLICT, "the seat is sold")));
        }
        Ok(response(StatusCode::CREATED, &format!("ticket {}", operation.id)))
    };
    let outcome = execute(&database, Retention::default(), request, command).await;
    Ok(match outcome.map_err(ErrorServiceUnavailable)? {
        Outcome::Executed(response) | Outcome::Replayed { response, .. } | Outcome::Refused(response) => {
            let status = StatusCode::from_u16(response.status).map_err(ErrorServiceUnavailable)?;
            let mut sent = HttpResponse::build(status);
            response.headers.into_iter().for_each(|header| _ = sent.append_header(header));
            sent.body(response.body)
        }
        Outcome::InProgress => HttpResponse::Conflict().insert_header(("Retry-After", "1")).body("retry it"),
        Outcome::Reused => HttpResponse::Conflict().body("the key belongs to another request"),
        Outcome::Fenced => HttpResponse::Conflict().body("the client gave this key up"),
        Outcome::Expired => HttpResponse::Conflict().body("the key was used long ago"),
    })
}

fn response(status: StatusCode, text: &str) -> StoredResponse {
    let headers = vec![("Content-Type".to_owned(), "text/plain".to_owned())];
    StoredResponse { status: status.as_u16(), headers, body: text.as_bytes().to_vec() }
}

#[tokio::main]
async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let set = |name| std::env::var(name).map_err(|_| format!("{name} is not set"));
    database::migrate(&set("MIGRATION_URL")?.into(), vec![RELIABILITY, MIGRATIONS]).await?;
    let settings = Settings::new(set("DATABASE_URL")?);
    let database = web::Data::new(Database::new(&settings, tokio::runtime::Handle::current())?);
    let app = move || App::new().app_data(database.clone()).route("/tickets", web::post().to(sell));
    let server = HttpServer::new(app).bind("127.0.0.1:0")?;
    println!("http://{}", server.addrs()[0]);
    Ok(server.run().await?)
}
