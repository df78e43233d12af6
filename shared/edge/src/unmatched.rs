//! What no handler wants: 404 where there is no such path, 405 where only the method is wrong.

use actix_web::dev::ResourceDef;
use actix_web::{HttpRequest, HttpResponse, ResponseError, Route, web};
use utoipa::openapi::OpenApi;

use crate::{Problem, problem_types};

/// The default service of an application with this document.
pub fn unmatched(document: &OpenApi) -> Route {
    let routes: Vec<(ResourceDef, String)> = document
        .paths
        .paths
        .iter()
        .map(|(path, item)| {
            let methods = [
                (item.get.is_some(), "GET"),
                (item.put.is_some(), "PUT"),
                (item.post.is_some(), "POST"),
                (item.delete.is_some(), "DELETE"),
                (item.patch.is_some(), "PATCH"),
            ];
            let methods: Vec<&str> =
                methods.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect();
            (ResourceDef::new(path.as_str()), methods.join(", "))
        })
        .collect();
    web::to(move |request: HttpRequest| {
        let response = answer(&routes, &request);
        async move { response }
    })
}

fn answer(routes: &[(ResourceDef, String)], request: &HttpRequest) -> HttpResponse {
    match routes.iter().find(|(path, _)| path.is_match(request.path())) {
        Some((_, methods)) => {
            let detail = format!("{} is not a method of this path; allowed: {methods}.", request.method());
            Problem::new(&problem_types::METHOD_NOT_ALLOWED, detail)
                .allowing(methods.clone())
                .error_response()
        }
        None => Problem::new(
            &problem_types::NOT_FOUND,
            "There is nothing at this path; /docs lists what there is.",
        )
        .error_response(),
    }
}
