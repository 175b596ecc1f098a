//! `POST /v1/responses`: the request as a [`ModelCall`].

use riverrun_event::{FileBlock, ImageBlock, ImageUrl, Part, RawJson};

use crate::request::reader::{At, Object, checked};
use crate::request::{
    ABOUT_THE_ANSWER, InputItem, ModelCall, RequestFailure, RequestedTool, RequestedToolChoice,
};
use crate::request::{member, raw_inside, refuse_routing, request_member, text_inside};

/// Tools that are not functions may carry keys of other services; the log must not.
const SECRETS: [&str; 2] = ["authorization", "headers"];

/// Reads the body, or says what is wrong and where.
pub fn decode(body: &[u8]) -> Result<ModelCall, RequestFailure> {
    let text = checked(body)?;
    let mut object = Object::body(&text)?;
    let conversation = conversation(&mut object)?;
    let request = record(&object, conversation.as_deref())?;
    let verbatim = object.without(&ABOUT_THE_ANSWER);
    let (mut hosted, mut secrets, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    object.take("stream_options");
    let call = ModelCall {
        model: object.must_text("model")?,
        input: input(&mut object, &mut unknown)?,
        instructions: object.text("instructions")?,
        tools: tools(&mut object, &mut hosted, &mut secrets)?,
        tool_choice: tool_choice(&mut object, &mut hosted)?,
        parallel_tool_calls: object.flag("parallel_tool_calls")?,
        previous: previous(&mut object, conversation.as_deref())?,
        conversation,
        stream: object.flag("stream")?.unwrap_or(false),
        background: object.flag("background")?.unwrap_or(false),
        store: object.flag("store")?,
        metadata: object.take("metadata").map(|at| Object::of(&at).map(|_| at.json())).transpose()?,
        max_output_tokens: object.count("max_output_tokens")?,
        temperature: object.number("temperature")?,
        top_p: object.number("top_p")?,
        request,
        ..ModelCall::default()
    };
    let extra = object.into_unread();
    refuse_routing(&extra)?;
    let reasoning_effort = text_inside(member(&extra, "reasoning"), &["effort"]);
    let output_schema = raw_inside(member(&extra, "text"), &["format", "schema"]);
    Ok(ModelCall { reasoning_effort, output_schema, hosted, secrets, unknown, verbatim, extra, ..call })
}

/// The input of a conversation beside its responses: items and metadata.
#[derive(Debug, Default, PartialEq)]
pub struct ConversationInput {
    pub items: Vec<InputItem>,
    pub metadata: Option<RawJson>,
}

/// Reads the body of `/v1/conversations` and of what is below it.
pub fn decode_given(body: &[u8]) -> Result<ConversationInput, RequestFailure> {
    const MOST: usize = 20;
    let text = checked(if body.is_empty() { b"{}" } else { body })?;
    let mut object = Object::body(&text)?;
    let list = object.list("items")?;
    if list.len() > MOST {
        let message = format!("`items` has {} entries; give at most {MOST} at a time", list.len());
        return Err(RequestFailure::new(400, "array_above_max_length", message).param("items"));
    }
    let items = list.iter().map(stored_item).collect::<Result<_, _>>()?;
    let metadata = object.take("metadata").map(|at| Object::of(&at).map(|_| at.json())).transpose()?;
    Ok(ConversationInput { items, metadata })
}

/// An item that a conversation can keep. What is none of them would be lost, which is worse than a refusal.
fn stored_item(at: &At<'_>) -> Result<InputItem, RequestFailure> {
    let mut unknown = Vec::new();
    let item = item(at, &mut unknown)?;
    if let Some(failure) = unknown.pop() {
        return Err(failure);
    }
    match item {
        InputItem::System { .. } | InputItem::Developer { .. } => {
            let message = format!(
                "`{}`: a conversation keeps no instructions; send `instructions` with each response",
                at.path
            );
            Err(RequestFailure::new(400, "unsupported_value", message).param(at.path.clone()))
        }
        InputItem::Decision { .. } | InputItem::Other { .. } => {
            let message = format!(
                "`{}`: a conversation keeps messages of the user and the assistant, function calls and their \
                 outputs, and reasoning",
                at.path
            );
            Err(RequestFailure::new(400, "unsupported_value", message).param(at.path.clone()))
        }
        item => Ok(item),
    }
}

/// A conversation's id, alone or in an object.
fn conversation(object: &mut Object<'_>) -> Result<Option<String>, RequestFailure> {
    match object.take("conversation") {
        None => Ok(None),
        Some(at) if at.is_text() => at.text().map(Some),
        Some(at) => Object::of(&at)?.must_text("id").map(Some),
    }
}

fn previous(object: &mut Object<'_>, conversation: Option<&str>) -> Result<Option<String>, RequestFailure> {
    let previous = object.text("previous_response_id")?;
    if previous.is_some() && conversation.is_some() {
        let message =
            "`previous_response_id` and `conversation` both say what stands before; give one of them";
        return Err(
            RequestFailure::new(400, "mutually_exclusive_parameters", message).param("previous_response_id")
        );
    }
    Ok(previous)
}

/// What the log keeps: everything but the input and what is secret. A response names its conversation by an object.
fn record(object: &Object<'_>, conversation: Option<&str>) -> Result<RawJson, RequestFailure> {
    let mut members = object.without(&["input", "stream"]);
    if let Some(id) = conversation {
        let named = RawJson::of(&serde_json::json!({"id": id})).expect("an object with a text is JSON");
        members.push(("conversation".to_owned(), named));
    }
    for (name, value) in &mut members {
        if name == "tools" && value.get().starts_with('[') {
            let at = At { path: "tools".to_owned(), raw: value.as_raw_value() };
            let tools: Vec<String> = at.list()?.iter().map(without_secrets).collect::<Result<_, _>>()?;
            *value = RawJson::parse(format!("[{}]", tools.join(","))).expect("its entries are JSON");
        }
    }
    Ok(request_member("responses", &members))
}

fn without_secrets(tool: &At<'_>) -> Result<String, RequestFailure> {
    let members = Object::of(tool)?.without(&SECRETS);
    let member = |(name, value): (String, RawJson)| {
        let mut out = String::new();
        riverrun_event::json::write_string(&mut out, &name);
        format!("{out}:{}", value.get())
    };
    Ok(format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(",")))
}

fn input(
    object: &mut Object<'_>,
    unknown: &mut Vec<RequestFailure>,
) -> Result<Vec<InputItem>, RequestFailure> {
    let Some(at) = object.take("input") else { return Err(object.missing("input")) };
    if at.is_text() {
        return Ok(vec![InputItem::User { parts: vec![Part::plain(at.text()?)] }]);
    }
    if !at.is_list() {
        return Err(at.wrong("a string or an array"));
    }
    at.list()?.iter().map(|at| item(at, unknown)).collect()
}

fn item(at: &At<'_>, unknown: &mut Vec<RequestFailure>) -> Result<InputItem, RequestFailure> {
    let mut object = Object::of(at)?;
    let kind = object.text("type")?.unwrap_or_else(|| "message".to_owned());
    match kind.as_str() {
        "message" => message(&mut object, unknown),
        "function_call" => Ok(InputItem::ToolCall {
            call_id: object.must_text("call_id")?,
            name: object.must_text("name")?,
            arguments: object.must_text("arguments")?,
        }),
        "function_call_output" => Ok(InputItem::ToolResult {
            call_id: object.must_text("call_id")?,
            parts: content(&object.must("output")?, unknown)?,
            is_error: false,
        }),
        "mcp_approval_response" => Ok(InputItem::Decision {
            action_id: object.must_text("approval_request_id")?,
            approve: object.flag("approve")?.ok_or_else(|| object.missing("approve"))?,
            reason: object.text("reason")?,
        }),
        "reasoning" => Ok(InputItem::Reasoning { opaque: at.json() }),
        // Items of hosted tools, references to items, and what is newer than this: kept, and the runner decides.
        _ => Ok(InputItem::Other { opaque: at.json() }),
    }
}

fn message(object: &mut Object<'_>, unknown: &mut Vec<RequestFailure>) -> Result<InputItem, RequestFailure> {
    let role = object.must("role")?;
    let parts = content(&object.must("content")?, unknown)?;
    match role.text()?.as_str() {
        "user" => Ok(InputItem::User { parts }),
        "assistant" => Ok(InputItem::Assistant { parts }),
        "system" => Ok(InputItem::System { text: text_of(&parts) }),
        "developer" => Ok(InputItem::Developer { text: text_of(&parts) }),
        other => Err(role.unknown(other, &["user", "assistant", "system", "developer"])),
    }
}

pub(crate) fn text_of(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::text).collect::<Vec<_>>().join("\n")
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
        "input_text" | "output_text" | "text" => Ok(Part::plain(object.must_text("text")?)),
        "refusal" => Ok(Part::plain(object.must_text("refusal")?)),
        "input_image" => {
            let url = object.text("image_url")?.or(object.text("file_id")?);
            let url = url.ok_or_else(|| object.missing("image_url"))?;
            let image_url = Some(ImageUrl { url, detail: object.text("detail")? });
            Ok(Part::Image(ImageBlock { image_url, ..ImageBlock::default() }))
        }
        "input_file" => Ok(Part::File(FileBlock {
            name: object.text("filename")?,
            url: object.text("file_url")?.or(object.text("file_id")?),
            data: object.text("file_data")?,
            ..FileBlock::default()
        })),
        _ => at.other(&["input_text", "input_image", "input_file", "output_text", "refusal"], unknown),
    }
}

/// Functions are the client's; tools of other types stay in the recorded request.
fn tools(
    object: &mut Object<'_>,
    hosted: &mut Vec<String>,
    secrets: &mut Vec<String>,
) -> Result<Vec<RequestedTool>, RequestFailure> {
    let mut tools = Vec::new();
    for at in object.list("tools")? {
        let mut tool = Object::of(&at)?;
        let kind = tool.must_text("type")?;
        if kind != "function" {
            let has = |name: &&str| Object::of(&at).is_ok_and(|mut tool| tool.take(name).is_some());
            secrets.extend(SECRETS.iter().filter(|name| has(name)).map(|name| format!("{}.{name}", at.path)));
            hosted.push(kind);
        } else {
            tools.push(RequestedTool {
                name: tool.must_text("name")?,
                description: tool.text("description")?,
                parameters: tool.raw("parameters"),
                strict: tool.flag("strict")?,
            });
        }
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
        let kind = choice.text("type")?;
        let is_function = kind.as_deref() == Some("function");
        return match choice.text("name")?.filter(|_| is_function) {
            Some(name) => Ok(RequestedToolChoice::Named(name)),
            None => {
                hosted.extend(kind);
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
