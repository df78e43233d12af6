//! The alerts that a service adds stand in its folder: `e2e/alerts.rs`.

macro_rules! service_modules {
    ($($name:ident $path:literal)*) => {
        $(
            #[path = $path]
            mod $name;
        )*
    };
}

include!(concat!(env!("OUT_DIR"), "/alerts.rs"));
