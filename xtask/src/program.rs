//! Runs a program, passes its output on, and remembers the lines that report a failure.

use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

use anyhow::{Context, Result, ensure};

/// At most this many failing lines go into the error.
const MAX_LINES: usize = 20;

/// Runs the command to its end. The error of one that fails repeats the lines of its output that say why.
pub fn run(mut command: Command) -> Result<()> {
    let name = format!("{command:?}");
    if std::io::stdout().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("starting {name}"))?;
    let out = child.stdout.take().map(|pipe| pass_on(pipe, std::io::stdout()));
    let err = child.stderr.take().map(|pipe| pass_on(pipe, std::io::stderr()));
    let status = child.wait().with_context(|| format!("waiting for {name}"))?;
    let failures: Vec<String> =
        [out, err].into_iter().flatten().flat_map(|thread| thread.join().unwrap_or_default()).collect();
    ensure!(status.success(), "{name} ended with {status}\n{}", failures.join("\n"));
    Ok(())
}

/// Copies the output line by line and returns the first lines that report a failure.
fn pass_on(pipe: impl Read + Send + 'static, mut to: impl Write + Send + 'static) -> JoinHandle<Vec<String>> {
    std::thread::spawn(move || {
        let mut failures = Vec::new();
        let (mut reader, mut line) = (BufReader::new(pipe), Vec::new());
        while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
            // A closed terminal must not stop the program whose output is copied.
            let _ = to.write_all(&line);
            let text = String::from_utf8_lossy(&line);
            if reports_failure(&text) && failures.len() < MAX_LINES {
                failures.push(text.trim_end().to_owned());
            }
            line.clear();
        }
        failures
    })
}

fn reports_failure(line: &str) -> bool {
    const MARKS: [&str; 7] = ["FAIL", "failed: ", "not ok ", "panicked at", "error:", "error[", "ERROR:"];
    // A test that passed may have one of the marks in its name.
    !line.contains("PASS") && MARKS.iter().any(|mark| line.contains(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command)
    }

    #[test]
    fn a_failing_program_is_reported_with_its_error_lines() {
        assert!(shell("echo fine").is_ok());
        let error =
            shell("echo fine; echo 'PASS error: fine'; echo '  case/a FAILED in 1 s'; echo 'case/a: lost' >&2; exit 3").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("exit status: 3") && text.contains("case/a FAILED"), "{text}");
        assert!(!text.contains("fine\n"), "{text}");
    }
}
