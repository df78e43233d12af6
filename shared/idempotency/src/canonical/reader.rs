//! Reads a document by `serde_json` and writes its canonical form.
//!
//! A visitor gets a number as a double, so its digits would be lost. A leaf is therefore read as [`RawValue`], its text.
//! The first byte of a value tells a leaf from an object or a list. [`Reader::peek`] finds it in the document.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::error::{JsonError, JsonErrorKind};
use super::members::{Members, Name};
use super::{decimal, members};

pub(super) fn read_document(document: &[u8], max_depth: u8) -> Result<Vec<u8>, JsonError> {
    let out = Vec::with_capacity(document.len());
    let mut reader =
        Reader { document, max_depth, start: 0, end: 0, out, pointer: String::new(), refused: None };
    if document.starts_with("\u{feff}".as_bytes()) {
        return Err(JsonError::refused(document, 0, String::new(), JsonErrorKind::ByteOrderMark));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(document);
    let read = Value { levels: max_depth, reader: &mut reader }.deserialize(&mut deserializer);
    match (read.and_then(|()| deserializer.end()), reader.refused) {
        (Ok(()), _) => Ok(reader.out),
        (Err(_), Some(what)) => Err(JsonError::refused(document, reader.start, reader.pointer, what)),
        (Err(error), None) => Err(JsonError::of_syntax(document, &error, reader.pointer)),
    }
}

struct Reader<'a> {
    document: &'a [u8],
    max_depth: u8,
    /// The first byte of the name or value that is being read, or was read last.
    start: usize,
    /// The number of bytes read, without the white space, separators and closing brackets that follow.
    end: usize,
    out: Vec<u8>,
    /// The pointer of an error. Each level adds its step when the error passes, so a document without errors builds no pointer.
    pointer: String,
    /// The reason why a value has no canonical form. The error of serde only ends the reading.
    refused: Option<JsonErrorKind>,
}

impl<'a> Reader<'a> {
    /// Moves to the next name or value, which `serde_json` is about to read, and returns its first byte. In a grammatical
    /// document nothing else lies before it, and `serde_json` has refused any other.
    fn peek(&mut self) -> Option<u8> {
        let between = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' | b']' | b'}');
        self.start = self.end + self.document[self.end..].iter().take_while(|byte| between(byte)).count();
        self.document.get(self.start).copied()
    }

    /// Reads a name or a leaf as it is spelled.
    fn spelling<D: Deserializer<'a>>(&mut self, deserializer: D) -> Result<&'a str, D::Error> {
        let spelling = <&RawValue>::deserialize(deserializer)?.get();
        self.end = self.start + spelling.len();
        Ok(spelling)
    }

    /// Returns the text of a string that is spelled with quotes and escapes. `serde_json` has checked the escapes, but not
    /// whether surrogates are pairs.
    fn text<E: Error>(&mut self, spelling: &'a str) -> Result<Cow<'a, str>, E> {
        if !spelling.contains('\\') {
            return Ok(Cow::Borrowed(spelling.trim_matches('"')));
        }
        let text: String =
            serde_json::from_str(spelling).map_err(|_| self.refuse(JsonErrorKind::LoneSurrogate))?;
        if text.contains('\0') {
            Err(self.refuse(JsonErrorKind::NullCharacter))
        } else {
            Ok(Cow::Owned(text))
        }
    }

    /// Writes a text as RFC 8785 requires, as `serde_json` does: UTF-8, with escapes only where JSON requires them.
    fn write_text<E: Error>(&mut self, text: &str) -> Result<(), E> {
        serde_json::to_writer(&mut self.out, text).map_err(E::custom)
    }

    fn write_leaf<E: Error>(&mut self, spelling: &'a str) -> Result<(), E> {
        match spelling.as_bytes() {
            [b'"', ..] => {
                let text = self.text(spelling)?;
                self.write_text(&text)
            }
            [b'-' | b'0'..=b'9', ..] => {
                decimal::write(spelling, &mut self.out).map_err(|what| self.refuse(what))
            }
            literal => {
                self.out.extend_from_slice(literal);
                Ok(())
            }
        }
    }

    /// Replaces the comma behind the last element or member, if there is one, by the closing bracket.
    fn close(&mut self, is_empty: bool, bracket: u8) {
        if !is_empty {
            self.out.pop();
        }
        self.out.push(bracket);
    }

    fn refuse<E: Error>(&mut self, what: JsonErrorKind) -> E {
        self.refused = Some(what);
        E::custom("refused")
    }

    fn in_member(&mut self, name: &str) {
        self.pointer.insert_str(0, &name.replace('~', "~0").replace('/', "~1"));
        self.pointer.insert(0, '/');
    }
}

/// One value, with at most `levels` levels of nesting.
struct Value<'r, 'a> {
    levels: u8,
    reader: &'r mut Reader<'a>,
}

impl<'a> DeserializeSeed<'a> for Value<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        let reader = self.reader;
        let Some(bracket @ (b'[' | b'{')) = reader.peek() else {
            let spelling = reader.spelling(deserializer)?;
            return reader.write_leaf(spelling);
        };
        let Some(levels) = self.levels.checked_sub(1) else {
            return Err(reader.refuse(JsonErrorKind::TooDeep { limit: reader.max_depth }));
        };
        reader.end = reader.start + 1;
        reader.out.push(bracket);
        deserializer.deserialize_any(Value { levels, reader })
    }
}

/// Visits an array or an object whose opening bracket is written.
impl<'a> Visitor<'a> for Value<'_, 'a> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array or an object")
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut elements: A) -> Result<(), A::Error> {
        let Self { levels, reader } = self;
        let mut index = 0;
        while elements
            .next_element_seed(Value { levels, reader })
            .inspect_err(|_| reader.pointer.insert_str(0, &format!("/{index}")))?
            .is_some()
        {
            reader.out.push(b',');
            index += 1;
        }
        reader.close(index == 0, b']');
        Ok(())
    }

    /// Writes the members in the order of the document, then sorts them.
    fn visit_map<A: MapAccess<'a>>(self, mut entries: A) -> Result<(), A::Error> {
        let Self { levels, reader } = self;
        let members_at = reader.out.len();
        let mut members = Members::new();
        while let Some(name) = entries.next_key_seed(MemberName(reader))? {
            let vacant = match members.entry(name) {
                Entry::Vacant(vacant) => vacant,
                Entry::Occupied(first) => {
                    reader.in_member(&first.key().0);
                    return Err(reader.refuse(JsonErrorKind::DuplicateMember));
                }
            };
            let Name(name) = vacant.key();
            let start = reader.out.len();
            reader.write_text(name)?;
            reader.out.push(b':');
            entries.next_value_seed(Value { levels, reader }).inspect_err(|_| reader.in_member(name))?;
            reader.out.push(b',');
            vacant.insert(start..reader.out.len());
        }
        members::sort(&members, members_at, &mut reader.out);
        reader.close(members.is_empty(), b'}');
        Ok(())
    }
}

struct MemberName<'r, 'a>(&'r mut Reader<'a>);

impl<'a> DeserializeSeed<'a> for MemberName<'_, 'a> {
    type Value = Name<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Name<'a>, D::Error> {
        self.0.peek();
        let spelling = self.0.spelling(deserializer)?;
        self.0.text(spelling).map(Name)
    }
}
