//! What the project's own Rust sources define: names, words in names, modules.

pub mod cycles;
pub mod names;

use crate::files::File;

/// Rust that is not only for tests and that no program wrote.
pub fn is_source(file: &File) -> bool {
    package(&file.path).is_some()
        && file.has_extension(&["rs"])
        && !file.is_test()
        && !file.path.ends_with("_tests.rs")
        && !file.is_generated()
}

/// The folder of the package that holds a source file: `server` of `crates/server/src/lib.rs`.
pub fn package(path: &str) -> Option<&str> {
    let folders = ["crates/", "bench/", ""];
    let inside = folders.iter().find_map(|folder| path.strip_prefix(folder)).unwrap_or(path);
    inside.split_once("/src/").map(|(package, _)| package).filter(|package| !package.contains('/'))
}

/// The lines of a file before its unit tests, which are its end by custom.
pub fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().take_while(|line| line.trim() != "#[cfg(test)]")
}
