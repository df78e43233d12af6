//! What changes the books: `POST` on intents and refunds.

use actix_web::web::{Data, Path};

use crate::api::call::Call;
use crate::api::{Reply, broken, id, reply};
use crate::operations::cancel::CancelIntent;
use crate::operations::capture::CaptureIntent;
use crate::operations::cards::Card;
use crate::operations::confirm::ConfirmIntent;
use crate::operations::create::CreateIntent;
use crate::operations::refund::CreateRefund;
use crate::processor::{Circumstances, Command, Processor};

/// Creates an intent, and charges it if it is confirmed at once.
pub(crate) async fn create(processor: Data<Processor>, call: Call) -> Reply {
    let wish = CreateIntent::read(call.form)?;
    execute(&processor, call.of, wish).await
}

/// Charges an intent that was made before.
pub(crate) async fn confirm(processor: Data<Processor>, path: Path<String>, call: Call) -> Reply {
    let wish = ConfirmIntent::read(id(path, "payment_intent", "intent")?, call.form)?;
    execute(&processor, call.of, wish).await
}

/// Takes what was set aside.
pub(crate) async fn capture(processor: Data<Processor>, path: Path<String>, call: Call) -> Reply {
    let wish = CaptureIntent::read(id(path, "payment_intent", "intent")?, call.form)?;
    execute(&processor, call.of, wish).await
}

/// Ends an intent that has not been charged.
pub(crate) async fn cancel(processor: Data<Processor>, path: Path<String>, call: Call) -> Reply {
    let wish = CancelIntent::read(id(path, "payment_intent", "intent")?, call.form)?;
    execute(&processor, call.of, wish).await
}

/// Gives money back.
pub(crate) async fn refund(processor: Data<Processor>, call: Call) -> Reply {
    let wish = CreateRefund::read(call.form)?;
    execute(&processor, call.of, wish).await
}

async fn execute<C: Command>(processor: &Data<Processor>, of: Circumstances, wish: C) -> Reply {
    let card = wish.card();
    let executed = processor.execute(of, wish).await?;
    let first = executed.answer.status().is_success() && !executed.replayed;
    if first && card == Some(Card::ChargesWithoutReply) {
        processor.faults.count_card_without_reply();
        tracing::warn!("a charge was made, and its answer is withheld as its card asked");
        return Ok(broken::withheld());
    }
    Ok(reply(executed))
}
