//! Turns, queues, tasks, decisions, sub-agents: what the runner and its sessions are asked over JSON-RPC.

use riverrun_api::{Attempt, Context, Entry};
use riverrun_event::ThreadId;
use riverrun_fold::read_model::{self, ReadModels};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::carry::text;
use super::turn_control::{self as turn, OfThread};
use super::{params, process_control as process, share_control as share};
use crate::app::App;
use crate::edge::{Caller, Problem, Scope, invalid, not_found};
use crate::route::{self, Once};
use riverrun_session::page;

/// What the runner and its sessions can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    TurnSubmit,
    ActionDecide,
    AgentList,
    ThreadGet,
    EnvironmentGet,
    ProcessList,
    ProcessGet,
    ProcessWrite,
    ProcessTerminate,
    ShareCreate,
    ShareList,
    ShareGet,
    ShareRevoke,
    SessionExport,
    SessionEvidence,
}

impl Control {
    /// It changes nothing, whatever scope it takes.
    fn is_read(self, scope: Option<Scope>) -> bool {
        scope == Some(Scope::Read) || matches!(self, Control::ShareList | Control::ShareGet)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    command_id: Option<Value>,
}

/// Who asks, and where.
pub(super) struct Asked<'a> {
    pub app: &'a App,
    pub caller: &'a Caller,
    /// The server's address as the caller knows it.
    pub base_url: &'a str,
}

/// Carries a request out; a command once for each `commandId` that it has.
pub(super) async fn carry_out(
    asked: &Asked<'_>,
    control: Control,
    scope: Option<Scope>,
    params: &str,
) -> Result<String, Problem> {
    let Named { command_id } = params::read(params)?;
    let Some(command) = command_id.filter(|_| !control.is_read(scope)) else {
        return act(asked, control, params, &Once::unnamed()).await;
    };
    let Asked { app, caller, .. } = *asked;
    let (once, rest) = begin_command(app, caller, &command, &format!("{control:?}"), params).await?;
    if let Some(answer) = once.stored()? {
        return Ok(answer.body);
    }
    let answer = act(asked, control, &rest, &once).await?;
    once.remember(app.services(), 200, &answer).await?;
    Ok(answer)
}

/// A command over JSON-RPC, whose `commandId` is its key; and its other parameters.
async fn begin_command(
    app: &App,
    caller: &Caller,
    command: &Value,
    method: &str,
    params: &str,
) -> Result<(Once, String), Problem> {
    let command = command.as_str().ok_or_else(|| invalid("commandId", &"it must be a string"))?;
    let mut members: Map<String, Value> = params::read(params)?;
    members.remove("commandId");
    let rest = Value::Object(members).to_string();
    // A page's commands are its own: it is never answered with what somebody else was told.
    let page = caller.page_id().map_or(String::new(), |id| format!(" {id}"));
    let route = format!("rpc {method}{page}");
    let attempt = Attempt::begin(app.services(), caller, command, &route, "commandId").await?;
    Ok((Once::new(Some(attempt), &rest), rest))
}

/// Carries out an operation of the table.
pub(super) async fn run_operation(asked: &Asked<'_>, entry: &Entry, params: &str) -> Result<String, Problem> {
    let Named { command_id } = params::read(params)?;
    let Asked { app, caller, base_url } = *asked;
    let begun = match command_id {
        Some(command) if entry.about.repeats.takes_key() => {
            begin_command(app, caller, &command, entry.about.name, params).await?
        }
        _ => (Once::unnamed(), params.to_owned()),
    };
    let (once, rest) = begun;
    if let Some(answer) = once.stored()? {
        return Ok(answer.body);
    }
    let context = Context::new(app.services().clone(), caller.identity(), once, base_url.to_owned());
    Ok(entry.run(&context, &rest).await?.body)
}

async fn act(asked: &Asked<'_>, control: Control, params: &str, once: &Once) -> Result<String, Problem> {
    use params::read;
    let Asked { app, caller, .. } = *asked;
    match control {
        Control::TurnSubmit => turn::submit(app, caller, params, once).await,
        Control::ActionDecide => turn::decide(app, caller, params, once).await,
        Control::AgentList => read::<params::Nothing>(params).map(|_| text(&route::inventory(app))),
        Control::ThreadGet => thread(app, caller, read(params)?).await,
        Control::EnvironmentGet => environment(app, caller, read(params)?).await,
        Control::ProcessList => process::list(app, caller, read(params)?).await,
        Control::ProcessGet => process::get(app, caller, read(params)?).await,
        Control::ProcessWrite => process::write(app, caller, params, once).await,
        Control::ProcessTerminate => process::terminate(app, caller, params, once).await,
        Control::ShareCreate => share::create(asked, params).await,
        Control::ShareList => share::list(asked, read(params)?).await,
        Control::ShareGet => share::get(asked, read(params)?).await,
        Control::ShareRevoke => share::revoke(asked, read(params)?).await,
        Control::SessionExport => export(app, caller, read(params)?).await,
        Control::SessionEvidence => evidence(app, caller, read(params)?).await,
    }
}

async fn models(app: &App, caller: &Caller, session: &str) -> Result<ReadModels, Problem> {
    let hub = app.hub(caller, session).await?;
    let state = app.sessions().state_at(&hub.key, hub.head()).await?;
    Ok(read_model::read_models(&state))
}

/// What is happening in a thread now.
async fn thread(app: &App, caller: &Caller, of: OfThread) -> Result<String, Problem> {
    let wanted = of.thread_id.as_ref().map_or("main", ThreadId::as_str);
    let threads = models(app, caller, &of.session_id).await?.thread_read_model;
    let thread = threads.into_iter().find(|thread| thread.thread_id.as_str() == wanted);
    thread.map(|thread| text(&thread)).ok_or_else(not_found)
}

async fn environment(app: &App, caller: &Caller, of: params::OfSession) -> Result<String, Problem> {
    let hub = app.hub(caller, &of.session_id).await?;
    Ok(text(&route::environment(app, &hub).await?))
}

async fn export(app: &App, caller: &Caller, params: params::Export) -> Result<String, Problem> {
    let hub = app.hub(caller, &params.session_id).await?;
    Ok(page(app.sessions(), &hub, &params.request()?).await?)
}

async fn evidence(app: &App, caller: &Caller, of: params::OfSession) -> Result<String, Problem> {
    let hub = app.hub(caller, &of.session_id).await?;
    Ok(text(&route::evidence(app, &hub).await?))
}
