//! The report for build servers.

use quick_junit::{NonSuccessKind, Report as Document, SerializeError, TestCase, TestCaseStatus, TestSuite};

use super::{CaseStatus, Report};

impl Report {
    /// The report as JUnit XML: a case that differs is skipped, with its reason.
    ///
    /// # Errors
    /// [`SerializeError`] of the XML writer.
    pub fn as_junit(&self) -> Result<String, SerializeError> {
        let mut suite = TestSuite::new(self.target.clone());
        for result in &self.cases {
            let mut status = match result.status {
                CaseStatus::Passed => TestCaseStatus::success(),
                CaseStatus::Skipped(_) | CaseStatus::Differs { .. } => TestCaseStatus::skipped(),
                CaseStatus::Failed(_) => TestCaseStatus::non_success(NonSuccessKind::Failure),
            };
            if let Some(text) = result.status.text() {
                status.set_message(text);
            }
            let mut case = TestCase::new(format!("{} {}", result.case.number, result.case.title()), status);
            case.set_classname(format!("{}.{}", self.target, result.case.group())).set_time(result.took);
            suite.add_test_case(case);
        }
        let mut document = Document::new("conformance");
        document.add_test_suite(suite);
        document.to_string()
    }
}
