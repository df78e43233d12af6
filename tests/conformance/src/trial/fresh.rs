//! Resources that a command uses up: each command gets one that no other command had.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use super::Trial;
use crate::case_error::CaseResult;
use crate::http::Request;
use crate::target::Caller;

/// The place of an unused resource in the path of the command.
pub(crate) const FRESH: &str = "{fresh}";

/// The ids of unused resources, by tenant: callers of one tenant have those of the default caller.
pub(crate) type Supply = Mutex<BTreeMap<Caller, Vec<String>>>;

/// How many preparations and resources a tenant needs. Few cases have commands of another tenant.
pub(super) fn needed(count: usize, caller: Caller) -> usize {
    if caller == Caller::OtherTenant { count.min(10) } else { count }
}

impl Trial<'_> {
    /// A path of the command with an unused resource, if the command uses one up.
    pub(super) fn with_fresh(&self, template: &str, caller: Caller) -> String {
        if !template.contains(FRESH) {
            return template.to_owned();
        }
        let tenant = if caller == Caller::OtherTenant { caller } else { Caller::Default };
        let mut supply = self.supply.lock().unwrap_or_else(PoisonError::into_inner);
        let id = supply.get_mut(&tenant).and_then(Vec::pop);
        id.map_or_else(|| template.to_owned(), |id| template.replace(FRESH, &id))
    }

    /// A command of another caller with the same key and body. If it uses a resource up, it has one of its own.
    pub(crate) fn command_by(&self, request: Request, caller: Caller) -> Request {
        let template = &self.target.command.path;
        let path = if template.contains(FRESH) {
            self.rendered(&self.with_fresh(template, caller))
        } else {
            request.path.clone()
        };
        request.by(caller).with_path(path)
    }

    /// Waits until a tenant has as many unused resources as the cases need, and keeps their ids.
    pub(crate) async fn stock_up(&self, caller: Caller) -> CaseResult {
        let Some(fresh) = &self.target.fresh else { return Ok(()) };
        let count = needed(fresh.count, caller);
        let what = format!("{count} resources at {}", fresh.path);
        let ids = self.until(&what, async || {
            let list = self.read(&fresh.path, &fresh.list, caller).await?.unwrap_or_default();
            let ids = list.as_array().into_iter().flatten();
            let ids = ids.filter_map(|one| one.pointer(&fresh.id).and_then(Value::as_str).map(str::to_owned));
            let ids: Vec<String> = ids.collect();
            Ok((ids.len() >= count).then_some(ids))
        });
        let ids = ids.await?;
        self.supply.lock().unwrap_or_else(PoisonError::into_inner).insert(caller, ids);
        Ok(())
    }
}
