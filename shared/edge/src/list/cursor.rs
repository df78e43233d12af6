//! Cursors with a seal (HMAC): only the service can make one, and it is valid for one tenant and one list only.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use database::Database;
use diesel::QueryDsl;
use diesel::result::Error;
use diesel_async::RunQueryDsl;
use envelope::TenantId;
use hmac::digest::InvalidLength;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use uuid::Uuid;

/// The version of the cursor's layout and seal.
const VERSION: u8 = 1;
const POSITION: usize = 16;
/// Half of HMAC-SHA256, as RFC 2104 (section 5) allows.
const SEAL: usize = 16;

diesel::table! {
    cursor_key (singleton) {
        singleton -> Bool,
        key -> Binary,
    }
}

/// The key of a database's cursors. All instances read the same key from the database, so it needs no setting.
#[derive(Clone)]
pub(crate) struct CursorKey(Hmac<Sha256>);

impl CursorKey {
    pub(crate) async fn load(database: &Database) -> Result<Self, database::Error> {
        let mut connection = database.connection().await?;
        let key: Vec<u8> = cursor_key::table.select(cursor_key::key).first(&mut connection).await?;
        Self::new(&key).map_err(|error| Error::DeserializationError(Box::new(error)).into())
    }

    pub(super) fn new(key: &[u8]) -> Result<Self, InvalidLength> {
        KeyInit::new_from_slice(key).map(Self)
    }

    /// The sealer of one list: of this tenant, at this route, with these path parameters.
    pub(super) fn sealer<'a>(
        &self,
        tenant: &'a TenantId,
        route: &'a str,
        path: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Sealer {
        let mut mac = self.0.clone();
        mac.update(&[VERSION]);
        let path = path.into_iter().flat_map(|(name, value)| [name, value]);
        for part in [tenant.as_str(), route].into_iter().chain(path) {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part.as_bytes());
        }
        Sealer(mac)
    }
}

/// Makes and verifies the cursors of one list.
#[derive(Clone)]
pub(super) struct Sealer(Hmac<Sha256>);

impl Sealer {
    pub(super) fn seal(&self, position: Uuid) -> String {
        let seal = self.0.clone().chain_update(position).finalize().into_bytes();
        let mut cursor = vec![VERSION];
        cursor.extend_from_slice(position.as_bytes());
        cursor.extend_from_slice(&seal[..SEAL]);
        URL_SAFE_NO_PAD.encode(cursor)
    }

    /// The position of a cursor; `None` if it is not a cursor of this list.
    pub(super) fn open(&self, cursor: &str) -> Option<Uuid> {
        let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
        let (version, rest) = bytes.split_first()?;
        let (position, seal) = rest.split_at_checked(POSITION)?;
        if *version != VERSION || seal.len() != SEAL {
            return None;
        }
        // In constant time, so that the response time does not show how much of a forged seal is right.
        self.0.clone().chain_update(position).verify_truncated_left(seal).ok()?;
        Uuid::from_slice(position).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(first: u8) -> CursorKey {
        CursorKey::new(&[[first; 16], [7; 16]].concat()).unwrap()
    }

    fn tenant(name: &str) -> TenantId {
        name.parse().unwrap()
    }

    fn acme() -> Sealer {
        key(1).sealer(&tenant("acme"), "/v1/orders", [])
    }

    #[test]
    fn a_cursor_leads_back_to_its_position() {
        let position = Uuid::now_v7();
        let cursor = acme().seal(position);
        assert_eq!((cursor.len(), acme().open(&cursor)), (44, Some(position)));
    }

    #[test]
    fn a_cursor_counts_for_its_tenant_and_list_alone() {
        let cursor = acme().seal(Uuid::now_v7());
        let (acme, globex) = (tenant("acme"), tenant("globex"));
        for (what, other) in [
            ("another tenant", key(1).sealer(&globex, "/v1/orders", [])),
            ("another list", key(1).sealer(&acme, "/v1/items", [])),
            ("parts that only join alike", key(1).sealer(&tenant("acme.v1"), "/orders", [])),
            ("another path", key(1).sealer(&acme, "/v1/orders", [("id", "1")])),
            ("another database", key(2).sealer(&acme, "/v1/orders", [])),
        ] {
            assert_eq!(other.open(&cursor), None, "{what}");
        }
    }

    #[test]
    fn a_change_of_any_bit_is_noticed() {
        let cursor = URL_SAFE_NO_PAD.decode(acme().seal(Uuid::now_v7())).unwrap();
        for byte in 0..cursor.len() {
            for bit in 0..8 {
                let mut changed = cursor.clone();
                changed[byte] ^= 1 << bit;
                assert_eq!(acme().open(&URL_SAFE_NO_PAD.encode(changed)), None, "byte {byte}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_cursor_of_another_length_is_none() {
        let cursor = acme().seal(Uuid::now_v7());
        for length in 0..cursor.len() {
            assert_eq!(acme().open(&cursor[..length]), None, "{length}");
        }
        for longer in
            [format!("{cursor}A"), format!("{cursor}="), format!("{cursor}AAAA"), format!(" {cursor}")]
        {
            assert_eq!(acme().open(&longer), None, "{longer}");
        }
    }

    proptest! {
        #[test]
        fn a_made_up_cursor_is_refused(text in ".*", version in 0..=VERSION, rest in any::<[u8; POSITION + SEAL]>()) {
            prop_assert_eq!(acme().open(&text), None);
            prop_assert_eq!(acme().open(&URL_SAFE_NO_PAD.encode([&[version], &rest[..]].concat())), None);
        }
    }
}
