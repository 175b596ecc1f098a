//! How far long work is, on a terminal: one line on stderr that is written over, and gone at the end.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::output::Output;

/// Two words on how far it is are at least so far apart.
const EVERY: Duration = Duration::from_millis(200);

pub struct Progress {
    what: String,
    is_shown: bool,
    began: Instant,
    told: Option<Instant>,
}

impl Progress {
    /// Nothing is shown if stderr is no terminal, or to who wants JSON or silence.
    pub fn new(output: Output, what: impl Into<String>) -> Self {
        let is_shown = !output.quiet && !output.json && io::stderr().is_terminal();
        Self { what: what.into(), is_shown, began: Instant::now(), told: None }
    }

    /// Shows the bytes so far, of how many.
    pub fn bytes(&mut self, done: u64, total: Option<u64>) {
        let is_due = self.told.is_none_or(|told| told.elapsed() >= EVERY);
        if self.is_shown && is_due {
            self.told = Some(Instant::now());
            self.show(&line(&self.what, done, total, self.began.elapsed()));
        }
    }

    /// Shows how long it takes, and how far it is, until it is done.
    pub async fn during<T>(
        mut self,
        work: impl Future<Output = T>,
        mut done: impl FnMut() -> (u64, Option<u64>),
    ) -> T {
        tokio::pin!(work);
        let mut ticks = tokio::time::interval(EVERY);
        ticks.tick().await;
        loop {
            tokio::select! {
                result = &mut work => return result,
                _ = ticks.tick() => {
                    let (bytes, total) = done();
                    self.bytes(bytes, total);
                }
            }
        }
    }

    fn show(&self, text: &str) {
        // A terminal that is gone is no reason to stop.
        let mut stderr = io::stderr().lock();
        write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush()).ok();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.told.is_some() {
            self.show("");
        }
    }
}

fn line(what: &str, done: u64, total: Option<u64>, elapsed: Duration) -> String {
    let amount = match total.filter(|total| *total > 0) {
        Some(total) => format!("{} of {} ({} %)", size(done), size(total), done.min(total) * 100 / total),
        None => size(done),
    };
    format!("{what}: {amount}, {} s", elapsed.as_secs())
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes / 1024),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is_and_how_long_it_took() {
        let check = |done, total, expected: &str| {
            assert_eq!(line("copying", done, total, Duration::from_secs(3)), expected);
        };
        check(512, None, "copying: 512 B, 3 s");
        check(3_145_728, Some(6_291_456), "copying: 3.0 MiB of 6.0 MiB (50 %), 3 s");
        check(2048, Some(0), "copying: 2 KiB, 3 s");
    }
}
