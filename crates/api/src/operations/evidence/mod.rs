//! What a session can prove: its read models, how well each is known, and where the facts are.

mod export;
mod record;

use std::collections::BTreeMap;

use riverrun_event::{Sequence, SessionId};
use riverrun_fold::read_model::{self, ReadModels};
use riverrun_session::Hub;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

pub use export::ExportEvidence;
pub use record::RecordEvidence;

use crate::context::cursor_after;
use crate::{ApiError, Services, schema};

// Its JSON is stored by its digest, so the order of its members is fixed.
/// The evidence of a session. All of it follows from the log up to `sequence`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    #[schemars(schema_with = "schema::cursor")]
    cursor: String,
    /// Read models that are not fully known.
    known_gaps: Vec<String>,
    /// Events that the fold could not apply.
    problems: u64,
    /// By name: the Agent Runtime standard's read models.
    read_models: Map<String, Value>,
    /// The path under which the same events are read.
    replay: String,
    sequence: Sequence,
    session_id: SessionId,
    /// How well each read model is known, in the standard's words.
    signals: BTreeMap<String, &'static str>,
}

async fn evidence_of(services: &Services, hub: &Hub) -> Result<Evidence, ApiError> {
    let head = hub.head();
    let state = services.sessions().state_at(&hub.key, head).await?;
    let read_models = members(&read_model::read_models(&state));
    let signals: BTreeMap<String, &'static str> =
        read_models.iter().map(|(name, model)| (name.clone(), signal(model))).collect();
    let is_gap = |signal: &str| signal == "missing_correlation" || signal == "unsupported";
    let gaps = signals.iter().filter(|(_, signal)| is_gap(signal)).map(|(name, _)| name.clone());
    Ok(Evidence {
        cursor: cursor_after(hub, head).to_string(),
        known_gaps: gaps.collect(),
        problems: state.problems.count,
        read_models,
        replay: format!("/v1/sessions/{}/export", hub.session()),
        sequence: head,
        session_id: hub.session().clone(),
        signals,
    })
}

fn members(models: &ReadModels) -> Map<String, Value> {
    match serde_json::to_value(models) {
        Ok(Value::Object(models)) => models,
        Ok(_) | Err(_) => Map::new(),
    }
}

/// The standard's word for how well a read model is known. What no event reported did not happen: the log is complete.
fn signal(model: &Value) -> &'static str {
    let of = model.as_array().and_then(|threads| threads.first()).unwrap_or(model);
    match of["standing"].as_str() {
        Some("not_applicable" | "unknown") => "not_applicable",
        Some("unavailable") => "unsupported",
        Some("stale") => "missing_correlation",
        Some(_) | None => "exported",
    }
}
