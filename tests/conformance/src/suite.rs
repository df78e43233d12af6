//! `Suite`: runs the cases against one target, several at a time.

use futures_util::{StreamExt, stream};

use crate::cases::{self, Case, Group};
use crate::finding::{Finding, Verdict};
use crate::http::Client;
use crate::report::{CaseResult, Outcome, Report};
use crate::target::{Principal, Target};
use crate::trial::Trial;

/// The case that restarts the server, which must not disturb another one.
const RESTART: u16 = 206;

/// Which cases run.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// These groups only; all if empty.
    pub groups: Vec<Group>,
    /// These numbers only; all if empty.
    pub numbers: Vec<u16>,
}

impl Selection {
    fn has(&self, case: &Case) -> bool {
        (self.groups.is_empty() || self.groups.contains(&case.group()))
            && (self.numbers.is_empty() || self.numbers.contains(&case.number))
    }
}

/// The cases of a run.
pub struct Suite {
    cases: Vec<&'static Case>,
}

impl Suite {
    /// The selected cases.
    pub fn of(selection: &Selection) -> Self {
        Self { cases: cases::all().filter(|case| selection.has(case)).collect() }
    }

    /// The cases, by number.
    pub fn cases(&self) -> impl Iterator<Item = &'static Case> {
        self.cases.iter().copied()
    }

    /// Prepares the target, and runs the cases. Fails only if the server does not respond, or cannot be prepared.
    pub async fn run(&self, target: &Target) -> Result<Report, String> {
        let client = Client::new(target).map_err(|error| error.to_string())?;
        let probe = Trial::new(target, &client);
        probe.effects_for(Principal::Caller).await.map_err(|finding| finding.to_string())?;
        for principal in [Principal::Caller, Principal::OtherTenant] {
            if target.principals.contains_key(&principal) {
                let prepared = Trial::new(target, &client).prepare(principal, false).await;
                prepared.map_err(|finding| format!("the target cannot be prepared: {finding}"))?;
            }
        }
        let (restarting, together): (Vec<&Case>, Vec<&Case>) =
            self.cases.iter().partition(|case| case.number == RESTART);
        let results = stream::iter(together).map(|case| try_case(case, target, &client));
        let mut results: Vec<CaseResult> = results.buffer_unordered(target.cases_at_once).collect().await;
        for case in restarting {
            results.push(try_case(case, target, &client).await);
        }
        results.sort_by_key(|result| result.case.number);
        Ok(Report { target: target.name.clone(), results })
    }
}

async fn try_case(case: &'static Case, target: &Target, client: &Client<'_>) -> CaseResult {
    let trial = Trial::new(target, client);
    let start = tokio::time::Instant::now();
    let verdict = match trial.prepare(Principal::Caller, true).await {
        Ok(()) => case.run(&trial).await,
        Err(finding) => Err(finding),
    };
    let expected = target.differs.get(&case.number.to_string());
    CaseResult { case, outcome: outcome(verdict, expected), took: start.elapsed() }
}

/// A case that is expected to differ, and passes, has failed: the target file is wrong.
fn outcome(verdict: Verdict, expected: Option<&String>) -> Outcome {
    match (verdict, expected) {
        (Ok(()), None) => Outcome::Passed,
        (Ok(()), Some(_)) => {
            Outcome::Failed("the target file lists this case under [differs], and it passes".to_owned())
        }
        (Err(Finding::Skipped(why)), _) => Outcome::Skipped(why),
        (Err(Finding::Failed(what)), Some(why)) => Outcome::Differs { what, why: why.clone() },
        (Err(Finding::Failed(what)), None) => Outcome::Failed(what),
    }
}
