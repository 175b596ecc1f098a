//! Checks of a data directory that need no server.

use std::fs;
use std::path::Path;

use riverrun_log::{Defect, Log};
use riverrun_log_sqlite::{OpenError, Options, STORE, SqliteLog};

use super::{Check, Verdict};

pub async fn checks(data_dir: &Path) -> Vec<Check> {
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
    checks.push(store(data_dir).await);
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

/// Reads and checks everything that is stored.
async fn store(data_dir: &Path) -> Check {
    if !data_dir.join(STORE).exists() {
        return Check::skipped("store", format!("{}: nothing was stored yet", data_dir.display()));
    }
    let log = match SqliteLog::open(Options { reserve_bytes: 0, ..Options::new(data_dir) }) {
        Ok(log) => log,
        Err(error @ OpenError::Locked(_)) => return Check::skipped("store", error.to_string()),
        Err(error @ (OpenError::Damaged { .. } | OpenError::Store(_))) => return corrupt(error.to_string()),
        Err(error) => return Check::bad("store", error.to_string(), "check the directory and its disk"),
    };
    let found = match log.verify().await {
        Ok(found) => found,
        Err(error) => return corrupt(error.to_string()),
    };
    if let Some(defect) = found.defects.first() {
        return corrupt(format!("{} defects, the first: {}", found.defects.len(), describe(defect)));
    }
    if let Some(what) = log.recovered() {
        let detail = format!("the last commit was not whole and was dropped: {what}");
        return Check::bad("store", detail, "after a power loss nothing acknowledged was in it; else check the disk");
    }
    Check::good("store", format!("{} sessions, {} events, every one checked", found.sessions, found.events))
}

fn describe(defect: &Defect) -> String {
    let session = defect.key.as_ref().map(|key| format!("session `{}`: ", key.session)).unwrap_or_default();
    let range = defect.range.map(|(first, last)| format!("events {first} to {last}: ")).unwrap_or_default();
    format!("{session}{range}{}", defect.what)
}

fn corrupt(detail: String) -> Check {
    let fix = "restore a backup; what is not named here can still be read and exported".to_owned();
    Check { name: "store", verdict: Verdict::Corrupt, detail, fix: Some(fix) }
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
