//! The steps that stand in the folders of services, `e2e/demo.rs`: each has a `TITLE`, and `run`.

use super::Run;

macro_rules! service_modules {
    ($($name:ident $path:literal)*) => {
        $(
            #[path = $path]
            mod $name;
        )*

        /// Runs them.
        #[allow(clippy::unused_async, unused_variables, reason = "perhaps no service has a step")]
        pub(crate) async fn run(run: &mut Run<'_, '_, '_>) {
            $(
                let demo = run.demo;
                run.step($name::TITLE, async |step| $name::run(demo, step).await).await;
            )*
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/service_modules.rs"));
