//! The smallest service: two tables, one route, one handler, one job. The tests of this crate run it as a process.

#![allow(missing_docs, reason = "an example has no callers")]

use std::convert::Infallible;
use std::process::ExitCode;
use std::time::Duration;

use actix_web::rt::System;
use actix_web::{HttpResponse, get, web};
use contracts::events::OrderConfirmed;
use contracts::streams;
use database::Tx;
use diesel::{ExpressionMethods, QueryDsl};
use diesel_async::RunQueryDsl;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};
use edge::Problem;
use envelope::{Message, Stream};
use inbox::{Consumer, HandlerError, no_locks};
use runtime::{Context, Job, NoCommand, Service, SettingsReader};
use utoipa::OpenApi;
use utoipa_actix_web::service_config::ServiceConfig;

diesel::table! {
    greeting (language) {
        language -> Text,
        words -> Text,
    }
}

diesel::table! {
    greeted (n) {
        n -> BigInt,
        order_id -> Uuid,
        number -> BigInt,
    }
}

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("examples/greeter/migrations");

struct Greeter;

#[derive(Clone)]
struct Settings {
    pause: Duration,
    shy: bool,
    stuck: bool,
    tired: bool,
}

#[derive(OpenApi)]
#[openapi(info(title = "Greeter", description = "Says hello."))]
struct Document;

impl Service for Greeter {
    const NAME: &'static str = "greeter";
    const STREAM: Stream = streams::ORDERS;
    const DEFAULTS: &'static str = include_str!("config.toml");
    const PROBLEMS: &'static [&'static edge::ProblemType] = &[];
    const DOCUMENT: &'static str = "{}";

    type Settings = Settings;
    type Command = NoCommand;

    fn settings(reader: &mut SettingsReader) -> Settings {
        Settings {
            pause: reader.milliseconds("greeter.pause_milliseconds", 0..=60_000),
            shy: reader.switch("greeter.shy"),
            stuck: reader.switch("greeter.stuck"),
            tired: reader.switch("greeter.tired"),
        }
    }

    fn migrations() -> EmbeddedMigrations {
        MIGRATIONS
    }

    fn api() -> utoipa::openapi::OpenApi {
        Document::openapi()
    }

    fn routes(app: &mut ServiceConfig<'_>) {
        app.service(greet).map(|app| app.route("/v1/standstill/{part}", web::post().to(stand_still)));
    }

    fn consumer(context: &Context<Self>) -> Option<Consumer> {
        let Settings { shy, stuck, .. } = context.settings;
        Some(Consumer::of("greeter").on(
            no_locks,
            async move |tx: &mut Tx, order: &Message<OrderConfirmed>| {
                if stuck {
                    block();
                }
                if shy {
                    return Err(HandlerError::Refused("too shy to greet".to_owned()));
                }
                let (id, number) = (order.order.uuid(), order.envelope.sequence);
                let row = (greeted::order_id.eq(id), greeted::number.eq(number));
                diesel::insert_into(greeted::table).values(row).execute(tx).await?;
                Ok(())
            },
        ))
    }

    fn jobs(context: &Context<Self>) -> Vec<Job> {
        if context.settings.tired {
            return vec![Job::new("yawn", async |_stop| tracing::info!("yawning"))];
        }
        vec![Job::every("hum", Duration::from_secs(1), async |_stop| Ok::<(), Infallible>(()))]
    }
}

/// Say hello
#[utoipa::path(operation_id = "greet", responses((status = 200, description = "The words", body = String)))]
#[get("/v1/greeting")]
async fn greet(context: web::Data<Context<Greeter>>) -> Result<HttpResponse, Problem> {
    tracing::info!("thinking");
    tokio::time::sleep(context.settings.pause).await;
    let mut connection = context.database.connection().await?;
    let english = greeting::table.filter(greeting::language.eq("en"));
    let words: String = english.select(greeting::words).first(&mut connection).await?;
    Ok(HttpResponse::Ok().json(words))
}

/// Blocks threads for ever, as a defect would: the thread of this worker, the main thread, or all threads of the database runtime.
async fn stand_still(part: web::Path<String>, context: web::Data<Context<Greeter>>) -> HttpResponse {
    match part.as_str() {
        "worker" => block(),
        "main" => drop(System::current().arbiter().spawn_fn(block)),
        _ => (0..64).for_each(|_| drop(context.database.spawn(async { block() }))),
    }
    HttpResponse::Accepted().finish()
}

fn block() {
    loop {
        std::thread::park();
    }
}

fn main() -> ExitCode {
    runtime::main::<Greeter>()
}
