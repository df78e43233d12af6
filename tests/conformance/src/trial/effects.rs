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
        let request = self.request("GET", &effects.path, "").without_header("Content-Type").by(caller);
        let response = self.send(&request).await?;
        let unreadable =
            || CaseError::Failed(format!("the effects cannot be counted: {}", response.summary()));
        if response.status == 404 {
            return Ok(0);
        }
        let counted = response.json();
        let counted = counted.pointer(&effects.count).ok_or_else(unreadable)?;
        let has = |effect: &Value, (pointer, text): (&String, &String)| {
            effect.pointer(pointer).and_then(Value::as_str) == Some(&self.rendered(text))
        };
        let is_ours = |effect: &&Value| {
            effects.with.iter().all(|expected| has(effect, expected))
                && !effects.without.iter().any(|excluded| has(effect, excluded))
        };
        match counted {
            Value::Array(list) => {
                u64::try_from(list.iter().filter(is_ours).count()).map_err(|_| unreadable())
            }
            number => number.as_u64().ok_or_else(unreadable),
        }
    }
}
