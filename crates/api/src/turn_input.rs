//! What a turn may be given: an input that a model can be shown, and settings that mean something.

use riverrun_event::{Block, ErrorCode, Input, Item, Part, TenantId};
use riverrun_log::BlobId;
use riverrun_log::seeded::{self, Bug};
use riverrun_runner::{Settings, blob_named, check_schema, is_blocked};
use serde_json::{Map, Value};

use crate::{ApiError, Services, invalid};

/// Nothing to say is nothing to do, and what no model can be shown is nothing to say.
pub fn check_input(services: &Services, input: &Input) -> Result<(), ApiError> {
    let empty = || invalid("input", &"it is empty; say what the turn is about");
    match input {
        input if says_nothing(input) => Err(empty()),
        Input::Text(_) => Ok(()),
        Input::Parts(parts) => parts
            .iter()
            .enumerate()
            .try_for_each(|(place, part)| check_part(services, &format!("input[{place}]"), part)),
    }
}

/// True for an input of which no model would be shown anything.
pub fn says_nothing(input: &Input) -> bool {
    let is_blank = |part: &Part| match part {
        Block::Text(text) => text.text.trim().is_empty(),
        _ => false,
    };
    match input {
        Input::Text(text) => text.trim().is_empty(),
        Input::Parts(parts) => parts.iter().all(is_blank),
    }
}

fn check_part(services: &Services, place: &str, part: &Part) -> Result<(), ApiError> {
    match part {
        Block::Text(_) | Block::Html(_) | Block::Table(_) | Block::Json(_) => Ok(()),
        Block::Image(image) => match &image.image_url {
            Some(found) => check_url(services, &format!("{place}.image_url"), &found.url),
            None if image.file_ref.is_some() => Ok(()),
            None => Err(invalid(place, &"an image needs `image_url` or `file_ref`")),
        },
        Block::File(file) => match &file.url {
            Some(url) => check_url(services, &format!("{place}.url"), url),
            None if file.data.is_some() || file.file_ref.is_some() => Ok(()),
            None => Err(invalid(place, &"a file needs `url`, `data` or `file_ref`")),
        },
        Block::Audio(audio) if audio.transcript.is_none() => {
            let reason = "no model is shown sound from here; give its words as `transcript`";
            Err(invalid(place, &reason))
        }
        Block::Audio(audio) => {
            audio.url.as_ref().map_or(Ok(()), |url| check_url(services, &format!("{place}.url"), url))
        }
        Block::Item(_) | Block::Other(_) => {
            let field = format!("{place}.type");
            let known = "no model can be shown this part; known: text, image, file, audio, table, json, html";
            Err(invalid(&field, &known))
        }
    }
}

/// The addresses in what a foreign client brings along: the input and what was said before. A file at the client's
/// service has a name there instead, and an address of Google's storage is one too.
pub fn check_addresses(services: &Services, input: Option<&Input>, history: &[Item]) -> Result<(), ApiError> {
    let address = |(_, part): (String, &Part)| match part {
        Block::Image(image) => image.image_url.as_ref().map(|found| found.url.clone()),
        Block::File(file) => file.url.clone(),
        Block::Audio(audio) => audio.url.clone(),
        _ => None,
    };
    let fetched = |url: &String| !is_file_name(url) && !url.starts_with("gs://");
    let mut addresses = placed(input, history).into_iter().filter_map(address).filter(fetched);
    addresses.try_for_each(|url| match blocked(services, &url) {
        Some(detail) => Err(ApiError::new(ErrorCode::UrlBlocked, detail).field("input")),
        None => Ok(()),
    })
}

/// The name of a file at a service: `file-abc`, `file_011C`, `files/abc-1`. No reader can take it for an address: it has
/// no scheme, no host, no dots, and no slash at its beginning.
fn is_file_name(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    let starts_with_letter = text.starts_with(|c: char| c.is_ascii_alphabetic());
    starts_with_letter && text.split('/').all(is_word) && text.split('/').next() != Some("localhost")
}

/// The blobs that are named: each is a reference and the caller's own, before anybody is told that it was taken.
pub async fn check_blobs(
    services: &Services,
    tenant: &TenantId,
    input: Option<&Input>,
    history: &[Item],
) -> Result<(), ApiError> {
    for (place, part) in placed(input, history) {
        let Some(name) = blob_named(part) else { continue };
        let field = format!("{place}.file_ref");
        let shown: String = name.chars().take(80).filter(|c| !c.is_control()).collect();
        let Some(reference) = BlobId::parse(name) else {
            let detail =
                format!("`{field}`: `{shown}` is no reference; give the `ref` that PUT /v1/blobs answered");
            return Err(ApiError::new(ErrorCode::BadRef, detail).field(field));
        };
        if services.log().blob_info(tenant, &reference).await?.is_none() {
            let detail = format!("`{field}`: there is no blob `{shown}`; store it with PUT /v1/blobs first");
            return Err(ApiError::new(ErrorCode::NotFound, detail).field(field));
        }
    }
    Ok(())
}

/// The parts of an input and of what was said before, each with its place.
fn placed<'a>(input: Option<&'a Input>, history: &'a [Item]) -> Vec<(String, &'a Part)> {
    let mut all = Vec::new();
    let mut add = |at: String, parts: &'a [Part]| {
        all.extend(parts.iter().enumerate().map(|(place, part)| (format!("{at}[{place}]"), part)));
    };
    if let Some(Input::Parts(parts)) = input {
        add("input".to_owned(), parts);
    }
    for (place, item) in history.iter().enumerate() {
        let (content, blocks) = match item {
            Item::Message(message) => (&message.content, &message.block_list),
            Item::ToolResult(result) => (&result.content, &result.block_list),
            _ => continue,
        };
        add(format!("history[{place}].content"), content.as_deref().unwrap_or_default());
        add(format!("history[{place}].block_list"), blocks.as_deref().unwrap_or_default());
    }
    all
}

/// Why nobody is sent to this address, and what to give instead. A data URL brings its content along; every other one is
/// fetched by somebody.
fn blocked(services: &Services, url: &str) -> Option<String> {
    if url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return None;
    }
    if seeded::is_on(Bug::SkipBareAddresses) && !url.contains("://") {
        return None;
    }
    if services.agents().runner.files.outbound.allows(url) {
        return None;
    }
    let reason = is_blocked(url)?;
    let shown: String = url.chars().take(80).filter(|c| !c.is_control()).collect();
    Some(format!("`{shown}`: {reason}; give the content as a data: URL, or a public address"))
}

fn check_url(services: &Services, field: &str, url: &str) -> Result<(), ApiError> {
    match blocked(services, url) {
        Some(detail) => {
            Err(ApiError::new(ErrorCode::UrlBlocked, format!("`{field}`: {detail}")).field(field))
        }
        None => Ok(()),
    }
}

const KNOWN: &[&str] = &[
    "instructions",
    "tools",
    "clientTools",
    "toolChoice",
    "parallelToolCalls",
    "outputSchema",
    "maxOutputTokens",
    "temperature",
    "topP",
    "stop",
    "reasoningEffort",
    "deltas",
    "extra",
];

/// Members that nobody knows belong into `extra`; elsewhere they are mistakes.
pub fn settings(members: Map<String, Value>) -> Result<Settings, ApiError> {
    check_names("settings", &members, KNOWN)?;
    let settings: Settings =
        serde_json::from_value(Value::Object(members)).map_err(|error| invalid("settings", &error))?;
    for (place, tool) in settings.tools.iter().enumerate() {
        check_tool(&format!("settings.tools[{place}]"), tool)?;
    }
    if let Some(word) = settings.client_tools.as_deref().filter(|word| !matches!(*word, "end" | "wait")) {
        let reason = format!("`{word}` is not one of end, wait");
        return Err(invalid("settings.clientTools", &reason));
    }
    settings.tool_choice.as_ref().map_or(Ok(()), check_choice)?;
    settings.output_schema.as_ref().map_or(Ok(()), |schema| check_object("settings.outputSchema", schema))?;
    Ok(settings)
}

fn check_names(at: &str, members: &Map<String, Value>, known: &[&str]) -> Result<(), ApiError> {
    let Some(unknown) = members.keys().find(|name| !known.contains(&name.as_str())) else { return Ok(()) };
    let field = format!("{at}.{unknown}");
    let hint = match riverrun_event::nearest(unknown, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    };
    Err(ApiError::new(ErrorCode::UnknownField, format!("unknown field `{field}`; {hint}")).field(field))
}

fn check_tool(at: &str, tool: &Value) -> Result<(), ApiError> {
    let Value::Object(members) = tool else {
        return Err(invalid(at, &"a tool is an object: {name, description, parameters, strict}"));
    };
    check_names(at, members, &["name", "description", "parameters", "strict"])?;
    match members.get("name") {
        Some(Value::String(name)) if !name.is_empty() => {}
        Some(_) | None => {
            return Err(invalid(&format!("{at}.name"), &"a tool needs a name, which is a text"));
        }
    }
    match members.get("parameters") {
        Some(Value::Null) | None => Ok(()),
        Some(schema) => check_object(&format!("{at}.parameters"), schema),
    }
}

fn check_object(field: &str, schema: &Value) -> Result<(), ApiError> {
    if !schema.is_object() {
        return Err(invalid(field, &"it wants a JSON Schema, which is an object"));
    }
    check_schema(schema).map_err(|reason| invalid(field, &reason))
}

fn check_choice(choice: &Value) -> Result<(), ApiError> {
    let is_known = match choice {
        Value::String(word) => matches!(word.as_str(), "auto" | "none" | "required" | "any"),
        Value::Object(members) => members.get("name").is_some_and(Value::is_string),
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
    };
    if is_known {
        return Ok(());
    }
    Err(invalid("settings.toolChoice", &"it wants auto, none, required, any, or {\"name\": TOOL}"))
}
