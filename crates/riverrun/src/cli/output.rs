//! Data goes to stdout, everything else to stderr.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::exit::{Exit, Failure, Outcome};
use super::terminal::{ColorChoice, Style, escape_json};

/// Where a command writes, and in which manner.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    /// One JSON document, or one per line for streams.
    pub json: bool,
    /// Errors and data only.
    pub quiet: bool,
    pub color: ColorChoice,
}

impl Output {
    pub fn style(self) -> Style {
        Style::for_stdout(self.color)
    }

    pub fn style_of_notes(self) -> Style {
        Style::for_stderr(self.color)
    }

    /// Writes data, and pushes it out: whoever reads a live stream must not wait for a full buffer.
    pub fn data(self, text: &str) -> Outcome {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes())?;
        stdout.flush()?;
        Ok(())
    }

    pub fn line(self, text: &str) -> Outcome {
        self.data(&format!("{text}\n"))
    }

    /// One JSON document: indented for a person, on one line for a program.
    pub fn document(self, value: &impl Serialize) -> Outcome {
        let text = if io::stdout().is_terminal() {
            serde_json::to_string_pretty(value)
        } else {
            serde_json::to_string(value)
        };
        self.json_line(&text.map_err(|e| Failure::new(Exit::Failed, format_args!("cannot write JSON: {e}")))?)
    }

    /// JSON from elsewhere: byte for byte for a program, safe for a terminal.
    pub fn json_line(self, json: &str) -> Outcome {
        if io::stdout().is_terminal() { self.line(&escape_json(json)) } else { self.line(json) }
    }

    /// Something for the person who watches. A terminal that is gone is no reason to stop.
    pub fn note(self, text: &str) {
        if !self.quiet {
            writeln!(io::stderr(), "{text}").ok();
        }
    }

    pub fn failure(self, failure: &Failure) {
        if failure.quiet {
            return;
        }
        let text = if self.json { json(failure) } else { human(failure, self.style_of_notes()) };
        writeln!(io::stderr(), "{text}").ok();
    }
}

fn json(failure: &Failure) -> String {
    let mut error = serde_json::json!({ "message": failure.what, "exit": failure.exit as u8 });
    if let Some(hint) = &failure.hint {
        error["hint"] = hint.as_str().into();
    }
    if let Some(code) = &failure.code {
        error["code"] = code.as_str().into();
    }
    serde_json::json!({ "error": error }).to_string()
}

fn human(failure: &Failure, style: Style) -> String {
    use super::terminal::{Lines, Tone, escape};
    let mut text = format!(
        "{} {}",
        style.paint(Tone::Bad, "error:"),
        escape(&riverrun_secret::redact(&failure.what), Lines::Keep)
    );
    if let Some(code) = &failure.code {
        text.push_str(&style.paint(Tone::Dim, &format!("  [{}]", escape(code, Lines::One))));
    }
    if let Some(hint) = &failure.hint {
        text.push_str(&format!("\n  {} {}", style.paint(Tone::Id, "hint:"), escape(hint, Lines::Keep)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_happened_and_what_to_do() {
        let failure = Failure::new(Exit::NotFound, "session `s\x1b[m` not found").hint("list them");
        assert_eq!(human(&failure, Style::PLAIN), "error: session `s\\u{1b}[m` not found\n  hint: list them");
        assert_eq!(
            json(&failure),
            r#"{"error":{"exit":3,"hint":"list them","message":"session `s\u001b[m` not found"}}"#
        );
    }
}
