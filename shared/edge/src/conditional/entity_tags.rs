//! Lists of entity tags. A list that cannot be read is an error. Ignoring it would overwrite a version that the client
//! has not read.
//!
//! `IfMatch` of actix-web does not serve: it skips tags that it cannot read, instead of refusing the list, and it takes the
//! comma inside of `"a,b"` for a separator.

use super::entity_tag;

/// `*`, or a list of tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntityTags {
    Any,
    Listed(Vec<Tag>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag {
    weak: bool,
    /// With its quotes.
    text: Vec<u8>,
}

const EXPECTED: &str = "send an ETag as it was received, such as \"3\", several separated by commas, or *";

impl EntityTags {
    /// Reads all lines of a header; `None` if there is no line. The error says what to send.
    pub(super) fn read<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Result<Option<Self>, &'static str> {
        let mut tags = Vec::new();
        let (mut seen, mut any) = (false, false);
        for line in lines {
            seen = true;
            if line.trim_ascii() == b"*" {
                any = true;
            } else {
                read_line(line, &mut tags).ok_or(EXPECTED)?;
            }
        }
        match (seen, any, tags.is_empty()) {
            (false, ..) => Ok(None),
            (true, true, true) => Ok(Some(Self::Any)),
            (true, false, false) => Ok(Some(Self::Listed(tags))),
            _ => Err(EXPECTED),
        }
    }

    /// Returns whether the list names this version, byte for byte. Weak tags do not count.
    pub(super) fn names(&self, version: i64) -> bool {
        self.holds(version, |tag| !tag.weak)
    }

    /// Returns whether the list names this version, by a weak or a strong tag.
    pub(super) fn names_weakly(&self, version: i64) -> bool {
        self.holds(version, |_| true)
    }

    fn holds(&self, version: i64, counts: impl Fn(&Tag) -> bool) -> bool {
        match self {
            Self::Any => true,
            Self::Listed(tags) => {
                let text = entity_tag(version).into_bytes();
                tags.iter().any(|tag| counts(tag) && tag.text == text)
            }
        }
    }
}

/// Reads `W/"a", "b"`. Empty members are ignored, as in every list of HTTP. A tag may contain a comma.
fn read_line(line: &[u8], tags: &mut Vec<Tag>) -> Option<()> {
    let mut rest = line.trim_ascii();
    loop {
        while let Some(behind) = rest.strip_prefix(b",") {
            rest = behind.trim_ascii_start();
        }
        if rest.is_empty() {
            return Some(());
        }
        let strong = rest.strip_prefix(b"W/");
        let weak = strong.is_some();
        let quoted = strong.unwrap_or(rest);
        let inner = quoted.strip_prefix(b"\"")?;
        let length = inner.iter().position(|byte| *byte == b'"')?;
        if !inner[..length].iter().all(|byte| matches!(byte, 0x21 | 0x23..=0x7E | 0x80..)) {
            return None;
        }
        tags.push(Tag { weak, text: quoted[..length + 2].to_vec() });
        rest = inner[length + 1..].trim_ascii_start();
        if !rest.is_empty() && !rest.starts_with(b",") {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[&str]) -> Result<Option<EntityTags>, &'static str> {
        EntityTags::read(lines.iter().map(|line| line.as_bytes()))
    }

    #[test]
    fn a_version_is_found_in_every_spelling_of_a_list() {
        for lines in [
            &["\"3\""][..],
            &["\"2\", \"3\""],
            &["\"2\"", "\"3\""],
            &[" ,\"3\" ,, \"a,b\","],
            &["\"\",\"3\""],
            &["*"],
            &[" * "],
        ] {
            let tags = read(lines).unwrap().unwrap();
            assert!(tags.names(3) && tags.names_weakly(3), "{lines:?}");
        }
    }

    #[test]
    fn another_version_is_not_found() {
        for lines in [&["\"4\""][..], &["\"33\""], &["\"03\""], &["\"a\\\""], &["\"1\",\"2\""]] {
            let tags = read(lines).unwrap().unwrap();
            assert!(!tags.names(3) && !tags.names_weakly(3), "{lines:?}");
        }
    }

    #[test]
    fn a_weak_tag_counts_only_where_nothing_is_overwritten() {
        let tags = read(&["W/\"3\""]).unwrap().unwrap();
        assert_eq!((tags.names(3), tags.names_weakly(3)), (false, true));
    }

    #[test]
    fn an_unreadable_list_is_refused() {
        assert_eq!(read(&[]), Ok(None));
        for lines in [
            &[""][..],
            &[","],
            &["3"],
            &["\"3"],
            &["3\""],
            &["w/\"3\""],
            &["W/3"],
            &["\"3\" \"4\""],
            &["\"3\"x"],
            &["\"a b\""],
            &["\"3\", *"],
            &["*", "\"3\""],
            &["* *"],
        ] {
            assert_eq!(read(lines), Err(EXPECTED), "{lines:?}");
        }
    }
}
