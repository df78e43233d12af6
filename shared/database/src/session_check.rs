//! Checks that a session can be used: its messages are English, and it has the options that were asked for.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use thiserror::Error;

use crate::{Database, Result};

diesel::table! {
    pg_settings (name) {
        name -> Text,
        setting -> Text,
    }
}

/// Why sessions of this server cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnusableSession {
    /// [`Error`](crate::Error) classifies some errors by their English text.
    #[error(
        "PostgreSQL writes its messages in the locale {0:?}, and errors are classified by English texts; set lc_messages = 'C' \
         in postgresql.conf and reload"
    )]
    ForeignMessages(String),
    /// Without its options a session has no timeouts, or plans that read whole tables.
    #[error(
        "sessions have {name} = {found}, and not {wanted}: a pooler drops the options of connections; run \
         ALTER ROLE … SET {name} = '{wanted}' for the service's role, or connect without the pooler"
    )]
    LostOption {
        /// The setting.
        name: &'static str,
        /// The value that the connection asked for.
        wanted: String,
        /// The value that the session has.
        found: String,
    },
}

impl Database {
    /// Returns why sessions of this server cannot be used; `None` if they can be used.
    ///
    /// # Errors
    /// As [`Database::connection`], or the error of the query.
    pub async fn unusable_session(&self) -> Result<Option<UnusableSession>> {
        let options = self.session_options();
        let mut names: Vec<&str> = options.iter().map(|(name, _)| *name).collect();
        names.push("lc_messages");
        let mut connection = self.connection().await?;
        let rows = pg_settings::table.filter(pg_settings::name.eq_any(names));
        let rows: Vec<(String, String)> = rows.load(&mut connection).await?;
        Ok(find_fault(options, &rows))
    }
}

fn find_fault(options: &[(&'static str, String)], rows: &[(String, String)]) -> Option<UnusableSession> {
    let value =
        |name: &str| rows.iter().find(|(found, _)| found == name).map_or("", |(_, setting)| setting.as_str());
    let locale = value("lc_messages");
    if !is_english(locale) {
        return Some(UnusableSession::ForeignMessages(locale.to_owned()));
    }
    options.iter().find(|(name, wanted)| value(name) != wanted).map(|(name, wanted)| {
        UnusableSession::LostOption { name, wanted: wanted.clone(), found: value(name).to_owned() }
    })
}

/// Returns whether PostgreSQL writes English messages in this locale.
fn is_english(locale: &str) -> bool {
    let language = locale.split(['.', '_', '@']).next().unwrap_or_default();
    ["C", "POSIX", "en", "English"].contains(&language)
}

#[cfg(test)]
mod tests {
    use super::is_english;

    #[test]
    fn a_server_that_speaks_another_language_is_recognised() {
        for locale in ["C", "POSIX", "C.UTF-8", "C.utf8", "en_US.utf8", "en_GB", "English_United States.1252"]
        {
            assert!(is_english(locale), "{locale}");
        }
        for locale in ["de_DE.UTF-8", "fr_FR", "ca_ES", ""] {
            assert!(!is_english(locale), "{locale}");
        }
    }
}
