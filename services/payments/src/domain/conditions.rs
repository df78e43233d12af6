//! The facts about a call that a decision needs, and the worker's next action that it leads to.

use std::time::Duration;

use strum::{EnumString, IntoStaticStr};

/// The worker's action when a call is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum CallMode {
    /// It sends the request. Under the same key, the processor repeats its first response.
    Request,
    /// It looks up at the processor whether the request took effect, because a request under the key would only repeat an
    /// earlier failure.
    #[strum(serialize = "look_up")] // as the table says it
    Lookup,
}

/// When a key expires, and how long an unknown outcome is looked up.
#[derive(Debug, Clone, Copy)]
pub struct LookupLimits {
    /// How long the processor remembers a key, from its first use.
    pub key_life: Duration,
    /// Consecutive lookups that may find nothing. After them, a review is opened.
    pub look_ups: i32,
    /// An outcome is reviewed if it is unknown this long after the first request and after the object was last found, even if
    /// no lookup was answered.
    pub review_after: Duration,
}

/// The row of a call and the database's clock, read when the call is due or when its result is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "five independent facts about one call")]
pub struct CallConditions {
    /// The payment has expired: no first attempt may start.
    pub payment_expired: bool,
    /// The processor may have deleted the key. A request under it could charge a second time.
    pub key_expired: bool,
    /// The action when the call is due.
    pub mode: CallMode,
    /// A webhook or the reconciliation requested one lookup. It is made in either mode.
    pub look_up_requested: bool,
    /// This lookup is the last consecutive one that may find nothing. After it, a review is opened.
    pub is_last_look_up: bool,
    /// The outcome has been unknown for so long that a person must look, even if no lookup was answered.
    pub is_overdue: bool,
}

impl CallConditions {
    /// Decides what the worker does with a call that is due and has not ended.
    pub(super) fn action(self) -> NextStep {
        if self.needs_look_up_after_end() || self.key_expired {
            NextStep::Lookup
        } else {
            NextStep::SendRequest
        }
    }

    /// Returns whether the worker looks up a call that has ended.
    pub(super) fn needs_look_up_after_end(self) -> bool {
        self.look_up_requested || self.mode == CallMode::Lookup
    }

    /// Decides what follows a lookup that proved nothing.
    pub(super) fn look_again(
        self,
        found_nothing: bool,
        may_have_arrived: bool,
    ) -> Result<NextStep, LookupsExhausted> {
        match self.mode {
            // The lookup was an extra one. The key can still be used.
            CallMode::Request if !self.key_expired => Ok(NextStep::RetryLater { may_have_arrived }),
            CallMode::Request | CallMode::Lookup
                if self.is_overdue || (found_nothing && self.is_last_look_up) =>
            {
                Err(LookupsExhausted)
            }
            CallMode::Request | CallMode::Lookup => Ok(NextStep::LookupLater { found_nothing }),
        }
    }
}

/// The permitted number of consecutive lookups found nothing, or the time for lookups is over. A review follows.
pub(super) struct LookupsExhausted;

/// The worker's next action for a processor call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// Send the request now.
    SendRequest,
    /// Look up the call now.
    Lookup,
    /// Send the request again after a pause, under the same key.
    RetryLater {
        /// An earlier attempt may have reached the processor.
        may_have_arrived: bool,
    },
    /// Look up the call after a pause, and do not use the key again.
    LookupLater {
        /// The lookup that was just made found nothing.
        found_nothing: bool,
    },
    /// Stop: the result is known, or only an operator can find it.
    Stop,
    /// Leave the call as it is: another attempt is in flight, or the call has ended.
    Unchanged,
}
