//! Figures of the operating system about a process of this machine.

use std::fs;
use std::process::Command;
use std::str::SplitWhitespace;
use std::time::Duration;

/// The unit of `/proc/PID/stat`: `USER_HZ` is 100 on every Linux.
const TICK: Duration = Duration::from_millis(10);

/// Processor time of all threads so far; `None` without `/proc` or without such a process.
pub fn cpu_time(pid: u32) -> Option<Duration> {
    sum_of_times(&stat(pid)?, 2)
}

/// The same, with that of its children that have ended.
pub fn cpu_time_with_ended_children(pid: u32) -> Option<Duration> {
    sum_of_times(&stat(pid)?, 4)
}

/// The process that has started this one.
pub fn parent(pid: u32) -> Option<u32> {
    fields(&stat(pid)?)?.nth(1)?.parse().ok()
}

fn stat(pid: u32) -> Option<String> {
    fs::read_to_string(format!("/proc/{pid}/stat")).ok()
}

/// The fields from the third one on. The name before them may contain spaces and parentheses.
fn fields(stat: &str) -> Option<SplitWhitespace<'_>> {
    Some(stat.rsplit_once(") ")?.1.split_whitespace())
}

/// Adds so many fields from 14 on: user mode and kernel, then both of the ended children.
fn sum_of_times(stat: &str, number: usize) -> Option<Duration> {
    let times: Option<Vec<u32>> = fields(stat)?.skip(11).take(number).map(|time| time.parse().ok()).collect();
    let times = times.filter(|times| times.len() == number)?;
    Some(TICK * times.iter().sum::<u32>())
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
        let stat = "7 (a (b) c) S 1 7 7 0 -1 4194560 1 2 3 4 120 3 9 8 20 0 4 0 5 6";
        assert_eq!(sum_of_times(stat, 2), Some(Duration::from_millis(1230)));
        assert_eq!(sum_of_times(stat, 4), Some(Duration::from_millis(1400)));
        assert_eq!(sum_of_times("7 (orders", 2), None);
        assert_eq!(sum_of_times("7 (orders) S 1 7", 2), None);
    }

    #[test]
    fn a_child_names_its_parent_until_it_has_ended() {
        let id = std::process::id();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert_eq!(parent(child.id()), Some(id));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(parent(child.id()), None);
        let own = cpu_time(id); // read first, because the time goes on
        assert!(cpu_time_with_ended_children(id) >= own);
    }

    #[test]
    fn this_process_has_memory() {
        let id = std::process::id();
        assert!(resident_mib(id).is_some_and(|mib| mib > 1.0));
        assert!(peak_mib(id).is_some_and(|mib| mib > 1.0));
    }
}
