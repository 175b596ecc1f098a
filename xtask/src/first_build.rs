//! `cargo xtask first-build`: what the first `cargo run --release` of a clone costs, and how large its binary is.

use std::time::Instant;

use anyhow::{Context, Result};

use crate::ci::{cargo, run};
use crate::files::root;
use crate::records::{self, BINARY_BYTES, BUILD_CPU_SECONDS, BUILD_SECONDS};
use crate::steps::processor_time;

const FOLDER: &str = "target/first-build";

/// Builds into an empty folder, with the report of `--timings` in it, and removes the rest of it.
pub fn measure() -> Result<()> {
    let folder = root().join(FOLDER);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context(FOLDER)?;
    }
    let (began, spent) = (Instant::now(), processor_time());
    cargo(&["build", "--release", "--locked", "--timings", "--bin", "riverrun", "--target-dir", FOLDER])?;
    let cpu = processor_time().saturating_sub(spent);
    let stripped = format!("{FOLDER}/riverrun");
    run("strip", &["-o", &stripped, &format!("{FOLDER}/release/riverrun")], "", &[])?;
    let bytes = std::fs::metadata(root().join(&stripped)).context("the stripped binary")?.len();
    for (record, value) in [
        (BUILD_SECONDS, began.elapsed().as_secs_f64()),
        (BUILD_CPU_SECONDS, cpu.as_secs_f64()),
        (BINARY_BYTES, bytes as f64),
    ] {
        records::write(&root(), record, value);
        println!("{record} {value:.0}");
    }
    std::fs::remove_dir_all(folder.join("release")).context("the compiled crates")
}
