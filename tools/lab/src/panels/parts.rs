//! The processes of the stack, and whether each answers.

use std::collections::BTreeMap;

use futures_util::future::{join, join_all};
use harness::{Error, Instance, Metrics, Part, Request, Result, Role};

use crate::lab::Lab;
use crate::state::PartState;

/// Looks at all processes at once.
pub(super) async fn read(lab: &Lab) -> BTreeMap<String, PartState> {
    let serving = Part::PROGRAMS.map(|part| part.instance(1));
    let relays = Part::SERVICES.map(|part| part.relay(1));
    let looks = serving.into_iter().chain(relays).map(async |instance| {
        let address =
            if instance.role == Role::Relay { lab.dev.admin(instance) } else { lab.dev.address(instance) };
        (instance.to_string(), PartState::look(&address, ask(lab, instance)).await)
    });
    let broker = PartState::look(&lab.broker, async { Ok(PartState::Up) });
    let (looked, broker) = join(join_all(looks), broker).await;
    let mut parts: BTreeMap<_, _> = looked.into_iter().collect();
    parts.insert(Part::KAFKA.name().to_owned(), broker);
    parts
}

async fn ask(lab: &Lab, instance: Instance) -> Result<PartState> {
    if instance.role == Role::Relay {
        let metrics = Metrics::read(lab.api.client(), &[lab.admin(instance)]).await?;
        let is_active = metrics.count("outbox_holds_lease")? == 1;
        return Ok(if is_active { PartState::Active } else { PartState::Standby });
    }
    let ready = lab.api.send(&Request::get(instance.part, "/health/ready")).await?;
    if ready.status == 200 { Ok(PartState::Up) } else { Err(Error::unexpected(&ready, 200)) }
}
