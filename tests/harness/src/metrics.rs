//! The metrics of the instances of a service, from `/metrics` alone, as an operator sees them.

use std::collections::BTreeMap;

use crate::{Client, Endpoint, Error, Request, Result};

/// The series of one service, by name and labels. There is one value for each instance.
#[derive(Debug, Clone, Default)]
pub struct Metrics(BTreeMap<String, Vec<f64>>);

impl Metrics {
    /// Reads the admin listeners of all instances of a service.
    pub async fn read(client: &Client, admins: &[Endpoint]) -> Result<Self> {
        let mut series: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for admin in admins {
            let request = Request::get(admin.instance.part, "/metrics");
            let response = client.send(admin, &request).await;
            let response = response
                .map_err(|error| Error::Refused(format!("/metrics of {}: {error}", admin.instance)))?;
            let text = String::from_utf8_lossy(&response.body).into_owned();
            for line in text.lines().filter(|line| !line.starts_with('#')) {
                if let Some((name, Ok(value))) =
                    line.rsplit_once(' ').map(|(name, value)| (name, value.parse()))
                {
                    series.entry(name.to_owned()).or_default().push(value);
                }
            }
        }
        Ok(Self(series))
    }

    /// The sum over instances of a counter's series that begin so. A metric that is not exported is an error.
    pub fn sum(&self, series: &str) -> Result<f64> {
        self.found(series).map(|values| values.into_iter().flatten().sum())
    }

    /// The same as a whole number.
    pub fn count(&self, series: &str) -> Result<i64> {
        let sum = self.sum(series)?;
        format!("{sum}").parse().map_err(|_| Error::Refused(format!("{series} is {sum}, which is no count")))
    }

    /// The value of a gauge of the database, over all series that begin so. Each instance reports the same.
    pub fn gauge(&self, series: &str) -> Result<f64> {
        let greatest = |values: &Vec<f64>| values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.found(series).map(|values| values.into_iter().map(greatest).sum())
    }

    /// The number of series that begin so.
    pub fn number_of(&self, series: &str) -> usize {
        self.0.keys().filter(|name| name.starts_with(series)).count()
    }

    fn found(&self, series: &str) -> Result<Vec<&Vec<f64>>> {
        let begins = self.0.iter().filter(|(name, _)| name.starts_with(series));
        let values: Vec<&Vec<f64>> = begins.map(|(_, values)| values).collect();
        if values.is_empty() { Err(Error::Refused(format!("/metrics has no {series}"))) } else { Ok(values) }
    }
}
