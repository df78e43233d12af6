//! What a process has used of the processors, as the kernel counts it.

use std::fs;
use std::time::Duration;

/// The unit of `/proc/PID/stat`: `USER_HZ` is 100 on every architecture that we build for.
const TICK: Duration = Duration::from_millis(10);

/// Time on the processors so far, of all threads; `None` where there is no `/proc`, or no such process.
pub(crate) fn time_used(process: u32) -> Option<Duration> {
    used(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
}

/// Fields 14 and 15: in user mode, and in the kernel. The name before them may hold spaces and parentheses.
fn used(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(11).map(str::parse::<u32>);
    let ticks = times.next()?.ok()?.checked_add(times.next()?.ok()?)?;
    Some(TICK * ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_user_mode_and_in_the_kernel_is_added_up() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 1 2 3 4 120 3 9 9 20 0 4 0 5 6";
        assert_eq!(used(stat), Some(Duration::from_millis(1230)));
        assert_eq!(used("7 (orders"), None);
    }
}
