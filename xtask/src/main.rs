//! `cargo xtask`: what the project does to itself.

mod check;
mod checklist;
mod ci;
mod clients;
mod codegen;
mod figures;
mod files;
mod first_build;
mod fuzz;
mod program;
mod records;
mod release;
mod source;
mod steps;
mod tidy;
mod walks;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask COMMAND

  check [--since R] the fast loop: format, tidy, lint and unit tests of changed crates, the vectors
  ci [STEP…]        everything that must hold before a push, or only the steps with these names
  codegen           write the files that are generated from crates/event
  codegen --check   fail if one of them is stale
  bless             write everything that is generated; review the difference like code
  tidy              check edges between crates, file sizes, links, generated files
  tidy --shrink     remove exceptions that are gone from xtask/exceptions
  checklist [FILES] write spec/CHECKLIST.md, with the results of the test runs in these files
  checklist --check fail if a test that it names is not there
  scenarios DIR     write spec/scenarios.txt of what the acceptance suite saw (RIVERRUN_SEEN=DIR)
  clients [WORDS]   run official clients against the binary, or those whose files have such names
  figures           count duplicate names, private words, files on a token's path, …
  first-build       measure the first release build of a clone, and the stripped binary
  bench [ARGS]      run the load generator, optimised
  fuzz [TARGET…]    fuzz what reads bytes from outside, 5 seconds a target or --seconds N
  release VERSION   set the version, cut the changelog, make the archive in dist/; --dry-run only shows it
  nightly           ci, then the property tests for much longer";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["check", options @ ..] => check::check(options),
        ["ci", options @ ..] => ci::ci(options),
        ["codegen"] => codegen::write(),
        ["codegen", "--check"] => codegen::check(),
        ["bless"] => codegen::write(),
        ["tidy"] => tidy::tidy(),
        ["tidy", "--shrink"] => tidy::shrink(),
        ["checklist", "--check"] => checklist::check(),
        ["checklist", results @ ..] => checklist::write(results),
        ["scenarios", folder] => codegen::list_scenarios(folder),
        ["clients", options @ ..] => clients::clients(options),
        ["figures"] => figures::print(),
        ["first-build"] => first_build::measure(),
        ["bench", options @ ..] => ci::bench(options),
        ["fuzz", options @ ..] => fuzz::fuzz(options),
        ["release", options @ ..] => release::release(options),
        ["nightly"] => ci::nightly(),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        [unknown, ..] => Err(anyhow::anyhow!("there is no command `{unknown}`\n\n{USAGE}")),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
