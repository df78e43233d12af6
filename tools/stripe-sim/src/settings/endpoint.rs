//! Where webhooks go, and what signs them.

use secrecy::SecretString;
use serde::Deserialize;

/// One endpoint.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Plain HTTP: a stand-in speaks to its own machine.
    pub url: String,
    /// The newest first; each signs.
    pub secrets: Vec<SecretString>,
}

/// The same as JSON.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    url: String,
    secrets: Vec<String>,
}

impl Endpoint {
    /// The endpoint that the JSON describes. `Err` says what is wrong with it.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, String> {
        // Its message could repeat a secret.
        let Ok(Given { url, secrets }) = serde_json::from_slice(json) else {
            return Err("an endpoint is {\"url\": \"http://…\", \"secrets\": [\"whsec_…\"]}".to_owned());
        };
        Self { url, secrets: secrets.into_iter().map(SecretString::from).collect() }.checked()
    }

    /// The endpoint, if events can be told to it.
    pub(crate) fn checked(self) -> Result<Self, String> {
        match reqwest::Url::parse(&self.url) {
            Ok(url) if url.scheme() == "http" => {}
            _ => return Err("the URL must begin with http:// and be whole".to_owned()),
        }
        if self.secrets.is_empty() {
            return Err("at least one secret must sign".to_owned());
        }
        Ok(self)
    }
}
