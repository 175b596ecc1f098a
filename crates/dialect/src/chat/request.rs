//! `POST /v1/chat/completions`: the request as a [`ModelCall`].

use riverrun_event::{AudioBlock, FileBlock, ImageBlock, ImageUrl, Part};

use crate::request::reader::{At, Object, checked};
use crate::request::{
    ABOUT_THE_ANSWER, InputItem, ModelCall, RequestFailure, RequestedTool, RequestedToolChoice,
};
use crate::request::{member, raw_inside, refuse_routing, request_member};
use crate::responses::request::text_of;

/// Reads the body, or says what is wrong and where.
pub fn decode(body: &[u8]) -> Result<ModelCall, RequestFailure> {
    let text = checked(body)?;
    let mut object = Object::body(&text)?;
    let request = request_member("chat", &object.without(&["messages", "stream"]));
    let verbatim = object.without(&ABOUT_THE_ANSWER);
    let (mut hosted, mut unknown) = (Vec::new(), Vec::new());
    object.take("stream_options");
    let call = ModelCall {
        model: object.must_text("model")?,
        input: messages(&mut object, &mut unknown)?,
        tools: tools(&mut object, &mut hosted)?,
        tool_choice: tool_choice(&mut object, &mut hosted)?,
        parallel_tool_calls: object.flag("parallel_tool_calls")?,
        stream: object.flag("stream")?.unwrap_or(false),
        store: object.flag("store")?,
        metadata: object.raw("metadata"),
        max_output_tokens: object.count("max_completion_tokens")?.or(object.count("max_tokens")?),
        temperature: object.number("temperature")?,
        top_p: object.number("top_p")?,
        stop: stop(&mut object)?,
        request,
        ..ModelCall::default()
    };
    if let Some(many) = object.count("n")?.filter(|many| *many != 1) {
        return Err(
            RequestFailure::new(400, "unsupported_value", format!("`n` must be 1, not {many}")).param("n")
        );
    }
    let extra = object.into_unread();
    refuse_routing(&extra)?;
    let reasoning_effort = member(&extra, "reasoning_effort").and_then(|effort| effort.to().ok());
    let output_schema = raw_inside(member(&extra, "response_format"), &["json_schema", "schema"]);
    Ok(ModelCall { reasoning_effort, output_schema, hosted, unknown, verbatim, extra, ..call })
}

fn stop(object: &mut Object<'_>) -> Result<Vec<String>, RequestFailure> {
    match object.take("stop") {
        Some(at) if at.is_text() => Ok(vec![at.text()?]),
        Some(at) => at.list()?.iter().map(At::text).collect(),
        None => Ok(Vec::new()),
    }
}

fn messages(
    object: &mut Object<'_>,
    unknown: &mut Vec<RequestFailure>,
) -> Result<Vec<InputItem>, RequestFailure> {
    let mut items = Vec::new();
    for at in object.must("messages")?.list()? {
        message(&at, &mut items, unknown)?;
    }
    if items.is_empty() {
        let message = "`messages` must have at least one message";
        return Err(RequestFailure::new(400, "empty_array", message).param("messages"));
    }
    Ok(items)
}

fn message(
    at: &At<'_>,
    items: &mut Vec<InputItem>,
    unknown: &mut Vec<RequestFailure>,
) -> Result<(), RequestFailure> {
    let mut object = Object::of(at)?;
    let role = object.must("role")?;
    match role.text()?.as_str() {
        "user" => items.push(InputItem::User { parts: content(&object.must("content")?, unknown)? }),
        "system" => {
            items.push(InputItem::System { text: text_of(&content(&object.must("content")?, unknown)?) })
        }
        "developer" => {
            items.push(InputItem::Developer { text: text_of(&content(&object.must("content")?, unknown)?) });
        }
        "assistant" => assistant(&mut object, items, unknown)?,
        "tool" => items.push(InputItem::ToolResult {
            call_id: object.must_text("tool_call_id")?,
            parts: content(&object.must("content")?, unknown)?,
            is_error: false,
        }),
        other => return Err(role.unknown(other, &["user", "assistant", "system", "developer", "tool"])),
    }
    Ok(())
}

fn assistant(
    object: &mut Object<'_>,
    items: &mut Vec<InputItem>,
    unknown: &mut Vec<RequestFailure>,
) -> Result<(), RequestFailure> {
    let service = object.take("content").map(|at| content(&at, unknown)).transpose()?;
    let refusal = object.text("refusal")?.map(Part::plain);
    let parts: Vec<Part> = service.into_iter().flatten().chain(refusal).collect();
    if !parts.is_empty() {
        items.push(InputItem::Assistant { parts });
    }
    for at in object.list("tool_calls")? {
        let mut call = Object::of(&at)?;
        if call.text("type")?.is_some_and(|kind| kind != "function") {
            items.push(InputItem::Other { opaque: at.json() });
            continue;
        }
        let call_id = call.must_text("id")?;
        let mut function = Object::of(&call.must("function")?)?;
        items.push(InputItem::ToolCall {
            call_id,
            name: function.must_text("name")?,
            arguments: function.must_text("arguments")?,
        });
    }
    Ok(())
}

fn content(at: &At<'_>, unknown: &mut Vec<RequestFailure>) -> Result<Vec<Part>, RequestFailure> {
    if at.is_text() {
        let text = at.text()?;
        return Ok(if text.is_empty() { Vec::new() } else { vec![Part::plain(text)] });
    }
    if !at.is_list() {
        return Err(at.wrong("a string or an array"));
    }
    at.list()?.iter().map(|at| part(at, unknown)).collect()
}

fn part(at: &At<'_>, unknown: &mut Vec<RequestFailure>) -> Result<Part, RequestFailure> {
    let mut object = Object::of(at)?;
    let kind = object.must("type")?;
    match kind.text()?.as_str() {
        "text" => Ok(Part::plain(object.must_text("text")?)),
        "refusal" => Ok(Part::plain(object.must_text("refusal")?)),
        "image_url" => {
            let mut image = Object::of(&object.must("image_url")?)?;
            let image_url = Some(ImageUrl { url: image.must_text("url")?, detail: image.text("detail")? });
            Ok(Part::Image(ImageBlock { image_url, ..ImageBlock::default() }))
        }
        "input_audio" => {
            let mut audio = Object::of(&object.must("input_audio")?)?;
            let data = Some(audio.must_text("data")?);
            let media_type = audio.text("format")?.map(|format| format!("audio/{format}"));
            Ok(Part::Audio(AudioBlock { data, media_type, ..AudioBlock::default() }))
        }
        "file" => {
            let mut file = Object::of(&object.must("file")?)?;
            let (name, url) = (file.text("filename")?, file.text("file_id")?);
            Ok(Part::File(FileBlock { name, url, data: file.text("file_data")?, ..FileBlock::default() }))
        }
        _ => at.other(&["text", "image_url", "input_audio", "file", "refusal"], unknown),
    }
}

/// Functions are the client's; others are the service's own.
fn tools(object: &mut Object<'_>, hosted: &mut Vec<String>) -> Result<Vec<RequestedTool>, RequestFailure> {
    let mut tools = Vec::new();
    for at in object.list("tools")? {
        let mut tool = Object::of(&at)?;
        let kind = tool.must("type")?;
        if kind.text()? != "function" {
            hosted.push(kind.text()?);
            continue;
        }
        let mut function = Object::of(&tool.must("function")?)?;
        tools.push(RequestedTool {
            name: function.must_text("name")?,
            description: function.text("description")?,
            parameters: function.raw("parameters"),
            strict: function.flag("strict")?,
        });
    }
    Ok(tools)
}

fn tool_choice(
    object: &mut Object<'_>,
    hosted: &mut Vec<String>,
) -> Result<RequestedToolChoice, RequestFailure> {
    let Some(at) = object.take("tool_choice") else { return Ok(RequestedToolChoice::Auto) };
    if at.is_object() {
        let mut choice = Object::of(&at)?;
        return match choice.take("function") {
            Some(function) => Ok(RequestedToolChoice::Named(Object::of(&function)?.must_text("name")?)),
            None => {
                hosted.extend(choice.text("type")?);
                Ok(RequestedToolChoice::Other(at.json()))
            }
        };
    }
    match at.text()?.as_str() {
        "auto" => Ok(RequestedToolChoice::Auto),
        "none" => Ok(RequestedToolChoice::None),
        "required" => Ok(RequestedToolChoice::Required),
        other => Err(at.unknown(other, &["auto", "none", "required"])),
    }
}
