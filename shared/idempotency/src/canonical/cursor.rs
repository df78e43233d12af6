//! `Cursor`: a position in the document, with the moves that the grammar needs. No move leaves the input.

use super::error::{JsonErrorKind, ReadError};

pub(super) struct Cursor<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0 }
    }

    /// The number of bytes read.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        &self.input[self.at..]
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.input.get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// Reads `bytes` if they come next.
    pub(super) fn eat(&mut self, bytes: &[u8]) -> bool {
        let there = self.rest().starts_with(bytes);
        if there {
            self.at += bytes.len();
        }
        there
    }

    /// Reads bytes as long as `belongs` holds.
    pub(super) fn run(&mut self, belongs: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|&byte| !belongs(byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    pub(super) fn skip_white_space(&mut self) {
        self.run(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }

    /// An error at this position.
    pub(super) fn error(&self, what: JsonErrorKind) -> ReadError {
        ReadError::at(self.at, what)
    }

    /// The error of a byte, or of the end, that the grammar does not allow here.
    pub(super) fn expected(&self, what: &'static str) -> ReadError {
        self.error(match self.peek() {
            Some(_) => JsonErrorKind::Expected(what),
            None => JsonErrorKind::Ended(what),
        })
    }
}
