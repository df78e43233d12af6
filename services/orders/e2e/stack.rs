//! The life of an order in an installation of the tests.

use harness::Part;

use super::ServiceSide;
use crate::stack::{Options, Stack};

/// The side of orders.
pub(crate) struct Side;

impl ServiceSide for Side {
    fn settings(_: &Stack, part: Part, options: &Options) -> Vec<(&'static str, String)> {
        let Some(seconds) = options.expiry_seconds.filter(|_| part == Part::ORDERS) else {
            return Vec::new();
        };
        vec![
            ("IDEM_SAGA__EXPIRY_SECONDS", seconds.to_string()),
            ("IDEM_SAGA__EXPIRY_POLL_MILLISECONDS", "50".to_owned()),
        ]
    }
}
