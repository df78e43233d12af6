//! The settings for checking tokens.

use std::time::Duration;

use edge::{Authenticator, JwksSource, TokenPolicy};

use super::SettingsReader;
use super::sections::DAY;

/// The issuer of tokens that devtool signs.
const DEVELOPMENT_ISSUER: &str = "idem-dev";

/// The settings for checking tokens.
pub(crate) struct Auth {
    /// `None` if this process checks no tokens.
    pub(crate) authenticator: Option<Authenticator>,
    /// The pause between two reads of the key set.
    pub(crate) refresh: Duration,
}

/// The keys that check tokens. A key file is read here, so that its errors are in the list.
pub(super) fn auth(reader: &mut SettingsReader, needed: bool) -> Auth {
    let issuer = reader.text("auth.issuer", "who issues the tokens (iss)");
    let audience = reader.text("auth.audience", "for whom tokens must be (aud)");
    let location = reader.text("auth.jwks", "the path or URL of the keys that tokens are checked with");
    let plain_http = reader.switch("auth.jwks_plain_http");
    let refresh = reader.seconds("auth.jwks_refresh_seconds", 1..=DAY);
    let max_stale = reader.seconds("auth.jwks_max_stale_seconds", 1..=30 * DAY);
    let policy = TokenPolicy {
        tenant_claim: claim(reader, "auth.tenant_claim"),
        client_claim: claim(reader, "auth.client_claim"),
        leeway: reader.seconds("auth.leeway_seconds", 0..=60),
        longest_life: reader.seconds("auth.token_life_seconds", 1..=30 * DAY),
        ..TokenPolicy::of(&issuer, &audience)
    };
    let algorithms = reader
        .optional("auth.algorithms", "algorithms such as EdDSA, ES256, RS256 or PS256, separated by commas");
    let policy = TokenPolicy { algorithms: algorithms.unwrap_or(policy.algorithms), ..policy };
    if max_stale < refresh {
        reader.refuse("auth.jwks_max_stale_seconds", "at least as long as auth.jwks_refresh_seconds");
    }
    if location.is_empty() || !needed {
        return Auth { authenticator: None, refresh };
    }
    if issuer == DEVELOPMENT_ISSUER {
        reader.refuse_in_production("auth.issuer", "the issuer of your tokens, not that of the demo");
    }
    let opened = JwksSource::parse(&location, plain_http)
        .and_then(|source| Ok(Authenticator::from_source(source, policy)?.max_stale(max_stale)));
    let refuse = |error| reader.refuse("auth.jwks", &format!("the path or URL of a key set: {error}"));
    Auth { authenticator: opened.map_err(refuse).ok(), refresh }
}

/// The name of a claim. Refusals show it, also in a header.
fn claim(reader: &mut SettingsReader, path: &str) -> String {
    let name = reader.text(path, "the name of a claim");
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_graphic() && !matches!(c, '"' | '\\')) {
        reader.refuse(path, "the name of a claim, without spaces and quotes");
    }
    name
}
