//! What the kernel says of a process: its memory, its processor time, and what it has received.

use anyhow::Context;
use std::fs;
use std::process::Command;

/// The unit of the times in `/proc/<pid>/stat`: `USER_HZ`, 100 on every architecture of Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor time so far, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cpu {
    /// In the process.
    pub(crate) user_s: f64,
    /// In the kernel on its behalf.
    pub(crate) system_s: f64,
}

/// Resident memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// Now.
    pub(crate) rss_kib: u64,
    /// The most since [`reset_peak`], or since the process began.
    pub(crate) peak_kib: u64,
}

/// The processor time that the process has used so far.
pub(crate) fn cpu(pid: i32) -> anyhow::Result<Cpu> {
    let path = format!("/proc/{pid}/stat");
    parse_cpu(&fs::read_to_string(&path).with_context(|| path.clone())?).context(path)
}

/// The memory that the process has.
pub(crate) fn memory(pid: i32) -> anyhow::Result<Memory> {
    let path = format!("/proc/{pid}/status");
    parse_memory(&fs::read_to_string(&path).with_context(|| path.clone())?).context(path)
}

/// Lets the peak begin anew, with what the process has now.
pub(crate) fn reset_peak(pid: i32) -> anyhow::Result<()> {
    let path = format!("/proc/{pid}/clear_refs");
    fs::write(&path, "5").context(path)
}

/// What the process has received over the TCP connections that it has now, or none if there is no
/// `ss` to ask.
pub(crate) fn received_bytes(pid: i32) -> Option<u64> {
    let output = Command::new("ss").args(["-tinpH", "state", "established"]).output().ok()?;
    output.status.success().then(|| parse_received(&String::from_utf8_lossy(&output.stdout), pid))
}

fn parse_cpu(stat: &str) -> anyhow::Result<Cpu> {
    // Fields 14 and 15; the second field, the name, may hold spaces but ends at the last `)`.
    let (_, fields) = stat.rsplit_once(')').context("no name")?;
    let mut ticks = fields.split_whitespace().skip(11);
    let mut seconds = || {
        let ticks: f64 = ticks.next().context("no times")?.parse()?;
        anyhow::Ok(ticks / TICKS_PER_SECOND)
    };
    Ok(Cpu { user_s: seconds()?, system_s: seconds()? })
}

fn parse_memory(status: &str) -> anyhow::Result<Memory> {
    let kib = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        let value = line.and_then(|line| line.split_whitespace().next());
        anyhow::Ok(value.with_context(|| format!("no {key}"))?.parse()?)
    };
    Ok(Memory { rss_kib: kib("VmRSS:")?, peak_kib: kib("VmHWM:")? })
}

/// Each connection is a line with its owners and an indented line with its counts.
fn parse_received(text: &str, pid: i32) -> u64 {
    let owner = format!("pid={pid},");
    let (mut is_its, mut sum) = (false, 0);
    for line in text.lines() {
        if !line.starts_with(char::is_whitespace) {
            is_its = line.contains(&owner);
        } else if is_its {
            let mut counts = line.split_whitespace();
            let count = counts.find_map(|count| count.strip_prefix("bytes_received:"));
            sum += count.and_then(|count| count.parse().ok()).unwrap_or(0);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_follow_a_name_with_spaces_and_brackets() {
        let stat = "77 (a) b) S 1 77 77 0 -1 4194560 9 0 0 0 1234 56 0 0 20 0 9 0 100 1 2";
        assert_eq!(parse_cpu(stat).unwrap(), Cpu { user_s: 12.34, system_s: 0.56 });
        assert!(parse_cpu("77 (a) S 1 77").is_err());
    }

    #[test]
    fn memory_is_now_and_at_most() {
        let status = "Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t   48216 kB\nVmRSS:\t   40000 kB\n";
        let expected = Memory { rss_kib: 40_000, peak_kib: 48_216 };
        assert_eq!(parse_memory(status).unwrap(), expected);
        assert!(parse_memory("Name:\tx\n").is_err());
    }

    #[test]
    fn received_is_summed_over_the_connections_of_one_process() {
        let text = "0 0 127.0.0.1:1 127.0.0.1:2 users:((\"a\",pid=7,fd=6))\n\
            \t cubic bytes_sent:5 bytes_received:100 segs_out:1\n\
            0 0 127.0.0.1:1 127.0.0.1:3 users:((\"b\",pid=77,fd=6))\n\
            \t cubic bytes_received:1000\n\
            0 0 127.0.0.1:1 127.0.0.1:4 users:((\"a\",pid=7,fd=8))\n\
            \t cubic bytes_sent:1\n\
            0 0 127.0.0.1:1 127.0.0.1:5 users:((\"a\",pid=7,fd=9))\n\
            \t cubic bytes_received:20\n";
        assert_eq!(parse_received(text, 7), 120);
    }

    #[test]
    fn this_process_can_be_read() {
        let pid = i32::try_from(std::process::id()).unwrap();
        assert!(memory(pid).unwrap().rss_kib > 0);
        reset_peak(pid).unwrap();
        assert!(cpu(pid).unwrap().user_s >= 0.0);
    }
}
