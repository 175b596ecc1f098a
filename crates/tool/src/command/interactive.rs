//! A command that can be spoken to while it runs, and whose output is told as it comes.

use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use riverrun_secret::Redacting;
use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::spool::{Spool, When};
use super::{CommandTool, LATE};
use crate::host::{
    HowEnded, Orders, OutputStream, ProcessEnd, ProcessHost, ProcessPlan, StdinChunk, Terminate,
};
use crate::mark::{CALL, MARK};
use crate::process::{GRACE, Group, Pipes, Program};
use crate::run::cancelled;
use crate::scrub::Scrubber;
use crate::{ToolError, ToolErrorKind, ToolOutput, ToolRequest, ValueSource};

/// Who ends a process when nobody else does.
const TIMEOUT: &str = "timeout";
const FLOOD: &str = "output_limit";
/// A process that writes this many times what is kept of it is stopped.
const TIMES: u64 = 64;
/// What the model reads of the output.
const FOR_MODEL: usize = 16 * 1024;
const PREVIEW: usize = 768;
const LONGEST_COMMAND: usize = 500;

impl CommandTool {
    pub(super) async fn run_interactive(
        &self,
        mut program: Program,
        call: ToolRequest,
        secrets: Scrubber,
    ) -> Result<ToolOutput, ToolError> {
        let name = &self.definition.name;
        let Some(host) = call.process.clone() else {
            let text = "is interactive, and runs only where somebody can write to it: in a turn of a runner";
            return Err(self.error(ToolErrorKind::Unavailable, text));
        };
        let Some(orders) = host.begin(self.plan(&program)).await else { return Err(cancelled(name)) };
        program.env.insert(MARK.to_owned(), ValueSource::Plain(host.id().to_owned()));
        if !call.mark.is_empty() {
            program.env.insert(CALL.to_owned(), ValueSource::Plain(call.mark.clone()));
        }
        let began = Instant::now();
        let started = tokio::select! {
            () = call.cancel.cancelled() => return Err(cancelled(name)),
            started = program.start_in_turn() => started,
        };
        let (group, pipes) = match started {
            Ok(started) => started,
            Err(error) => {
                let text = format!("cannot be started: {error}");
                host.end(Talk::new(0, secrets).end(HowEnded::Failed(text.clone()), began.elapsed())).await;
                return Err(self.error(ToolErrorKind::Unavailable, &text));
            }
        };
        let mut talk = Talk::new(self.output_limit, secrets);
        let how = tokio::select! {
            () = call.cancel.cancelled() => return Err(cancelled(name)),
            how = talk.follow(group, pipes, orders, &*host, self.time) => how,
        };
        let result = self.result(&talk, &how);
        host.end(talk.end(how, began.elapsed())).await;
        result
    }

    fn plan(&self, program: &Program) -> ProcessPlan {
        let flags = self.definition.flags;
        ProcessPlan {
            command: summary(&program.argv),
            cwd: program.cwd.clone(),
            destructive: flags.destructive && !flags.read_only,
            timeout: self.time,
            output_limit: self.output_limit,
            limits: self.program.limits.clone(),
        }
    }

    fn result(&self, talk: &Talk, how: &HowEnded) -> Result<ToolOutput, ToolError> {
        let limits = &self.program.limits;
        let hint = limits.hint();
        let (kind, text) = match how {
            HowEnded::Exited(0) => return Ok(ToolOutput::text(talk.stdout.shown(FOR_MODEL).trim_end())),
            HowEnded::Exited(code) => (ToolErrorKind::Failed, format!("ended with exit code {code}{hint}")),
            HowEnded::Signalled(signal) => match limits.passed(number(signal)) {
                Some(text) => (ToolErrorKind::LimitPassed, text),
                None => (ToolErrorKind::Crashed, format!("was killed by {signal}{hint}")),
            },
            HowEnded::Failed(text) => (ToolErrorKind::Crashed, text.clone()),
            HowEnded::Terminated(Terminate { by, .. }) if by == TIMEOUT => {
                let text = format!("did not end within {} ms and was stopped", self.time.as_millis());
                (ToolErrorKind::Timeout, text)
            }
            HowEnded::Terminated(Terminate { by, .. }) if by == FLOOD => {
                let text = format!(
                    "wrote far more than the {} bytes that are kept, and was stopped",
                    self.output_limit
                );
                (ToolErrorKind::LimitPassed, text)
            }
            HowEnded::Terminated(Terminate { reason, .. }) => {
                let why = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
                (ToolErrorKind::Cancelled, format!("was ended from outside{why}"))
            }
        };
        let section = |name, spool: &Spool| match spool.shown(FOR_MODEL / 2).trim_end() {
            "" => String::new(),
            text => format!("\n{name}:\n{text}"),
        };
        let (out, errors) = (section("stdout", &talk.stdout), section("stderr", &talk.stderr));
        Err(self.error(kind, &format!("{text}{out}{errors}")))
    }
}

/// The number of a signal that is told as `signal N`.
fn number(signal: &str) -> Option<i32> {
    signal.strip_prefix("signal ")?.parse().ok()
}

/// What a process said so far.
struct Talk {
    stdout: Spool,
    stderr: Spool,
    /// What may be the beginning of a secret is held back until more comes, or the end.
    clean: (Redacting, Redacting),
}

impl Talk {
    fn new(limit: usize, secrets: Scrubber) -> Self {
        let (stdout, stderr) =
            (Spool::new(OutputStream::Stdout, limit), Spool::new(OutputStream::Stderr, limit));
        Self { stdout, stderr, clean: (secrets.stream(), secrets.stream()) }
    }

    /// Until the process has ended and all that it wrote was told. Dropping this ends the whole group.
    async fn follow(
        &mut self,
        mut group: Group,
        pipes: Pipes,
        orders: Orders,
        host: &dyn ProcessHost,
        time: Duration,
    ) -> HowEnded {
        let Pipes { stdin, stdout, stderr } = pipes;
        let Orders { input, mut terminate } = orders;
        let (sender, mut chunks) = mpsc::channel(8);
        let mut read = pin!(async {
            tokio::join!(
                read(stdout, OutputStream::Stdout, &sender),
                read(stderr, OutputStream::Stderr, &sender)
            )
        });
        let mut write = pin!(write(stdin, input));
        let mut over = pin!(group.over());
        let (mut limit, mut kill, mut late) =
            (pin!(sleep(time)), pin!(sleep(Duration::MAX)), pin!(sleep(Duration::MAX)));
        let (mut status, mut stopped, mut is_heard) = (None, None, true);
        let (mut is_read, mut is_written) = (false, false);
        while status.is_none() || !is_read {
            let due = self.due();
            let stop = tokio::select! {
                Some((stream, bytes)) = chunks.recv() => { self.forward(stream, &bytes, host).await; self.flood() }
                _ = &mut read, if !is_read => { is_read = true; None }
                () = &mut write, if !is_written => { is_written = true; None }
                () = &mut over, if status.is_none() => {
                    status = Some(group.wait().await);
                    late.as_mut().reset(Instant::now() + LATE);
                    None
                }
                asked = &mut terminate, if is_heard => { is_heard = false; asked.ok() }
                () = &mut limit, if stopped.is_none() => Some(ourselves(TIMEOUT)),
                () = &mut kill, if status.is_none() => { group.signal(Signal::KILL); None }
                () = &mut late, if status.is_some() => break,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => { self.flush(When::Due, host).await; None }
            };
            if let Some(stop) = stop.filter(|_| stopped.is_none() && status.is_none()) {
                stopped = Some(stop);
                group.signal(Signal::TERM);
                kill.as_mut().reset(Instant::now() + GRACE);
            }
        }
        while let Ok((stream, bytes)) = chunks.try_recv() {
            self.forward(stream, &bytes, host).await;
        }
        for stream in [OutputStream::Stdout, OutputStream::Stderr] {
            let tail = self.clean(stream).end();
            self.spool(stream).push(&tail);
        }
        self.flush(When::Last, host).await;
        how_ended(stopped, status)
    }

    fn spool(&mut self, stream: OutputStream) -> &mut Spool {
        match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        }
    }

    fn clean(&mut self, stream: OutputStream) -> &mut Redacting {
        match stream {
            OutputStream::Stdout => &mut self.clean.0,
            OutputStream::Stderr => &mut self.clean.1,
        }
    }

    async fn forward(&mut self, stream: OutputStream, bytes: &[u8], host: &dyn ProcessHost) {
        let bytes = self.clean(stream).push(bytes);
        self.spool(stream).push(&bytes);
        self.flush(When::Full, host).await;
    }

    async fn flush(&mut self, when: When, host: &dyn ProcessHost) {
        let now = Instant::now();
        for spool in [&mut self.stdout, &mut self.stderr] {
            if when == When::Due && spool.due().is_none_or(|due| due > now) {
                continue;
            }
            while let Some(part) = spool.part(when) {
                host.output(part).await;
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        self.stdout.due().into_iter().chain(self.stderr.due()).min()
    }

    fn flood(&self) -> Option<Terminate> {
        let most = self.stdout.limit().saturating_mul(TIMES);
        (self.stdout.total + self.stderr.total > most).then(|| ourselves(FLOOD))
    }

    fn end(mut self, how: HowEnded, duration: Duration) -> ProcessEnd {
        let shown_stream = if self.stdout.total > 0 { &self.stdout } else { &self.stderr };
        ProcessEnd {
            how,
            duration,
            output_bytes: self.stdout.total + self.stderr.total,
            preview: shown_stream.shown(PREVIEW),
            large: self.stdout.large().into_iter().chain(self.stderr.large()).collect(),
        }
    }
}

fn ourselves(by: &str) -> Terminate {
    Terminate { by: by.to_owned(), reason: None }
}

fn how_ended(stopped: Option<Terminate>, status: Option<std::io::Result<ExitStatus>>) -> HowEnded {
    use std::os::unix::process::ExitStatusExt;
    if let Some(stopped) = stopped {
        return HowEnded::Terminated(stopped);
    }
    match status {
        Some(Ok(status)) => match (status.code(), status.signal()) {
            (Some(code), _) => HowEnded::Exited(code),
            (None, Some(signal)) => HowEnded::Signalled(format!("signal {signal}")),
            (None, None) => HowEnded::Failed(format!("ended with {status}")),
        },
        Some(Err(error)) => HowEnded::Failed(format!("was lost: {error}")),
        None => HowEnded::Failed("was lost: its end was not seen".to_owned()),
    }
}

async fn read(
    mut from: impl AsyncRead + Unpin,
    stream: OutputStream,
    to: &mpsc::Sender<(OutputStream, Vec<u8>)>,
) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if to.send((stream, buffer[..read].to_vec())).await.is_err() {
            return;
        }
    }
}

/// A program that does not read its input is as good as one that does.
async fn write(mut stdin: ChildStdin, mut input: mpsc::Receiver<StdinChunk>) {
    while let Some(StdinChunk { bytes, is_last }) = input.recv().await {
        if stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err() || is_last {
            return;
        }
    }
}

/// The command line as a person would write it, cut.
fn summary(argv: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,+@%".contains(c);
    let word = |word: &String| match word.is_empty() || !word.chars().all(is_plain) {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => word.clone(),
    };
    let line = argv.iter().map(word).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_COMMAND) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
