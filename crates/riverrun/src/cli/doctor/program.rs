//! Whether a program can be run.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// As the system looks for it: a name on the path, anything with a `/` from the working directory.
pub fn is_there(program: &str, directory: &Path) -> bool {
    if program.contains('/') {
        return is_executable(&directory.join(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_executable(&folder.join(program)))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
