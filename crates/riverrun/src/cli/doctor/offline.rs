//! Checks of a data directory that need no server.

use std::fs;
use std::path::Path;

use super::super::output::Output;
use super::{Check, store};

pub async fn checks(data_dir: &Path, output: Output) -> Vec<Check> {
    let metadata = match fs::metadata(data_dir) {
        Ok(metadata) => metadata,
        Err(error) => {
            let detail = format!("{}: {error}", data_dir.display());
            return vec![Check::bad("data dir", detail, "name the server's data directory with --data-dir")];
        }
    };
    if !metadata.is_dir() {
        let detail = format!("{} is no directory", data_dir.display());
        return vec![Check::bad("data dir", detail, "name a directory")];
    }
    let mut checks = vec![mode("data dir", data_dir, 0o700)];
    let key = data_dir.join("admin.key");
    if key.exists() {
        checks.push(mode("admin key", &key, 0o600));
    }
    checks.extend(store::checks(data_dir, output).await);
    checks
}

/// Others must not read what sessions hold.
#[cfg(unix)]
fn mode(name: &'static str, path: &Path, wanted: u32) -> Check {
    use std::os::unix::fs::PermissionsExt;
    let found = match fs::metadata(path) {
        Ok(metadata) => metadata.permissions().mode() & 0o777,
        Err(error) => return Check::bad(name, format!("{}: {error}", path.display()), "check its owner"),
    };
    let detail = format!("{} has mode {found:o}", path.display());
    if found & 0o077 == 0 {
        return Check::good(name, detail);
    }
    Check::bad(name, format!("{detail}: others can read it"), format!("chmod {wanted:o} {}", path.display()))
}

#[cfg(not(unix))]
fn mode(name: &'static str, path: &Path, _wanted: u32) -> Check {
    Check::skipped(name, format!("{}: modes are not checked on this system", path.display()))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_directory_that_others_can_read_is_bad() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let check = |bits| {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(bits)).expect("our directory");
            mode("data dir", dir.path(), 0o700).fix.is_some()
        };
        assert_eq!([check(0o755), check(0o710), check(0o700)], [true, true, false]);
    }
}
