//! The buttons of the page.

use futures_util::stream::{self, StreamExt};
use harness::Result;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::customer;
use crate::fault::{self, Fault};
use crate::lab::Lab;

/// How many copies of one order are sent at once.
const COPIES: usize = 20;

/// A button, named as in its path `/actions/NAME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(strum::EnumIter))]
pub(crate) enum Action {
    PlaceOrder,
    SendTwentyTimes,
    ReuseKey,
    ReplaceKey,
    StopBroker,
    StartBroker,
    ArmOrders,
    StartOrders,
    DropReply,
    KeepReplies,
    RewindInventory,
    FreezeRelay,
    ResumeRelay,
}

/// Performs the pressed buttons beside each other, until the server has ended.
pub(crate) async fn perform_all(lab: &Lab, pressed: mpsc::UnboundedReceiver<Action>) {
    let pressed = stream::unfold(pressed, async |mut pressed| Some((pressed.recv().await?, pressed)));
    pressed.for_each_concurrent(None, async |action| perform(lab, action).await).await;
}

async fn perform(lab: &Lab, action: Action) {
    let done = try_perform(lab, action).await;
    lab.state.send_modify(|state| state.end_action(action, done));
}

async fn try_perform(lab: &Lab, action: Action) -> Result<()> {
    match action {
        Action::PlaceOrder => customer::place(lab, 1).await,
        Action::SendTwentyTimes => customer::place(lab, COPIES).await,
        Action::ReuseKey => customer::reuse_key(lab).await,
        Action::ReplaceKey => customer::replace_key(lab).await,
        Action::StopBroker => Fault::Broker.set(lab).await,
        Action::StartBroker => Fault::Broker.cure(lab).await,
        Action::ArmOrders => Fault::Crash.set(lab).await,
        Action::StartOrders => Fault::Crash.cure(lab).await,
        Action::DropReply => Fault::Reply.set(lab).await,
        Action::KeepReplies => Fault::Reply.cure(lab).await,
        Action::RewindInventory => fault::rewind(lab).await,
        Action::FreezeRelay => Fault::Relay.set(lab).await,
        Action::ResumeRelay => Fault::Relay.cure(lab).await,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use strum::IntoEnumIterator;

    use super::*;

    #[test]
    fn every_action_has_one_button_and_every_button_is_an_action() {
        let page = include_str!("../page/index.html");
        let buttons = page.split("data-action=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let buttons: Vec<String> = buttons.map(str::to_owned).collect();
        let actions = Action::iter().map(|action| serde_json::to_value(action).unwrap());
        let actions: BTreeSet<String> =
            actions.map(|action| action.as_str().unwrap_or_default().to_owned()).collect();
        assert_eq!(buttons.len(), actions.len());
        assert_eq!(BTreeSet::from_iter(buttons), actions);
    }
}
