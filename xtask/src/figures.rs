//! `cargo xtask figures`: how large the source is to a newcomer, in numbers that a change can be compared by.

use anyhow::{Context, Result};

use crate::files::{self, File, root};
use crate::records;
use crate::source::{cycles, is_source, names};
use crate::walks;

/// Prints one line per figure. Nothing here fails: `tidy` has the rules.
pub fn print() -> Result<()> {
    let files = files::all()?;
    let shipped = |file: &&File| file.path.starts_with("crates/") && is_source(file);
    let sources: Vec<&File> = files.iter().filter(shipped).collect();
    let names = names::count(&sources);
    figure("public type names with more than one definition", names.public_duplicates.len());
    figure("types that share their name with another, percent", names.shared_percent());
    for (word, count) in &names.banned {
        figure(&format!("identifiers with the word `{word}`"), count);
    }
    for (package, cycle) in cycles::all(&sources) {
        figure(
            &format!("modules in a cycle of {package}"),
            format!("{} ({})", cycle.len(), cycle.join(", ")),
        );
    }
    figure("longest changelog entry, characters", longest_entry(&files)?);
    figure("source files", sources.len());
    figure("source lines", sources.iter().map(|file| file.text.lines().count()).sum::<usize>());
    print_walks(&files);
    recorded("CI, minutes (cargo xtask ci)", records::CI_SECONDS, 60.0);
    recorded("first build, CPU minutes (cargo xtask first-build)", records::BUILD_CPU_SECONDS, 60.0);
    recorded("first build, minutes (cargo xtask first-build)", records::BUILD_SECONDS, 60.0);
    recorded("stripped binary, MiB (cargo xtask first-build)", records::BINARY_BYTES, 1_048_576.0);
    Ok(())
}

/// How far the walks of ARCHITECTURE.md are.
fn print_walks(files: &[File]) {
    for walk in walks::read(files) {
        let title = &walk.title;
        let crates: Vec<&str> =
            walk.steps.iter().filter_map(|step| step.file.path.split('/').nth(1)).collect();
        let crossings = crates.windows(2).filter(|pair| pair[0] != pair[1]).count();
        figure(&format!("`{title}`: files that hand it on"), walk.steps.len());
        figure(
            &format!("`{title}`: the same with the files they call"),
            walk.steps.len() + walk.helpers.len(),
        );
        figure(&format!("`{title}`: crossings from crate to crate"), crossings);
    }
}

/// What the last run of a command recorded in the target folder of this machine.
fn recorded(name: &str, record: &str, unit: f64) {
    match records::read(&root(), record) {
        Some(value) => figure(name, format!("{:.1}", value / unit)),
        None => figure(name, "not recorded here"),
    }
}

fn figure(name: &str, value: impl std::fmt::Display) {
    println!("{name:58} {value}");
}

/// A bullet and the lines that continue it.
fn longest_entry(files: &[File]) -> Result<usize> {
    let changelog =
        files.iter().find(|file| file.path == "CHANGELOG.md").context("there is no CHANGELOG.md")?;
    let (mut longest, mut current) = (0, 0);
    for line in changelog.text.lines() {
        let length = line.trim().chars().count();
        current = match line {
            _ if line.starts_with("- ") => length,
            _ if line.starts_with("  ") && current > 0 => current + 1 + length,
            _ => 0,
        };
        longest = longest.max(current);
    }
    Ok(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_ends_where_the_next_begins() {
        let text = "# Changelog\n\n- short\n- four\n  more\n\nno entry, however long it is\n".to_owned();
        let files = [File { path: "CHANGELOG.md".to_owned(), text }];
        assert_eq!(longest_entry(&files).unwrap(), "- four more".len());
    }
}
