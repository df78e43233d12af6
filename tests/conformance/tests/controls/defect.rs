//! `Defect`: a mistake of the control, and the cases that find it.

use strum::{Display, VariantArray};

/// A defect of the control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Display, VariantArray)]
pub(crate) enum Defect {
    ExecutesWithoutKey,
    ReadsTheFirstOfTwoKeys,
    QuotesBelongToTheKey,
    IgnoresKeysSilently,
    ReserialisesTheBody,
    DropsHeaders,
    DoesNotMarkReplays,
    KeysBelongToAnInstance,
    ForgetsOnRestart,
    ReplaysTheCurrentState,
    ReplaysCookies,
    RunsOnACutBody,
    HasNoFingerprint,
    ComparesBinaryNumbers,
    IgnoresTheQuery,
    IgnoresThePath,
    ComparesThePrefix,
    ChecksThenInserts,
    BlocksDuplicates,
    HasOneScopeForAllTenants,
    ReplaysWithoutCredentials,
    ReplaysWithoutRights,
    StoresValidationErrors,
    TriesRejectionsAgain,
    ReplaysServerErrors,
    AsksToRetryReusedKeys,
    ExecutesExpiredKeys,
    EvictsOldKeys,
    AcceptsTwice,
    ShowsOperationsToEverybody,
    ParametersBelongToTheKey,
    RespondsToRetriesWith200,
    /// Executes a request, and then refuses it because its key is used.
    ExecutesThenRefuses,
    /// Handles one request at a time.
    HasOneLock,
    /// Claims keys at the same time, and executes one command at a time.
    ExecutesUnderOneLock,
    /// Takes the order of members for a part of the content.
    ComparesTheOrderOfMembers,
    /// Executes a command under a key that it cannot read, and does not store the key.
    IgnoresOddKeys,
    /// Takes any credential for that of the first client.
    AcceptsWrongCredentials,
    HasNoOperations,
    /// Refuses every command with 429.
    LimitsTheRate,
    /// Accepts keys in quotes only, and refuses invalid content and reused keys with 422, as the IETF draft has it. It is a
    /// defect for a target that sends bare keys.
    FollowsTheDraftStrictly,
    /// Stores the response after a pause, in which the loss of the connection ends the request.
    LosesTheRecordOfACutConnection,
    /// Refuses unknown members, and drops a null before it compares the content.
    TakesNullForAbsent,
    HasOneScopeForAllRoutes,
    DropsACustomHeader,
    MakesAnotherETag,
    /// Replays a state that changes by itself, after two seconds.
    ReplaysALaterState,
    /// Answers a fence, and executes the command later.
    ForgetsFences,
    /// Fences a key of all tenants.
    FencesForEverybody,
    /// Refuses the replay of a command whose key was fenced.
    FencesWhatWasExecuted,
    /// Fences a key whose command is in progress.
    FencesBesideACommand,
    /// Answers the second fence of a key with 404.
    FencesOnce,
}

impl Defect {
    /// The cases that find it.
    pub(crate) fn cases(self) -> &'static [u16] {
        match self {
            Self::ExecutesWithoutKey => &[101],
            Self::ReadsTheFirstOfTwoKeys => &[104],
            Self::QuotesBelongToTheKey => &[114],
            Self::IgnoresKeysSilently => &[119],
            Self::ReserialisesTheBody => &[201],
            Self::DropsHeaders => &[202],
            Self::DoesNotMarkReplays => &[203],
            Self::KeysBelongToAnInstance => &[205, 404],
            Self::ForgetsOnRestart => &[206],
            Self::ReplaysTheCurrentState => &[207],
            Self::ReplaysCookies => &[208],
            Self::RunsOnACutBody => &[210],
            Self::HasNoFingerprint => &[301, 305, 314, 315, 317, 403, 409, 906],
            Self::ComparesBinaryNumbers => &[305],
            Self::IgnoresTheQuery => &[310],
            Self::IgnoresThePath => &[312],
            Self::ComparesThePrefix => &[314],
            Self::ChecksThenInserts => &[401, 403, 404, 409],
            Self::BlocksDuplicates => &[405],
            Self::HasOneScopeForAllTenants => &[501, 502],
            Self::ReplaysWithoutCredentials => &[505, 509],
            Self::ReplaysWithoutRights => &[507],
            Self::StoresValidationErrors => &[601],
            Self::TriesRejectionsAgain => &[606],
            Self::AsksToRetryReusedKeys => &[610],
            Self::ReplaysServerErrors => &[611],
            Self::ExecutesExpiredKeys => &[702, 703],
            Self::EvictsOldKeys => &[801],
            Self::AcceptsTwice => &[902, 904],
            Self::ShowsOperationsToEverybody => &[907],
            Self::ParametersBelongToTheKey => &[115],
            Self::RespondsToRetriesWith200 => &[201],
            Self::ExecutesThenRefuses => &[301, 403, 409],
            Self::HasOneLock => &[405, 408],
            Self::ExecutesUnderOneLock => &[408],
            Self::ComparesTheOrderOfMembers => &[303],
            Self::IgnoresOddKeys => &[113, 120, 807],
            Self::AcceptsWrongCredentials => &[506],
            Self::HasNoOperations => &[903, 907],
            Self::LimitsTheRate => &[301, 401],
            Self::FollowsTheDraftStrictly => &[114],
            Self::LosesTheRecordOfACutConnection => &[209],
            Self::TakesNullForAbsent => &[309],
            Self::HasOneScopeForAllRoutes => &[508],
            Self::DropsACustomHeader | Self::MakesAnotherETag => &[202],
            Self::ReplaysALaterState => &[207],
            Self::ForgetsFences => &[1001],
            Self::FencesForEverybody => &[1004],
            Self::FencesWhatWasExecuted => &[1002, 1006],
            Self::FencesBesideACommand => &[1005],
            Self::FencesOnce => &[1003],
        }
    }
}
