//! Whether a process answers, seen from outside.

use std::time::Duration;

use harness::Result;
use serde::Serialize;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The longest that a process may take to accept a connection and to answer.
const LIMIT: Duration = Duration::from_secs(2);

/// The state of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PartState {
    /// It answers.
    Up,
    /// A relay that holds the lease.
    Active,
    /// A relay that waits for the lease.
    Standby,
    /// It answers, and is not ready.
    NotReady,
    /// It does not answer, and may not even accept a connection: it is frozen or overloaded.
    Silent,
    /// No process listens.
    Away,
}

impl PartState {
    /// Connects to the process, and then asks it.
    pub(crate) async fn look(address: &str, ask: impl Future<Output = Result<Self>>) -> Self {
        let look = async {
            match TcpStream::connect(address).await {
                Ok(_) => ask.await.unwrap_or(Self::NotReady),
                Err(_) => Self::Away,
            }
        };
        timeout(LIMIT, look).await.unwrap_or(Self::Silent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::Error;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn a_process_that_is_away_frozen_or_not_ready_is_called_so() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let up = PartState::look(&address, async { Ok(PartState::Active) });
        assert_eq!(up.await, PartState::Active);
        let failed = PartState::look(&address, async { Err(Error::Refused(String::new())) });
        assert_eq!(failed.await, PartState::NotReady);
        // A process that was stopped by SIGSTOP: the system accepts, and nobody answers.
        let silent = PartState::look(&address, std::future::pending());
        assert_eq!(silent.await, PartState::Silent);
        drop(listener);
        let away = PartState::look(&address, async { Ok(PartState::Up) });
        assert_eq!(away.await, PartState::Away);
    }
}
