//! What can be wrong with the control, and the case that finds it.

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
    // Written from the text of the draft after the cases were fixed: section 2.1, and section 2.6.
    ParametersBelongToTheKey,
    AnswersRetriesWith200,
}

impl Defect {
    /// The case that is meant to find it.
    pub(crate) fn case(self) -> u16 {
        match self {
            Self::ExecutesWithoutKey => 101,
            Self::ReadsTheFirstOfTwoKeys => 104,
            Self::QuotesBelongToTheKey => 114,
            Self::IgnoresKeysSilently => 119,
            Self::ReserialisesTheBody => 201,
            Self::DropsHeaders => 202,
            Self::DoesNotMarkReplays => 203,
            Self::KeysBelongToAnInstance => 205,
            Self::ForgetsOnRestart => 206,
            Self::ReplaysTheCurrentState => 207,
            Self::ReplaysCookies => 208,
            Self::RunsOnACutBody => 210,
            Self::HasNoFingerprint => 301,
            Self::ComparesBinaryNumbers => 305,
            Self::IgnoresTheQuery => 310,
            Self::IgnoresThePath => 312,
            Self::ComparesThePrefix => 314,
            Self::ChecksThenInserts => 401,
            Self::BlocksDuplicates => 405,
            Self::HasOneScopeForAllTenants => 501,
            Self::ReplaysWithoutCredentials => 505,
            Self::ReplaysWithoutRights => 507,
            Self::StoresValidationErrors => 601,
            Self::TriesRejectionsAgain => 606,
            Self::AsksToRetryReusedKeys => 610,
            Self::ReplaysServerErrors => 611,
            Self::ExecutesExpiredKeys => 702,
            Self::EvictsOldKeys => 801,
            Self::AcceptsTwice => 902,
            Self::ShowsOperationsToEverybody => 907,
            Self::ParametersBelongToTheKey => 115,
            Self::AnswersRetriesWith200 => 201,
        }
    }
}
