//! Figures of the operating system about a process of this machine.

use std::fs;
use std::process::Command;
use std::time::Duration;

/// The unit of `/proc/PID/stat`: `USER_HZ` is 100 on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// Processor time of all threads so far; `None` without `/proc` or without such a process.
pub fn cpu_time(pid: u32) -> Option<Duration> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Adds fields 14 and 15, user mode and kernel. The name before them may contain spaces and parentheses.
fn parse(stat: &str) -> Option<Duration> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split_whitespace().skip(11).map(str::parse::<u32>);
    let ticks = times.next()?.ok()?.checked_add(times.next()?.ok()?)?;
    Some(TICK * ticks)
}

/// Resident memory in MiB.
pub fn resident_mib(pid: u32) -> Option<f64> {
    let output = Command::new("ps").args(["-o", "rss=", "-p", &pid.to_string()]).output().ok()?;
    let kib: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().ok()?;
    Some(kib / 1024.0)
}

/// The most resident memory so far, in MiB; `None` without `/proc` or without such a process.
pub fn peak_mib(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = peak.trim().trim_end_matches(" kB").parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_user_mode_and_in_the_kernel_is_added_up() {
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 1 2 3 4 120 3 9 9 20 0 4 0 5 6";
        assert_eq!(parse(stat), Some(Duration::from_millis(1230)));
        assert_eq!(parse("7 (orders"), None);
    }

    #[test]
    fn this_process_has_memory() {
        let id = std::process::id();
        assert!(resident_mib(id).is_some_and(|mib| mib > 1.0));
        assert!(peak_mib(id).is_some_and(|mib| mib > 1.0));
    }
}
