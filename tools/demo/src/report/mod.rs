//! The output: a line for each step with its figures, and for each failed check the expected value, the seen value, and
//! where to look.

mod screen;

use std::fmt::{Debug, Display};
use std::time::{Duration, Instant};

use harness::Result;
pub(crate) use screen::Screen;

/// Replaces the commands in a hint by those of the platform.
pub(crate) type Translation<'w> = Box<dyn Fn(&str) -> String + 'w>;

/// All steps so far.
pub(crate) struct Report<'w> {
    screen: Screen,
    translate: Translation<'w>,
    started: Instant,
    steps: usize,
    checks: usize,
    failed: Vec<String>,
}

/// The step that runs.
pub(crate) struct Step<'r> {
    screen: &'r Screen,
    heading: String,
    checks: usize,
    failures: Vec<String>,
    figures: Vec<String>,
    details: Vec<String>,
}

impl<'w> Report<'w> {
    pub(crate) fn new(screen: Screen, translate: Translation<'w>) -> Self {
        Self { screen, translate, started: Instant::now(), steps: 0, checks: 0, failed: Vec::new() }
    }

    /// Runs a step and prints its result. Returns whether every check holds.
    pub(crate) async fn step(
        &mut self,
        title: &str,
        work: impl AsyncFnOnce(&mut Step<'_>) -> Result<()>,
    ) -> bool {
        self.steps += 1;
        let started = Instant::now();
        let mut step = Step::new(&self.screen, self.steps, title);
        step.progress("");
        if let Err(error) = work(&mut step).await {
            step.failures.push(format!("the step could not continue: {error}"));
        }
        let Step { heading, checks, failures, figures, details, .. } = step;
        self.checks += checks;
        self.screen.verdict(&heading, failures.is_empty(), started.elapsed(), &figures.join("; "));
        for line in &details {
            self.screen.detail(line);
        }
        for failure in &failures {
            self.screen.failure(&(self.translate)(failure));
        }
        let holds = failures.is_empty();
        if !holds {
            self.failed.push(heading);
        }
        holds
    }

    /// Prints a line between the steps.
    pub(crate) fn say(&self, text: &str) {
        self.screen.line(text);
    }

    /// Prints the last lines. Returns whether every check holds.
    pub(crate) fn close(self) -> bool {
        let seconds = self.started.elapsed().as_secs_f64();
        let (steps, checks) = (self.steps, self.checks);
        if self.failed.is_empty() {
            self.screen.result(true, &format!("All {steps} steps hold: {checks} checks in {seconds:.1} s."));
            return true;
        }
        let failed = self.failed.len();
        self.screen.result(false, &format!("{failed} of {steps} steps failed after {seconds:.1} s:"));
        for heading in &self.failed {
            self.screen.line(&format!("  {heading}"));
        }
        false
    }
}

impl<'r> Step<'r> {
    fn new(screen: &'r Screen, number: usize, title: &str) -> Self {
        let [failures, figures, details] = [const { Vec::new() }; 3];
        Self { screen, heading: format!("{number:>2}  {title}"), checks: 0, failures, figures, details }
    }

    /// Shows what the step does now, on a terminal.
    pub(crate) fn progress(&self, what: &str) {
        self.screen.progress(&self.heading, what);
    }

    /// Checks that two values are equal.
    #[expect(clippy::needless_pass_by_value, reason = "a check reads better without ampersands")]
    pub(crate) fn equal<S: Debug, E: PartialEq<S> + Debug>(
        &mut self,
        what: &str,
        expected: E,
        seen: S,
        hint: &str,
    ) {
        let holds = expected == seen;
        self.check(what, &format!("{expected:?}"), format!("{seen:?}"), holds, hint);
    }

    /// Checks a condition.
    pub(crate) fn check(&mut self, what: &str, expected: &str, seen: impl Display, holds: bool, hint: &str) {
        self.checks += 1;
        if !holds {
            self.failures.push(format!("{what}: expected {expected}, seen {seen}; look at {hint}"));
        }
    }

    /// Checks that a list of violations is empty.
    pub(crate) fn no_violations(&mut self, what: &str, violations: &[String], hint: &str) {
        const SHOWN: usize = 5;
        self.checks += 1;
        for violation in violations.iter().take(SHOWN) {
            self.failures.push(format!("{what}: {violation}; look at {hint}"));
        }
        if violations.len() > SHOWN {
            self.failures.push(format!("{what}: and {} more", violations.len() - SHOWN));
        }
    }

    /// A figure of the step's own line.
    pub(crate) fn figure(&mut self, text: impl Into<String>) {
        self.figures.push(text.into());
    }

    /// A line under the step's own line.
    pub(crate) fn detail(&mut self, line: impl Into<String>) {
        self.details.push(line.into());
    }
}

/// A duration in milliseconds, or from two seconds on in seconds.
pub(crate) fn span(duration: Duration) -> String {
    if duration < Duration::from_secs(2) {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn one(work: impl AsyncFnOnce(&mut Step<'_>) -> Result<()>) -> bool {
        let mut report = Report::new(Screen::nowhere(), Box::new(str::to_owned));
        report.step("a step", work).await;
        report.close()
    }

    #[tokio::test]
    async fn one_check_that_fails_fails_the_whole_run() {
        let mut report = Report::new(Screen::nowhere(), Box::new(str::to_owned));
        assert!(
            !report
                .step("fails", async |step| {
                    step.equal("orders", 1, 2, "nowhere");
                    Ok(())
                })
                .await
        );
        assert!(
            report
                .step("holds", async |step| {
                    step.equal("orders", 1, 1, "nowhere");
                    Ok(())
                })
                .await
        );
        assert!(!report.close());
    }

    #[tokio::test]
    async fn a_violation_or_an_error_fails_the_run() {
        for (violations, holds) in [(Vec::new(), true), (vec!["one".to_owned()], false)] {
            let asked = one(async |step| {
                step.no_violations("audit", &violations, "nowhere");
                Ok(())
            });
            assert_eq!(asked.await, holds);
        }
        assert!(!one(async |_| Err(harness::Error::Environment("IDEM_DEV"))).await);
    }
}
