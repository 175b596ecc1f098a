//! The environment of the process, out of reach of the programs that it starts.
//!
//! `/proc/PID/environ` shows what a process was started with, whatever it does to its variables later. So the process
//! starts itself again, under the same number, with the few variables that are no secrets; the others pass through an
//! anonymous file in memory, which is emptied and sealed as soon as it was read.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use riverrun_log::seeded::{self, Bug};

use crate::known::{learn_named, names_a_secret};

/// Says to the process that was started again where its variables are.
const PASSED: &str = "RIVERRUN_ENVIRONMENT_FD";

/// Variables that stay where libraries, terminals and service managers look for them.
const VISIBLE: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "RUST_BACKTRACE",
    "RUST_LIB_BACKTRACE",
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "INVOCATION_ID",
    "JOURNAL_STREAM",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];
const VISIBLE_PREFIXES: &[&str] = &["LC_", "LD_", "MIMALLOC_", "XDG_", "RIVERRUN_"];

static TAKEN: OnceLock<BTreeMap<OsString, OsString>> = OnceLock::new();

/// A variable of the environment that the process was started with, if it is set and is text.
pub fn variable(name: &str) -> Option<String> {
    let taken = TAKEN.get().and_then(|taken| taken.get(OsStr::new(name)).cloned());
    taken.or_else(|| std::env::var_os(name)).and_then(|value| value.into_string().ok())
}

/// All variables that are text.
pub fn variables() -> Vec<(String, String)> {
    let taken = TAKEN.get().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone()));
    let all = std::env::vars_os().chain(taken);
    all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}

/// Takes the secrets out of the environment that others can read. Call it first, before there are threads. Does not
/// return if the process has to start again. Err says why the environment stays as it is.
pub fn hide_environment() -> Result<(), String> {
    let result = passed().unwrap_or_else(start_again);
    for (name, value) in variables() {
        learn_named(&name, &value);
    }
    result
}

/// Makes memory and environment of this process unreadable for other processes of the same user, and leaves no core
/// file that would hold secrets.
pub fn forbid_dumps() {
    #[cfg(target_os = "linux")]
    // Without it everything works as well; the environment holds no secrets in any case.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

fn is_visible(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    let is_setting = name.starts_with("RIVERRUN_") && name.contains("__");
    let is_listed = VISIBLE.contains(&name) || VISIBLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    is_setting || (is_listed && !names_a_secret(name))
}

#[cfg(not(target_os = "linux"))]
fn passed() -> Option<Result<(), String>> {
    None
}

#[cfg(not(target_os = "linux"))]
fn start_again() -> Result<(), String> {
    Ok(())
}

/// Reads the variables if this is the second start.
#[cfg(target_os = "linux")]
fn passed() -> Option<Result<(), String>> {
    use std::io::Read;
    use std::os::unix::ffi::OsStringExt;

    use rustix::fs::{SealFlags, fcntl_add_seals};

    let number: u32 = std::env::var(PASSED).ok()?.parse().ok()?;
    let read = || -> std::io::Result<BTreeMap<OsString, OsString>> {
        let mut file = std::fs::File::options().read(true).write(true).open(path_of(number))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // The descriptor itself stays open, and programs inherit it: there is nothing in it any more.
        file.set_len(0)?;
        fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK | SealFlags::WRITE | SealFlags::SEAL)?;
        let pair = |pair: &[u8]| {
            let middle = pair.iter().skip(1).position(|byte| *byte == b'=')? + 1;
            let (name, value) = (pair[..middle].to_vec(), pair[middle + 1..].to_vec());
            Some((OsString::from_vec(name), OsString::from_vec(value)))
        };
        Ok(bytes.split(|byte| *byte == 0).filter_map(pair).collect())
    };
    Some(match read() {
        Ok(variables) => {
            let _ = TAKEN.set(variables);
            Ok(())
        }
        Err(error) => Err(format!("the environment that was passed on cannot be read: {error}")),
    })
}

#[cfg(target_os = "linux")]
fn start_again() -> Result<(), String> {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;

    use rustix::fs::{MemfdFlags, memfd_create};

    let hidden: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| !is_visible(name)).collect();
    if hidden.is_empty() || seeded::is_on(Bug::ReadableEnvironment) {
        return Ok(());
    }
    let again = || -> std::io::Result<std::convert::Infallible> {
        // Not closed on exec: the next start reads it.
        let memory = memfd_create("environment", MemfdFlags::ALLOW_SEALING)?;
        let mut file = std::fs::File::from(memory);
        for (name, value) in &hidden {
            file.write_all(&[name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat())?;
        }
        let number = file.as_raw_fd();
        // What cannot be opened here cannot be opened there.
        std::fs::File::open(path_of(number.unsigned_abs()))?;
        let program = std::env::current_exe().ok().filter(|path| path.exists());
        let mut command = std::process::Command::new(program.unwrap_or_else(|| "/proc/self/exe".into()));
        let mut arguments = std::env::args_os();
        command.arg0(arguments.next().unwrap_or_default()).args(arguments);
        command.env_clear().envs(std::env::vars_os().filter(|(name, _)| is_visible(name)));
        Err(command.env(PASSED, number.to_string()).exec())
    };
    match again() {
        Ok(never) => match never {},
        Err(error) => Err(format!("the process cannot be started again without its secrets: {error}")),
    }
}

#[cfg(target_os = "linux")]
fn path_of(number: u32) -> std::path::PathBuf {
    format!("/proc/self/fd/{number}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_no_secret_stays_visible() {
        let is_visible = |name: &str| is_visible(OsStr::new(name));
        for name in ["PATH", "LC_TIME", "RIVERRUN_LOG", "RIVERRUN_LIMITS__FAILED_AUTH_PER_MINUTE"] {
            assert!(is_visible(name), "{name}");
        }
        for name in ["OPENAI_API_KEY", "DATABASE_URL", "RIVERRUN_KEY", "SSH_AUTH_SOCK", "HTTPS_PROXY"] {
            assert!(!is_visible(name), "{name}");
        }
    }
}
