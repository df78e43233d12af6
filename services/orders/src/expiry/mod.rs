//! Orders that are not confirmed in time are cancelled, by a job that may run twice or on two instances at once.

use contracts::{Caller, OrderId, TenantId};
use database::{Database, ErrorClass, Tx};
use idempotency::{
    Fingerprint, FingerprintInput, Key, KeyScope, KeyedRequest, Operation, Retention, StoredResponse,
};

use crate::domain::Input;
use crate::saga;
use crate::store::orders;
use crate::timeline::Cause;

/// Orders looked at in one round.
const ROUND: i64 = 100;

/// One round: expires what is due. An order that cannot be expired now keeps no other one waiting.
pub(crate) async fn expire_due(database: Database) -> database::Result<()> {
    let mut connection = database.connection().await?;
    let due = orders::due(&mut connection, ROUND).await?;
    drop(connection);
    for (tenant, id) in due {
        crashpoint::reach!("expire.order_picked");
        match expire(&database, tenant, id).await {
            Err(error) if error.class() == ErrorClass::Unavailable => return Err(error),
            Err(error) => tracing::warn!(order = %id, %error, "not expired; the next round tries again"),
            Ok(()) => {}
        }
    }
    Ok(())
}

/// One order, through the same executor as a client's command: a key of our own makes it happen once. That it is not
/// due, or has ended otherwise, is not kept under the key: a later round looks again.
async fn expire(database: &Database, tenant: TenantId, id: OrderId) -> database::Result<()> {
    let caller = Caller::system(tenant);
    let Ok(key) = Key::from_server(format!("expire-{id}")) else {
        unreachable!("a UUID is of a key's characters")
    };
    let scope =
        KeyScope { caller: caller.clone(), method: "JOB".to_owned(), route: "expire-order".to_owned() };
    let fingerprint = Fingerprint::of(&FingerprintInput {
        method: "JOB",
        route_template: "expire-order",
        path_parameters: &[("order", &id.to_string())],
        query: &[],
        media_type: "",
        actor: caller.client.as_str(),
        body: b"",
    });
    let intent = KeyedRequest { scope, key, fingerprint, traceparent: None };
    let command = async move |tx: &mut Tx,
                              operation: &Operation|
                -> Result<StoredResponse, idempotency::CommandError> {
        let receipt = StoredResponse { status: 200, headers: Vec::new(), body: Vec::new() };
        if !orders::is_due(tx, id).await? {
            return Err(idempotency::CommandError::Refused(receipt));
        }
        let moved = saga::advance(tx, &caller.tenant, id, Input::Expire, &Cause::job(operation)).await;
        if !moved.map_err(edge::CommandError::from)?.changed {
            return Err(idempotency::CommandError::Refused(receipt));
        }
        audit::record(tx, audit::Fact::new(&caller, operation.id, "order.expire", "order", id));
        Ok(receipt)
    };
    idempotency::execute(database, Retention::default(), intent, command).await?;
    Ok(())
}

#[cfg(test)]
mod tests;
