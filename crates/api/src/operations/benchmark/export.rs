use riverrun_event::{ErrorCode, SCHEMA_VERSION, Sequence, SessionId};
use riverrun_fold::{State, Status, Trial};
use riverrun_session::Hub;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::context::cursor_after;
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, Services, not_found, schema};

pub struct ExportBenchmark;

/// Export the benchmark trials that a harness recorded in a session.
///
/// Each trial comes with its ids in this runtime, its reward, and what no event named.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportBenchmarkRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// Only this trial.
    #[schemars(with = "Option<schema::Word>")]
    trial_id: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BenchmarkExport {
    schema_version: &'static str,
    session_id: SessionId,
    /// The last event that the export covers.
    #[schemars(schema_with = "schema::count")]
    sequence: Sequence,
    #[schemars(schema_with = "schema::cursor")]
    cursor: String,
    /// The path that exports the events themselves.
    replay: String,
    /// The standard's trial packs.
    #[schemars(with = "Vec<Map<String, Value>>")]
    pub trials: Vec<Value>,
    /// Older trials are in the log only.
    truncated: bool,
    /// Absent beside a single trial, as are configurations and comparisons.
    #[serde(skip_serializing_if = "Option::is_none")]
    datasets: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    configurations: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparisons: Option<Value>,
}

impl Operation for ExportBenchmark {
    const ABOUT: About = About {
        name: "benchmark.export",
        aliases: &["export_benchmark_trial"],
        id: "exportBenchmark",
        group: OperationGroup::Sessions,
        method: HttpMethod::Get,
        path: "/v1/sessions/{session}/benchmark",
        scope: KeyScope::Read,
        pages: false,
        repeats: Repeats::Harmless,
        statuses: &[(200, "The trials.")],
        errors: &[ErrorCode::NotFound],
        http_names: &[("trialId", "trial")],
    };
    type Request = ExportBenchmarkRequest;
    type Response = BenchmarkExport;

    async fn run(
        context: &RequestContext,
        request: ExportBenchmarkRequest,
    ) -> Result<BenchmarkExport, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        export_benchmark(context.services(), &hub, request.trial_id.as_deref()).await
    }
}

/// All trials, or the one that is named. Secrets that this server knows are taken out of what the harness wrote.
pub async fn export_benchmark(
    services: &Services,
    hub: &Hub,
    trial: Option<&str>,
) -> Result<BenchmarkExport, ApiError> {
    let head = hub.head();
    let state = services.sessions().state_at(&hub.key, head).await?;
    let known = &state.benchmarks;
    let wanted = known.trials.iter().filter(|known| trial.is_none_or(|trial| known.trial_id == trial));
    let trials: Vec<Value> = wanted.map(|trial| redacted(pack(hub, &state, trial))).collect();
    if trials.is_empty() && trial.is_some() {
        return Err(not_found().field("trial"));
    }
    let with_all = |value: Value| trial.is_none().then(|| redacted(value));
    Ok(BenchmarkExport {
        schema_version: SCHEMA_VERSION,
        session_id: hub.session().clone(),
        sequence: head,
        cursor: cursor_after(hub, head).to_string(),
        replay: format!("/v1/sessions/{}/export", hub.session()),
        trials,
        truncated: known.dropped > 0,
        datasets: with_all(json!(known.datasets)),
        configurations: with_all(json!(known.configurations)),
        comparisons: with_all(json!(known.comparisons)),
    })
}

fn redacted(mut value: Value) -> Value {
    redact(&mut value);
    value
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

fn pack(hub: &Hub, state: &State, trial: &Trial) -> Value {
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
fn turn(state: &State, correlation: &Map<String, Value>) -> Option<Value> {
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
