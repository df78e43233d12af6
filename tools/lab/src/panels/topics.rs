//! The topics, and the positions of the consumer groups, from `./dev topics --json`.

use std::time::Duration;

use tokio::net::TcpStream;

use crate::lab::Lab;
use crate::state::Source;

/// The longest that the command may take.
const LIMIT: Duration = Duration::from_secs(20);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// Reads the topics, look after look. Without a broker the command is not run, because it would wait for one.
pub(crate) async fn watch(lab: &Lab) {
    loop {
        lab.state.send_modify(|state| state.topics.begin());
        let topics = if TcpStream::connect(&lab.broker).await.is_err() {
            Source::Away("kafka is away: no process listens".to_owned())
        } else {
            match lab.dev.read_json(&["topics", "--json"], LIMIT).await {
                Ok(topics) => Source::Read(topics),
                Err(error) => Source::Away(error.to_string()),
            }
        };
        lab.state.send_modify(|state| state.topics.end(topics));
        tokio::time::sleep(PAUSE).await;
    }
}
