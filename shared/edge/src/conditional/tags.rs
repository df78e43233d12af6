//! Lists of entity tags. What cannot be read is told, never taken for "no condition": that would overwrite unseen.

use super::entity_tag;

/// `*`, or what a header lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Tags {
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

impl Tags {
    /// Reads all lines of a header; `None` if there is none. The error says what would be right.
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

    /// Whether this version is among them, byte for byte; a weak tag names none.
    pub(super) fn name(&self, version: i64) -> bool {
        self.holds(version, |tag| !tag.weak)
    }

    /// Whether this version is among them, weak or not.
    pub(super) fn name_weakly(&self, version: i64) -> bool {
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

/// `W/"a", "b"`; an empty member counts for nothing, as in every list of HTTP. A comma may stand within a tag.
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

    fn read(lines: &[&str]) -> Result<Option<Tags>, &'static str> {
        Tags::read(lines.iter().map(|line| line.as_bytes()))
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
            assert!(tags.name(3) && tags.name_weakly(3), "{lines:?}");
        }
    }

    #[test]
    fn another_version_is_not_found() {
        for lines in [&["\"4\""][..], &["\"33\""], &["\"03\""], &["\"a\\\""], &["\"1\",\"2\""]] {
            let tags = read(lines).unwrap().unwrap();
            assert!(!tags.name(3) && !tags.name_weakly(3), "{lines:?}");
        }
    }

    #[test]
    fn a_weak_tag_counts_only_where_nothing_is_overwritten() {
        let tags = read(&["W/\"3\""]).unwrap().unwrap();
        assert_eq!((tags.name(3), tags.name_weakly(3)), (false, true));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
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
