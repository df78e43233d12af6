//! Serves the OpenAPI document, its page, and the catalogue of problems. The page loads nothing from other hosts.

use actix_web::guard::Get;
use actix_web::http::header::LOCATION;
use actix_web::web::{self, ServiceConfig};
use actix_web::{HttpResponse, Responder};
use serde_json::Value;
use utoipa_swagger_ui::{Config, SwaggerUi};

use crate::Problem;

/// The catalogue of problems.
const PROBLEMS: &str = include_str!("../../../../docs/problems.md");

/// Mounts `/openapi.json`, `/docs/` and `/problems/{code}`.
pub fn docs(document: Value) -> impl FnOnce(&mut ServiceConfig) {
    move |app| {
        // By default the page sends the document to a validator on another host.
        let page = Config::default().validator_url("none");
        // Guards, not routes, so that other methods get the same 404 as an unknown path.
        app.service(
            web::resource("/docs").guard(Get()).to(|| async {
                HttpResponse::PermanentRedirect().insert_header((LOCATION, "/docs/")).finish()
            }),
        )
        .service(web::resource("/problems/{code}").guard(Get()).to(problem))
        .service(
            SwaggerUi::new("/docs/{_:.*}")
                .config(page)
                .external_urls_from_iter_unchecked([("/openapi.json", document)]),
        );
    }
}

async fn problem(code: web::Path<String>) -> Result<impl Responder, Problem> {
    let text = section(&code).ok_or_else(|| Problem::not_found("problem"))?;
    Ok(HttpResponse::Ok().content_type("text/markdown; charset=utf-8").body(text))
}

/// The section of the catalogue for this code.
fn section(code: &str) -> Option<String> {
    let mut lines = PROBLEMS.lines().skip_while(|line| *line != format!("## {code}"));
    let heading = lines.next()?;
    let text: Vec<&str> = lines.take_while(|line| !line.starts_with("## ")).collect();
    Some(format!("{heading}\n{}\n", text.join("\n").trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_problem_has_no_section() {
        assert_eq!(section("no-such-problem"), None);
    }
}
