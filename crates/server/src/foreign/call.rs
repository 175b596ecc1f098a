//! A foreign request as a turn: the caller's history becomes items, what is new becomes the input.

use http::HeaderMap;
use riverrun_dialect::Dialect;
use riverrun_dialect::request::{Failure, InputItem, ModelCall, Tool, ToolChoice};
use riverrun_event::{
    Input, Item, MessageItem, Part, RawJson, ReasoningItem, TextBlock, ToolCallItem, ToolResultItem,
};
use riverrun_runner::{Route, Settings, Submit};
use serde_json::{Map, Value, json};

use crate::app::App;

/// The turn that a call asks for, in the words of whoever answers. A service that speaks the caller's dialect gets
/// the caller's own request; another gets what has a counterpart, and tools and parts that have none are refused.
pub fn routed(app: &App, call: &ModelCall, dialect: Dialect, headers: &HeaderMap) -> Result<Submit, Failure> {
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

fn refuse_hosted(call: &ModelCall, theirs: &str) -> Result<(), Failure> {
    let Some(kind) = call.hosted.first() else { return Ok(()) };
    let message = format!(
        "a tool of the type `{kind}` cannot go to `{}`, whose service speaks `{theirs}`: only functions can; \
         leave it out, or name a model of a service that has it",
        call.model
    );
    Err(Failure::new(400, "unsupported_value", message).param("tools"))
}

fn refuse_secrets(call: &ModelCall) -> Result<(), Failure> {
    let Some(path) = call.secrets.first() else { return Ok(()) };
    let message = format!(
        "`{path}` carries a key of another service, and every call is recorded here; call that service from a tool \
         of an agent instead"
    );
    Err(Failure::new(400, "unsupported_parameter", message).param(path.clone()))
}

/// Ids and the thread are the route's business.
fn submit(call: &ModelCall) -> Submit {
    let (history, input) = split(&call.input);
    Submit {
        agent: Some(call.model.clone()),
        input,
        history: items(history),
        settings: Some(settings(call)),
        request: Some(call.request.clone()),
        ..Submit::default()
    }
}

/// A turn whose input is a list of items of the Responses API, or what is wrong with the list.
pub fn submit_of_list(agent: &str, list: &[Value]) -> Result<Submit, String> {
    let body = json!({"model": agent, "input": list}).to_string();
    let mut call =
        riverrun_dialect::responses::request::decode(body.as_bytes()).map_err(|failure| failure.message)?;
    if let Some(failure) = call.unknown.pop() {
        return Err(failure.message);
    }
    let is_foreign = |item: &InputItem| matches!(item, InputItem::Decision { .. } | InputItem::Other { .. });
    if let Some(index) = call.input.iter().position(is_foreign) {
        let kind = list[index]["type"].as_str().unwrap_or("unknown");
        return Err(format!("input[{index}]: an item of the type `{kind}` belongs to the run that made it"));
    }
    let (history, input) = split(&call.input);
    let history = items(history);
    if history.is_empty() && input.is_none() {
        return Err("the list has no items that a model reads".to_owned());
    }
    let instructions = settings(&call).instructions;
    Ok(Submit {
        agent: Some(agent.to_owned()),
        input,
        history,
        settings: instructions.map(|text| Settings { instructions: Some(text), ..Settings::default() }),
        ..Submit::default()
    })
}

/// The last thing that the user said is the input; what stands before it is history. A call that ends with tool
/// results says nothing new: all of it is history.
fn split(items: &[InputItem]) -> (&[InputItem], Option<Input>) {
    match items.split_last() {
        Some((InputItem::User { parts }, before)) => (before, Some(input(parts))),
        Some(_) | None => (items, None),
    }
}

fn input(parts: &[Part]) -> Input {
    match parts {
        [Part::Text(TextBlock { text, annotations: None, .. })] => Input::Text(text.clone()),
        parts => Input::Parts(parts.to_vec()),
    }
}

fn settings(call: &ModelCall) -> Settings {
    let system = call.input.iter().filter_map(|item| match item {
        InputItem::System { text } | InputItem::Developer { text } => Some(text.as_str()),
        _ => None,
    });
    let instructions: Vec<&str> = call.instructions.as_deref().into_iter().chain(system).collect();
    let mut extra = Map::new();
    for (name, value) in &call.extra {
        extra.insert(name.clone(), value_of(value));
    }
    Settings {
        instructions: (!instructions.is_empty()).then(|| instructions.join("\n\n")),
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

pub(super) fn tool(tool: &Tool) -> Value {
    let parameters = tool.parameters.as_ref().map_or_else(|| json!({"type": "object"}), value_of);
    json!({
        "name": tool.name,
        "description": tool.description.clone().unwrap_or_default(),
        "parameters": parameters,
        "strict": tool.strict.unwrap_or(false),
    })
}

fn tool_choice(choice: &ToolChoice) -> Option<Value> {
    match choice {
        ToolChoice::Auto => None,
        ToolChoice::None => Some("none".into()),
        ToolChoice::Required => Some("required".into()),
        ToolChoice::Named(name) => Some(json!({ "name": name })),
        ToolChoice::Other(raw) => Some(value_of(raw)),
    }
}

fn value_of(raw: &RawJson) -> Value {
    serde_json::from_str(raw.get()).unwrap_or(Value::Null)
}

/// Entries that a conversation is given, as items; they are named by their places.
pub(super) fn items(entries: &[InputItem]) -> Vec<Item> {
    entries.iter().enumerate().filter_map(|(at, entry)| item(at, entry)).collect()
}

/// An entry of the history as an item. What stands among the instructions already, and decisions, have none.
fn item(at: usize, item: &InputItem) -> Option<Item> {
    named(format!("h{at}"), item)
}

/// The same, under the id of the message that it stood in.
pub(super) fn named(id: String, item: &InputItem) -> Option<Item> {
    let message = |role: &str, parts: &[Part]| {
        Item::Message(MessageItem {
            id: id.clone(),
            role: Some(role.to_owned()),
            block_list: Some(parts.to_vec()),
            ..MessageItem::default()
        })
    };
    Some(match item {
        InputItem::User { parts } => message("user", parts),
        InputItem::Assistant { parts } => message("assistant", parts),
        InputItem::Reasoning { opaque } => {
            Item::Reasoning(ReasoningItem { id, opaque: Some(opaque.clone()), ..ReasoningItem::default() })
        }
        InputItem::ToolCall { call_id, name, arguments } => Item::ToolCall(ToolCallItem {
            id,
            call_id: call_id.clone(),
            name: name.clone(),
            arguments: arguments.clone(),
            ..ToolCallItem::default()
        }),
        InputItem::ToolResult { call_id, parts, is_error } => Item::ToolResult(ToolResultItem {
            id,
            call_id: call_id.clone(),
            content: Some(parts.clone()),
            is_error: is_error.then_some(true),
            ..ToolResultItem::default()
        }),
        InputItem::System { .. }
        | InputItem::Developer { .. }
        | InputItem::Decision { .. }
        | InputItem::Other { .. } => return None,
    })
}
