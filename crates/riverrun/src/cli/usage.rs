//! Arguments that cannot be read, told as every other failure is.

use std::process::ExitCode;

use super::exit::{Exit, Failure};
use super::output::Output;
use super::terminal::ColorChoice;

/// Says what is wrong with the arguments. Help and the version come this way too, and are no failure.
pub fn told(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || !wants_json(std::env::args_os().skip(1)) {
        // A terminal that is gone is no reason to end otherwise.
        let _ = error.print();
        return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8));
    }
    let output = Output { json: true, quiet: false, color: ColorChoice::Never };
    output.failure(&failure(&error.render().to_string()));
    ExitCode::from(Exit::Usage as u8)
}

/// The arguments could not be read, so the flag is looked for among them as it stands.
fn wants_json(words: impl Iterator<Item = std::ffi::OsString>) -> bool {
    words.take_while(|word| word != "--").any(|word| word == "--json")
}

/// The first paragraph says what is wrong; what follows, what would be right.
fn failure(text: &str) -> Failure {
    let (what, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let what = one_line(what.trim_start_matches("error: "));
    let hint: Vec<String> = rest.split("\n\n").map(one_line).filter(|line| !line.is_empty()).collect();
    match hint.is_empty() {
        true => Failure::new(Exit::Usage, what),
        false => Failure::new(Exit::Usage, what).hint(hint.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn check(words: &[&str]) -> (String, String) {
        let error = Cli::command().try_get_matches_from(words).expect_err("they are wrong");
        let failure = failure(&error.render().to_string());
        (failure.what, failure.hint.unwrap_or_default())
    }

    #[test]
    fn a_usage_error_is_one_line_and_a_hint() {
        let (what, hint) = check(&["riverrun", "respond", "act_1"]);
        assert_eq!(what, "the following required arguments were not provided: <ANSWER>");
        assert_eq!(hint, "Usage: riverrun respond <ACTION> <ANSWER>; For more information, try '--help'.");
        let (what, hint) = check(&["riverrun", "stat", "-"]);
        assert_eq!(what, "unrecognized subcommand 'stat'");
        assert!(hint.starts_with("tip: "), "{hint}");
    }

    #[test]
    fn the_flag_is_seen_before_the_words_that_are_data() {
        let wants = |words: &[&str]| wants_json(words.iter().map(std::ffi::OsString::from));
        assert!(wants(&["tail", "--json"]));
        assert!(!wants(&["tail", "--", "--json"]));
    }
}
