//! The properties that brokers keep for a topic.

use std::collections::BTreeMap;

use rdkafka::admin::{OwnedResourceSpecifier, ResourceSpecifier};
use tokio::runtime::Handle;

use super::client::{self, REQUEST_TIMEOUT};
use crate::{Brokers, Error};

/// Returns the values of these properties, by topic and name. A property that the brokers do not show is left out.
///
/// # Errors
/// [Those of every call](super#errors). It needs the right `DescribeConfigs`.
pub async fn topic_properties(
    brokers: &Brokers,
    topics: &[String],
    names: &'static [&'static str],
) -> Result<BTreeMap<(String, &'static str), String>, Error> {
    const ACTION: &str = "read the properties of topics";
    let (brokers, topics, runtime) = (brokers.clone(), topics.to_vec(), Handle::current());
    client::blocking(move || {
        let client = client::admin_client(&brokers, ACTION)?;
        let topics: Vec<_> = topics.iter().map(|topic| ResourceSpecifier::Topic(topic)).collect();
        let described = runtime
            .block_on(client.describe_configs(&topics, &client::admin_options()))
            .map_err(|error| client::unreachable_or_refused(&brokers, REQUEST_TIMEOUT, ACTION, &error))?;
        let mut found = BTreeMap::new();
        for resource in described {
            let resource = resource.map_err(|code| Error::refused(ACTION, &code))?;
            let OwnedResourceSpecifier::Topic(topic) = &resource.specifier else { continue };
            for name in names {
                if let Some(value) = resource.get(name).and_then(|entry| entry.value.clone()) {
                    found.insert((topic.clone(), *name), value);
                }
            }
        }
        Ok(found)
    })
    .await
}
