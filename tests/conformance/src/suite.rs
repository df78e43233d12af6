//! `Suite`: runs the cases against one target, several at a time.

use futures_util::{StreamExt, stream};

use crate::case_error::{CaseError, CaseResult};
use crate::cases::{self, Case, Group};
use crate::http::Client;
use crate::report::{CaseReport, CaseStatus, Report};
use crate::target::{Caller, Target};
use crate::trial::{Supply, Trial};

/// The case that restarts the server. It runs last, because a restart disturbs other cases.
const RESTART: u16 = 206;

/// The selection of cases for a run.
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
    /// Selects cases.
    pub fn of(selection: &Selection) -> Self {
        Self { cases: cases::all().filter(|case| selection.has(case)).collect() }
    }

    /// The cases, by number.
    pub fn cases(&self) -> impl Iterator<Item = &'static Case> {
        self.cases.iter().copied()
    }

    /// Prepares the target, and runs the cases. Fails only if the server does not respond, or cannot be prepared.
    ///
    /// # Errors
    /// A sentence, if no case is selected, the target's file names a case that does not exist, the server does not respond, or the
    /// target cannot be prepared.
    pub async fn run(&self, target: &Target) -> Result<Report, String> {
        if self.cases.is_empty() {
            return Err("no case has this number in these groups: see --list".to_owned());
        }
        check_differs(target)?;
        let client = Client::new(target).map_err(|error| error.to_string())?;
        let supply = Supply::default();
        let probe = Trial::new(target, &client, &supply);
        probe.effects_for(Caller::Default).await.map_err(|error| error.to_string())?;
        for caller in [Caller::Default, Caller::OtherTenant] {
            if target.callers.contains_key(&caller) {
                let prepared = async {
                    probe.prepare(caller, false).await?;
                    probe.stock_up(caller).await
                };
                prepared.await.map_err(|error| format!("the target cannot be prepared: {error}"))?;
            }
        }
        let (restarting, together): (Vec<&Case>, Vec<&Case>) =
            self.cases.iter().partition(|case| case.number == RESTART);
        let results = stream::iter(together).map(|case| try_case(case, target, &client, &supply));
        let mut results: Vec<CaseReport> =
            results.buffer_unordered(target.cases_at_once.get()).collect().await;
        for case in restarting {
            results.push(try_case(case, target, &client, &supply).await);
        }
        results.sort_by_key(|result| result.case.number);
        Ok(Report { target: target.name.clone(), cases: results })
    }
}

/// Fails if the target file lists a number under `[differs]` that no case has.
fn check_differs(target: &Target) -> Result<(), String> {
    let has = |number: &String| cases::all().any(|case| case.number.to_string() == *number);
    target.differs.keys().find(|number| !has(number)).map_or(Ok(()), |number| {
        Err(format!("[differs] of the target file lists {number}, and no case has this number: see --list"))
    })
}

async fn try_case(case: &'static Case, target: &Target, client: &Client<'_>, supply: &Supply) -> CaseReport {
    let trial = Trial::new(target, client, supply);
    let start = tokio::time::Instant::now();
    let result = match trial.prepare(Caller::Default, true).await {
        Ok(()) => case.run(&trial).await,
        Err(error) => Err(error),
    };
    let reason = target.differs.get(&case.number.to_string());
    CaseReport { case, status: status(case.number, result, reason), took: start.elapsed() }
}

/// A case under `[differs]` must fail. Otherwise the target file is wrong, and the case has failed.
fn status(number: u16, result: CaseResult, reason: Option<&String>) -> CaseStatus {
    let wrong = |what: &str| CaseStatus::Failed(format!("[differs] lists {number}, and the case {what}"));
    match (result, reason) {
        (Ok(()), None) => CaseStatus::Passed,
        (Ok(()), Some(_)) => wrong("passes"),
        (Err(CaseError::Skipped(why)), None) => CaseStatus::Skipped(why),
        (Err(CaseError::Skipped(why)), Some(_)) => wrong(&format!("is skipped: {why}")),
        (Err(CaseError::Failed(what)), Some(why)) => CaseStatus::Differs { what, why: why.clone() },
        (Err(CaseError::Failed(what)), None) => CaseStatus::Failed(what),
    }
}
