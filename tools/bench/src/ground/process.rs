//! What the operating system says of a process.

use std::process::Command;

/// Processor time that a process has used, in seconds; `None` where /proc does not tell. `0` is this process.
pub(crate) fn cpu_seconds(pid: u32) -> Option<f64> {
    let path = if pid == 0 { "/proc/self/stat".to_owned() } else { format!("/proc/{pid}/stat") };
    let stat = std::fs::read_to_string(path).ok()?;
    // Behind the name, which may hold spaces: state is the first field, utime the twelfth, stime the thirteenth.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) / 100.0) // USER_HZ is 100 on every Linux
}

/// Resident memory in MiB.
pub(crate) fn resident_mib(pid: u32) -> Option<f64> {
    let output = Command::new("ps").args(["-o", "rss=", "-p", &pid.to_string()]).output().ok()?;
    let kib: f64 = String::from_utf8_lossy(&output.stdout).trim().parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_memory() {
        assert!(resident_mib(std::process::id()).is_some_and(|mib| mib > 1.0));
    }
}
