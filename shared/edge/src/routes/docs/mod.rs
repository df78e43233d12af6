//! Serves the OpenAPI document, its page, and the catalogue of problems.

mod page;

use actix_web::guard::Get;
use actix_web::http::header::ContentType;
use actix_web::web::{self, Bytes, ServiceConfig};
use actix_web::{HttpResponse, Responder};

use crate::{Edge, Problem};

/// The catalogue of problems.
const PROBLEMS: &str = include_str!("../../../../../docs/problems.md");

/// Mounts `/openapi.json` and `/problems/{code}`, and `/docs/` if the settings ask for it.
pub fn docs(edge: &Edge, document: impl Into<Bytes>) -> impl FnOnce(&mut ServiceConfig) {
    let (has_page, document) = (edge.settings.docs, document.into());
    move |app| {
        // Guards, not routes, so that other methods get the same 404 as an unknown path.
        app.service(web::resource("/problems/{code}").guard(Get()).to(problem)).service(
            web::resource("/openapi.json").guard(Get()).to(move || {
                let response = HttpResponse::Ok().content_type(ContentType::json()).body(document.clone());
                async { response }
            }),
        );
        if has_page {
            app.configure(page::mount);
        }
    }
}

async fn problem(code: web::Path<String>) -> Result<impl Responder, Problem> {
    let text = section(&code).ok_or_else(|| Problem::not_found("problem"))?;
    Ok(HttpResponse::Ok().content_type("text/markdown; charset=utf-8").body(text))
}

/// The section of the catalogue for this code, without its links into the source.
fn section(code: &str) -> Option<String> {
    let mut lines = PROBLEMS.lines().skip_while(|line| line.strip_prefix("## ") != Some(code));
    let heading = lines.next()?;
    let text: Vec<&str> =
        lines.take_while(|line| !line.starts_with("## ") && !line.starts_with("Decided in ")).collect();
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
