//! Reads where spans go.

use std::str::FromStr;

use ::traces::Settings;
use reqwest::Url;

use super::SettingsReader;

/// The address of a collector.
#[derive(Clone)]
struct Endpoint(Option<Url>);

impl FromStr for Endpoint {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        let url = Url::parse(text).map_err(|_| ())?;
        if ["http", "https"].contains(&url.scheme()) { Ok(Self(Some(url))) } else { Err(()) }
    }
}

pub(super) fn read(reader: &mut SettingsReader) -> Option<Settings> {
    let endpoint = reader.parsed("traces.endpoint", "an http or https URL", Endpoint(None)).0;
    let one_in = reader.number("traces.one_in", 1..=1_000_000);
    let endpoint = endpoint?;
    let is_here = matches!(endpoint.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if endpoint.scheme() == "http" && !is_here {
        reader.refuse_in_production(
            "traces.endpoint",
            "an https URL, because its collector is on another machine",
        );
    }
    Some(Settings { endpoint, one_in })
}
