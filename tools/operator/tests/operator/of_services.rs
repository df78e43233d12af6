//! The tests that stand in the folders of the services: `e2e/operator.rs`.

macro_rules! service_modules {
    ($($name:ident $path:literal)*) => {
        $(
            #[path = $path]
            mod $name;
        )*
    };
}

include!(concat!(env!("OUT_DIR"), "/operator.rs"));
