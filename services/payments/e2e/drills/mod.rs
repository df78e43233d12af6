//! Databases that are lost, and the money that the processor remembers.

mod lagging;
mod restored_alone;
