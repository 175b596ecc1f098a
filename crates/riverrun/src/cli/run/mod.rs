//! `riverrun run [AGENT] "input"`: submits a turn, shows it, asks what it asks.

mod answer;
mod input;
mod keyboard;
mod place;
mod watch;

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;
use riverrun_client::operations::{CreateSessionRequest, DeleteSessionRequest};
use riverrun_client::{Client, NewTurn};
use riverrun_event::{SessionId, ThreadId};
use serde_json::Value;

use super::Context;
use super::connect::resolve_session;
use super::exit::{Exit, Failure, Outcome};
use place::Place;
use watch::{Ending, Watch};

#[derive(Debug, Args)]
#[command(override_usage = "riverrun run [OPTIONS] [AGENT] [INPUT]")]
pub struct RunArgs {
    /// The agent and what it is asked. One word that names no agent is the input of the default one. What is missing is
    /// asked for, or read from stdin if that is no terminal; `-` reads stdin always.
    #[arg(value_name = "AGENT INPUT", num_args = 0..=2)]
    words: Vec<String>,
    /// Go on in this session: an id, the beginning of one, or `-` for the one that changed last.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// The thread; `main` without it.
    #[arg(long)]
    thread: Option<ThreadId>,
    /// What to do if the thread has a turn already.
    #[arg(long, value_parser = ["queue", "reject", "interrupt", "steer"])]
    busy: Option<String>,
    /// Submit and leave.
    #[arg(long)]
    detach: bool,
    /// Ask nothing: leave with exit code 5 when a decision is needed.
    #[arg(long)]
    no_input: bool,
    /// The data directory of a server in this process.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The configuration of a server in this process.
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub async fn run(args: RunArgs, context: &Context) -> Outcome {
    let place = Place::find(context, args.config.as_deref(), args.data_dir.as_deref()).await?;
    let result = run_at(&args, &place, context).await;
    let closed = place.close().await;
    result.and(closed)
}

async fn run_at(args: &RunArgs, place: &Place, context: &Context) -> Outcome {
    let client = &place.client;
    if let (true, Some(serve)) = (args.detach, place.needed_server()) {
        return Err(Failure::new(
            Exit::Usage,
            "--detach needs a server that goes on with the turn, and none runs",
        )
        .hint(format_args!("start `{serve}` first")));
    }
    let may_ask = !args.no_input && !context.output.json && std::io::stdin().is_terminal();
    let (agent, input) = input::said(&args.words, client, may_ask).await?;
    let session = match &args.session {
        Some(typed) => resolve_session(client, typed).await?,
        None => new_session(client, agent.clone(), &input).await?,
    };
    let turn = NewTurn {
        input: Value::from(input),
        thread_id: args.thread.clone(),
        agent,
        busy: args.busy.clone(),
        source: Some("cli".to_owned()),
        ..NewTurn::default()
    };
    let turn = match client.submit(&session, &turn).await {
        Ok(turn) => turn,
        Err(error) => {
            // Nothing was said in a session that was made for this turn alone.
            if args.session.is_none() {
                let _ = client.delete_session(&DeleteSessionRequest::new(session.as_str())).await;
            }
            return Err(error.into());
        }
    };
    if args.detach {
        return detached(&session, &turn, context);
    }
    let mut watch = Watch::new(client.clone(), session, turn, context.output, may_ask)?;
    let ending = watch.run().await?;
    watch.tell(&ending, place.needed_server().as_deref())?;
    match ending {
        Ending::Completed => Ok(()),
        Ending::Failed => Err(Failure::silent(Exit::Failed)),
        Ending::Cancelled => Err(Failure::silent(Exit::Cancelled)),
        Ending::Waiting => Err(Failure::silent(Exit::Waiting)),
        Ending::Left => Err(Failure::silent(Exit::Interrupted)),
    }
}

async fn new_session(client: &Client, agent: Option<String>, input: &str) -> Outcome<SessionId> {
    let title: String = input.lines().next().unwrap_or_default().chars().take(80).collect();
    let new = CreateSessionRequest { agent, title: Some(title), ..CreateSessionRequest::new() };
    crate::cli::connect::session_id(&client.create_session(&new).await?.session_id)
}

fn detached(session: &SessionId, turn: &riverrun_client::Turn, context: &Context) -> Outcome {
    if context.output.json {
        let mut answer = serde_json::to_value(turn).unwrap_or_default();
        answer["sessionId"] = session.as_str().into();
        return context.output.document(&answer);
    }
    context.output.line(session.as_str())?;
    context.output.note(&format!("watch it: riverrun tail {session} --turn {}", turn.turn_id));
    Ok(())
}
