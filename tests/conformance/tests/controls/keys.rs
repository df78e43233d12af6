//! The key records of the control, in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::HttpResponse;

use crate::defect::Defect;

/// Tenant, client, route and key.
pub(crate) type KeyScope = [String; 4];

/// A response that can be sent again.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Stored {
    pub(crate) fn send(&self) -> HttpResponse {
        let mut response = HttpResponse::build(self.status.try_into().unwrap());
        for (name, value) in &self.headers {
            response.insert_header((*name, value.as_str()));
        }
        response.insert_header(("Cache-Control", "no-store")).body(self.body.clone())
    }
}

struct Record {
    fingerprint: Vec<u8>,
    /// `None` while the first request is in progress.
    response: Option<Stored>,
    used_at: Instant,
}

/// What a key says about a request.
pub(crate) enum Claim {
    /// The request is the first; it has the key until the guard is dropped.
    First(Guard),
    InProgress,
    Reused,
    Expired,
    Replay(Stored),
}

#[derive(Default)]
pub(crate) struct Keys {
    records: Mutex<HashMap<KeyScope, Record>>,
}

impl Keys {
    pub(crate) fn claim(
        self: &Arc<Self>,
        scope: &KeyScope,
        fingerprint: &[u8],
        life: Duration,
        defect: Option<Defect>,
    ) -> Claim {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = records.get(scope) {
            let expired = record.response.is_some() && record.used_at.elapsed() > life;
            match &record.response {
                _ if expired && defect != Some(Defect::ExecutesExpiredKeys) => return Claim::Expired,
                _ if expired => {}
                _ if record.fingerprint != fingerprint && defect != Some(Defect::HasNoFingerprint) => {
                    return Claim::Reused;
                }
                Some(response) => {
                    let mut response = response.clone();
                    let is_late = record.used_at.elapsed() > Duration::from_secs(2);
                    if is_late && defect == Some(Defect::ReplaysALaterState) {
                        response.body = response.body.replace("\"new\"", "\"changed\"");
                    }
                    return Claim::Replay(response);
                }
                None => return Claim::InProgress,
            }
        }
        if defect == Some(Defect::EvictsOldKeys) && records.len() >= 64 {
            let oldest =
                records.iter().min_by_key(|(_, record)| record.used_at).map(|(scope, _)| scope.clone());
            records.remove(&oldest.unwrap());
        }
        if defect != Some(Defect::ChecksThenInserts) {
            let record =
                Record { fingerprint: fingerprint.to_vec(), response: None, used_at: Instant::now() };
            records.insert(scope.clone(), record);
        }
        let (keys, scope, fingerprint) = (Arc::clone(self), scope.clone(), fingerprint.to_vec());
        Claim::First(Guard { keys, scope, fingerprint, is_stored: false })
    }

    /// The records of a key on all routes: whether each has ended.
    pub(crate) fn of_key(&self, of: &[String; 3]) -> Vec<bool> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let is_its = |[tenant, client, _, key]: &KeyScope| [tenant, client, key] == of.each_ref();
        records
            .iter()
            .filter(|(scope, _)| is_its(scope))
            .map(|(_, record)| record.response.is_some())
            .collect()
    }

    pub(crate) fn forget(&self) {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The claim of a first request. Dropped without a response, it frees the key.
pub(crate) struct Guard {
    keys: Arc<Keys>,
    scope: KeyScope,
    fingerprint: Vec<u8>,
    is_stored: bool,
}

impl Guard {
    pub(crate) fn store(mut self, response: Stored) {
        self.is_stored = true;
        let fingerprint = std::mem::take(&mut self.fingerprint);
        let record = Record { fingerprint, response: Some(response), used_at: Instant::now() };
        self.keys.records.lock().unwrap_or_else(PoisonError::into_inner).insert(self.scope.clone(), record);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.is_stored {
            self.keys.records.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.scope);
        }
    }
}
