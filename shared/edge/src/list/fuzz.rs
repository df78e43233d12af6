//! The fuzz target `cursor`: a cursor that a client sends. This test replays its corpus, and `./dev fuzz cursor` searches
//! for new inputs.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use envelope::TenantId;
use uuid::Uuid;

use super::CursorKey;
use super::cursor::Sealer;

#[test]
fn only_a_sealed_cursor_opens_and_only_for_its_list() {
    let keys = [1, 2].map(|byte| CursorKey::new(&[byte; 32]).unwrap());
    let tenants = ["acme", "globex"].map(|name| name.parse::<TenantId>().unwrap());
    bolero::check!(name = "cursor").with_iterations(0).for_each(|input| {
        let list = keys[0].sealer(&tenants[0], "/v1/orders", []);
        for cursor in [String::from_utf8_lossy(input).into_owned(), URL_SAFE_NO_PAD.encode(input)] {
            if let Some(position) = list.open(&cursor) {
                assert_eq!(cursor, list.seal(position), "opened, but not sealed here");
            }
        }
        let Some((position, rest)) = input.split_first_chunk() else { return };
        let position = Uuid::from_bytes(*position);
        let cursor = list.seal(position);
        assert_eq!(list.open(&cursor), Some(position));
        if let [at, byte, texts @ ..] = rest {
            opens_with_no_other_byte(&list, &cursor, usize::from(*at), *byte);
            opens_in_no_other_list(&keys, &tenants, position, texts);
        }
    });
}

fn opens_with_no_other_byte(list: &Sealer, cursor: &str, at: usize, byte: u8) {
    let changed = |bytes: &[u8]| {
        let mut changed = bytes.to_vec();
        changed[at % bytes.len()] = byte;
        Some(changed).filter(|changed| changed != bytes)
    };
    let decoded = URL_SAFE_NO_PAD.decode(cursor).unwrap();
    for forged in [
        changed(&decoded).map(|bytes| URL_SAFE_NO_PAD.encode(bytes)),
        changed(cursor.as_bytes()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ] {
        assert_eq!(forged.and_then(|forged| list.open(&forged)), None, "byte {at} is {byte}");
    }
}

/// Splits the text into a route and its parameters at newlines, and at `/`: two lists whose parts may join alike.
fn opens_in_no_other_list(keys: &[CursorKey; 2], tenants: &[TenantId; 2], position: Uuid, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    let [one, other] = ['\n', '/'].map(|separator| text.split(separator).collect::<Vec<_>>());
    let sealer = |key: &CursorKey, tenant: &TenantId, parts: &[&str]| {
        let pairs = parts[1..].chunks(2).map(|pair| (pair[0], pair.get(1).copied().unwrap_or_default()));
        key.sealer(tenant, parts[0], pairs)
    };
    let cursor = sealer(&keys[0], &tenants[0], &one).seal(position);
    assert_eq!(sealer(&keys[1], &tenants[0], &one).open(&cursor), None, "another key");
    assert_eq!(sealer(&keys[0], &tenants[1], &one).open(&cursor), None, "another tenant");
    assert_eq!(sealer(&keys[0], &tenants[0], &one).open(&cursor), Some(position));
    if one != other {
        assert_eq!(sealer(&keys[0], &tenants[0], &other).open(&cursor), None, "another route or path");
    }
}
