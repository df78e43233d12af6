//! The clients of the services, `e2e/client.rs` in the folder of each: the module `orders` has requests to orders, and reads of its
//! database.

use crate::{Asked, Books, Result};

/// The parts that a service adds to the waits and to the audit of the whole installation. Its client implements them for its type `Side`.
pub(crate) trait ServiceSide {
    /// The work that it has in progress besides events, in words, such as `2 calls to the processor`.
    async fn in_progress(_: &Books) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Asks the questions that join its database with others.
    async fn ask_joined(_: &Books) -> Vec<Asked> {
        Vec::new()
    }

    /// The rows that the work of a tenant has left over in its database, in sentences. No work may be in progress.
    async fn left_over(_: &Books, _tenant: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

macro_rules! service_modules {
    ($($name:ident $path:literal)*) => {
        $(
            #[path = $path]
            pub mod $name;
        )*

        impl Books {
            /// The work that the services have in progress besides events, in words.
            pub async fn in_progress(&self) -> Result<Vec<String>> {
                let mut found = Vec::new();
                $(found.extend($name::Side::in_progress(self).await?);)*
                Ok(found)
            }

            /// Asks the questions that join databases. Each database is read at a moment of its own, so a change that is in progress can
            /// look like a violation. It is none if it is gone at the next look.
            pub async fn ask_joined(&self) -> Vec<Asked> {
                let mut asked = Vec::new();
                $(asked.extend($name::Side::ask_joined(self).await);)*
                asked
            }

            /// The rows that the work of a tenant has left over in the databases, in sentences. No work may be in progress.
            pub async fn left_over(&self, tenant: &str) -> Result<Vec<String>> {
                let mut found = Vec::new();
                $(found.extend($name::Side::left_over(self, tenant).await?);)*
                Ok(found)
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/client.rs"));
