//! Reads a refund that was made by hand in the processor's dashboard, for `payments review resolve --refund`.

use contracts::RefundId;
use database::Database;

use crate::domain::payment::State;
use crate::domain::review::{Resolution, Subject};
use crate::settings::Settings;
use crate::store::refunds;
use crate::store::reviews::ReviewRow;
use crate::transitions::TransitionError::{self, Refused};

/// Verifies that `object` at the processor is the refund that the review is about. It holds no lock and no connection while
/// it waits for the processor.
pub(super) async fn read_hand_refund(
    database: &Database,
    settings: &Settings,
    review: &ReviewRow,
    resolution: Resolution,
    object: &str,
) -> Result<(), TransitionError> {
    if resolution != Resolution::Refunded {
        return Err(Refused("--refund says that the payer has the money back: add --as refunded".to_owned()));
    }
    // A repetition changes nothing, so it reads nothing.
    if review.resolution.is_some() {
        return Ok(());
    }
    let Subject::Refund(_, refund) = review.subject()? else {
        return Err(Refused("--refund is for the review of a failed refund; leave it out".to_owned()));
    };
    let Some((owed, charge)) = find_owed(database, refund).await? else {
        return Err(Refused("the payment of the refund is not captured".to_owned()));
    };
    let Some(processor) = &settings.processor else {
        return Err(Refused("no processor is configured".to_owned()));
    };
    let deployment = settings.policy.bodies.deployment();
    let verified = processor.verify_hand_refund(object, owed, &charge, deployment).await;
    verified.map_err(|error| Refused(format!("{object} is not the refund that is owed: {error}")))
}

/// The amount of a refund, and the processor's id of the charge.
async fn find_owed(
    database: &Database,
    refund: RefundId,
) -> Result<Option<(contracts::Money, String)>, TransitionError> {
    let mut connection = database.connection().await?;
    let Some((refund, payment)) = refunds::find_of_any_tenant(&mut connection, refund).await? else {
        return Ok(None);
    };
    let State::Captured(charge) = payment.state()? else { return Ok(None) };
    Ok(Some((payment.in_its_currency(refund.amount)?, charge.id)))
}
