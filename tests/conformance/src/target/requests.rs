//! The requests of a target file. Each case has its own text for `{unique}`. `{text}` is the same text, which a case may spell
//! in another way. `{number}` is 1 unless a case needs another number.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The command under test.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: String,
    #[serde(default = "json")]
    pub(crate) content_type: String,
    /// The status of a success.
    pub(crate) status: u16,
    pub(crate) effects: Effects,
    /// A command that a rule of the business rejects.
    pub(crate) rejected: Option<Variant>,
    /// A command that takes two seconds or more, and so longer than ten others at the same time. Without it, case 405 sends copies
    /// of the command.
    pub(crate) slow: Option<Variant>,
    /// A command whose response comes before its outcome is known.
    pub(crate) pending: Option<Variant>,
    /// A command whose first execution fails with a 5xx, without an effect; a later one succeeds.
    pub(crate) failing: Option<Variant>,
    /// Where the outcome of a pending command can be read.
    pub(crate) operation: Option<Operation>,
    /// A second command, about what the first one made. Without it, case 207 sends PATCH, PUT and DELETE to what the command made,
    /// and the cases 312 and 508 send the command to other paths.
    pub(crate) follow_up: Option<FollowUp>,
    /// A command that takes no key.
    pub(crate) unkeyed: Option<Unkeyed>,
    /// A path that no route has.
    #[serde(default = "unknown_path")]
    pub(crate) unknown_path: String,
    /// The largest body in bytes; more is refused.
    pub(crate) body_limit: Option<usize>,
}

/// The same command with another body, and the status of its first response.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Variant {
    pub(crate) body: String,
    pub(crate) status: u16,
}

/// How the effects of a case are counted: by a list, by the number of effects, or by the sum of their numbers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Effects {
    /// The path of a GET.
    pub(crate) path: String,
    /// JSON pointer to a list of effects, or to a number.
    pub(crate) count: String,
    /// True if that number grows by `{number}` with each effect. Otherwise it grows by 1.
    #[serde(default)]
    pub(crate) is_sum: bool,
    /// An effect of a list counts if it has these texts: JSON pointer and text. `*` at the end of a text stands for any rest.
    #[serde(default)]
    pub(crate) with: BTreeMap<String, String>,
    /// It does not count if it has one of these texts.
    #[serde(default)]
    pub(crate) without: BTreeMap<String, String>,
}

/// A command about what the first one made. `{id}` is read from the first response.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowUp {
    /// JSON pointer to the id.
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: String,
    /// The statuses that its first response may have.
    pub(crate) status: Vec<u16>,
}

/// A command that takes no key.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Unkeyed {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: String,
    /// The statuses that its response may have.
    pub(crate) status: Vec<u16>,
}

/// The operation of a pending command. Its path is in `Location`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Operation {
    /// JSON pointer to the state.
    pub(crate) state: String,
    /// The states in which it has ended.
    pub(crate) ended: Vec<String>,
}

/// A request that gives a key up: what was executed under it is told, and nothing else ever is. A POST without a body, answered by 200.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fence {
    /// The path, with `{key}`.
    pub(crate) path: String,
    /// JSON pointer to the list of commands that were executed under the key.
    pub(crate) records: String,
}

/// Resources that a command uses up, such as a parcel that is completed once. Each command has one of its own: `{fresh}` in its
/// path is the id.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fresh {
    /// The path of a GET.
    pub(crate) path: String,
    /// JSON pointer to a list of resources.
    pub(crate) list: String,
    /// JSON pointer to the id of a resource.
    pub(crate) id: String,
    /// How many resources the cases need. The first case waits for them.
    pub(crate) count: usize,
}

/// A request of each tenant before the first case, or before each case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Preparation {
    /// Another server than that under test.
    pub(crate) server: Option<String>,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) body: String,
    /// Statuses of a success. The request is repeated until it has one of them.
    pub(crate) status: Vec<u16>,
    /// How often it is sent, each time with a new key; once if absent.
    #[serde(default = "once")]
    pub(crate) times: usize,
    /// True if it comes before each case, with the `{unique}` of the case.
    #[serde(default)]
    pub(crate) each_case: bool,
}

fn once() -> usize {
    1
}

fn json() -> String {
    "application/json".to_owned()
}

fn unknown_path() -> String {
    "/no-such-path".to_owned()
}
