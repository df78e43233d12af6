//! Links from the response of a command to the operations that read its result.

use serde_json::{Map, Value, json};

/// An operation that reads one thing by the parameters of its path.
struct Reader {
    operation: Value,
    schema: Value,
    parameters: Vec<String>,
}

/// Adds a link to each successful response of a command whose body is what a `GET` returns, or names an operation.
pub(super) fn add_links(document: &mut Value) {
    let readers = readers(document);
    let Some(paths) = document["paths"].as_object_mut() else { return };
    let operations = paths.values_mut().filter_map(Value::as_object_mut);
    let commands = operations.flat_map(|item| item.iter_mut().filter(|(method, _)| *method != "get"));
    for (_, command) in commands {
        let responses = command["responses"].as_object_mut().into_iter().flatten();
        for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            let body = &response["content"]["application/json"]["schema"];
            if let Some((name, link)) = link(body, &readers) {
                response["links"] = json!({ name: link });
            }
        }
    }
}

fn readers(document: &Value) -> Vec<Reader> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let reader = |(path, item): (&String, &Value)| {
        let get = item.get("get")?;
        let schema = get.pointer("/responses/200/content/application~1json/schema")?;
        let parameters = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let parameters: Vec<String> = parameters.map(str::to_owned).collect();
        let (operation, schema) = (get["operationId"].clone(), schema.clone());
        (!parameters.is_empty()).then_some(Reader { operation, schema, parameters })
    };
    paths.filter_map(reader).collect()
}

/// The link to the operation that reads what this body shows.
fn link(body: &Value, readers: &[Reader]) -> Option<(String, Value)> {
    if body["$ref"] == "#/components/schemas/AcceptedOperation" {
        let parameters = json!({ "id": "$response.body#/operation_id" });
        return Some((
            "outcome".to_owned(),
            json!({ "operationId": "getOperation", "parameters": parameters }),
        ));
    }
    let reader = readers.iter().find(|reader| body["$ref"].is_string() && reader.schema == *body)?;
    let value = |name: &String| (name.clone(), json!(format!("$response.body#/{name}")));
    let parameters: Map<String, Value> = reader.parameters.iter().map(value).collect();
    Some(("self".to_owned(), json!({ "operationId": reader.operation, "parameters": parameters })))
}
