#![doc = include_str!("../README.md")]

#[cfg(feature = "enabled")]
mod enabled;

#[cfg(feature = "enabled")]
pub use enabled::{NAMES, is_known, reached};

/// Marks a crash point: `crashpoint::reach!("execute.after_commit")`. A name that is not in [`NAMES`] does not compile.
#[cfg(feature = "enabled")]
#[macro_export]
macro_rules! reach {
    ($name:literal) => {{
        const { assert!($crate::is_known($name), "no crash point has this name: see crashpoint::NAMES") };
        $crate::reached(concat!("idem-crash-point:", $name));
    }};
}

/// Expands to nothing, so a program without crash points does not contain their names.
#[cfg(not(feature = "enabled"))]
#[macro_export]
macro_rules! reach {
    ($name:literal) => {};
}

/// Checks `IDEM_CRASH` when the program starts. Otherwise a program with a misspelled crash point would look like one that
/// survived it.
///
/// # Errors
/// The variable is set, and names no crash point or the program was built without crash points.
pub fn check() -> Result<(), String> {
    match std::env::var("IDEM_CRASH") {
        Ok(text) if !text.is_empty() => check_text(&text),
        _ => Ok(()),
    }
}

#[cfg(feature = "enabled")]
fn check_text(text: &str) -> Result<(), String> {
    enabled::Plan::read(text).map(drop)
}

#[cfg(not(feature = "enabled"))]
fn check_text(text: &str) -> Result<(), String> {
    Err(format!("IDEM_CRASH is '{text}', but this program was built without crash points: unset it"))
}
