//! A process between the server and a program that it starts: whatever the program leaves behind becomes its child,
//! and ends with it.
//!
//! ```text
//!  server ── supervisor ── program ── …
//!                └── descendants whose parents have ended, wherever they moved
//! ```
//!
//! The kernel hands orphans to the nearest ancestor that asked for them. A process can change its group, its session
//! and its environment, but not this. The supervisor shares the program's pipes only until the program runs, so that
//! bytes go directly between server and program. It ends everything when the program ends, when it is told to, and
//! when the server is gone. Only Linux can do this.

use std::ffi::OsString;
use std::process::ExitCode;

/// The first argument when it is to end by the signal that ended the program.
#[cfg(target_os = "linux")]
const DIE: &str = "__die";
/// The exit code of shells for a program that cannot be started.
#[cfg(target_os = "linux")]
const NOT_STARTED: u8 = 127;

/// Does the work of a supervisor if this process was started as one, or that of the process that reads a file. The
/// binary that names itself to [`crate::use_supervisor`] calls this before anything else.
pub fn supervise() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next()?;
    if let Some(code) = crate::file::serve(&word) {
        return Some(code);
    }
    #[cfg(target_os = "linux")]
    {
        if word == DIE {
            return Some(linux::die(arguments.next()));
        }
        if word == crate::strays::SUPERVISE {
            return Some(linux::run(arguments));
        }
    }
    let _: (OsString, _) = (word, arguments);
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::OsString;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, ExitCode};
    use std::time::{Duration, Instant};

    use rustix::process::{
        Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process,
        kill_process_group, set_child_subreaper, set_parent_process_death_signal, setrlimit, wait,
    };
    use tokio::signal::unix::{SignalKind, signal};

    use super::{DIE, NOT_STARTED};
    use crate::ProcessLimits;
    use crate::limits::descendants;

    /// What cannot be ended, such as a program of another user, is left after this time.
    const ENDING: Duration = Duration::from_secs(5);

    struct Plan {
        server: Option<Pid>,
        limits: ProcessLimits,
        argv: Vec<OsString>,
    }

    pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
        let number = |text: OsString| Pid::from_raw(text.to_str()?.parse().ok()?);
        let server = arguments.next().and_then(number);
        let limits = arguments.next().and_then(|text| ProcessLimits::from_word(text.to_str()?));
        let (Some(limits), argv) = (limits, arguments.collect()) else { return ExitCode::from(NOT_STARTED) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else { return ExitCode::from(NOT_STARTED) };
        let ended = runtime.block_on(follow(Plan { server, limits, argv }));
        match ended {
            Ok(Some(status)) => leave(status),
            Ok(None) => ExitCode::from(NOT_STARTED),
            Err(error) => {
                eprintln!("cannot be started: {error}");
                ExitCode::from(NOT_STARTED)
            }
        }
    }

    /// Runs the program until it ends. None: the server was gone before it began.
    async fn follow(plan: Plan) -> std::io::Result<Option<WaitStatus>> {
        // Handlers first: a signal that comes before them ends this process, and then nothing runs.
        let mut child_ended = signal(SignalKind::child())?;
        let mut server_ended = signal(SignalKind::hangup())?;
        let (mut ask, mut ask_too) = (signal(SignalKind::user_defined1())?, signal(SignalKind::terminate())?);
        let mut kill = signal(SignalKind::user_defined2())?;
        set_child_subreaper(Some(getpid()))?;
        set_parent_process_death_signal(Some(Signal::HUP))?;
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        if getppid() != plan.server {
            return Ok(None);
        }
        let program = plan.argv.first().cloned().unwrap_or_default();
        let child = Command::new(program).args(plan.argv.iter().skip(1)).process_group(0).spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap_or_else(getpid);
        if let Err(error) = plan.limits.set(pid) {
            eprintln!("its limits could not be set, so it was stopped: {error}");
            let _ = kill_process_group(pid, Signal::KILL);
        }
        close_pipes();
        let mut status = None;
        while status.is_none() {
            tokio::select! {
                _ = child_ended.recv() => status = reap(pid),
                _ = ask.recv() => drop(kill_process_group(pid, Signal::TERM)),
                _ = ask_too.recv() => drop(kill_process_group(pid, Signal::TERM)),
                // The signal also comes when only the thread that started this process ends.
                _ = server_ended.recv() => if getppid() != plan.server { status = end_all(pid) },
                _ = kill.recv() => status = end_all(pid),
            }
        }
        end_all(pid);
        Ok(status)
    }

    /// Takes what has ended. Some if the program is among it.
    fn reap(program: Pid) -> Option<WaitStatus> {
        let mut status = None;
        while let Ok(Some((pid, how))) = wait(WaitOptions::NOHANG) {
            if pid == program {
                status = Some(how);
            }
        }
        status
    }

    /// Ends the program and everything that it started. What loses its parent becomes a child of this process, so
    /// nothing is left when there are no children.
    fn end_all(program: Pid) -> Option<WaitStatus> {
        let (began, mut status) = (Instant::now(), None);
        while began.elapsed() < ENDING {
            loop {
                match wait(WaitOptions::NOHANG) {
                    Ok(Some((pid, how))) if pid == program => status = Some(how),
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(_) => return status,
                }
            }
            for pid in descendants(getpid()) {
                let _ = kill_process(pid, Signal::KILL);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        status
    }

    /// The program has the pipes; held here as well, they would stay open when it closes them.
    fn close_pipes() {
        let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") else { return };
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }

    /// Ends as the program ended.
    fn leave(status: WaitStatus) -> ExitCode {
        let Some(signal) = status.terminating_signal() else {
            let code = status.exit_status().unwrap_or(1);
            return ExitCode::from(u8::try_from(code).unwrap_or(1));
        };
        // Started anew it has no handlers, so every signal ends it.
        let _ = Command::new("/proc/self/exe").arg(DIE).arg(signal.to_string()).exec();
        ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))
    }

    pub fn die(signal: Option<OsString>) -> ExitCode {
        let number = signal.and_then(|text| text.to_str()?.parse::<i32>().ok()).unwrap_or(9);
        let signal = Signal::from_named_raw(number);
        // The standard library handles SIGSEGV and SIGBUS once, to name a stack overflow, and then not again.
        for signal in signal.into_iter().chain(signal) {
            let _ = kill_process(getpid(), signal);
        }
        ExitCode::from(u8::try_from(128 + number).unwrap_or(1))
    }
}
