//! What a session can prove: its read models, how well each is known, and where the facts are.

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use riverrun_event::{BlobRef as EventBlobRef, EventType, EvidenceChanged, Sequence};
use riverrun_fold::read_model::{self, ReadModels};
use riverrun_log::{BlobId, Fact, NewBlob};
use serde::Serialize;
use serde_json::{Map, Value, json as object};

use super::json;
use crate::app::App;
use crate::edge::{Caller, PathId, Problem, Scope, StrictQuery};
use riverrun_api::cursor_after;
use riverrun_session::draft_about;
use riverrun_session::{Batch, Hub};

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

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Pack {
    evidence_id: String,
    /// The pack in the blob store: what `GET` answered at this moment.
    pack_ref: String,
    /// The last event that it holds.
    sequence: Sequence,
    signal: &'static str,
    known_gaps: Vec<String>,
}

/// Stores the evidence as it is now, and says in the session's log that it was exported. The same facts again are the
/// same pack.
pub async fn post(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(()): StrictQuery<()>,
) -> Result<Response, Problem> {
    caller.require(Scope::Write)?;
    let hub = app.hub(&caller, &session).await?;
    let sequence = hub.head();
    let evidence = evidence(&app, &hub).await?;
    let (key, media_type) = (&hub.key, "application/json".to_owned());
    let blob = NewBlob { session: Some(key.session.clone()), media_type, bytes: evidence.to_string().into() };
    let info = app.log().put_blob(&key.tenant, blob).await?;
    let pack_ref = info.reference.to_string();
    let digest = pack_ref.trim_start_matches("blob_");
    let evidence_id = format!("evidence_{}", &digest[..digest.floor_char_boundary(24)]);
    let gaps = evidence["knownGaps"].as_array().into_iter().flatten();
    let known_gaps: Vec<String> = gaps.filter_map(|gap| gap.as_str().map(str::to_owned)).collect();
    let changed = EvidenceChanged {
        pack_ref: Some(EventBlobRef::Bare(pack_ref.clone())),
        signal: Some("exported".to_owned()),
        known_gaps: Some(known_gaps.clone()),
        ..EvidenceChanged::default()
    };
    let event = draft_about(EventType::EvidenceChanged, ("evidenceId", &evidence_id), &changed)?;
    let facts = vec![Fact::Blob(BlobId::from_digest(*info.reference.digest()))];
    app.append(&hub, &Batch { events: vec![event], facts, ..Batch::default() }).await?;
    let pack = Pack { evidence_id, pack_ref, sequence, signal: "exported", known_gaps };
    Ok(json(StatusCode::CREATED, &pack))
}

/// Everything comes of the log up to `sequence`: `replay` says how to read the same events.
pub(crate) async fn evidence(app: &App, hub: &Hub) -> Result<Value, Problem> {
    let head = hub.head();
    let state = app.sessions().state_at(&hub.key, head).await?;
    let models = models(&read_model::read_models(&state));
    let signals: Map<String, Value> =
        models.iter().map(|(name, model)| (name.clone(), signal(model).into())).collect();
    let is_gap = |signal: &Value| *signal == "missing_correlation" || *signal == "unsupported";
    let gaps: Vec<&String> =
        signals.iter().filter(|(_, signal)| is_gap(signal)).map(|(name, _)| name).collect();
    Ok(object!({
        "sessionId": hub.session(),
        "sequence": head,
        "cursor": cursor_after(hub, head).to_string(),
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
