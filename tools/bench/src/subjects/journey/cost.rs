//! Measures the CPU of an order while many are placed, by process.

use crate::environment::{cpu_seconds, own_cpu_seconds};
use crate::report::Section;
use crate::subjects::stack::Stack;
use harness::Result;

/// The CPU seconds that each process has used so far; none for a server on another machine.
pub(super) struct Usage(Vec<(&'static str, f64)>);

impl Usage {
    pub(super) async fn of(stack: &Stack<'_>) -> Result<Self> {
        let programs = stack.programs();
        let mut cpu: Vec<_> =
            programs.filter_map(|(part, program)| Some((part.name(), cpu_seconds(program)?))).collect();
        cpu.extend(stack.environment.postgres.cpu_seconds().await?.map(|seconds| ("PostgreSQL", seconds)));
        cpu.extend(own_cpu_seconds().map(|seconds| ("load_generator", seconds)));
        Ok(Self(cpu))
    }

    /// Reports the CPU of one of so many orders since an earlier reading, in µs, by process and together, as figures of a load.
    pub(super) fn report(&self, before: &Self, orders: f64, load: &str, section: &mut Section) {
        let mut together = 0.0;
        for ((name, after), (_, before)) in self.0.iter().zip(&before.0) {
            let micros = (after - before) * 1e6 / orders;
            section.figure(format!("{load}.cpu_us.{name}"), micros);
            together += micros;
        }
        section.figure(format!("{load}.cpu_us.together"), together);
    }
}
