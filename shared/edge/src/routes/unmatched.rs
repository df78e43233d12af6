//! The default handler: 404 for an unknown path, 405 for a known path with another method.

use actix_web::dev::ResourceDef;
use actix_web::{HttpRequest, HttpResponse, Route, web};
use utoipa::openapi::OpenApi;

use crate::{Problem, problem_types};

/// The default handler of an application with this document.
pub fn unmatched(document: &OpenApi) -> Route {
    let routes: Vec<(ResourceDef, String)> = document
        .paths
        .paths
        .iter()
        .map(|(path, item)| {
            let methods = [
                (item.get.is_some(), "GET"),
                (item.get.is_some(), "HEAD"),
                (item.put.is_some(), "PUT"),
                (item.post.is_some(), "POST"),
                (item.delete.is_some(), "DELETE"),
                (item.patch.is_some(), "PATCH"),
            ];
            let methods: Vec<&str> =
                methods.into_iter().filter(|(exists, _)| *exists).map(|(_, name)| name).collect();
            (ResourceDef::new(path.as_str()), methods.join(", "))
        })
        .collect();
    web::to(move |request: HttpRequest| {
        let problem = problem(&routes, &request);
        async move { Err::<HttpResponse, _>(problem) }
    })
}

fn problem(routes: &[(ResourceDef, String)], request: &HttpRequest) -> Problem {
    match routes.iter().find(|(path, _)| path.is_match(request.match_info().as_str())) {
        Some((_, methods)) => {
            let detail = format!("{} is not allowed at this path; allowed: {methods}.", request.method());
            Problem::new(&problem_types::METHOD_NOT_ALLOWED, detail).allowing(methods.clone())
        }
        None => Problem::new(
            &problem_types::NOT_FOUND,
            "There is nothing at this path; /openapi.json lists all paths.",
        ),
    }
}
