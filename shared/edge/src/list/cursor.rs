//! The cursor of a list: the position of a page as a text that clients pass on unread.
//!
//! It proves nothing. Each list reads entries of the caller's tenant only, so a made-up position only says where in these entries
//! the page begins.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use uuid::Uuid;

/// The version of the layout. Version 1 had a MAC behind the position.
const VERSION: u8 = 2;

pub(super) fn encode(position: Uuid) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(position.as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Returns the position; `None` if the text is no cursor of this version.
pub(super) fn decode(cursor: &str) -> Option<Uuid> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (version, position) = bytes.split_first()?;
    Uuid::from_slice(position).ok().filter(|_| *version == VERSION)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cursor_leads_back_to_its_position() {
        let position = Uuid::now_v7();
        assert_eq!(decode(&encode(position)), Some(position));
    }

    #[test]
    fn a_cursor_of_another_length_or_version_is_none() {
        let cursor = encode(Uuid::now_v7());
        for length in 0..cursor.len() {
            assert_eq!(decode(&cursor[..length]), None, "{length}");
        }
        for longer in
            [format!("{cursor}A"), format!("{cursor}="), format!("{cursor}AAAA"), format!(" {cursor}")]
        {
            assert_eq!(decode(&longer), None, "{longer}");
        }
        for version in (0..=u8::MAX).filter(|version| *version != VERSION) {
            let other = [&[version], &[7; 16][..]].concat();
            assert_eq!(decode(&URL_SAFE_NO_PAD.encode(other)), None, "{version}");
        }
    }

    proptest! {
        #[test]
        fn a_text_is_a_cursor_exactly_if_it_is_the_one_of_its_position(text in ".*|[A-Za-z0-9_-]{23}") {
            if let Some(position) = decode(&text) {
                prop_assert_eq!(encode(position), text);
            }
        }
    }
}
