//! Turns over JSON-RPC. The bodies are those of HTTP.

use riverrun_event::TurnId;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::carry::text;
use super::params;
use crate::app::App;
use crate::edge::{Caller, Problem, decode_text, invalid};
use crate::route::{self, Once, SubmitBody};

/// Takes the names of the path out of the parameters; the rest is the body that HTTP takes.
pub(super) fn split<const N: usize>(
    params: &str,
    names: [&'static str; N],
) -> Result<([String; N], String), Problem> {
    let mut members: Map<String, Value> = params::read(params)?;
    let mut found = [const { String::new() }; N];
    for (place, name) in found.iter_mut().zip(names) {
        *place = match members.remove(name) {
            Some(Value::String(text)) => text,
            Some(_) => return Err(invalid(name, &"it must be a string")),
            None => return Err(invalid(name, &"it is missing")),
        };
    }
    Ok((found, Value::Object(members).to_string()))
}

fn body<T: DeserializeOwned>(text: &str) -> Result<T, Problem> {
    decode_text(text)
}

pub(super) async fn submit(app: &App, caller: &Caller, params: &str, once: &Once) -> Result<String, Problem> {
    let ([session], rest) = split(params, ["sessionId"])?;
    let mut body: SubmitBody = body(&rest)?;
    // The turn's name follows from the command's, so that the same command finds its turn again after any crash.
    if let (None, Some(id)) = (&body.turn_id, once.id()) {
        body.turn_id = Some(TurnId::from_bytes(id));
    }
    caller.require_agent(body.agent.as_deref())?;
    let hub = app.hub(caller, &session).await?;
    Ok(text(&route::submit_turn(app, &hub, body).await?))
}
