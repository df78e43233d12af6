//! The drills that a service adds stand in its folder: `e2e/drills.rs`.

macro_rules! service_modules {
    ($($name:ident $path:literal)*) => {
        $(
            #[path = $path]
            mod $name;
        )*
    };
}

include!(concat!(env!("OUT_DIR"), "/drills.rs"));
