//! Tools that are programs of this machine.
//!
//! The arguments arrive on standard input as JSON, and wherever the command line names them. Standard output is the
//! result: text, or a JSON object with `content` and `blockList`. A line `::progress …` tells progress instead.
//! `docs/tools.md` has the whole format.

mod interactive;
mod output;
mod reader;
mod spool;
mod template;

use std::io;
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::time::Instant;

use self::output::parse;
use self::reader::{Captured, Flood, read_output, read_tail};
use self::template::Template;
use crate::limits::signal_of;
use crate::mark::MARK;
use crate::process::{Group, Pipes, Program};
use crate::run::cancelled;
use crate::scrub::Scrubber;
use crate::{
    Flags, Runs, Tool, ToolDefinition, ToolError, ToolErrorKind, ToolFuture, ToolOutput, ToolRequest,
    ValueSource,
};

/// Output that arrives this long after the program's end belongs to something that escaped.
const LATE: Duration = Duration::from_secs(1);
const STDERR_TAIL: usize = 2048;
/// The variable that lets a program recognise a call which it had before.
const KEY: &str = "RIVERRUN_IDEMPOTENCY_KEY";

#[derive(Debug, Clone)]
pub struct CommandConfig {
    pub name: String,
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
    pub flags: Flags,
    pub timeout: Duration,
    /// In the command line `{name}` stands for an argument. A value is never split and never read by a shell.
    pub program: Program,
    /// Bytes of output that are kept.
    pub output_limit: usize,
    /// Its input stays open, so that it can be written to while it runs, and what it writes is told as it comes. It
    /// gets its arguments by the command line alone. Needs a host for its process.
    pub interactive: bool,
}

impl Default for CommandConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            parameters: serde_json::json!({"type": "object", "properties": {}}),
            flags: Flags::default(),
            timeout: Duration::from_secs(60),
            program: Program::default(),
            output_limit: 1024 * 1024,
            interactive: false,
        }
    }
}

pub struct CommandTool {
    definition: ToolDefinition,
    program: Program,
    template: Template,
    output_limit: usize,
    is_interactive: bool,
    /// How long the program may run.
    time: Duration,
}

/// An interactive program that is stopped gets the time to end, and what it wrote is still told.
const FAREWELL: Duration = Duration::from_secs(10);

impl CommandTool {
    /// Err says what is wrong with the command line.
    pub fn new(config: CommandConfig) -> Result<Self, String> {
        let template = Template::new(&config.program.argv, &config.parameters)
            .map_err(|problem| format!("the command line of the tool `{}`: {problem}", config.name))?;
        // Known from the start: another tool may find a secret before this one is called.
        config.program.scrubber();
        let (time, is_interactive) = (config.timeout, config.interactive);
        let definition = ToolDefinition {
            name: config.name,
            description: config.description,
            parameters: config.parameters,
            flags: config.flags,
            timeout: if is_interactive { time.saturating_add(FAREWELL) } else { time },
            source: "command".to_owned(),
            runs: Runs::program(&config.program),
        };
        let (program, output_limit) = (config.program, config.output_limit);
        Ok(Self { definition, program, template, output_limit, is_interactive, time })
    }

    async fn run(&self, call: ToolRequest) -> Result<ToolOutput, ToolError> {
        let argv = self
            .template
            .fill(&call.arguments)
            .map_err(|problem| self.error(ToolErrorKind::BadArguments, &problem))?;
        let secrets = self.program.scrubber();
        let mut program = Program { argv, ..self.program.clone() };
        program.env.insert(KEY.to_owned(), ValueSource::Plain(call.idempotency_key.clone()));
        if self.is_interactive {
            return self.run_interactive(program, call, secrets).await;
        }
        if !call.mark.is_empty() {
            program.env.insert(MARK.to_owned(), ValueSource::Plain(call.mark.clone()));
        }
        let started = tokio::select! {
            () = call.cancel.cancelled() => return Err(cancelled(&self.definition.name)),
            started = program.start_in_turn() => started,
        };
        let (group, pipes) = started.map_err(|error| {
            self.error(ToolErrorKind::Unavailable, &format!("cannot be started: {error}"))
        })?;
        let ended = tokio::select! {
            () = call.cancel.cancelled() => return Err(cancelled(&self.definition.name)),
            ended = self.follow(group, pipes, &call, secrets) => ended?,
        };
        // What came on the way is clean; what was written as JSON may have hidden it.
        secrets.result(self.ended(ended))
    }

    fn ended(&self, ended: Ended) -> Result<ToolOutput, ToolError> {
        let limits = &self.program.limits;
        let (kind, text) = match ended.status {
            Ok(status) if status.success() => return Ok(parse(ended.output)),
            Ok(status) => match limits.passed(signal_of(status)) {
                Some(text) => (ToolErrorKind::LimitPassed, text),
                // Without a code it was killed by a signal.
                None if status.code().is_none() => {
                    (ToolErrorKind::Crashed, format!("was killed ({status}){}", limits.hint()))
                }
                None => (ToolErrorKind::Failed, format!("ended with {status}{}", limits.hint())),
            },
            Err(error) => (ToolErrorKind::Crashed, format!("was lost: {error}")),
        };
        Err(self.error(kind, &format!("{text}{}", stderr_text(&ended.errors))))
    }

    /// Until the program has ended and all that it wrote was read. Dropping this ends the whole group.
    async fn follow(
        &self,
        mut group: Group,
        pipes: Pipes,
        call: &ToolRequest,
        secrets: Scrubber,
    ) -> Result<Ended, ToolError> {
        let Pipes { mut stdin, stdout, stderr } = pipes;
        let (mut output, mut errors) = (Captured::new(self.output_limit), Vec::new());
        let mut status = None;
        {
            let write = async {
                // A program that does not read its input is as good as one that does.
                let _ = stdin.write_all(call.arguments.to_string().as_bytes()).await;
                drop(stdin);
                Ok(())
            };
            let read = read_output(stdout, &mut output, &call.progress, secrets.stream());
            let read_errors = read_tail(stderr, &mut errors, STDERR_TAIL, secrets.stream());
            let mut talk = pin!(async { tokio::try_join!(write, read, read_errors) });
            let mut end = pin!(group.wait());
            let mut late = pin!(tokio::time::sleep(Duration::ZERO));
            let mut is_read = false;
            while status.is_none() || !is_read {
                tokio::select! {
                    talked = &mut talk, if !is_read => {
                        is_read = true;
                        talked.map_err(|Flood| self.flooded())?;
                    }
                    ended = &mut end, if status.is_none() => {
                        status = Some(ended);
                        late.as_mut().reset(Instant::now() + LATE);
                    }
                    () = &mut late, if status.is_some() => break,
                }
            }
        }
        let status = status.unwrap_or_else(|| Err(io::Error::other("its end was not seen")));
        Ok(Ended { status, output, errors })
    }

    fn flooded(&self) -> ToolError {
        let text =
            format!("wrote far more than the {} bytes that are kept, and was stopped", self.output_limit);
        self.error(ToolErrorKind::LimitPassed, &text)
    }

    fn error(&self, kind: ToolErrorKind, text: &str) -> ToolError {
        ToolError::new(kind, format!("the command of `{}` {text}", self.definition.name))
    }
}

struct Ended {
    status: io::Result<ExitStatus>,
    output: Captured,
    errors: Vec<u8>,
}

impl Tool for CommandTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn is_interactive(&self) -> bool {
        self.is_interactive
    }

    fn call(&self, call: ToolRequest) -> ToolFuture<'_> {
        Box::pin(self.run(call))
    }
}

/// The end of what the program said of its failure.
fn stderr_text(errors: &[u8]) -> String {
    let text = String::from_utf8_lossy(errors);
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}
