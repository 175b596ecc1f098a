//! Assistants: the agents and models that a caller may name. They are declared in riverrun.toml, not made here.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use serde_json::{Value, json as object};

use super::DIALECT;
use super::absent::not_provided;
use super::body::{AssistantBody, read};
use crate::app::App;
use crate::edge::KeyScope;
use crate::gateway::{Asking, Refusal, enter, json};

pub const DECLARED: &str = "agents are declared in riverrun.toml; `assistants.search` tells them";
const INSIDE: &str = "what an agent is made of stays inside; `assistants.get` tells what there is";

pub async fn search(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, KeyScope::Read, request, async |asking| {
        let body: AssistantBody = read(&asking)?;
        let found = fitting(&app, &body)?;
        let (offset, limit) = (body.offset.unwrap_or(0), body.limit.unwrap_or(usize::MAX));
        let all: Vec<Value> = found.iter().skip(offset).take(limit).map(|name| described(name)).collect();
        let mut response = json(Value::Array(all).to_string());
        let next = offset.saturating_add(limit);
        if next < found.len() {
            response.headers_mut().insert("x-pagination-next", next.into());
        }
        Ok(response)
    })
    .await
}

pub async fn count(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, KeyScope::Read, request, async |asking| {
        Ok(json(fitting(&app, &read(&asking)?)?.len().to_string()))
    })
    .await
}

/// Agents have no metadata, so none has any that somebody asks for.
fn fitting(app: &App, body: &AssistantBody) -> Result<Vec<String>, Refusal> {
    let is_wanted = |name: &String| {
        let is_named = |part: &String| name.to_lowercase().contains(&part.to_lowercase());
        body.metadata.as_ref().is_none_or(|wanted| wanted.is_empty())
            && body.graph_id.as_ref().is_none_or(|graph| graph == name)
            && body.name.as_ref().is_none_or(is_named)
    };
    Ok(app.agents().models().into_iter().filter(is_wanted).collect())
}

/// A name may have slashes, which the official client writes as `%2F`; behind a slash of the path is something of the
/// assistant's.
pub async fn one(State(app): State<App>, Path(name): Path<String>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    enter(&app, DIALECT, KeyScope::Read, request, async |_: Asking| {
        let last = path.rsplit('/').next().unwrap_or_default();
        if name.contains('/') && matches!(last, "graph" | "schemas" | "subgraphs" | "versions" | "latest") {
            return Err(not_provided(last, INSIDE));
        }
        app.agents().check(&name)?;
        Ok(json(described(&name).to_string()))
    })
    .await
}

fn described(name: &str) -> Value {
    object!({
        "assistant_id": name, "graph_id": name, "name": name, "version": 1,
        "config": {}, "context": {}, "metadata": {},
    })
}
