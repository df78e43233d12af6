//! The steps and the checks of the services. They stand in the folders of the services: `e2e/demo.rs`.

use harness::Result;
use uuid::Uuid;

use super::Run;
use crate::demo::Demo;
use crate::report::Step;

/// The steps and checks that a service adds to the demo. `e2e/demo.rs` implements them for its type `Side`.
pub(crate) trait ServiceSide {
    /// Removes what an interrupted run may have left behind.
    async fn prepare(_: &Demo<'_>) -> Result<()> {
        Ok(())
    }

    /// Runs its steps.
    async fn steps(_: &mut Run<'_, '_, '_>) {}

    /// Runs its last steps, after everything was delivered again.
    async fn last_steps(_: &mut Run<'_, '_, '_>) {}

    /// Checks that it has done its part of these confirmed orders, and did it once.
    async fn confirmed(_: &Demo<'_>, _step: &mut Step<'_>, _orders: &[Uuid]) -> Result<()> {
        Ok(())
    }

    /// Adds its figures of these tenants to the audit.
    async fn figures(_: &Demo<'_>, _step: &mut Step<'_>, _tenants: &[String]) -> Result<()> {
        Ok(())
    }
}

macro_rules! service_modules {
    ($($name:ident $path:literal)*) => {
        $(
            #[path = $path]
            mod $name;
        )*

        pub(super) async fn prepare(demo: &Demo<'_>) -> Result<()> {
            $($name::Side::prepare(demo).await?;)*
            Ok(())
        }

        pub(super) async fn steps(run: &mut Run<'_, '_, '_>) {
            $($name::Side::steps(run).await;)*
        }

        pub(super) async fn last_steps(run: &mut Run<'_, '_, '_>) {
            $($name::Side::last_steps(run).await;)*
        }

        pub(crate) async fn confirmed(demo: &Demo<'_>, step: &mut Step<'_>, orders: &[Uuid]) -> Result<()> {
            $($name::Side::confirmed(demo, step, orders).await?;)*
            Ok(())
        }

        pub(super) async fn figures(demo: &Demo<'_>, step: &mut Step<'_>, tenants: &[String]) -> Result<()> {
            $($name::Side::figures(demo, step, tenants).await?;)*
            Ok(())
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/demo.rs"));
