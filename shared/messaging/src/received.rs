//! A message as Kafka delivered it: an owned copy, not decoded.
//!
//! The inbox decodes it, and parks a message that it cannot decode. A decoding error here would stop the poll loop.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rdkafka::Message;
use rdkafka::message::{BorrowedMessage, Headers};

/// One message that was read from a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// Its topic.
    pub topic: Arc<str>,
    /// Its partition.
    pub partition: i32,
    /// Its offset in the partition.
    pub offset: i64,
    /// Its key, if it has one.
    pub key: Option<Vec<u8>>,
    /// Its headers in the order of the record. A name may occur more than once; a missing value is read as empty.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its payload; `None` is a tombstone.
    pub payload: Option<Vec<u8>>,
    /// Milliseconds since the Unix epoch by the clock of the producer or the broker, as the topic is configured.
    pub timestamp: Option<i64>,
}

impl ReceivedMessage {
    /// Returns the value of the last header with this name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_slice())
    }

    /// Copies a message of the client. All messages of a batch share `topic`, the name.
    pub(crate) fn copy_of(message: &BorrowedMessage<'_>, topic: &Arc<str>) -> Self {
        Self {
            topic: Arc::clone(topic),
            partition: message.partition(),
            offset: message.offset(),
            key: message.key().map(<[u8]>::to_vec),
            headers: message.headers().map_or_else(Vec::new, copy_headers),
            payload: message.payload().map(<[u8]>::to_vec),
            timestamp: message.timestamp().to_millis(),
        }
    }

    /// Returns the size of key, payload and headers in bytes.
    pub(crate) fn size(&self) -> usize {
        let optional = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        optional(&self.key) + optional(&self.payload) + headers
    }
}

/// Copies the headers, except those whose name is not UTF-8.
///
/// The client library panics on such a name. Without `catch_unwind` the message would end the consumer, again after
/// each restart.
fn copy_headers(headers: &impl Headers) -> Vec<(String, Vec<u8>)> {
    (0..headers.count())
        .filter_map(|index| {
            let read = catch_unwind(AssertUnwindSafe(|| headers.try_get(index)));
            let Ok(Some(header)) = read else { return None };
            Some((header.key.to_owned(), header.value.map_or_else(Vec::new, <[u8]>::to_vec)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rdkafka::message::Header;

    use super::*;

    struct SecondIsUnreadable;

    impl Headers for SecondIsUnreadable {
        fn count(&self) -> usize {
            3
        }

        fn try_get(&self, index: usize) -> Option<Header<'_, &[u8]>> {
            assert!(index != 1, "invalid UTF-8");
            Some(Header { key: "ce_id", value: (index == 0).then_some(b"1".as_slice()) })
        }
    }

    #[test]
    fn a_header_that_the_client_cannot_read_is_left_out() {
        let headers = copy_headers(&SecondIsUnreadable);
        assert_eq!(headers, [("ce_id".to_owned(), b"1".to_vec()), ("ce_id".to_owned(), Vec::new())]);
    }

    #[test]
    fn the_last_header_of_a_name_counts() {
        let message = ReceivedMessage {
            topic: "t".into(),
            partition: 0,
            offset: 0,
            key: None,
            headers: vec![
                ("a".into(), b"1".to_vec()),
                ("b".into(), b"2".to_vec()),
                ("a".into(), b"3".to_vec()),
            ],
            payload: None,
            timestamp: None,
        };
        assert_eq!(message.header("a"), Some(b"3".as_slice()));
        assert_eq!(message.header("c"), None);
    }
}
