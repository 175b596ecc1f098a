//! How a command ends badly: what happened, what to do, and a number that scripts can rely on.
//!
//! The numbers are a promise (docs/cli.md). None is ever reused.

use std::fmt;
use std::io;

use riverrun_client::{Error, Problem};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The reader of our output has enough.
    Ok = 0,
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Auth = 4,
    /// A person must decide, and nobody is there to be asked.
    Waiting = 5,
    Cancelled = 6,
    TimedOut = 7,
    Unreachable = 8,
    Corrupt = 9,
    /// The data directory was written by a newer version.
    NewerFormat = 65,
    Io = 74,
    /// Another process holds the data directory.
    Locked = 75,
    Config = 78,
    Interrupted = 130,
}

/// What a command tells when it does not succeed.
#[derive(Debug, Clone)]
pub struct Failure {
    pub exit: Exit,
    /// What happened, and why.
    pub what: String,
    /// What to do next.
    pub hint: Option<String>,
    /// A stable code, with a section in docs/errors.md.
    pub code: Option<String>,
    /// The reader of our output is gone, or the user has already been told.
    pub quiet: bool,
}

pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub fn new(exit: Exit, what: impl fmt::Display) -> Self {
        Self { exit, what: what.to_string(), hint: None, code: None, quiet: false }
    }

    pub fn hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    pub fn silent(exit: Exit) -> Self {
        Self { quiet: true, ..Self::new(exit, "") }
    }

    /// A file could not be read or written.
    pub fn file(path: &std::path::Path, error: &io::Error) -> Self {
        let exit = if error.kind() == io::ErrorKind::NotFound { Exit::NotFound } else { Exit::Io };
        Self::new(exit, format_args!("{}: {error}", path.display()))
    }
}

/// Output that nobody reads any more ends the command in silence, as it would end any other tool in a pipe.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::silent(Exit::Ok),
            _ => Failure::new(Exit::Io, format_args!("cannot write the output: {error}")),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let what = error.to_string();
        match error {
            Error::Problem(problem) => from_problem(*problem),
            Error::Unreachable { .. } => Failure::new(Exit::Unreachable, what)
                .hint("start a server with `riverrun serve`, or name one with --url or RIVERRUN_URL"),
            Error::Cut { .. } => Failure::new(Exit::Unreachable, what).hint("try again; `riverrun doctor` checks the way"),
            Error::Gap { .. } => Failure::new(Exit::Corrupt, what)
                .hint("`riverrun doctor` checks the store; the events before the hole are good"),
            Error::Malformed(_) | Error::Stream(_) => Failure::new(Exit::Failed, what)
                .hint("is this a riverrun server, and of the same version? compare `riverrun version` on both sides"),
            Error::Untrusted { .. } => Failure::new(Exit::Unreachable, what)
                .hint("name the CA of the server with SSL_CERT_FILE=ca.pem, and the host as in its certificate"),
            Error::Url(_) => Failure::new(Exit::Usage, what).hint("set --url or RIVERRUN_URL"),
            Error::BadKey => Failure::new(Exit::Usage, what).hint("check RIVERRUN_KEY or the key file for stray characters"),
        }
    }
}

fn from_problem(problem: Problem) -> Failure {
    let (exit, hint) = match problem.status {
        400 if problem.code == "unknown_agent" => (Exit::NotFound, None),
        401 => {
            (Exit::Auth, Some("set RIVERRUN_KEY, or --key-file DIR/admin.key of the server's data directory"))
        }
        403 | 421 => {
            (Exit::Auth, Some("use a key with the scope; `riverrun keys list` shows what each may do"))
        }
        404 | 410 => (Exit::NotFound, Some("`riverrun sessions` lists what this key can see")),
        408 => (Exit::TimedOut, Some("try again")),
        429 | 503 => (Exit::Failed, Some("try again in a moment")),
        507 => (Exit::Failed, Some("free space on the server's disk")),
        _ => (Exit::Failed, None),
    };
    let mut what = problem.detail;
    if let Some(field) = &problem.field {
        what.push_str(&format!(" (field {field})"));
    }
    if let Some(limit) = problem.limit {
        what.push_str(&format!(" (limit {limit})"));
    }
    if let Some(request) = &problem.request_id {
        what.push_str(&format!(" [request {request}]"));
    }
    Failure { exit, what, hint: hint.map(str::to_owned), code: Some(problem.code), quiet: false }
}
