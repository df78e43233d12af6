//! `Fingerprint`: identifies the content of a request. It shows whether a key was sent again with the same request.
//! Otherwise a different request would get the response of the first one.
//!
//! What goes wrong without it: a client that reuses a key by mistake, for instance one made from a date, orders three pieces and
//! gets the 201 of an order of two. Nothing tells the client that its request was never executed.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The parts of a request that must be equal in a retry. Parts that change between retries (trace context, date, token)
/// are left out.
#[derive(Debug, Clone, Copy)]
pub struct FingerprintInput<'a> {
    /// In upper case, as on the request line.
    pub method: &'a str,
    /// The route's template, such as `/v1/orders/{id}/cancel`.
    pub route_template: &'a str,
    /// Names and decoded values, in the template's order.
    pub path_parameters: &'a [(&'a str, &'a str)],
    /// Decoded names and values. The order of names does not matter; the order of values of one name does.
    pub query: &'a [(&'a str, &'a str)],
    /// The `Content-Type`, or "" without one. Parameters such as `charset` and letter case are ignored.
    pub media_type: &'a str,
    /// The client that sends the request.
    pub actor: &'a str,
    /// The body in canonical form (see [`crate::canonicalise`]); empty if there is none.
    pub body: &'a [u8],
}

/// SHA-256 of a request, by each version of the algorithm.
///
/// It is stored with each key, by the newest version. A retry is compared by the version that its record was stored with, so
/// that retries across a deployment match.
///
/// The comparison need not take constant time. Both sides come from the same caller's requests, so an attacker would need
/// the caller's credentials first.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    version: i32,
    digest: Digest,
    older: Vec<(i32, Digest)>,
}

type Digest = [u8; 32];

/// An algorithm and its version. A version names its algorithm for ever.
type Algorithm = (i32, fn(&FingerprintInput<'_>) -> Digest);

/// The algorithm of new records.
const NEWEST: Algorithm = (1, version_1);

/// The algorithms before it. Each stays here until its last record has been erased.
const OLDER: &[Algorithm] = &[];

impl Fingerprint {
    /// The fingerprint of a request.
    pub fn of(request: &FingerprintInput<'_>) -> Self {
        Self::by(NEWEST, OLDER, request)
    }

    pub(crate) fn by(newest: Algorithm, older: &[Algorithm], request: &FingerprintInput<'_>) -> Self {
        let (version, newest) = newest;
        let older = older.iter().map(|(version, algorithm)| (*version, algorithm(request)));
        Self { version, digest: newest(request), older: older.collect() }
    }

    /// The version of new records.
    pub const fn version(&self) -> i32 {
        self.version
    }

    /// The digest of new records.
    pub const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    /// The digest by this version; `None` if this program does not know the version.
    pub(crate) fn digest_by(&self, version: i32) -> Option<&[u8; 32]> {
        let older = self.older.iter().find(|(older, _)| *older == version).map(|(_, digest)| digest);
        if version == self.version { Some(&self.digest) } else { older }
    }
}

/// SHA-256 over parts, each framed by its length in bytes (u64, big-endian), in this order: `idem-fingerprint-v1`; method;
/// route template; number of path parameters (u64, big-endian), then name and value of each; number of query pairs, then
/// name and value of each, ordered by name; media type without parameters, in lower case; actor; body.
fn version_1(request: &FingerprintInput<'_>) -> Digest {
    let mut query = request.query.to_vec();
    query.sort_by_key(|(name, _)| *name); // stable: values of one name keep their order
    let essence = request.media_type.split_once(';').map_or(request.media_type, |(essence, _)| essence);

    let mut parts = Parts::default();
    parts.add(b"idem-fingerprint-v1");
    parts.add(request.method.as_bytes());
    parts.add(request.route_template.as_bytes());
    parts.add_pairs(request.path_parameters);
    parts.add_pairs(&query);
    parts.add(essence.trim().to_ascii_lowercase().as_bytes());
    parts.add(request.actor.as_bytes());
    parts.add(request.body);
    parts.0.finalize().into()
}

impl fmt::Debug for Fingerprint {
    /// Prints the version and a few digits, which distinguish fingerprints in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint(v{} ", self.version)?;
        self.digest.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str(")")
    }
}

/// Parts with their lengths, so that two different lists of parts never have the same bytes.
#[derive(Default)]
struct Parts(Sha256);

impl Parts {
    fn add(&mut self, part: &[u8]) {
        self.add_count(part.len());
        self.0.update(part);
    }

    fn add_pairs(&mut self, pairs: &[(&str, &str)]) {
        self.add_count(pairs.len());
        for (name, value) in pairs {
            self.add(name.as_bytes());
            self.add(value.as_bytes());
        }
    }

    fn add_count(&mut self, count: usize) {
        self.0.update((count as u64).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::{Fingerprint, FingerprintInput};

    const CANCEL: FingerprintInput<'static> = FingerprintInput {
        method: "POST",
        route_template: "/v1/orders/{id}/cancel",
        path_parameters: &[("id", "0190a5c4-7e3b-7abc-8def-0123456789ab")],
        query: &[("dry_run", "false"), ("tag", "b"), ("tag", "a")],
        media_type: "application/json",
        actor: "web-shop",
        body: br#"{"reason":"changed my mind"}"#,
    };

    fn of(request: FingerprintInput<'_>) -> Fingerprint {
        Fingerprint::of(&request)
    }

    #[test]
    fn version_1_never_changes() {
        let hex = of(CANCEL).digest().iter().fold(String::new(), |mut hex, byte| {
            write!(hex, "{byte:02x}").unwrap();
            hex
        });
        // Stored in records: if this differs, the new algorithm is version 2, and this one becomes an older one.
        assert_eq!(
            (of(CANCEL).version(), hex.as_str()),
            (1, "ee4761993847e450ec2c1146b945f6e6f38f6d8d5f721692b6e6f599eaeb098f")
        );
    }

    #[test]
    fn every_part_counts() {
        let others = [
            FingerprintInput { method: "PUT", ..CANCEL },
            FingerprintInput { route_template: "/v1/orders/{id}/refund", ..CANCEL },
            FingerprintInput { path_parameters: &[("id", "another")], ..CANCEL },
            FingerprintInput { path_parameters: &[("order", CANCEL.path_parameters[0].1)], ..CANCEL },
            FingerprintInput { query: &[("dry_run", "true"), ("tag", "b"), ("tag", "a")], ..CANCEL },
            FingerprintInput { query: &[], ..CANCEL },
            FingerprintInput { media_type: "application/merge-patch+json", ..CANCEL },
            FingerprintInput { actor: "call-centre", ..CANCEL },
            FingerprintInput { body: br#"{"reason":"too late"}"#, ..CANCEL },
            FingerprintInput { body: b"", ..CANCEL },
        ];
        for other in others {
            assert_ne!(of(other), of(CANCEL), "{other:?}");
        }
    }

    #[test]
    fn the_order_of_query_names_makes_no_difference() {
        let reordered =
            FingerprintInput { query: &[("tag", "b"), ("dry_run", "false"), ("tag", "a")], ..CANCEL };
        assert_eq!(of(reordered), of(CANCEL));
    }

    #[test]
    fn the_order_of_values_of_one_name_counts() {
        let swapped =
            FingerprintInput { query: &[("dry_run", "false"), ("tag", "a"), ("tag", "b")], ..CANCEL };
        assert_ne!(of(swapped), of(CANCEL));
    }

    #[test]
    fn parameters_and_case_of_the_media_type_make_no_difference() {
        let spelled = FingerprintInput { media_type: "Application/JSON ; charset=utf-8", ..CANCEL };
        assert_eq!(of(spelled), of(CANCEL));
    }

    #[test]
    fn no_byte_moves_between_parts() {
        let framed = [
            FingerprintInput { method: "a", route_template: "bc", ..CANCEL },
            FingerprintInput { method: "ab", route_template: "c", ..CANCEL },
            FingerprintInput { path_parameters: &[("a", "b"), ("c", "d")], query: &[], ..CANCEL },
            FingerprintInput { path_parameters: &[("a", "b")], query: &[("c", "d")], ..CANCEL },
            FingerprintInput { path_parameters: &[], query: &[("a", "b"), ("c", "d")], ..CANCEL },
            FingerprintInput { query: &[("a", "bc")], ..CANCEL },
            FingerprintInput { query: &[("ab", "c")], ..CANCEL },
            FingerprintInput { actor: "a", body: b"bc", ..CANCEL },
            FingerprintInput { actor: "ab", body: b"c", ..CANCEL },
        ]
        .map(of);
        for (at, one) in framed.iter().enumerate() {
            assert!(!framed[at + 1..].contains(one), "number {at} has a twin");
        }
    }
}
