//! A message as it came, owned and undecoded: what cannot be read is the inbox's business, not the poll loop's.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rdkafka::Message;
use rdkafka::message::{BorrowedMessage, Headers};

/// One message of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// The topic it was read from.
    pub topic: Arc<str>,
    /// The partition it was read from.
    pub partition: i32,
    /// Its place in the partition.
    pub offset: i64,
    /// What decided its partition, if it had a key.
    pub key: Option<Vec<u8>>,
    /// In the order of the record; a name may occur more than once, a missing value is empty.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body; `None` is a tombstone.
    pub payload: Option<Vec<u8>>,
    /// Milliseconds since the Unix epoch, by the producer's or the broker's clock.
    pub timestamp: Option<i64>,
}

impl Received {
    /// The value of the last header of this name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.as_slice())
    }

    /// `topic` is the caller's shared name, so that a batch does not hold it hundreds of times.
    pub(crate) fn copy_of(message: &BorrowedMessage<'_>, topic: &Arc<str>) -> Self {
        Self {
            topic: Arc::clone(topic),
            partition: message.partition(),
            offset: message.offset(),
            key: message.key().map(<[u8]>::to_vec),
            headers: message.headers().map(copy_headers).unwrap_or_default(),
            payload: message.payload().map(<[u8]>::to_vec),
            timestamp: message.timestamp().to_millis(),
        }
    }

    /// Bytes that it holds, roughly.
    pub(crate) fn size(&self) -> usize {
        let optional = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(0, Vec::len);
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        optional(&self.key) + optional(&self.payload) + headers
    }
}

/// The client library panics on a header whose name is not UTF-8. Such a header is left out: a message that
/// ended the polling thread would do so again after every restart.
fn copy_headers(headers: &impl Headers) -> Vec<(String, Vec<u8>)> {
    (0..headers.count())
        .filter_map(|index| {
            let header = catch_unwind(AssertUnwindSafe(|| headers.try_get(index))).ok()??;
            Some((header.key.to_owned(), header.value.unwrap_or_default().to_vec()))
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
        let message = Received {
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
