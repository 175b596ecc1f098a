//! `POST /v1/messages`: the request as a [`ModelCall`].

use riverrun_event::{FileBlock, ImageBlock, ImageUrl, Part, RawJson};

use super::results::ResultCheck;
use super::thread;
use crate::request::MessageThread;
use crate::request::reader::{At, Object, checked};
use crate::request::{
    ABOUT_THE_ANSWER, InputItem, ModelCall, RequestFailure, RequestedTool, RequestedToolChoice,
};
use crate::request::{inside, member, raw_inside, refuse_routing, request_member, text_inside};
use crate::responses::request::text_of;

/// Reads the body, or says what is wrong and where.
pub fn decode(body: &[u8]) -> Result<ModelCall, RequestFailure> {
    let text = checked(body)?;
    let mut object = Object::body(&text)?;
    // Servers of tools come with keys, which the log must not have.
    let request = request_member("anthropic", &object.without(&["messages", "stream", "mcp_servers"]));
    let verbatim = object.without(&ABOUT_THE_ANSWER);
    let (tool_choice, parallel) = tool_choice(&mut object)?;
    let (mut hosted, mut unknown) = (Vec::new(), Vec::new());
    let thread = thread::read(&mut object)?;
    let call = ModelCall {
        model: object.must_text("model")?,
        max_output_tokens: Some(object.count("max_tokens")?.ok_or_else(|| object.missing("max_tokens"))?),
        input: messages(&mut object, thread.as_ref(), &mut unknown)?,
        thread,
        instructions: system(&mut object, &mut unknown)?,
        tools: tools(&mut object, &mut hosted)?,
        tool_choice,
        parallel_tool_calls: parallel,
        stream: object.flag("stream")?.unwrap_or(false),
        metadata: object.raw("metadata"),
        temperature: object.number("temperature")?,
        top_p: object.number("top_p")?,
        stop: object.list("stop_sequences")?.iter().map(At::text).collect::<Result<_, _>>()?,
        request,
        ..ModelCall::default()
    };
    let mut secrets = Vec::new();
    let mut extra = object.into_unread();
    refuse_routing(&extra)?;
    if member(&extra, "mcp_servers").is_some_and(|servers| servers.get().contains("\"authorization_token\""))
    {
        extra.retain(|(name, _)| name != "mcp_servers");
        secrets.push("mcp_servers".to_owned());
    }
    let (output_schema, reasoning_effort) = (output_schema(&extra), reasoning_effort(&extra));
    Ok(ModelCall { reasoning_effort, output_schema, hosted, secrets, unknown, verbatim, extra, ..call })
}

/// Reads a question for the tokens of a request: the model, and the rest as it is.
pub fn decode_count(body: &[u8]) -> Result<(String, Vec<(String, RawJson)>), RequestFailure> {
    let text = checked(body)?;
    let mut object = Object::body(&text)?;
    let verbatim = object.without(&ABOUT_THE_ANSWER);
    refuse_routing(&verbatim)?;
    let model = object.must_text("model")?;
    messages(&mut object, None, &mut Vec::new())?;
    Ok((model, verbatim))
}

fn output_schema(extra: &[(String, RawJson)]) -> Option<RawJson> {
    let now = raw_inside(member(extra, "output_config"), &["format", "schema"]);
    now.or_else(|| raw_inside(member(extra, "output_format"), &["schema"]))
}

/// As others say it: a budget of thinking is a word there.
fn reasoning_effort(extra: &[(String, RawJson)]) -> Option<String> {
    if let Some(effort) = text_inside(member(extra, "output_config"), &["effort"]) {
        return Some(effort);
    }
    let word = match inside(member(extra, "thinking"), &["budget_tokens"])?.as_u64()? {
        0..=4096 => "low",
        4097..=16_384 => "medium",
        _ => "high",
    };
    Some(word.to_owned())
}

pub(super) fn system(
    object: &mut Object<'_>,
    unknown: &mut Vec<RequestFailure>,
) -> Result<Option<String>, RequestFailure> {
    let body = object.take("system").map(|at| content(&at, unknown)).transpose()?;
    Ok(body.map(|parts| text_of(&parts)))
}

/// A service of this dialect judges results without calls itself: it may know the calls from elsewhere.
fn messages(
    object: &mut Object<'_>,
    thread: Option<&MessageThread>,
    unknown: &mut Vec<RequestFailure>,
) -> Result<Vec<InputItem>, RequestFailure> {
    let continues = matches!(thread, Some(MessageThread::Continue(_)));
    let (mut items, mut results) = (Vec::new(), ResultCheck::new(continues));
    for at in object.must("messages")?.list()? {
        message(&at, &mut items, &mut results, unknown)?;
    }
    unknown.extend(results.orphan);
    if items.is_empty() && !continues {
        let message = "`messages` must have at least one message";
        return Err(RequestFailure::new(400, "empty_array", message).param("messages"));
    }
    Ok(items)
}

/// One message may hold text, thinking, calls and results; each becomes an entry of its own, in order.
fn message(
    at: &At<'_>,
    items: &mut Vec<InputItem>,
    results: &mut ResultCheck,
    unknown: &mut Vec<RequestFailure>,
) -> Result<(), RequestFailure> {
    let mut object = Object::of(at)?;
    let role_at = object.must("role")?;
    let role = role_at.text()?;
    if !matches!(role.as_str(), "user" | "assistant" | "system") {
        return Err(role_at.unknown(&role, &["user", "assistant", "system"]));
    }
    let body = object.must("content")?;
    results.message(&role);
    if body.is_text() {
        push_message(&role, vec![Part::plain(body.text()?)], items);
        return Ok(());
    }
    let mut parts = Vec::new();
    for at in body.list()? {
        match block(&at, unknown)? {
            Entry::Part(part) => parts.push(part),
            // What the user says in a way that is newer than this must not be lost unheard.
            Entry::Item(InputItem::Other { .. }) if role == "user" => {
                parts
                    .push(at.other(&["text", "image", "document", "search_result", "tool_result"], unknown)?);
            }
            Entry::Item(item) => {
                match &item {
                    InputItem::ToolCall { call_id, .. } => results.call(call_id),
                    InputItem::ToolResult { call_id, .. } => results.result(call_id, &at.path),
                    _ => {}
                }
                push_message(&role, std::mem::take(&mut parts), items);
                items.push(item);
            }
        }
    }
    push_message(&role, parts, items);
    Ok(())
}

fn push_message(role: &str, parts: Vec<Part>, items: &mut Vec<InputItem>) {
    match role {
        _ if parts.is_empty() => {}
        "assistant" => items.push(InputItem::Assistant { parts }),
        "system" => items.push(InputItem::System { text: text_of(&parts) }),
        _ => items.push(InputItem::User { parts }),
    }
}

enum Entry {
    Part(Part),
    Item(InputItem),
}

fn block(at: &At<'_>, unknown: &mut Vec<RequestFailure>) -> Result<Entry, RequestFailure> {
    let mut object = Object::of(at)?;
    let kind = object.must_text("type")?;
    Ok(match kind.as_str() {
        "text" | "image" | "document" | "search_result" => Entry::Part(part(at, unknown)?),
        "thinking" | "redacted_thinking" => Entry::Item(InputItem::Reasoning { opaque: at.json() }),
        "tool_use" => Entry::Item(InputItem::ToolCall {
            call_id: object.must_text("id")?,
            name: object.must_text("name")?,
            arguments: object.must("input")?.raw.get().to_owned(),
        }),
        "tool_result" => Entry::Item(InputItem::ToolResult {
            call_id: object.must_text("tool_use_id")?,
            parts: object.take("content").map_or(Ok(Vec::new()), |at| content(&at, unknown))?,
            is_error: object.flag("is_error")?.unwrap_or(false),
        }),
        // Blocks of hosted tools, and what is newer than this: kept, and the runner decides.
        _ => Entry::Item(InputItem::Other { opaque: at.json() }),
    })
}

fn content(at: &At<'_>, unknown: &mut Vec<RequestFailure>) -> Result<Vec<Part>, RequestFailure> {
    if at.is_text() {
        return Ok(vec![Part::plain(at.text()?)]);
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
        "image" => {
            let url = source(&object.must("source")?, unknown)?;
            let image_url = url.map(|url| ImageUrl { url, detail: None });
            Ok(Part::Image(ImageBlock { image_url, ..ImageBlock::default() }))
        }
        "document" => {
            let url = source(&object.must("source")?, unknown)?;
            Ok(Part::File(FileBlock { name: object.text("title")?, url, ..FileBlock::default() }))
        }
        "search_result" => {
            let found = content(&object.must("content")?, unknown)?;
            Ok(Part::plain(format!("{}\n{}", object.must_text("title")?, text_of(&found))))
        }
        _ => at.other(&["text", "image", "document", "search_result"], unknown),
    }
}

/// An address, or the bytes as one; none where only a service of this dialect knows where to look.
fn source(at: &At<'_>, unknown: &mut Vec<RequestFailure>) -> Result<Option<String>, RequestFailure> {
    let mut object = Object::of(at)?;
    let kind = object.must("type")?;
    match kind.text()?.as_str() {
        "base64" => {
            let (media, data) = (object.must_text("media_type")?, object.must_text("data")?);
            Ok(Some(format!("data:{media};base64,{data}")))
        }
        "url" => object.must_text("url").map(Some),
        "file" => object.must_text("file_id").map(Some),
        "text" => Ok(Some(format!("data:text/plain,{}", object.must_text("data")?))),
        "content" => {
            let body = text_of(&content(&object.must("content")?, unknown)?);
            Ok(Some(format!("data:text/plain,{body}")))
        }
        other => {
            unknown.push(kind.unknown(other, &["base64", "url", "file", "text", "content"]));
            Ok(None)
        }
    }
}

/// Tools without a type, or of the type `custom`, are the client's.
pub(super) fn tools(
    object: &mut Object<'_>,
    hosted: &mut Vec<String>,
) -> Result<Vec<RequestedTool>, RequestFailure> {
    let mut tools = Vec::new();
    for at in object.list("tools")? {
        let mut tool = Object::of(&at)?;
        if let Some(kind) = tool.text("type")?.filter(|kind| kind != "custom") {
            hosted.push(kind);
        } else {
            tools.push(RequestedTool {
                name: tool.must_text("name")?,
                description: tool.text("description")?,
                parameters: Some(tool.must("input_schema")?.json()),
                strict: tool.flag("strict")?,
            });
        }
    }
    Ok(tools)
}

fn tool_choice(object: &mut Object<'_>) -> Result<(RequestedToolChoice, Option<bool>), RequestFailure> {
    let Some(at) = object.take("tool_choice") else { return Ok((RequestedToolChoice::Auto, None)) };
    let mut choice = Object::of(&at)?;
    let parallel = choice.flag("disable_parallel_tool_use")?.map(|is_disabled| !is_disabled);
    let kind = choice.must("type")?;
    let choice = match kind.text()?.as_str() {
        "auto" => RequestedToolChoice::Auto,
        "any" => RequestedToolChoice::Required,
        "none" => RequestedToolChoice::None,
        "tool" => RequestedToolChoice::Named(choice.must_text("name")?),
        other => return Err(kind.unknown(other, &["auto", "any", "tool", "none"])),
    };
    Ok((choice, parallel))
}
