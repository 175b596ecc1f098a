//! Turns, queues, decisions, sub-agents: what the runner is asked over JSON-RPC. The bodies are those of HTTP.

use riverrun_event::{Input, ThreadId};
use riverrun_fold::read_model;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::carry::text;
use super::params;
use super::task_control::{cancel_task, retry_task, task_list};
use crate::app::App;
use crate::deliver::page;
use crate::edge::{Caller, Problem, decode_text, invalid, not_found};
use crate::route::{self, CancelBody, DecideBody, SubmitBody};

/// What the runner and its sessions can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    TurnSubmit,
    TurnCancel,
    TurnRetry,
    TurnSteer,
    QueueList,
    QueueRemove,
    QueuePromote,
    ActionDecide,
    AgentList,
    ThreadGet,
    TaskList,
    TaskCancel,
    TaskRetry,
    SubagentList,
    SubagentInput,
    SubagentClose,
    SessionExport,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfTurn {
    session_id: String,
    turn_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Cancel {
    session_id: String,
    turn_id: String,
    #[serde(default)]
    mode: riverrun_runner::CancelMode,
    reason: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Steer {
    session_id: String,
    turn_id: String,
    input: Input,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfThread {
    session_id: String,
    thread_id: Option<ThreadId>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ToSubagent {
    session_id: String,
    subagent_id: String,
    input: Input,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CloseSubagent {
    session_id: String,
    subagent_id: String,
    reason: Option<String>,
}

pub(super) async fn carry_out(
    app: &App,
    control: Control,
    caller: &Caller,
    params: &str,
) -> Result<String, Problem> {
    match control {
        Control::TurnSubmit => submit(app, caller, params).await,
        Control::TurnCancel => cancel(app, caller, params::read(params)?).await,
        Control::TurnRetry => {
            let of: OfTurn = params::read(params)?;
            let hub = app.hub(caller, &of.session_id).await?;
            Ok(text(&route::retry_turn(app, &hub, &of.turn_id, None).await?))
        }
        Control::TurnSteer => {
            let Steer { session_id, turn_id, input } = params::read(params)?;
            let hub = app.hub(caller, &session_id).await?;
            Ok(text(&route::steer_turn(app, &hub, &turn_id, input, None).await?))
        }
        Control::QueueList => {
            let of: OfThread = params::read(params)?;
            let hub = app.hub(caller, &of.session_id).await?;
            Ok(text(&route::waiting(app, &hub, of.thread_id.as_ref()).await?))
        }
        Control::QueueRemove => {
            let of: OfTurn = params::read(params)?;
            let hub = app.hub(caller, &of.session_id).await?;
            Ok(text(&route::unqueue(app, &hub, &of.turn_id).await?))
        }
        Control::QueuePromote => {
            let of: OfTurn = params::read(params)?;
            let hub = app.hub(caller, &of.session_id).await?;
            Ok(text(&route::put_first(app, &hub, &of.turn_id).await?))
        }
        Control::ActionDecide => decide(app, caller, params).await,
        Control::AgentList => params::read::<params::Nothing>(params).map(|_| text(&route::inventory(app))),
        Control::ThreadGet => thread(app, caller, params::read(params)?).await,
        Control::TaskList => task_list(app, caller, params::read(params)?).await,
        Control::TaskCancel => cancel_task(app, caller, params::read(params)?).await,
        Control::TaskRetry => retry_task(app, caller, params::read(params)?).await,
        Control::SubagentList => {
            let of: params::OfSession = params::read(params)?;
            let hub = app.hub(caller, &of.session_id).await?;
            Ok(text(&route::children(app, &hub).await?))
        }
        Control::SubagentInput => {
            let ToSubagent { session_id, subagent_id, input } = params::read(params)?;
            let hub = app.hub(caller, &session_id).await?;
            route::tell(app, &hub, &subagent_id, input, None).await?;
            Ok(json!({ "subagentId": subagent_id }).to_string())
        }
        Control::SubagentClose => {
            let CloseSubagent { session_id, subagent_id, reason } = params::read(params)?;
            let hub = app.hub(caller, &session_id).await?;
            route::end(app, &hub, &subagent_id, reason).await?;
            Ok(json!({ "subagentId": subagent_id }).to_string())
        }
        Control::SessionExport => export(app, caller, params::read(params)?).await,
    }
}

/// Takes the names of the path out of the parameters; the rest is the body that HTTP takes.
fn split<T: DeserializeOwned, const N: usize>(
    params: &str,
    names: [&'static str; N],
) -> Result<([String; N], T), Problem> {
    let mut members: Map<String, Value> = params::read(params)?;
    let mut found = [const { String::new() }; N];
    for (place, name) in found.iter_mut().zip(names) {
        *place = match members.remove(name) {
            Some(Value::String(text)) => text,
            Some(_) => return Err(invalid(name, &"it must be a string")),
            None => return Err(invalid(name, &"it is missing")),
        };
    }
    Ok((found, decode_text(&Value::Object(members).to_string())?))
}

async fn submit(app: &App, caller: &Caller, params: &str) -> Result<String, Problem> {
    let ([session], body) = split::<SubmitBody, 1>(params, ["sessionId"])?;
    let hub = app.hub(caller, &session).await?;
    Ok(text(&route::submit_turn(app, &hub, body).await?))
}

async fn cancel(app: &App, caller: &Caller, params: Cancel) -> Result<String, Problem> {
    let hub = app.hub(caller, &params.session_id).await?;
    let body = CancelBody { mode: params.mode, reason: params.reason };
    Ok(text(&route::cancel_turn(app, &hub, &params.turn_id, body).await?))
}

async fn decide(app: &App, caller: &Caller, params: &str) -> Result<String, Problem> {
    let ([session, action], body) = split::<DecideBody, 2>(params, ["sessionId", "actionId"])?;
    let hub = app.hub(caller, &session).await?;
    Ok(text(&route::decide(app, caller, &hub, &action, body).await?))
}

/// What is happening in a thread now.
async fn thread(app: &App, caller: &Caller, params: OfThread) -> Result<String, Problem> {
    let hub = app.hub(caller, &params.session_id).await?;
    let state = app.state_at(&hub.key, hub.head()).await?;
    let wanted = params.thread_id.as_ref().map_or("main", ThreadId::as_str);
    let thread = read_model::read_models(&state)
        .thread_read_model
        .into_iter()
        .find(|thread| thread.thread_id.as_str() == wanted);
    thread.map(|thread| text(&thread)).ok_or_else(not_found)
}

async fn export(app: &App, caller: &Caller, params: params::Export) -> Result<String, Problem> {
    let hub = app.hub(caller, &params.session_id).await?;
    page(app, &hub, &params.request()?).await
}
