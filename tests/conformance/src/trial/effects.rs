//! The effects of a case: what its commands have changed at the server.

use serde_json::Value;

use super::Trial;
use crate::case_error::{CaseError, CaseResult, ensure};
use crate::target::Caller;

impl Trial<'_> {
    /// Fails unless the case has this many effects for a caller. The number of each request is 1.
    pub(crate) async fn has_effects_for(&self, caller: Caller, expected: usize) -> CaseResult {
        self.has_effects_of(caller, &vec![1; expected]).await
    }

    /// Fails unless the case has this many effects. The number of each request is 1.
    pub(crate) async fn has_effects(&self, expected: usize) -> CaseResult {
        self.has_effects_for(Caller::Default, expected).await
    }

    /// Fails unless the case has the effects of one request for each of these numbers.
    pub(crate) async fn has_effects_of(&self, caller: Caller, numbers: &[u64]) -> CaseResult {
        let is_sum = self.target.command.effects.is_sum;
        let expected: u64 = numbers.iter().map(|number| if is_sum { *number } else { 1 }).sum();
        let count = self.effects_for(caller).await?;
        ensure(count == expected, || format!("expected {expected} effects, found {count}"))
    }

    /// Counts the effects of this case for a caller, or adds up their numbers.
    pub(crate) async fn effects_for(&self, caller: Caller) -> CaseResult<u64> {
        let effects = &self.target.command.effects;
        let counted = self.read(&effects.path, &effects.count, caller).await?;
        let has = |effect: &Value, (pointer, text): (&String, &String)| {
            let (found, text) = (effect.pointer(pointer).and_then(Value::as_str), self.rendered(text));
            found.is_some_and(|found| {
                text.strip_suffix('*').map_or(found == text, |start| found.starts_with(start))
            })
        };
        let is_ours = |effect: &&Value| {
            effects.with.iter().all(|expected| has(effect, expected))
                && !effects.without.iter().any(|excluded| has(effect, excluded))
        };
        let count = match counted {
            None => Some(0),
            Some(Value::Array(list)) => u64::try_from(list.iter().filter(is_ours).count()).ok(),
            Some(number) => number.as_u64(),
        };
        count.ok_or_else(|| CaseError::Failed(format!("{} is no list, and no number", effects.count)))
    }

    /// Reads a value of the server, with a list from all of its pages; `None` if there is no such resource.
    pub(super) async fn read(&self, path: &str, pointer: &str, caller: Caller) -> CaseResult<Option<Value>> {
        let first = self.request("GET", path, "").without_header("Content-Type").by(caller);
        let (mut request, mut earlier) = (first.clone(), Vec::new());
        loop {
            let response = self.send(&request).await?;
            if response.status == 404 {
                return Ok(None);
            }
            let page = response.json();
            let value = page.pointer(pointer).cloned();
            let value =
                value.ok_or_else(|| CaseError::Failed(format!("no {pointer} in {}", response.summary())))?;
            let Value::Array(list) = value else { return Ok(Some(value)) };
            earlier.extend(list);
            let cursor = self.target.next_cursor.as_ref().and_then(|cursor| page.pointer(cursor)?.as_str());
            let Some(cursor) = cursor else { return Ok(Some(Value::Array(earlier))) };
            request = first.clone().with_query(&format!("cursor={cursor}"));
        }
    }
}
