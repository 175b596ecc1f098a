//! `riverrun doctor`: each check with its result and its remedy.

mod declared;
mod offline;
mod online;
mod program;
mod store;

pub use program::is_there;

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;
use futures_util::{StreamExt, stream};
use serde::Serialize;
use serde_json::json;

use super::Context;
use super::connect::DEFAULT_DATA_DIR;
use super::exit::{Exit, Failure, Outcome};
use super::output::Output;
use super::terminal::{Lines, Mark, Style, Tone, escape};

/// Services that are tried at the same time.
const AT_ONCE: usize = 32;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Check this data directory too, and every event in it.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

/// One check. `fix` is there exactly when it failed or could not be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub verdict: Verdict,
    pub detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Good,
    /// Not as it should be, but nothing is lost.
    Bad,
    /// Stored events are damaged.
    Corrupt,
    /// It could not be checked.
    Skipped,
}

impl Check {
    pub fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Good, detail: detail.into(), fix: None }
    }

    pub fn bad(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Bad, detail: detail.into(), fix: Some(fix.into()) }
    }

    pub fn corrupt(name: &'static str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Corrupt, detail: detail.into(), fix: Some(fix.into()) }
    }

    pub fn skipped(name: &'static str, detail: impl Into<String>) -> Self {
        Self { name, verdict: Verdict::Skipped, detail: detail.into(), fix: None }
    }
}

pub async fn run(args: DoctorArgs, context: &Context) -> Outcome {
    let mut told = Told { output: context.output, checks: Vec::new() };
    told.all(online::checks(context).await)?;
    declared::checks(&mut told).await?;
    let default = PathBuf::from(DEFAULT_DATA_DIR);
    let data_dir = args.data_dir.or_else(|| default.is_dir().then_some(default));
    if let Some(data_dir) = data_dir {
        told.all(offline::checks(&data_dir, context.output).await)?;
    }
    if context.output.json {
        context.output.document(&json!({ "checks": told.checks }))?;
    }
    match worst(&told.checks) {
        None => Ok(()),
        Some(exit) => Err(Failure::silent(exit)),
    }
}

/// The checks so far. A person sees each as soon as it is known.
struct Told {
    output: Output,
    checks: Vec<Check>,
}

impl Told {
    fn one(&mut self, check: Check) -> Outcome {
        if !self.output.json {
            self.output.data(&draw(&check, self.output.style()))?;
        }
        self.checks.push(check);
        Ok(())
    }

    fn all(&mut self, checks: impl IntoIterator<Item = Check>) -> Outcome {
        checks.into_iter().try_for_each(|check| self.one(check))
    }

    /// Makes checks side by side. On a terminal the quick ones do not wait for the slow ones; a program reads them in
    /// the order of the file.
    async fn each(&mut self, checks: Vec<impl Future<Output = Check>>) -> Outcome {
        let checks = stream::iter(checks);
        let known = match std::io::stdout().is_terminal() {
            true => checks.buffer_unordered(AT_ONCE).left_stream(),
            false => checks.buffered(AT_ONCE).right_stream(),
        };
        let mut known = std::pin::pin!(known);
        while let Some(check) = known.next().await {
            self.one(check)?;
        }
        Ok(())
    }
}

fn draw(check: &Check, style: Style) -> String {
    let mark = match check.verdict {
        Verdict::Good => style.mark(Mark::Done, "good   "),
        Verdict::Bad => style.mark(Mark::Failed, "bad    "),
        Verdict::Corrupt => style.mark(Mark::Failed, "corrupt"),
        Verdict::Skipped => style.mark(Mark::Stopped, "skipped"),
    };
    let mut text = format!("{mark}  {:12} {}\n", check.name, escape(&check.detail, Lines::One));
    if let Some(fix) = &check.fix {
        text.push_str(&format!("{:26}{} {}\n", "", style.paint(Tone::Id, "fix:"), escape(fix, Lines::One)));
    }
    text
}

fn worst(checks: &[Check]) -> Option<Exit> {
    let any = |verdict| checks.iter().any(|check| check.verdict == verdict);
    if any(Verdict::Corrupt) {
        Some(Exit::Corrupt)
    } else if any(Verdict::Bad) {
        Some(Exit::Failed)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_says_how_to_mend_it() {
        let check = Check::bad("key", "no key", "set RIVERRUN_KEY");
        let expected = format!("✗ bad      key          no key\n{:26}fix: set RIVERRUN_KEY\n", "");
        assert_eq!(draw(&check, Style::PLAIN), expected);
        assert_eq!(worst(&[Check::good("a", ""), check]), Some(Exit::Failed));
        assert_eq!(worst(&[Check::good("a", ""), Check::skipped("b", "")]), None);
    }
}
