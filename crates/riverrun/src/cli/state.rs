//! `riverrun state SESSION`: the folded state, now or at any sequence.

mod tree;

use clap::Args;
use riverrun_client::operations::GetStateRequest;
use riverrun_event::Sequence;
use std::io::IsTerminal;

use super::Context;
use super::connect::resolve_session;
use super::exit::Outcome;
use super::terminal::width;

#[derive(Debug, Args)]
pub struct StateArgs {
    /// An id, the beginning of one, or `-` for the session that changed last.
    session: String,
    /// As it was at this sequence. A read: nothing runs again.
    #[arg(long, value_name = "SEQUENCE", value_parser = parse_sequence)]
    at: Option<Sequence>,
    /// As a tree of turns, tasks and items (the default on a terminal).
    #[arg(long, conflicts_with = "json")]
    tree: bool,
}

pub async fn run(args: StateArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    let at = args.at.map(|at| at.to_string());
    let request = GetStateRequest { at, ..GetStateRequest::new(session.as_str()) };
    let state = client.get_state(&request).await?;
    let as_tree = args.tree || (!context.output.json && std::io::stdout().is_terminal());
    if as_tree {
        return context.output.data(&tree::draw(&state, context.output.style(), width()));
    }
    context.output.document(&state)
}

fn parse_sequence(text: &str) -> Result<Sequence, String> {
    text.parse().ok().and_then(Sequence::new).ok_or_else(|| format!("`{text}` is not a sequence"))
}
