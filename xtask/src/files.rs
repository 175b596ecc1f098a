//! The files of the checkout.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The root of the workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in the workspace").to_owned()
}

/// One file of the project: its path from the root, with `/`, and its text.
pub struct File {
    pub path: String,
    pub text: String,
}

impl File {
    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        extensions.iter().any(|extension| self.path.ends_with(&format!(".{extension}")))
    }

    /// True for what a program writes.
    pub fn is_generated(&self) -> bool {
        self.path.contains("/generated/")
            || self.path.starts_with("spec/schema/")
            || self.path == "spec/EVENTS.md"
    }

    /// True for what only tests run.
    pub fn is_test(&self) -> bool {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        self.path.starts_with("tests/")
            || self.path.contains("/tests/")
            || name == "tests.rs"
            || name.starts_with("test_")
            || name.contains(".test.")
    }
}

/// Every text file that is committed or about to be.
pub fn all() -> Result<Vec<File>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .context("git lists the files of the project")?;
    ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let mut paths: Vec<String> = String::from_utf8(output.stdout)?
        .split('\0')
        .filter(|path| !path.is_empty())
        .map(str::to_owned)
        .collect();
    paths.sort();
    paths.dedup();
    // A file that was deleted but not yet committed has no text; neither has a picture.
    let read = |path: String| Some(File { text: std::fs::read_to_string(root().join(&path)).ok()?, path });
    Ok(paths.into_iter().filter_map(read).collect())
}
