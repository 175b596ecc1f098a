//! `riverrun cancel|retry|steer|queue|agents`.

use clap::Args;
use riverrun_client::Client;
use riverrun_client::operations::{
    Agent, AgentTool, CancelMode, CancelTurnRequest, GetStateRequest, ListAgentsRequest, ListQueueRequest,
    PromoteQueuedTurnRequest, RemoveQueuedTurnRequest, RetryTurnRequest, SteerTurnRequest,
};
use riverrun_event::{SessionId, TurnId};

use super::Context;
use super::connect::resolve_session;
use super::exit::{Exit, Failure, Outcome};
use super::terminal::{Mark, Tone, shorten};

#[derive(Debug, Args)]
pub struct CancelArgs {
    /// An id, the beginning of one, or `-` for the session that changed last.
    session: String,
    /// The turn; the running one without it.
    turn: Option<TurnId>,
    /// Let the current step, a model call and its tools, come to its end.
    #[arg(long)]
    after_turn: bool,
}

#[derive(Debug, Args)]
pub struct RetryArgs {
    /// An id, the beginning of one, or `-` for the session that changed last.
    session: String,
    /// The turn; the last one without it.
    turn: Option<TurnId>,
}

#[derive(Debug, Args)]
pub struct SteerArgs {
    /// An id, the beginning of one, or `-` for the session that changed last.
    session: String,
    /// What the agent should know.
    input: String,
    /// The turn; the running one without it.
    #[arg(long)]
    turn: Option<TurnId>,
}

#[derive(Debug, Args)]
pub struct QueueArgs {
    /// An id, the beginning of one, or `-` for the session that changed last.
    session: String,
    /// Take this turn out of the queue; it ends as cancelled.
    #[arg(long, value_name = "TURN", conflicts_with = "promote")]
    remove: Option<TurnId>,
    /// Put this turn in front.
    #[arg(long, value_name = "TURN")]
    promote: Option<TurnId>,
}

pub async fn cancel(args: CancelArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    let turn = match args.turn {
        Some(turn) => turn,
        None => running(&client, &session).await?,
    };
    let mode = if args.after_turn { CancelMode::AfterTurn } else { CancelMode::Immediate };
    let request =
        CancelTurnRequest { mode: Some(mode), ..CancelTurnRequest::new(session.as_str(), turn.as_str()) };
    let cancelled = client.cancel_turn(&request).await?;
    if context.output.json {
        return context.output.document(&cancelled);
    }
    let style = context.output.style();
    let mark = style.mark(Mark::of_status(&cancelled.status), &cancelled.status);
    context.output.line(&format!("{mark}  {turn}"))
}

pub async fn retry(args: RetryArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    let turn = match args.turn {
        Some(turn) => turn,
        None => last(&client, &session).await?,
    };
    let again = client.retry_turn(&RetryTurnRequest::new(session.as_str(), turn.as_str())).await?;
    if context.output.json {
        return context.output.document(&again);
    }
    context.output.line(&format!("{}  {turn}", again.status))?;
    context.output.note(&format!("watch it: riverrun tail {session} --turn {turn} --after {}", again.cursor));
    Ok(())
}

pub async fn steer(args: SteerArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    let turn = match args.turn {
        Some(turn) => turn,
        None => running(&client, &session).await?,
    };
    let request = SteerTurnRequest::new(args.input.into(), session.as_str(), turn.as_str());
    let steered = client.steer_turn(&request).await?;
    if context.output.json {
        return context.output.document(&steered);
    }
    context.output.line(&format!("{}  {turn}", steered.status))
}

pub async fn queue(args: QueueArgs, context: &Context) -> Outcome {
    let client = context.connect.client()?;
    let session = resolve_session(&client, &args.session).await?;
    if let Some(turn) = &args.remove {
        client.remove_queued_turn(&RemoveQueuedTurnRequest::new(session.as_str(), turn.as_str())).await?;
    }
    let queue = match &args.promote {
        Some(turn) => {
            let request = PromoteQueuedTurnRequest::new(session.as_str(), turn.as_str());
            client.promote_queued_turn(&request).await?.queue
        }
        None => client.list_queue(&ListQueueRequest::new(session.as_str())).await?.queue,
    };
    if context.output.json {
        return context.output.document(&queue);
    }
    if queue.is_empty() {
        context.output.note("no turn waits");
    }
    let style = context.output.style();
    for turn in queue {
        let id = style.paint(Tone::Id, &turn.turn_id);
        context.output.line(&format!("{:3}  {id}  {}", turn.position, shorten(&turn.preview, 60)))?;
    }
    Ok(())
}

pub async fn agents(context: &Context) -> Outcome {
    let found = context.connect.client()?.list_agents(&ListAgentsRequest::new()).await?;
    if context.output.json {
        return context.output.document(&found);
    }
    let style = context.output.style();
    let name = |agent: &Agent| shorten(&agent.name, 40).to_string();
    let models = |agent: &Agent| shorten(&agent.models.join(", "), 40).to_string();
    let (names_width, models_width) = (widest(&found.agents, name), widest(&found.agents, models));
    for agent in &found.agents {
        let mark = if agent.is_default { "*" } else { " " };
        let name = style.paint(Tone::Id, &format!("{:names_width$}", name(agent)));
        context.output.line(&format!(
            "{mark} {name} {:models_width$} {}",
            models(agent),
            shorten(agent.description.as_deref().unwrap_or_default(), 80)
        ))?;
        for (label, said) in details(agent) {
            if !said.is_empty() {
                let label = style.paint(Tone::Dim, &format!("{label:10}"));
                context.output.line(&format!("    {label} {}", shorten(&said, 100)))?;
            }
        }
    }
    let providers = found.providers.join(", ");
    if !providers.is_empty() {
        context.output.note(&format!("also: {}", shorten(&providers, 100)));
    }
    Ok(())
}

/// What an agent may use, with labels.
fn details(agent: &Agent) -> [(&'static str, String); 3] {
    let tool = |tool: &AgentTool| match tool.policy.as_str() {
        "allowed" => tool.name.clone(),
        policy => format!("{} ({policy})", tool.name),
    };
    let tools: Vec<String> = agent.tools.iter().map(tool).collect();
    [
        ("tools", tools.join(", ")),
        ("sub-agents", agent.subagents.join(", ")),
        ("hands to", agent.handoffs.join(", ")),
    ]
}

/// How wide a column must be.
fn widest(agents: &[Agent], said: impl Fn(&Agent) -> String) -> usize {
    agents.iter().map(|agent| said(agent).chars().count()).max().unwrap_or_default()
}

/// The turn of the session that runs now.
pub async fn running(client: &Client, session: &SessionId) -> Outcome<TurnId> {
    let state = client.get_state(&GetStateRequest::new(session.as_str())).await?;
    let active =
        state["threads"].as_array().into_iter().flatten().find_map(|thread| thread["activeTurnId"].as_str());
    active.and_then(|turn| TurnId::new(turn).ok()).ok_or_else(|| {
        Failure::new(Exit::NotFound, format_args!("no turn of session `{session}` runs now"))
            .hint(format_args!("`riverrun state {session}` shows its turns"))
    })
}

async fn last(client: &Client, session: &SessionId) -> Outcome<TurnId> {
    let state = client.get_state(&GetStateRequest::new(session.as_str())).await?;
    let last =
        state["turns"].as_array().and_then(|turns| turns.last()).and_then(|turn| turn["turnId"].as_str());
    last.and_then(|turn| TurnId::new(turn).ok()).ok_or_else(|| {
        Failure::new(Exit::NotFound, format_args!("session `{session}` has no turn"))
            .hint(format_args!("submit one: riverrun run --session {session} \"…\""))
    })
}
