//! The benchmark trials of a session over HTTP: as JSON, lines or a table.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use riverrun_api::operations::benchmark::export_benchmark;
use riverrun_api::to_json;
use serde_json::Value;

use crate::app::App;
use crate::deliver::one_of;
use crate::edge::{Caller, FromParams, KeyScope, Params, PathId, Problem, StrictQuery};

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
    caller.require(KeyScope::Read)?;
    let hub = app.hub(&caller, &session).await?;
    let export = export_benchmark(app.services(), &hub, query.trial.as_deref()).await?;
    let packs = export.trials.as_slice();
    let (media, text) = match query.format {
        Format::Json => ("application/json", to_json(&export)),
        Format::Ndjson => {
            ("application/x-ndjson", packs.iter().map(|pack| format!("{pack}\n")).collect::<String>())
        }
        Format::Csv => ("text/csv; charset=utf-8", table(packs)),
    };
    Ok(([(CONTENT_TYPE, media)], text).into_response())
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
    use serde_json::json;

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
