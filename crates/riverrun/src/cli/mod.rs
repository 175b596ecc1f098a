//! The command line: one file per command.
//!
//! Nothing here knows how a server stores or delivers; commands go through the public client, or through one
//! function per file that calls another crate.

mod agents;
mod backup;
mod bench;
mod completion;
mod config;
mod connect;
mod control;
mod decide;
mod doctor;
mod duration;
mod exit;
mod export;
mod import;
mod interrupt;
mod jobs;
mod keys;
mod output;
mod pause;
mod play;
mod process;
mod progress;
mod quotas;
mod reload;
mod rpc;
mod rules;
mod run;
mod serve;
mod sessions;
mod share;
mod start;
mod state;
mod store;
mod tail;
mod terminal;
mod usage;
mod version;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use connect::ConnectArgs;
use exit::{Exit, Failure, Outcome};
use output::Output;
use terminal::ColorChoice;

/// Every agent response as a durable, sequenced, resumable stream.
///
/// Without a command, riverrun serves with its defaults and says what to do next.
#[derive(Debug, Parser)]
#[command(name = "riverrun", version, disable_help_subcommand = true, after_help = AFTER_HELP)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    connect: ConnectArgs,
    /// One JSON document on stdout, or one per line for streams.
    #[arg(long, global = true, help_heading = "Output")]
    json: bool,
    /// Data and errors only.
    #[arg(short, long, global = true, help_heading = "Output")]
    quiet: bool,
    /// When to use colour; NO_COLOR and CLICOLOR_FORCE are heeded too.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN", help_heading = "Output")]
    color: ColorChoice,
}

const AFTER_HELP: &str = "Exit codes and environment: docs/cli.md.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the server.
    Serve(serve::ServeArgs),
    /// Run an agent and watch it. Without a server, one is started in this process.
    Run(run::RunArgs),
    /// Approve what an agent waits for; without an id or a flag, list what waits.
    Approve(decide::ApproveArgs),
    /// Reject what an agent waits for.
    Reject(decide::RejectArgs),
    /// Answer what an agent asks.
    Respond(decide::RespondArgs),
    /// List the decisions that were given for always, or take one back.
    Rules(rules::RulesArgs),
    /// Make a link by which anybody who has it may read a session up to now; list or revoke links.
    Share(share::ShareArgs),
    /// Stop a turn.
    Cancel(control::CancelArgs),
    /// Halt a running turn at its next boundary.
    Pause(pause::PauseArgs),
    /// Let a halted turn go on.
    Resume(pause::PauseArgs),
    /// Run an ended turn again.
    Retry(control::RetryArgs),
    /// Give a running turn more input.
    Steer(control::SteerArgs),
    /// List the turns that wait, remove or promote one.
    Queue(control::QueueArgs),
    /// List the processes of a session, write to one, end one.
    Process(process::ProcessArgs),
    /// List the jobs of a session, show or cancel one, try a failed item again.
    Jobs(jobs::JobsArgs),
    /// List the agents of the server with their tools.
    Agents,
    /// Follow a session; reconnects by itself.
    Tail(tail::TailArgs),
    /// List sessions.
    Sessions(sessions::SessionsArgs),
    /// Show a session's folded state, now or at any sequence.
    State(state::StateArgs),
    /// Play a recording through ingest, with its pauses.
    #[command(visible_alias = "replay")]
    Play(play::PlayArgs),
    /// Write a session to a file.
    Export(export::ExportArgs),
    /// Make a session from an export.
    Import(import::ImportArgs),
    /// Check the server, the key, the clock, the data directory, the providers and the MCP servers.
    Doctor(doctor::DoctorArgs),
    /// Show, check or describe the configuration.
    Config(config::ConfigArgs),
    /// Make, list, rotate and revoke keys; recover a lost admin key.
    Keys(keys::KeysArgs),
    /// List the tenants that have keys.
    Tenants,
    /// Show what the tenant uses and may use.
    Usage(quotas::TenantArgs),
    /// Show which finished sessions lose their events within a day.
    Retention(quotas::RetentionArgs),
    /// Measure a server on this machine.
    Bench(bench::BenchArgs),
    /// Speak JSON-RPC over stdin and stdout.
    Rpc(rpc::RpcArgs),
    /// Write a consistent copy of the data directory.
    Backup(backup::BackupArgs),
    /// Print the completion script of a shell.
    Completion(completion::CompletionArgs),
    /// Print the version.
    Version,
}

/// What every command gets.
pub struct Context {
    connect: ConnectArgs,
    output: Output,
}

pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::told(&error),
    };
    if starts_programs(cli.command.as_ref()) {
        protect_secrets();
    }
    let output = Output { json: cli.json, quiet: cli.quiet, color: cli.color };
    let context = Context { connect: cli.connect, output };
    match start(cli.command, &context) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit as u8)
        }
    }
}

/// True for commands that run agents in this process, or start the programs of the configuration.
fn starts_programs(command: Option<&Command>) -> bool {
    matches!(command, None | Some(Command::Serve(_) | Command::Run(_) | Command::Doctor(_)))
}

/// Programs that agents start run as the same user: they find no secrets of this process, and leave nothing behind.
fn protect_secrets() {
    if let Err(problem) = riverrun_secret::hide_environment() {
        eprintln!("warning: programs that agents start can read this environment: {problem}");
    }
    riverrun_secret::forbid_dumps();
    riverrun_tool::use_supervisor("/proc/self/exe".into());
}

fn start(command: Option<Command>, context: &Context) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Exit::Io, format_args!("cannot start: {e}")))?;
    let result = runtime.block_on(carry_out(command, context));
    // A read of stdin cannot be cancelled; waiting for it would hang an interrupted command.
    runtime.shutdown_background();
    result
}

async fn carry_out(command: Option<Command>, context: &Context) -> Outcome {
    match command {
        None => serve::run(serve::ServeArgs::default(), context).await,
        Some(Command::Serve(args)) => serve::run(args, context).await,
        Some(Command::Run(args)) => run::run(args, context).await,
        Some(Command::Approve(args)) => decide::approve(args, context).await,
        Some(Command::Reject(args)) => decide::reject(args, context).await,
        Some(Command::Respond(args)) => decide::respond(args, context).await,
        Some(Command::Rules(args)) => rules::run(args, context).await,
        Some(Command::Share(args)) => share::run(args, context).await,
        Some(Command::Cancel(args)) => control::cancel(args, context).await,
        Some(Command::Pause(args)) => pause::run(args, true, context).await,
        Some(Command::Resume(args)) => pause::run(args, false, context).await,
        Some(Command::Retry(args)) => control::retry(args, context).await,
        Some(Command::Steer(args)) => control::steer(args, context).await,
        Some(Command::Queue(args)) => control::queue(args, context).await,
        Some(Command::Process(args)) => process::run(args, context).await,
        Some(Command::Jobs(args)) => jobs::run(args, context).await,
        Some(Command::Agents) => control::agents(context).await,
        Some(Command::Tail(args)) => tail::run(args, context).await,
        Some(Command::Sessions(args)) => sessions::run(args, context).await,
        Some(Command::State(args)) => state::run(args, context).await,
        Some(Command::Play(args)) => play::run(args, context).await,
        Some(Command::Export(args)) => export::run(args, context).await,
        Some(Command::Import(args)) => import::run(args, context).await,
        Some(Command::Doctor(args)) => doctor::run(args, context).await,
        Some(Command::Config(args)) => config::run(args, context),
        Some(Command::Keys(args)) => keys::run(args, context).await,
        Some(Command::Tenants) => keys::tenants(context).await,
        Some(Command::Usage(args)) => quotas::usage(args, context).await,
        Some(Command::Retention(args)) => quotas::retention(args, context).await,
        Some(Command::Bench(args)) => bench::run(args, context).await,
        Some(Command::Rpc(args)) => rpc::run(args, context).await,
        Some(Command::Backup(args)) => backup::run(args, context).await,
        Some(Command::Completion(args)) => completion::run(args, context),
        Some(Command::Version) => version::run(context),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_recording_is_played_by_either_name() {
        for name in ["play", "replay"] {
            assert!(Cli::try_parse_from(["riverrun", name, "file.ndjson"]).is_ok(), "{name}");
        }
    }
}
