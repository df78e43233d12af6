//! The parts that the services add to an installation and to its load. They stand in the folders of the services: `e2e/stack.rs`.

use harness::{Part, Request};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::load::{PatientClient, Responses};
use crate::stack::{Options, Settings, Stack};

/// The parts that a service adds to an installation. `e2e/stack.rs` implements them for its type `Side`.
pub(crate) trait ServiceSide {
    /// The crash points of its own programs, beside those that each service has.
    const CRASH_POINTS: &'static [&'static str] = &[];

    /// Settings of a program, on top of those that each service gets.
    fn settings(_: &Stack, _part: Part, _options: &Options) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Changes an order of a load, such as how it is paid.
    fn vary(order: Request, _number: usize) -> Request {
        order
    }

    /// A customer of its own, who works until the load stops.
    async fn customer(_: PatientClient, _stop: CancellationToken, _responses: &mut Responses) {}
}

macro_rules! service_modules {
    ($($name:ident $path:literal)*) => {
        $(
            #[path = $path]
            pub mod $name;
        )*

        /// The crash points of each service, beside those that all have.
        pub fn own_crash_points() -> Vec<(&'static str, &'static [&'static str])> {
            vec![$((stringify!($name), $name::Side::CRASH_POINTS)),*]
        }

        pub(crate) fn settings(stack: &Stack, part: Part, options: &Options) -> Settings {
            let mut settings = Vec::new();
            $(settings.extend($name::Side::settings(stack, part, options));)*
            settings.into_iter().map(|(name, value): (&str, _)| (name.to_owned(), value)).collect()
        }

        pub(crate) fn vary(order: Request, number: usize) -> Request {
            $(let order = $name::Side::vary(order, number);)*
            order
        }

        /// Lets one customer of each service work until the load stops.
        pub(crate) fn spawn_customers(
            tenant: &str,
            client: &PatientClient,
            stop: &CancellationToken,
            customers: &mut JoinSet<Responses>,
        ) {
            $({
                let (mut responses, client, stop) = (Responses::of(tenant), client.clone(), stop.clone());
                customers.spawn(async move {
                    $name::Side::customer(client, stop, &mut responses).await;
                    responses
                });
            })*
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/stack.rs"));
