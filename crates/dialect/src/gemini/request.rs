//! `POST /v1/models/{model}:generateContent` and `:streamGenerateContent`: the request as a [`ModelCall`]; and what
//! `:countTokens` asks a service.

use riverrun_event::{FileBlock, ImageBlock, ImageUrl, Part, RawJson};

use crate::request::reader::{At, Object, checked};
use crate::request::{
    InputItem, ModelCall, RequestFailure, RequestedTool, RequestedToolChoice, request_member,
};

/// The model and whether a stream is asked for stand in the path, so they are arguments here.
pub fn decode(model: &str, stream: bool, body: &[u8]) -> Result<ModelCall, RequestFailure> {
    let text = checked(body)?;
    let mut object = Object::body(&text)?;
    let mut members = object.without(&["contents", "continuationToken"]);
    members.push(("model".to_owned(), RawJson::of(model).expect("a text is JSON")));
    let mut call = ModelCall {
        model: model.to_owned(),
        stream,
        input: contents(&mut object)?,
        instructions: object.take("systemInstruction").map(|at| instruction(&at)).transpose()?,
        tools: tools(&mut object)?,
        tool_choice: tool_choice(&mut object)?,
        continuation: object.text("continuationToken")?,
        request: request_member("gemini", &members),
        ..ModelCall::default()
    };
    if let Some(at) = object.take("generationConfig") {
        let mut config = Object::of(&at)?;
        call.max_output_tokens = config.count("maxOutputTokens")?;
        call.temperature = config.number("temperature")?;
        call.top_p = config.number("topP")?;
        call.stop = config.list("stopSequences")?.iter().map(At::text).collect::<Result<_, _>>()?;
        let unread = config.into_unread();
        if !unread.is_empty() {
            call.extra.push(("generationConfig".to_owned(), at.json()));
        }
    }
    call.extra.extend(object.into_unread());
    Ok(call)
}

/// The body of `:countTokens` for the service, which knows its model by another name than the caller does.
pub fn decode_count(
    service_model: &str,
    body: &[u8],
) -> Result<serde_json::Map<String, serde_json::Value>, RequestFailure> {
    let text = checked(body)?;
    let mut object = Object::body(&text)?;
    let (contents, whole) = (object.take("contents"), object.take("generateContentRequest"));
    if contents.is_none() && whole.is_none() {
        return Err(object.missing("contents"));
    }
    let mut asked: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&text).expect("it was read as an object");
    if let Some(at) = whole {
        Object::of(&at)?;
        asked["generateContentRequest"]["model"] = format!("models/{service_model}").into();
    }
    Ok(asked)
}

fn instruction(at: &At<'_>) -> Result<String, RequestFailure> {
    if at.is_text() {
        return at.text();
    }
    let parts = Object::of(at)?.must("parts")?.list()?;
    let texts = parts.iter().map(|part| Object::of(part)?.must_text("text"));
    Ok(texts.collect::<Result<Vec<_>, _>>()?.join("\n"))
}

fn contents(object: &mut Object<'_>) -> Result<Vec<InputItem>, RequestFailure> {
    let mut items = Vec::new();
    for at in object.must("contents")?.list()? {
        content(&at, &mut items)?;
    }
    if items.is_empty() {
        let message = "`contents` must have at least one part";
        return Err(RequestFailure::new(400, "empty_array", message).param("contents"));
    }
    Ok(items)
}

fn content(at: &At<'_>, items: &mut Vec<InputItem>) -> Result<(), RequestFailure> {
    let mut object = Object::of(at)?;
    let is_model = match object.take("role") {
        Some(role) => match role.text()?.as_str() {
            "model" => true,
            "user" | "function" => false,
            other => return Err(role.unknown(other, &["user", "model"])),
        },
        None => false,
    };
    let mut parts = Vec::new();
    for at in object.must("parts")?.list()? {
        match part(&at)? {
            Entry::Part(part) => parts.push(part),
            Entry::Item(item) => {
                push_message(is_model, std::mem::take(&mut parts), items);
                items.push(item);
            }
        }
    }
    push_message(is_model, parts, items);
    Ok(())
}

fn push_message(is_model: bool, parts: Vec<Part>, items: &mut Vec<InputItem>) {
    match is_model {
        _ if parts.is_empty() => {}
        true => items.push(InputItem::Assistant { parts }),
        false => items.push(InputItem::User { parts }),
    }
}

enum Entry {
    Part(Part),
    Item(InputItem),
}

fn part(at: &At<'_>) -> Result<Entry, RequestFailure> {
    let mut object = Object::of(at)?;
    if object.flag("thought")?.unwrap_or(false) {
        return Ok(Entry::Item(InputItem::Reasoning { opaque: at.json() }));
    }
    if let Some(text) = object.text("text")? {
        return Ok(Entry::Part(Part::plain(text)));
    }
    if let Some(at) = object.take("functionCall") {
        return call(&at).map(Entry::Item);
    }
    if let Some(at) = object.take("functionResponse") {
        return response(&at).map(Entry::Item);
    }
    if let Some(at) = object.take("inlineData") {
        let mut data = Object::of(&at)?;
        let (media, bytes) = (data.must_text("mimeType")?, data.must_text("data")?);
        return Ok(Entry::Part(media_part(format!("data:{media};base64,{bytes}"), media)));
    }
    if let Some(at) = object.take("fileData") {
        let mut file = Object::of(&at)?;
        let (uri, media) = (file.must_text("fileUri")?, file.text("mimeType")?.unwrap_or_default());
        return Ok(Entry::Part(media_part(uri, media)));
    }
    Ok(Entry::Item(InputItem::Other { opaque: at.json() }))
}

fn media_part(url: String, media: String) -> Part {
    if media.starts_with("image/") {
        let image_url = Some(ImageUrl { url, detail: None });
        return Part::Image(ImageBlock { image_url, media_type: Some(media), ..ImageBlock::default() });
    }
    Part::File(FileBlock { url: Some(url), media_type: Some(media), ..FileBlock::default() })
}

/// Calls without an id are joined with their results by name.
fn call(at: &At<'_>) -> Result<InputItem, RequestFailure> {
    let mut call = Object::of(at)?;
    let name = call.must_text("name")?;
    let call_id = call.text("id")?.unwrap_or_else(|| name.clone());
    let arguments = call.take("args").map_or_else(|| "{}".to_owned(), |at| at.raw.get().to_owned());
    Ok(InputItem::ToolCall { call_id, name, arguments })
}

fn response(at: &At<'_>) -> Result<InputItem, RequestFailure> {
    let mut response = Object::of(at)?;
    let name = response.must_text("name")?;
    let call_id = response.text("id")?.unwrap_or(name);
    let parts = vec![Part::plain(response.must("response")?.raw.get())];
    Ok(InputItem::ToolResult { call_id, is_error: false, parts })
}

fn tools(object: &mut Object<'_>) -> Result<Vec<RequestedTool>, RequestFailure> {
    let mut tools = Vec::new();
    for at in object.list("tools")? {
        for at in Object::of(&at)?.list("functionDeclarations")? {
            let mut function = Object::of(&at)?;
            tools.push(RequestedTool {
                name: function.must_text("name")?,
                description: function.text("description")?,
                parameters: function.raw("parameters").or(function.raw("parametersJsonSchema")),
                strict: None,
            });
        }
    }
    Ok(tools)
}

fn tool_choice(object: &mut Object<'_>) -> Result<RequestedToolChoice, RequestFailure> {
    let Some(at) = object.take("toolConfig") else { return Ok(RequestedToolChoice::Auto) };
    let Some(calling) = Object::of(&at)?.take("functionCallingConfig") else {
        return Ok(RequestedToolChoice::Auto);
    };
    let mut calling = Object::of(&calling)?;
    let names = calling.list("allowedFunctionNames")?.iter().map(At::text).collect::<Result<Vec<_>, _>>()?;
    let Some(mode) = calling.take("mode") else { return Ok(RequestedToolChoice::Auto) };
    match (mode.text()?.as_str(), names.as_slice()) {
        ("AUTO" | "VALIDATED", _) => Ok(RequestedToolChoice::Auto),
        ("NONE", _) => Ok(RequestedToolChoice::None),
        ("ANY", [only]) => Ok(RequestedToolChoice::Named(only.clone())),
        ("ANY", []) => Ok(RequestedToolChoice::Required),
        ("ANY", _) => Ok(RequestedToolChoice::Other(at.json())),
        (other, _) => Err(mode.unknown(other, &["AUTO", "ANY", "NONE", "VALIDATED"])),
    }
}
