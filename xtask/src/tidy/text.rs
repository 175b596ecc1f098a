//! What files may hold, and how long they may be.

use super::BrokenRule;
use crate::files::File;

/// Files over this many lines are split.
const MOST_LINES: usize = 500;

/// Written in two halves, so that this file does not find itself.
const LEFTOVERS: &[&str] = &[
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
    concat!("db", "g!("),
    concat!("#[ig", "nore"),
    concat!("<<<<", "<<< "),
    concat!(">>>>", ">>> "),
];

/// Crates that read no clock, roll no dice and touch no disk or network.
const PURE: &[&str] = &["crates/event/src/", "crates/fold/src/", "crates/dialect/src/"];
const IMPURE: &[&str] =
    &["SystemTime", "Instant::now", "std::fs", "std::net", "std::env", "std::process", "thread::sleep"];

pub fn problems(files: &[File]) -> Vec<BrokenRule> {
    files.iter().flat_map(|file| [too_long(file), leftovers(file), impurities(file)]).flatten().collect()
}

fn too_long(file: &File) -> Vec<BrokenRule> {
    let lines = file.text.lines().count();
    let counts = file.has_extension(&["rs", "ts", "tsx", "mjs", "js", "py", "css", "sh"]);
    if !counts || file.is_generated() || file.is_test() || lines <= MOST_LINES {
        return Vec::new();
    }
    vec![BrokenRule::new(&file.path, format!("{lines} lines, split it: at most {MOST_LINES}"))]
}

fn leftovers(file: &File) -> Vec<BrokenRule> {
    if !file.has_extension(&["rs", "ts", "tsx", "mjs", "py", "toml"]) {
        return Vec::new();
    }
    let found = |(at, line): (usize, &str)| {
        let word = LEFTOVERS.iter().find(|word| line.contains(**word))?;
        Some(BrokenRule::new(format!("{}:{}", file.path, at + 1), format!("finish or remove `{word}`")))
    };
    file.text.lines().enumerate().filter_map(found).collect()
}

fn impurities(file: &File) -> Vec<BrokenRule> {
    if !PURE.iter().any(|folder| file.path.starts_with(folder)) || file.is_test() {
        return Vec::new();
    }
    // By custom the tests of a file are its end, and they may read fixtures.
    let code = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]" || !is_inline_tests(file));
    let found = |(at, line): (usize, &str)| {
        let word =
            IMPURE.iter().find(|word| line.contains(**word) && !line.trim_start().starts_with("//"))?;
        Some(BrokenRule::new(format!("{}:{}", file.path, at + 1), format!("a pure crate has no `{word}`")))
    };
    code.enumerate().filter_map(found).collect()
}

fn is_inline_tests(file: &File) -> bool {
    file.text.contains("#[cfg(test)]\nmod tests {")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: usize) {
        let file = File { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(problems(&[file]).len(), expected, "{path}");
    }

    #[test]
    fn long_files_leftovers_and_impurities_are_found() {
        check("crates/server/src/a.rs", &"\n".repeat(501), 1);
        check("crates/server/src/generated/a.rs", &"\n".repeat(501), 0);
        check("crates/server/src/tests.rs", &"\n".repeat(501), 0);
        check("crates/server/src/a.rs", concat!("to", "do!()"), 1);
        check("crates/fold/src/a.rs", "let now = SystemTime::now();", 1);
        check("crates/server/src/a.rs", "let now = SystemTime::now();", 0);
        check("crates/fold/src/a.rs", "// SystemTime is read elsewhere", 0);
        check("crates/fold/src/a.rs", "#[cfg(test)]\nmod tests {\n use std::fs;\n}", 0);
    }
}
