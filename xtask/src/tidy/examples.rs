//! The worked examples of CONTRIBUTING.md: their paths, lines of files and commands exist.

use super::BrokenRule;
use crate::files::File;
use crate::walks::quoted;

const PAGE: &str = "CONTRIBUTING.md";
const SECTIONS: &[&str] = &["an event", "an operation", "a dialect", "a provider", "an engine"];

/// A section with this line is checked once the path in it exists.
const CONDITION: &str = "<!-- checked once this exists: ";

/// Folders that a path in the text can begin with.
const FOLDERS: &[&str] = &["crates/", "spec/", "docs/", "xtask/", "clients/", "tests/", "examples/", "fuzz/"];

pub fn problems(files: &[File]) -> Vec<BrokenRule> {
    let text = find(files, PAGE).map_or("", |page| page.text.as_str());
    SECTIONS.iter().flat_map(|title| section_problems(text, title, files)).collect()
}

fn section_problems(text: &str, title: &str, files: &[File]) -> Vec<BrokenRule> {
    let heading = format!("## Add {title}");
    let lines = || text.lines().enumerate().skip_while(|(_, line)| *line != heading);
    if lines().next().is_none() {
        return vec![BrokenRule::new(PAGE, format!("add a section `{heading}`"))];
    }
    let section = || lines().skip(1).take_while(|(_, line)| !line.starts_with("## "));
    let condition = section().find_map(|(_, line)| line.strip_prefix(CONDITION)?.strip_suffix(" -->"));
    if condition.is_some_and(|path| !exists(files, path)) {
        return Vec::new();
    }
    let (mut problems, mut block) = (Vec::new(), None);
    for (at, line) in section() {
        let line = line.trim();
        let wrong = match (line.strip_prefix("```"), &block) {
            (Some(_), Some(_)) => {
                block = None;
                None
            }
            (Some(info), None) => {
                let path = info.split_once(' ').map(|(_, path)| path);
                block = Some(path);
                path.filter(|path| find(files, path).is_none())
                    .map(|path| format!("there is no file `{path}`"))
            }
            (None, Some(Some(path))) => lost_line(files, path, line),
            (None, Some(None)) => line.strip_prefix("$ ").and_then(|command| lost_command(files, command)),
            (None, None) => lost_path(files, line),
        };
        problems.extend(wrong.map(|advice| BrokenRule::new(format!("{PAGE}:{}", at + 1), advice)));
    }
    problems
}

fn lost_line(files: &[File], path: &str, line: &str) -> Option<String> {
    let is_there = find(files, path)?.text.lines().any(|known| known.trim() == line);
    (!is_there && !line.is_empty()).then(|| format!("{path} has no line `{line}`"))
}

fn lost_path(files: &[File], line: &str) -> Option<String> {
    let is_path = |word: &&str| FOLDERS.iter().any(|folder| word.starts_with(folder)) && !word.contains(' ');
    let lost = quoted(line).filter(is_path).find(|path| !exists(files, path))?;
    Some(format!("there is no `{lost}`"))
}

/// True for a file or a folder of the project. `<name>` stands for any part of a path.
fn exists(files: &[File], pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.trim_end_matches('/').split('/').collect();
    files.iter().any(|file| {
        let names: Vec<&str> = file.path.split('/').take(parts.len()).collect();
        names.len() == parts.len() && names.iter().zip(&parts).all(|(name, part)| fits(name, part))
    })
}

fn fits(name: &str, part: &str) -> bool {
    match part.split_once('<').and_then(|(before, remaining)| Some((before, remaining.split_once('>')?.1))) {
        Some((before, behind)) => name.starts_with(before) && name.ends_with(behind),
        None => name == part,
    }
}

/// What of a command does not exist.
fn lost_command(files: &[File], command: &str) -> Option<String> {
    let words: Vec<&str> = command.split(' ').filter(|word| !word.contains('=')).collect();
    let is_absent = match words.as_slice() {
        ["cargo", "xtask", "ci", steps @ ..] => {
            let known = find(files, "xtask/src/ci.rs")?;
            steps.iter().any(|step| !known.text.contains(&format!("step(\"{step}\"")))
        }
        ["cargo", "xtask", word, ..] => !crate::USAGE.lines().any(|line| line.trim_start().starts_with(word)),
        ["cargo", "test", options @ ..] => !is_test(files, options),
        _ => true,
    };
    is_absent.then(|| format!("`{command}` names something that does not exist"))
}

/// `-p PACKAGE`, then any of `--test NAME` and `--features NAME`.
fn is_test(files: &[File], options: &[&str]) -> bool {
    let mut pairs = options.chunks(2);
    let Some(["-p", package]) = pairs.next() else { return false };
    let name = format!("name = \"{package}\"");
    let is_manifest =
        |file: &&File| file.path.ends_with("/Cargo.toml") && file.text.lines().any(|line| line == name);
    let Some(manifest) = files.iter().find(is_manifest) else { return false };
    let folder = manifest.path.trim_end_matches("Cargo.toml");
    pairs.all(|pair| match pair {
        ["--test", test] => {
            [".rs", "/main.rs"].iter().any(|end| find(files, &format!("{folder}tests/{test}{end}")).is_some())
        }
        ["--features", feature] => {
            manifest.text.lines().any(|line| line.starts_with(&format!("{feature} = ")))
        }
        _ => false,
    })
}

fn find<'a>(files: &'a [File], path: &str) -> Option<&'a File> {
    files.iter().find(|file| file.path == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: usize) {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file("crates/a/Cargo.toml", "name = \"riverrun-a\"\nseeded-bugs = []\n"),
            file("crates/a/src/lib.rs", "pub mod b;\n    B => \"b\",\n"),
            file("crates/a/tests/all/main.rs", ""),
        ];
        let text = format!("## Add an event\n{body}\n## After\n`crates/none/`\n");
        assert_eq!(section_problems(&text, "an event", &files).len(), expected, "{body}");
    }

    #[test]
    fn lost_paths_and_lines_are_found() {
        check("See `crates/a/`, `crates/a/src/lib.rs` and `crates/<name>/src/<file>.rs`.", 0);
        check("See `crates/b/` and `crates/a/src/<file>.md`, `Type`.", 1);
        check("   ```rust crates/a/src/lib.rs\n   B => \"b\",\n   ```", 0);
        check("```rust crates/a/src/lib.rs\nC => \"c\",\n```\n`crates/a/src/`", 1);
        check("```rust crates/a/src/c.rs\n```", 1);
        check("<!-- checked once this exists: crates/b -->\n`crates/b/src`", 0);
        check("<!-- checked once this exists: crates/a -->\n`crates/b/src`", 1);
        assert_eq!(section_problems("", "an event", &[]).len(), 1);
    }

    #[test]
    fn lost_commands_are_found() {
        check(
            "```console\n$ cargo xtask codegen\n$ X=1 cargo test -p riverrun-a --features seeded-bugs --test all\n```",
            0,
        );
        for command in [
            "cargo xtask none",
            "cargo test -p riverrun-b",
            "cargo test -p riverrun-a --test none",
            "cargo test -p riverrun-a --features none",
            "make",
        ] {
            check(&format!("```console\n$ {command}\n```"), 1);
        }
    }
}
