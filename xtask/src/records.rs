//! What a run measured, for `cargo xtask figures`: one number in one file of the target folder.

use std::path::{Path, PathBuf};

pub const CI_SECONDS: &str = "ci-seconds";
pub const BUILD_SECONDS: &str = "first-build-seconds";
pub const BUILD_CPU_SECONDS: &str = "first-build-cpu-seconds";
pub const BINARY_BYTES: &str = "binary-bytes";

fn path(root: &Path, record: &str) -> PathBuf {
    root.join("target/xtask").join(record)
}

pub fn write(root: &Path, record: &str, value: f64) {
    let path = path(root, record);
    // A figure that was not recorded is shown as such; no run fails for it.
    let _ = path.parent().map(std::fs::create_dir_all);
    let _ = std::fs::write(path, value.to_string());
}

pub fn read(root: &Path, record: &str) -> Option<f64> {
    std::fs::read_to_string(path(root, record)).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let root = std::env::temp_dir().join(format!("riverrun-records-{}", std::process::id()));
        assert_eq!(read(&root, CI_SECONDS), None);
        write(&root, CI_SECONDS, 1_234.5);
        assert_eq!(read(&root, CI_SECONDS), Some(1_234.5));
        std::fs::remove_dir_all(root).unwrap();
    }
}
