//! `Source`: the value that a panel has read, or why there is none.

use std::time::Duration;

use harness::Result;
use serde::Serialize;
use tokio::time::timeout;

/// The longest that a source may take. A frozen process accepts connections and never answers.
const LIMIT: Duration = Duration::from_secs(2);

/// A value, or why there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Source<T> {
    /// Nothing was read yet.
    #[default]
    Unread,
    /// The value of the last look.
    Read(T),
    /// The source did not answer at the last look; the text names it.
    Away(String),
}

impl<T> Source<T> {
    /// Looks once, for two seconds at most. `part` is named if it does not answer.
    pub(crate) async fn look(part: &str, look: impl Future<Output = Result<T>>) -> Self {
        match timeout(LIMIT, look).await {
            Ok(Ok(value)) => Self::Read(value),
            Ok(Err(error)) => Self::Away(format!("{part} is away: {error}")),
            Err(_) => Self::Away(format!("{part} does not answer")),
        }
    }

    /// The value, if there is one.
    pub(crate) fn value(&self) -> Option<&T> {
        match self {
            Self::Read(value) => Some(value),
            Self::Unread | Self::Away(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::Error;

    #[tokio::test(start_paused = true)]
    async fn a_source_that_is_away_or_silent_is_named_and_waited_for_two_seconds() {
        let read = Source::look("orders", async { Ok(1) }).await;
        assert_eq!(read, Source::Read(1));
        let refused = async { Err::<i64, _>(Error::Refused("connection refused".to_owned())) };
        let away = Source::look("orders", refused).await;
        assert_eq!(away, Source::Away("orders is away: connection refused".to_owned()));
        let silent: Source<i64> = Source::look("orders", std::future::pending()).await;
        assert_eq!(silent, Source::Away("orders does not answer".to_owned()));
    }
}
