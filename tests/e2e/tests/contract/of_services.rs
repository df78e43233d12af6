//! The requests and the faults of each service. They stand in the folders of the services: `e2e/contract.rs`.

use e2e::{Part, Stack};
use harness::{DocumentedResponse, Request};

use crate::recorder::Recorder;

/// The contract of a service. `e2e/contract.rs` implements it for its type `Side`.
pub(crate) trait ServiceSide {
    /// The statement and the table of each command without a key, such as `INSERT ON event`; none if there is no such command.
    const WRITTEN_WITHOUT_KEY: Option<&'static str> = None;

    /// Asks for its responses.
    async fn responses(stack: &Stack, recorder: &mut Recorder<'_>);

    /// Asks for the responses that only a fault of its own brings about.
    async fn failures(_: &mut Stack, _recorder: &mut Recorder<'_>) {}

    /// The same request with other content, where a new key is not enough.
    fn unsent(_: &Request) -> Option<Request> {
        None
    }

    /// Whether a list has this path, though more parts than a list usually has.
    fn is_list(_path: &str) -> bool {
        false
    }

    /// Whether no client can be there any more to get this response.
    fn reaches_nobody(_: &DocumentedResponse) -> bool {
        false
    }
}

macro_rules! service_modules {
    ($($name:ident $path:literal)*) => {
        $(
            #[path = $path]
            mod $name;
        )*

        pub(crate) async fn responses(stack: &Stack, recorder: &mut Recorder<'_>) {
            $($name::Side::responses(stack, recorder).await;)*
        }

        pub(crate) async fn failures(stack: &mut Stack, recorder: &mut Recorder<'_>) {
            $($name::Side::failures(stack, recorder).await;)*
        }

        pub(crate) fn written_without_key(part: Part) -> Option<&'static str> {
            let written = [$((stringify!($name), $name::Side::WRITTEN_WITHOUT_KEY)),*];
            written.into_iter().find_map(|(service, written)| written.filter(|_| service == part.name()))
        }

        pub(crate) fn unsent(request: &Request) -> Option<Request> {
            None$(.or_else(|| $name::Side::unsent(request)))*
        }

        pub(crate) fn is_list(path: &str) -> bool {
            false $(|| $name::Side::is_list(path))*
        }

        pub(crate) fn reaches_nobody(response: &DocumentedResponse) -> bool {
            false $(|| $name::Side::reaches_nobody(response))*
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/contract.rs"));
