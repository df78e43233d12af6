//! From JSON to a typed request, with every fault named by its place.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use utoipa::ToSchema;

use crate::{Problem, problem_types};

/// One thing that is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ValidationError {
    /// Where: a JSON Pointer (RFC 6901) into the body, or the name of a parameter or header.
    #[schema(examples("/lines/0/quantity"))]
    pub pointer: String,
    /// What is wrong, and what would be right.
    pub detail: String,
}

/// Collects what is wrong with a request, so that a client learns everything at once.
#[derive(Debug, Default)]
pub struct ValidationErrors(Vec<ValidationError>);

impl ValidationErrors {
    /// Notes a fault unless the rule holds.
    pub fn require(&mut self, holds: bool, pointer: impl Into<String>, detail: impl Into<String>) {
        if !holds {
            self.0.push(ValidationError { pointer: pointer.into(), detail: detail.into() });
        }
    }

    pub(crate) fn into_problem(self) -> Option<Problem> {
        (!self.0.is_empty()).then(|| invalid("The request breaks the rules named in errors.", self.0))
    }
}

pub(crate) fn invalid(detail: impl Into<String>, errors: Vec<ValidationError>) -> Problem {
    Problem::new(&problem_types::REQUEST_INVALID, detail).with_errors(errors)
}

/// Reads a type from JSON; the fault says where.
pub(crate) fn parse<W: DeserializeOwned>(body: &[u8]) -> Result<W, Problem> {
    let mut json = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let pointer = pointer(error.path());
        let detail = error.into_inner().to_string();
        // serde_json appends the position; the pointer says it better.
        let detail = detail.split(" at line ").next().unwrap_or_default().to_owned();
        invalid("The body is not of the documented form.", vec![ValidationError { pointer, detail }])
    })
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    let mut pointer = String::new();
    for segment in path {
        pointer.push('/');
        match segment {
            Segment::Seq { index } => pointer.push_str(&index.to_string()),
            Segment::Map { key } => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
            Segment::Enum { variant } => pointer.push_str(variant),
            Segment::Unknown => {}
        }
    }
    pointer
}
