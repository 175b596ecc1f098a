//! A foreign request as a turn: the caller's history becomes items, what is new becomes the input.

use http::HeaderMap;
use riverrun_dialect::Dialect;
use riverrun_dialect::request::{ModelCall, RequestFailure, RequestedTool, RequestedToolChoice};
use riverrun_event::RawJson;
use riverrun_runner::{Route, Settings, Submit};
use serde_json::{Map, Value, json};

use crate::app::App;

/// The turn that a call asks for, in the words of whoever answers. A service that speaks the caller's dialect gets
/// the caller's own request; another gets what has a counterpart, and tools and parts that have none are refused.
pub fn routed(
    app: &App,
    call: &ModelCall,
    dialect: Dialect,
    headers: &HeaderMap,
) -> Result<Submit, RequestFailure> {
    let mut submit = submit(call);
    submit.source = Some(dialect.name().to_owned());
    let Some(settings) = &mut submit.settings else { return Ok(submit) };
    settings.dialect = Some(dialect.name().to_owned());
    let theirs = service(app, &call.model);
    if let Some(failure) = call.unknown.first().filter(|_| theirs != Some(dialect.name())) {
        return Err(failure.clone());
    }
    let Some(theirs) = theirs else { return Ok(submit) };
    if theirs != dialect.name() {
        return refuse_hosted(call, theirs).map(|()| submit);
    }
    refuse_secrets(call)?;
    if dialect != Dialect::Gemini {
        settings.verbatim = Some(verbatim(&call.verbatim, dialect, headers));
        settings.extra.clear();
    }
    Ok(submit)
}

/// The caller's own request, with the header that belongs to it.
pub(super) fn verbatim(
    members: &[(String, RawJson)],
    dialect: Dialect,
    headers: &HeaderMap,
) -> Map<String, Value> {
    let mut verbatim: Map<String, Value> =
        members.iter().map(|(name, value)| (name.clone(), value_of(value))).collect();
    let beta = headers.get("anthropic-beta").and_then(|beta| beta.to_str().ok());
    if let Some(beta) = beta.filter(|_| dialect == Dialect::Anthropic) {
        verbatim.insert("anthropic-beta".to_owned(), beta.into());
    }
    verbatim
}

/// True if the model's service speaks this dialect, and so gets the caller's own request.
pub fn is_spoken(app: &App, model: &str, dialect: Dialect) -> bool {
    service(app, model) == Some(dialect.name())
}

/// True if a bare model of somebody's service answers.
pub fn is_service(app: &App, model: &str) -> bool {
    service(app, model).is_some()
}

/// The dialect of the service whose bare model this is.
pub(super) fn service(app: &App, model: &str) -> Option<&'static str> {
    match app.agents().registry.resolve(model)? {
        Route::Model { provider, .. } => provider.speaks(),
        Route::Agent(_) => None,
    }
}

/// The service's own name of a bare model.
pub(super) fn model_name(app: &App, name: &str) -> Option<String> {
    match app.agents().registry.resolve(name)? {
        Route::Model { model, .. } => Some(model),
        Route::Agent(_) => None,
    }
}

/// The provider of a bare model whose service holds message threads itself.
pub(super) fn thread_holder(app: &App, name: &str) -> Option<String> {
    match app.agents().registry.resolve(name)? {
        Route::Model { provider, .. } if provider.has_threads() => Some(provider.name().to_owned()),
        Route::Model { .. } | Route::Agent(_) => None,
    }
}

fn refuse_hosted(call: &ModelCall, theirs: &str) -> Result<(), RequestFailure> {
    let Some(kind) = call.hosted.first() else { return Ok(()) };
    let message = format!(
        "a tool of the type `{kind}` cannot go to `{}`, whose service speaks `{theirs}`: only functions can; \
         leave it out, or name a model of a service that has it",
        call.model
    );
    Err(RequestFailure::new(400, "unsupported_value", message).param("tools"))
}

fn refuse_secrets(call: &ModelCall) -> Result<(), RequestFailure> {
    let Some(path) = call.secrets.first() else { return Ok(()) };
    let message = format!(
        "`{path}` carries a key of another service, and every call is recorded here; call that service from a tool \
         of an agent instead"
    );
    Err(RequestFailure::new(400, "unsupported_parameter", message).param(path.clone()))
}

/// Ids and the thread are the route's business.
fn submit(call: &ModelCall) -> Submit {
    let (history, input) = call.conversation();
    Submit {
        agent: Some(call.model.clone()),
        input,
        history,
        settings: Some(settings(call)),
        request: Some(call.request.clone()),
        ..Submit::default()
    }
}

fn settings(call: &ModelCall) -> Settings {
    let mut extra = Map::new();
    for (name, value) in &call.extra {
        extra.insert(name.clone(), value_of(value));
    }
    Settings {
        instructions: call.all_instructions(),
        tools: call.tools.iter().map(tool).collect(),
        tool_choice: tool_choice(&call.tool_choice),
        parallel_tool_calls: call.parallel_tool_calls,
        max_output_tokens: call.max_output_tokens,
        temperature: call.temperature,
        top_p: call.top_p,
        stop: call.stop.clone(),
        output_schema: call.output_schema.as_ref().map(value_of),
        reasoning_effort: call.reasoning_effort.clone(),
        extra,
        ..Settings::default()
    }
}

pub(super) fn tool(tool: &RequestedTool) -> Value {
    let parameters = tool.parameters.as_ref().map_or_else(|| json!({"type": "object"}), value_of);
    json!({
        "name": tool.name,
        "description": tool.description.clone().unwrap_or_default(),
        "parameters": parameters,
        "strict": tool.strict.unwrap_or(false),
    })
}

fn tool_choice(choice: &RequestedToolChoice) -> Option<Value> {
    match choice {
        RequestedToolChoice::Auto => None,
        RequestedToolChoice::None => Some("none".into()),
        RequestedToolChoice::Required => Some("required".into()),
        RequestedToolChoice::Named(name) => Some(json!({ "name": name })),
        RequestedToolChoice::Other(raw) => Some(value_of(raw)),
    }
}

fn value_of(raw: &RawJson) -> Value {
    serde_json::from_str(raw.get()).unwrap_or(Value::Null)
}
