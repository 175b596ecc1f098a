//! The trials of a session that a harness outside recorded by `benchmark.*` events, as JSON, lines or a table.
//!
//! A trial is exported in the form of the standard's trial pack: what was measured, the ids in this runtime, where the
//! records are, how it was graded. An id that no event named is a gap by its name and is never guessed.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use riverrun_event::SCHEMA_VERSION;
use riverrun_fold::{State as Folded, Status, Trial};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::deliver::one_of;
use crate::edge::{Caller, FromParams, Params, PathId, Problem, Scope, StrictQuery, not_found};
use riverrun_api::cursor_after;
use riverrun_session::Hub;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Ndjson,
    Csv,
}

#[derive(Debug)]
pub struct Query {
    format: Format,
    trial: Option<String>,
}

impl FromParams for Query {
    const NAMES: &'static [&'static str] = &["format", "trial"];
    fn from_params(params: &Params) -> Result<Self, Problem> {
        let format = match params.get("format") {
            None | Some("json") => Format::Json,
            Some("ndjson") => Format::Ndjson,
            Some("csv") => Format::Csv,
            Some(other) => return Err(one_of("format", other, "json, ndjson, csv")),
        };
        Ok(Self { format, trial: params.get("trial").map(str::to_owned) })
    }
}

pub async fn get(
    State(app): State<App>,
    caller: Caller,
    PathId(session): PathId,
    StrictQuery(query): StrictQuery<Query>,
) -> Result<Response, Problem> {
    caller.require(Scope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    let whole = export(&app, &hub, query.trial.as_deref()).await?;
    let packs = whole["trials"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (media, text) = match query.format {
        Format::Json => ("application/json", whole.to_string()),
        Format::Ndjson => {
            ("application/x-ndjson", packs.iter().map(|pack| format!("{pack}\n")).collect::<String>())
        }
        Format::Csv => ("text/csv; charset=utf-8", table(packs)),
    };
    Ok(([(CONTENT_TYPE, media)], text).into_response())
}

/// All trials, or the one that is named. Secrets that this server knows are taken out of what the harness wrote.
pub(crate) async fn export(app: &App, hub: &Hub, trial: Option<&str>) -> Result<Value, Problem> {
    let head = hub.head();
    let state = app.sessions().state_at(&hub.key, head).await?;
    let known = &state.benchmarks;
    let wanted = known.trials.iter().filter(|known| trial.is_none_or(|trial| known.trial_id == trial));
    let packs: Vec<Value> = wanted.map(|trial| pack(hub, &state, trial)).collect();
    if packs.is_empty() && trial.is_some() {
        return Err(not_found().field("trial"));
    }
    let mut whole = json!({
        "schemaVersion": SCHEMA_VERSION,
        "sessionId": hub.session(),
        "sequence": head,
        "cursor": cursor_after(hub, head).to_string(),
        "replay": format!("/v1/sessions/{}/export", hub.session()),
        "trials": packs,
        "truncated": known.dropped > 0,
    });
    if trial.is_none() {
        whole["datasets"] = json!(known.datasets);
        whole["configurations"] = json!(known.configurations);
        whole["comparisons"] = json!(known.comparisons);
    }
    redact(&mut whole);
    Ok(whole)
}

fn redact(value: &mut Value) {
    match value {
        Value::String(text) => {
            let redacted = riverrun_secret::redact(text);
            if redacted != text.as_str() {
                *text = redacted.into_owned();
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(redact),
        Value::Object(members) => members.values_mut().for_each(redact),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn pack(hub: &Hub, state: &Folded, trial: &Trial) -> Value {
    let mut pack = serde_json::to_value(trial).unwrap_or_default();
    let correlation = correlation(hub, trial);
    if let Value::Object(members) = &mut pack {
        for name in ["threadId", "turnId", "taskId", "runId", "traceId"] {
            members.remove(name);
        }
        members.insert("schemaVersion".to_owned(), SCHEMA_VERSION.into());
        members.insert("knownGaps".to_owned(), json!(gaps(trial, &correlation)));
        if let Some(turn) = turn(state, &correlation) {
            members.insert("runtime".to_owned(), turn);
        }
        members.insert("runtimeCorrelation".to_owned(), Value::Object(correlation));
    }
    pack
}

/// The ids that the events carried, then those that the harness wrote beside them.
fn correlation(hub: &Hub, trial: &Trial) -> Map<String, Value> {
    let given = trial.runtime_correlation.as_ref().and_then(|given| given.to::<Map<String, Value>>().ok());
    let mut all = given.unwrap_or_default();
    all.insert("sessionId".to_owned(), json!(hub.session()));
    let ids = [
        ("threadId", json!(trial.thread_id)),
        ("turnId", json!(trial.turn_id)),
        ("taskId", json!(trial.task_id)),
        ("runId", json!(trial.run_id)),
        ("traceId", json!(trial.trace_id)),
    ];
    for (name, id) in ids.into_iter().filter(|(_, id)| !id.is_null()) {
        all.insert(name.to_owned(), id);
    }
    all
}

/// What the session itself knows of the turn that was measured, while the turn is in the state.
fn turn(state: &Folded, correlation: &Map<String, Value>) -> Option<Value> {
    let id = correlation.get("turnId")?.as_str()?;
    let turn = state.turns.iter().find(|turn| turn.turn_id.as_str() == id)?;
    let mut known = json!({ "turnStatus": turn.status, "usage": turn.usage });
    for (name, at) in [("submittedAt", &turn.submitted_at), ("endedAt", &turn.ended_at)] {
        if let Some(at) = at {
            known[name] = json!(at);
        }
    }
    Some(known)
}

/// What a reader of a trial needs and no event named, by name.
fn gaps(trial: &Trial, correlation: &Map<String, Value>) -> Vec<&'static str> {
    let ids = &trial.benchmark;
    let refs = trial.refs.as_ref().and_then(|refs| refs.to::<Map<String, Value>>().ok()).unwrap_or_default();
    let has_ended = trial.status.is_terminal();
    let trajectory = trial.trajectory.as_ref().and_then(|trajectory| trajectory.r#ref.as_ref());
    let has_reward = trial.reward.as_ref().is_some_and(|reward| reward.value.is_some());
    let known = [
        ("datasetId", ids.dataset_id.is_some()),
        ("datasetVersion", ids.dataset_version.is_some()),
        ("taskId", ids.task_id.is_some()),
        ("configurationId", ids.configuration_id.is_some()),
        ("threadId", correlation.contains_key("threadId")),
        ("turnId", correlation.contains_key("turnId")),
        ("runId", correlation.contains_key("runId")),
        ("trajectoryRef", trajectory.is_some() || refs.contains_key("trajectoryRef")),
        ("reward", has_reward || !has_ended),
        ("status", trial.status != Status::Unknown),
    ];
    known.into_iter().filter(|(_, is_known)| !is_known).map(|(name, _)| name).collect()
}

const COLUMNS: [(&str, &str); 18] = [
    ("trialId", "/trialId"),
    ("datasetId", "/benchmark/datasetId"),
    ("datasetVersion", "/benchmark/datasetVersion"),
    ("benchmarkTaskId", "/benchmark/taskId"),
    ("configurationId", "/benchmark/configurationId"),
    ("role", "/benchmark/role"),
    ("attempt", "/attempt"),
    ("status", "/status"),
    ("reward", "/reward/value"),
    ("failureCategory", "/failureCategory"),
    ("sessionId", "/runtimeCorrelation/sessionId"),
    ("threadId", "/runtimeCorrelation/threadId"),
    ("turnId", "/runtimeCorrelation/turnId"),
    ("taskId", "/runtimeCorrelation/taskId"),
    ("runId", "/runtimeCorrelation/runId"),
    ("startedAt", "/startedAt"),
    ("endedAt", "/endedAt"),
    ("sequence", "/sequence"),
];

/// RFC 4180. What nobody recorded is an empty cell, never a zero.
fn table(packs: &[Value]) -> String {
    let mut out = COLUMNS.map(|(name, _)| name).join(",");
    out.push_str(",knownGaps\r\n");
    for pack in packs {
        for (_, path) in COLUMNS {
            let value = match pack.pointer(path) {
                None if path == "/failureCategory" => pack.pointer("/reward/failureCategory"),
                value => value,
            };
            out.push_str(&cell(value));
            out.push(',');
        }
        let gaps = pack["knownGaps"].as_array().into_iter().flatten().filter_map(Value::as_str);
        out.push_str(&gaps.collect::<Vec<_>>().join(" "));
        out.push_str("\r\n");
    }
    out
}

/// A text that a spreadsheet would run as a formula is written with a quote before it.
fn cell(value: Option<&Value>) -> String {
    let text = match value {
        Some(Value::String(text)) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => format!("'{text}"),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => return other.to_string().replace(',', ";"),
    };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_run_as_no_formula() {
        let shown = |value: Value| cell(Some(&value));
        assert_eq!(shown(json!("plain")), "plain");
        assert_eq!(shown(json!("a,\"b\"\n")), "\"a,\"\"b\"\"\n\"");
        assert_eq!(shown(json!("=cmd|' /C calc'!A0")), "'=cmd|' /C calc'!A0");
        assert_eq!(shown(json!("@x,y")), "\"'@x,y\"");
        assert_eq!(shown(json!(-0.5)), "-0.5");
        assert_eq!((shown(Value::Null), cell(None)), (String::new(), String::new()));
    }
}
