//! Writes everything that follows from the catalogue in `crates/event` and from the table of operations in
//! `crates/api`: schemas, types and calls in other languages, pages.

mod emitters;
mod markdown;
mod model;
mod operations;
mod python;
mod schema;
mod shapes;
mod typescript;

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use crate::files::root;
pub use emitters::list_scenarios;
use model::EventCatalogue;

/// Folders that hold nothing but generated files: what is there and not generated is stale.
const OWNED: &[&str] = &["spec/schema/events"];

/// The generated files by their path from the root.
fn outputs() -> Result<BTreeMap<String, String>> {
    let catalogue = EventCatalogue::new();
    let mut files = schema::files(&catalogue);
    files.insert("spec/EVENTS.md".into(), markdown::page(&catalogue));
    files.insert("clients/typescript/src/generated/events.ts".into(), typescript::module(&catalogue));
    files.insert("clients/python/riverrun/generated/events.py".into(), python::module(&catalogue));
    files.insert("clients/typescript/src/generated/shapes.ts".into(), shapes::typescript(&catalogue));
    files.insert("clients/python/riverrun/generated/shapes.py".into(), shapes::python(&catalogue));
    files.insert("clients/python/riverrun/generated/__init__.py".into(), python::package());
    files.extend(operations::outputs(&catalogue)?);
    Ok(files)
}

/// Describes the operations as they are now, then writes everything that follows.
pub fn bless() -> Result<()> {
    // In the profile and with the features of `ci`, so that it compiles what the tests need anyway.
    let words = ["test", "--profile", "suite", "--workspace", "--test", "operations", "--quiet"];
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    crate::ci::run(&cargo, &words, "", &[("RIVERRUN_BLESS", "1")])?;
    write()
}

pub fn write() -> Result<()> {
    let files = outputs()?;
    let mut written = 0;
    for (path, text) in &files {
        let full = root().join(path);
        if std::fs::read_to_string(&full).is_ok_and(|old| old == *text) {
            continue;
        }
        let folder = full.parent().context("a generated file lies in a folder")?;
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        std::fs::write(&full, text).with_context(|| format!("writing {path}"))?;
        written += 1;
    }
    let strangers = strangers(&files)?;
    for path in &strangers {
        std::fs::remove_file(root().join(path)).with_context(|| format!("removing {path}"))?;
    }
    println!("codegen: {written} of {} files written, {} removed", files.len(), strangers.len());
    Ok(())
}

pub fn check() -> Result<()> {
    let files = outputs()?;
    let is_stale = |path: &String, text: &String| {
        std::fs::read_to_string(root().join(path)).map_or(true, |old| old != *text)
    };
    let mut stale: Vec<String> =
        files.iter().filter(|(path, text)| is_stale(path, text)).map(|(path, _)| path.clone()).collect();
    stale.extend(strangers(&files)?);
    if !stale.is_empty() {
        bail!("stale: {}\nrun `cargo xtask codegen` and commit what it writes", stale.join("\nstale: "));
    }
    Ok(())
}

/// Files in our folders that nothing generates any more.
fn strangers(files: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for folder in OWNED {
        let Ok(entries) = std::fs::read_dir(root().join(folder)) else { continue };
        for entry in entries {
            let path = format!("{folder}/{}", entry?.file_name().to_string_lossy());
            if !files.contains_key(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    #[test]
    fn generated_files_are_fresh() {
        super::check().expect("every generated file is what the catalogue says");
    }

    #[test]
    fn generating_twice_gives_the_same_bytes() {
        let outputs = || super::outputs().expect("the sources can be read");
        assert_eq!(outputs(), outputs());
    }
}
