//! `expand[]=latest_charge.balance_transaction`: whole objects in the place of their ids.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use database::Tx;
use serde_json::Value;

use super::{Failure, Form, Refusal};
use crate::objects;

/// Members that hold the id of another object.
const EXPANDABLE: &[&str] = &[
    "balance_transaction",
    "charge",
    "failure_balance_transaction",
    "latest_charge",
    "payment_intent",
    "source",
];
/// How deep a path may go, as at the real processor.
const MAX_DEPTH: usize = 4;

/// What is to be shown whole, as a tree: each member with what is to be expanded inside it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Expand(BTreeMap<String, Expand>);

impl Expand {
    /// Takes the paths out of a form about one object.
    pub(crate) fn read(form: &mut Form) -> Result<Self, Refusal> {
        let mut tree = Self::default();
        for path in form.list("expand") {
            tree.add(&path, &path)?;
        }
        Ok(tree)
    }

    /// Takes the paths out of a form about a list: each begins with `data.`.
    pub(crate) fn read_for_list(form: &mut Form) -> Result<Self, Refusal> {
        let mut tree = Self::default();
        for path in form.list("expand") {
            let inner = path.strip_prefix("data.").ok_or_else(|| not_expandable(&path))?;
            tree.add(inner, &path)?;
        }
        Ok(tree)
    }

    fn add(&mut self, path: &str, given: &str) -> Result<(), Refusal> {
        let steps: Vec<&str> = path.split('.').collect();
        if steps.len() > MAX_DEPTH || steps.iter().any(|step| !EXPANDABLE.contains(step)) {
            return Err(not_expandable(given));
        }
        let mut tree = self;
        for step in steps {
            tree = tree.0.entry(step.to_owned()).or_default();
        }
        Ok(())
    }

    /// Puts the objects in: one query for each kind of object on each level, however long the list is.
    pub(crate) fn apply<'a>(
        &'a self,
        tx: &'a mut Tx,
        objects: &'a mut [Value],
    ) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>> {
        Box::pin(async move {
            for (member, inner) in &self.0 {
                if objects.iter().any(|object| object.get(member).is_none()) {
                    return Err(not_expandable(member).into());
                }
                let ids = objects.iter().filter_map(|object| object[member].as_str()).map(str::to_owned);
                let mut found = objects::by_ids(tx, ids.collect()).await?;
                inner.apply(tx, &mut found).await?;
                let found: BTreeMap<String, Value> = found
                    .into_iter()
                    .filter_map(|object| Some((object["id"].as_str()?.to_owned(), object)))
                    .collect();
                for object in &mut *objects {
                    if let Some(whole) = object[member].as_str().and_then(|id| found.get(id)).cloned() {
                        object[member] = whole;
                    }
                }
            }
            Ok(())
        })
    }
}

fn not_expandable(path: &str) -> Refusal {
    let name = path.split('.').find(|step| *step != "data").unwrap_or(path);
    Refusal::invalid(format!("This property cannot be expanded ({name}).")).param("expand")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(encoded: &str, list: bool) -> Result<Expand, Refusal> {
        let mut form = Form::parse(encoded.as_bytes()).unwrap();
        let read = if list { Expand::read_for_list(&mut form) } else { Expand::read(&mut form) };
        form.finish().unwrap();
        read
    }

    #[test]
    fn paths_that_share_their_beginning_are_one_branch() {
        let both =
            expand("expand[]=latest_charge.balance_transaction&expand[]=latest_charge", false).unwrap();
        let one = expand("expand[0]=latest_charge.balance_transaction", false).unwrap();
        assert_eq!(both, one);
        assert_eq!(expand("expand[]=data.latest_charge.balance_transaction", true).unwrap(), one);
    }

    #[test]
    fn what_holds_no_object_cannot_be_expanded() {
        for wrong in ["expand[]=amount", "expand[]=", "expand[]=charge.charge.charge.charge.charge"] {
            assert!(expand(wrong, false).is_err(), "{wrong} was taken");
        }
        assert!(expand("expand[]=latest_charge", true).is_err(), "a list's paths begin with data");
    }
}
