//! What a session can prove: its read models, how well each is known, and where the facts are.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use riverrun_fold::read_model::{self, ReadModels};
use serde_json::{Map, Value, json as object};

use super::json;
use super::turns::place;
use crate::app::App;
use crate::edge::{Caller, PathId, Problem, Scope, StrictQuery};
use crate::session::Hub;

pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    Ok(json(StatusCode::OK, &evidence(&app, &hub).await?))
}

/// Everything comes of the log up to `sequence`: `replay` says how to read the same events.
pub(crate) async fn evidence(app: &App, hub: &Hub) -> Result<Value, Problem> {
    let head = hub.head();
    let state = app.state_at(&hub.key, head).await?;
    let models = models(&read_model::read_models(&state));
    let signals: Map<String, Value> =
        models.iter().map(|(name, model)| (name.clone(), signal(model).into())).collect();
    let is_gap = |signal: &Value| *signal == "missing_correlation" || *signal == "unsupported";
    let gaps: Vec<&String> =
        signals.iter().filter(|(_, signal)| is_gap(signal)).map(|(name, _)| name).collect();
    Ok(object!({
        "sessionId": hub.session(),
        "sequence": head,
        "cursor": place(hub, head),
        "replay": format!("/v1/sessions/{}/export", hub.session()),
        "problems": state.problems.count,
        "signals": signals,
        "knownGaps": gaps,
        "readModels": models,
    }))
}

fn models(models: &ReadModels) -> Map<String, Value> {
    match serde_json::to_value(models) {
        Ok(Value::Object(models)) => models,
        Ok(_) | Err(_) => Map::new(),
    }
}

/// The standard's word for how well a read model is known. What no event told did not happen here: the log is whole.
fn signal(model: &Value) -> &'static str {
    let of = model.as_array().and_then(|threads| threads.first()).unwrap_or(model);
    match of["standing"].as_str() {
        Some("not_applicable" | "unknown") => "not_applicable",
        Some("unavailable") => "unsupported",
        Some("stale") => "missing_correlation",
        Some(_) | None => "exported",
    }
}
