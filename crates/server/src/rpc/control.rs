//! Requests over JSON-RPC: the operations of the table, and the few methods whose HTTP form is not in it.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::params;
use super::turn_control as turn;
use crate::app::App;
use crate::edge::{Caller, KeyScope, Problem, invalid};
use crate::route::Once;
use riverrun_api::{KeyedRequest, OperationEntry, RequestContext};
use riverrun_session::page;

/// What the runner and its sessions can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    TurnSubmit,
    SessionExport,
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
    scope: Option<KeyScope>,
    params: &str,
) -> Result<String, Problem> {
    let Named { command_id } = params::read(params)?;
    let Some(command) = command_id.filter(|_| scope != Some(KeyScope::Read)) else {
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
    let attempt = KeyedRequest::begin(app.services(), caller, command, &route, "commandId").await?;
    Ok((Once::new(Some(attempt), &rest), rest))
}

/// Carries out an operation of the table.
pub(super) async fn run_operation(
    asked: &Asked<'_>,
    entry: &OperationEntry,
    params: &str,
) -> Result<String, Problem> {
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
    let context = RequestContext::new(app.services().clone(), caller.identity(), once, base_url.to_owned());
    Ok(entry.run(&context, &rest).await?.body)
}

async fn act(asked: &Asked<'_>, control: Control, params: &str, once: &Once) -> Result<String, Problem> {
    use params::read;
    let Asked { app, caller, .. } = *asked;
    match control {
        Control::TurnSubmit => turn::submit(app, caller, params, once).await,
        Control::SessionExport => export(app, caller, read(params)?).await,
    }
}

async fn export(app: &App, caller: &Caller, params: params::Export) -> Result<String, Problem> {
    let hub = app.hub(caller, &params.session_id).await?;
    Ok(page(app.sessions(), &hub, &params.request()?).await?)
}
