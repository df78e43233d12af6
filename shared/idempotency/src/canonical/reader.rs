//! Reads the grammar of RFC 8259 in one pass and writes the canonical form. It recurses once for each level of nesting, up
//! to [`Limits::max_depth`].

use std::collections::btree_map::Entry;

use super::cursor::Cursor;
use super::decimal::Decimal;
use super::error::{JsonErrorKind, ReadError};
use super::members::{Members, Name};
use super::{Limits, members, string};

pub(super) fn read_document(bytes: &[u8], limits: Limits) -> Result<Vec<u8>, ReadError> {
    let mut reader = Reader { cursor: Cursor::new(bytes), out: Vec::with_capacity(bytes.len()), limits };
    if bytes.starts_with("\u{feff}".as_bytes()) {
        return Err(reader.cursor.error(JsonErrorKind::ByteOrderMark));
    }
    reader.cursor.skip_white_space();
    if reader.cursor.peek().is_none() {
        return Err(reader.cursor.error(JsonErrorKind::Empty));
    }
    reader.value(limits.max_depth)?;
    reader.cursor.skip_white_space();
    match reader.cursor.peek() {
        Some(_) => Err(reader.cursor.error(JsonErrorKind::TrailingBytes)),
        None => Ok(reader.out),
    }
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    out: Vec<u8>,
    limits: Limits,
}

impl<'a> Reader<'a> {
    /// Reads one value. `levels` is the number of further levels that it may have.
    fn value(&mut self, levels: u8) -> Result<(), ReadError> {
        match self.cursor.peek() {
            Some(b'{') => self.object(levels),
            Some(b'[') => self.array(levels),
            Some(b'"') => {
                let text = string::read(&mut self.cursor)?;
                string::write(&text, &mut self.out);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => {
                Decimal::read(&mut self.cursor)?.write(&mut self.out);
                Ok(())
            }
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => Err(self.cursor.expected("a JSON value")),
        }
    }

    fn literal(&mut self, word: &'static str) -> Result<(), ReadError> {
        if !self.cursor.eat(word.as_bytes()) {
            return Err(self.cursor.expected(word));
        }
        self.out.extend_from_slice(word.as_bytes());
        Ok(())
    }

    fn array(&mut self, levels: u8) -> Result<(), ReadError> {
        let levels = self.enter(levels)?;
        self.out.push(b'[');
        if self.cursor.eat(b"]") {
            self.out.push(b']');
            return Ok(());
        }
        for index in 0.. {
            self.cursor.skip_white_space();
            self.value(levels).map_err(|error| error.in_element(index))?;
            self.cursor.skip_white_space();
            match self.cursor.peek() {
                Some(separator @ (b',' | b']')) => {
                    self.cursor.next();
                    self.out.push(separator);
                    if separator == b']' {
                        break;
                    }
                }
                _ => return Err(self.cursor.expected("`,` or `]`")),
            }
        }
        Ok(())
    }

    fn object(&mut self, levels: u8) -> Result<(), ReadError> {
        let levels = self.enter(levels)?;
        self.out.push(b'{');
        if self.cursor.eat(b"}") {
            self.out.push(b'}');
            return Ok(());
        }
        let members_at = self.out.len();
        let mut members = Members::new();
        loop {
            self.cursor.skip_white_space();
            self.member(levels, &mut members)?;
            self.cursor.skip_white_space();
            if self.cursor.eat(b"}") {
                break;
            }
            if !self.cursor.eat(b",") {
                return Err(self.cursor.expected("`,` or `}`"));
            }
        }
        members::sort(&members, members_at, &mut self.out);
        self.out.pop(); // the last member's comma
        self.out.push(b'}');
        Ok(())
    }

    /// Reads one member and writes it with a trailing comma, in the order of the document.
    fn member(&mut self, levels: u8, members: &mut Members<'a>) -> Result<(), ReadError> {
        if self.cursor.peek() != Some(b'"') {
            return Err(self.cursor.expected("a member name in double quotes"));
        }
        let name_at = self.cursor.offset();
        match members.entry(Name(string::read(&mut self.cursor)?)) {
            Entry::Occupied(first) => {
                Err(ReadError::at(name_at, JsonErrorKind::DuplicateMember).in_member(&first.key().0))
            }
            Entry::Vacant(vacant) => {
                let Name(name) = vacant.key();
                let start = self.out.len();
                string::write(name, &mut self.out);
                self.out.push(b':');
                self.member_value(levels).map_err(|error| error.in_member(name))?;
                self.out.push(b',');
                vacant.insert(start..self.out.len());
                Ok(())
            }
        }
    }

    fn member_value(&mut self, levels: u8) -> Result<(), ReadError> {
        self.cursor.skip_white_space();
        if !self.cursor.eat(b":") {
            return Err(self.cursor.expected("`:`"));
        }
        self.cursor.skip_white_space();
        self.value(levels)
    }

    /// Reads the opening bracket and white space, if one more level is allowed. Returns the number of levels left inside.
    fn enter(&mut self, levels: u8) -> Result<u8, ReadError> {
        let Some(left) = levels.checked_sub(1) else {
            return Err(self.cursor.error(JsonErrorKind::TooDeep { limit: self.limits.max_depth }));
        };
        self.cursor.next();
        self.cursor.skip_white_space();
        Ok(left)
    }
}
