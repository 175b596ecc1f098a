//! `riverrun process list|write|terminate`.

use std::io::Read;

use clap::{Args, Subcommand};
use riverrun_client::operations::{ListProcessesRequest, TerminateProcessRequest, WriteProcessStdinRequest};
use riverrun_event::ProcessId;

use super::Context;
use super::connect::resolve_session;
use super::exit::{Exit, Failure, Outcome};
use super::terminal::{Mark, Tone, shorten};

#[derive(Debug, Args)]
pub struct ProcessArgs {
    #[command(subcommand)]
    command: ProcessCommand,
}

#[derive(Debug, Subcommand)]
enum ProcessCommand {
    /// List the processes that tools run or ran.
    List {
        /// An id, the beginning of one, or `-` for the session that changed last.
        session: String,
    },
    /// Give a running process a line to read.
    Write(WriteArgs),
    /// End a running process.
    Terminate {
        /// An id, the beginning of one, or `-` for the session that changed last.
        session: String,
        process: ProcessId,
        /// Why, for the record.
        #[arg(long)]
        reason: Option<String>,
    },
}

#[derive(Debug, Args)]
struct WriteArgs {
    /// An id, the beginning of one, or `-` for the session that changed last.
    session: String,
    process: ProcessId,
    /// The line; without it, what stdin holds is written as it is.
    text: Option<String>,
    /// Keep the text nowhere. It is read from stdin, where no list of processes shows it.
    #[arg(long, conflicts_with = "text")]
    secret: bool,
    /// Nothing comes behind it.
    #[arg(long)]
    end: bool,
}

pub async fn run(args: ProcessArgs, context: &Context) -> Outcome {
    match args.command {
        ProcessCommand::List { session } => list(&session, context).await,
        ProcessCommand::Write(args) => write(args, context).await,
        ProcessCommand::Terminate { session, process, reason } => {
            let client = context.connect.client()?;
            let session = resolve_session(&client, &session).await?;
            let request = TerminateProcessRequest::new(process.as_str(), session.as_str());
            let over = client.terminate_process(&TerminateProcessRequest { reason, ..request }).await?;
            if context.output.json {
                return context.output.document(&over);
            }
            context.output.line(&ended_line(&over.status, &over.process_id, over.exit_code, context))
        }
    }
}

async fn list(session: &str, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, session).await?;
    let found = client.list_processes(&ListProcessesRequest::new(session.as_str())).await?;
    if context.output.json {
        return context.output.document(&found);
    }
    if found.processes.is_empty() {
        context.output.note("no tool ran a process");
    }
    for process in &found.processes {
        let command = process.command_summary.as_deref().unwrap_or_default();
        let line = ended_line(process.status.as_str(), &process.process_id, process.exit_code, context);
        context.output.line(&format!("{line}  {}", shorten(command, 60)))?;
    }
    Ok(())
}

async fn write(args: WriteArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    let text = match args.text {
        Some(text) => format!("{text}\n"),
        None => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| Failure::new(Exit::Io, format_args!("cannot read stdin: {error}")))?;
            text
        }
    };
    let request = WriteProcessStdinRequest {
        text: Some(text),
        secret: Some(args.secret),
        end_of_input: Some(args.end),
        ..WriteProcessStdinRequest::new(args.process.as_str(), session.as_str())
    };
    let written = client.write_process_stdin(&request).await?;
    if context.output.json {
        return context.output.document(&written);
    }
    context.output.line(&format!("{} bytes  {}", written.size, args.process))
}

fn ended_line(status: &str, id: &str, code: Option<i64>, context: &Context) -> String {
    let style = context.output.style();
    let id = style.paint(Tone::Id, id);
    let code = code.map(|code| format!("  exit code {code}")).unwrap_or_default();
    format!("{}  {id}{code}", style.mark(Mark::of_status(status), status))
}
