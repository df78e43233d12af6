//! The responses of each service, which stand in its folder: `e2e/contract.rs`.

use e2e::Stack;

use crate::recorder::Recorder;

macro_rules! service_modules {
    ($($name:ident $path:literal)*) => {
        $(
            #[path = $path]
            mod $name;
        )*

        /// Asks for them, service by service.
        pub(crate) async fn responses(stack: &Stack, recorder: &mut Recorder<'_>) {
            $($name::responses(stack, recorder).await;)*
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/service_modules.rs"));
