//! What people see: a line for each step with what it measured, and for each check that failed what was expected, what
//! was seen, and where to look.

mod screen;

use std::fmt::{Debug, Display};
use std::time::{Duration, Instant};

use crate::trouble::Trouble;
pub(crate) use screen::Screen;

/// Puts the hints of a fault into the words of those who run the parts.
pub(crate) type Words<'w> = Box<dyn Fn(&str) -> String + 'w>;

/// All steps so far.
pub(crate) struct Report<'w> {
    screen: Screen,
    words: Words<'w>,
    started: Instant,
    steps: usize,
    checks: usize,
    failed: Vec<String>,
}

/// A step that is being taken.
pub(crate) struct Step<'r> {
    screen: &'r Screen,
    heading: String,
    checks: usize,
    faults: Vec<String>,
    figures: Vec<String>,
    story: Vec<String>,
}

impl<'w> Report<'w> {
    pub(crate) fn new(screen: Screen, words: Words<'w>) -> Self {
        Self { screen, words, started: Instant::now(), steps: 0, checks: 0, failed: Vec::new() }
    }

    /// Takes a step and prints what came of it. Returns whether all of it holds.
    pub(crate) async fn step(
        &mut self,
        title: &str,
        work: impl AsyncFnOnce(&mut Step<'_>) -> Result<(), Trouble>,
    ) -> bool {
        self.steps += 1;
        let started = Instant::now();
        let mut step = Step::new(&self.screen, self.steps, title);
        step.doing("");
        if let Err(trouble) = work(&mut step).await {
            step.faults.push(format!("the step could not go on: {trouble}"));
        }
        let Step { heading, checks, faults, figures, story, .. } = step;
        self.checks += checks;
        self.screen.verdict(&heading, faults.is_empty(), started.elapsed(), &figures.join("; "));
        for line in &story {
            self.screen.story(line);
        }
        for fault in &faults {
            self.screen.fault(&(self.words)(fault));
        }
        let holds = faults.is_empty();
        if !holds {
            self.failed.push(heading);
        }
        holds
    }

    /// A sentence between the steps.
    pub(crate) fn say(&self, text: &str) {
        self.screen.line(text);
    }

    /// The last line. Returns whether everything holds.
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
        let [faults, figures, story] = [const { Vec::new() }; 3];
        Self { screen, heading: format!("{number:>2}  {title}"), checks: 0, faults, figures, story }
    }

    /// What is going on, for whoever watches.
    pub(crate) fn doing(&self, what: &str) {
        self.screen.doing(&self.heading, what);
    }

    /// Checks that two values are equal.
    #[expect(clippy::needless_pass_by_value, reason = "a check reads better without ampersands")]
    pub(crate) fn equal<S: Debug, E: PartialEq<S> + Debug>(
        &mut self,
        what: &str,
        expected: E,
        seen: S,
        look_at: &str,
    ) {
        let holds = expected == seen;
        self.holds(what, &format!("{expected:?}"), format!("{seen:?}"), holds, look_at);
    }

    /// Checks what is more than an equality.
    pub(crate) fn holds(
        &mut self,
        what: &str,
        expected: &str,
        seen: impl Display,
        holds: bool,
        look_at: &str,
    ) {
        self.checks += 1;
        if !holds {
            self.faults.push(format!("{what}: expected {expected}, seen {seen}; look at {look_at}"));
        }
    }

    /// Checks that a list of violations is empty.
    pub(crate) fn none(&mut self, what: &str, violations: &[String], look_at: &str) {
        const SHOWN: usize = 5;
        self.checks += 1;
        for violation in violations.iter().take(SHOWN) {
            self.faults.push(format!("{what}: {violation}; look at {look_at}"));
        }
        if violations.len() > SHOWN {
            self.faults.push(format!("{what}: and {} more", violations.len() - SHOWN));
        }
    }

    /// A figure of the step's own line.
    pub(crate) fn figure(&mut self, text: impl Into<String>) {
        self.figures.push(text.into());
    }

    /// A line under it.
    pub(crate) fn tell(&mut self, line: impl Into<String>) {
        self.story.push(line.into());
    }
}

/// A duration for people: milliseconds up to two seconds.
pub(crate) fn span(duration: Duration) -> String {
    if duration < Duration::from_secs(2) {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}

/// Minor units for people; all goods of the demo are priced in EUR.
pub(crate) fn euros(amount: i64) -> String {
    let (sign, amount) = (if amount < 0 { "-" } else { "" }, amount.unsigned_abs());
    format!("{sign}{}.{:02} EUR", amount / 100, amount % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn one(work: impl AsyncFnOnce(&mut Step<'_>) -> Result<(), Trouble>) -> bool {
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
    async fn a_violation_or_a_trouble_fails_the_run() {
        for (violations, holds) in [(Vec::new(), true), (vec!["one".to_owned()], false)] {
            let asked = one(async |step| {
                step.none("audit", &violations, "nowhere");
                Ok(())
            });
            assert_eq!(asked.await, holds);
        }
        assert!(!one(async |_| Err(Trouble::Environment("IDEM_DEV"))).await);
    }
}
