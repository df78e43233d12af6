//! The audit: every question of `audits/` to every database that it is for, and the questions that join databases.

use audits::Database;
use futures_util::future::{join, join_all};

use crate::{Books, Error, Result};

/// A question, and what the databases say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The file of the question, or the sentence of a question that joins databases.
    pub question: &'static str,
    /// The databases that were read.
    pub databases: Vec<Database>,
    /// The command that shows more.
    pub command: String,
    /// The violations in sentences, or why a database could not be read.
    pub violations: std::result::Result<Vec<String>, String>,
}

impl Asked {
    /// What databases together say to a question.
    pub(crate) fn joined(
        question: &'static str,
        databases: Vec<Database>,
        command: &str,
        violations: Result<Vec<String>>,
    ) -> Self {
        let violations = violations.map_err(|error| error.to_string());
        Self { question, databases, command: command.to_owned(), violations }
    }

    /// The violations of a question that could be asked.
    pub fn found(&self) -> Result<&[String]> {
        self.violations.as_deref().map_err(|reason| Error::Refused(reason.clone()))
    }
}

impl Books {
    /// Asks every question.
    pub async fn audit(&self) -> Vec<Asked> {
        let (each, joined) = join(self.ask_each(), self.ask_joined()).await;
        [each, joined].concat()
    }

    /// Asks the questions to one database at a time. The databases answer beside each other, and each has one session.
    pub async fn ask_each(&self) -> Vec<Asked> {
        let each = Database::all().map(|database| self.ask_database(database));
        join_all(each).await.into_iter().flatten().collect()
    }

    async fn ask_database(&self, database: Database) -> Vec<Asked> {
        let mut session = self.session(database.into()).await.map_err(|error| error.to_string());
        let mut asked = Vec::new();
        for question in audits::all().filter(|question| question.is_asked_of(database)) {
            let violations = match &mut session {
                Ok(session) => session.ask(question).await.map_err(|error| error.to_string()),
                Err(reason) => Err(reason.clone()),
            };
            let command = question.command(database);
            asked.push(Asked { question: question.file, databases: vec![database], command, violations });
        }
        asked
    }
}
