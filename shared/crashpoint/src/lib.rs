#![doc = include_str!("../README.md")]

#[cfg(feature = "enabled")]
mod enabled;
mod refused;

#[cfg(feature = "enabled")]
pub use enabled::{NAMES, is_known, reached};
pub use refused::Refused;

/// A place where a test may end the process: `crashpoint::reach!("execute.after_commit")`. A name that is not in [`NAMES`] does not
/// compile.
#[cfg(feature = "enabled")]
#[macro_export]
macro_rules! reach {
    ($name:literal) => {{
        const { assert!($crate::is_known($name), "no crash point has this name: see crashpoint::NAMES") };
        $crate::reached(concat!("idem-crash-point:", $name));
    }};
}

/// Nothing, not even the name: this program was built without crash points.
#[cfg(not(feature = "enabled"))]
#[macro_export]
macro_rules! reach {
    ($name:literal) => {};
}

/// Whether `IDEM_CRASH` can be obeyed: to be asked when the program starts, because one that is armed for a place
/// that it never reaches looks like one that survived.
///
/// # Errors
/// It is set, and names no place, or this program was built without any.
pub fn check() -> Result<(), Refused> {
    match std::env::var("IDEM_CRASH") {
        Ok(text) if !text.is_empty() => understand(&text),
        _ => Ok(()),
    }
}

#[cfg(feature = "enabled")]
fn understand(text: &str) -> Result<(), Refused> {
    enabled::Plan::read(text).map(drop)
}

#[cfg(not(feature = "enabled"))]
fn understand(text: &str) -> Result<(), Refused> {
    Err(Refused::new(text, "this program was built without crash points: unset it"))
}
