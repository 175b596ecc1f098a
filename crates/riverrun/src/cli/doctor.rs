//! `riverrun doctor`: each check with its result and its remedy.

mod declared;
mod offline;
mod online;
mod program;
mod store;

pub use program::is_there;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::Context;
use super::connect::DEFAULT_DATA_DIR;
use super::exit::{Exit, Failure, Outcome};
use super::terminal::{Lines, Mark, Style, Tone, escape};

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
    let mut checks = online::checks(context).await;
    checks.extend(declared::checks().await);
    let default = PathBuf::from(DEFAULT_DATA_DIR);
    let data_dir = args.data_dir.or_else(|| default.is_dir().then_some(default));
    if let Some(data_dir) = data_dir {
        checks.extend(offline::checks(&data_dir, context.output).await);
    }
    if context.output.json {
        context.output.document(&json!({ "checks": checks }))?;
    } else {
        let style = context.output.style();
        checks.iter().try_for_each(|check| context.output.data(&draw(check, style)))?;
    }
    match worst(&checks) {
        None => Ok(()),
        Some(exit) => Err(Failure::silent(exit)),
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
