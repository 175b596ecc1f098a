use riverrun_event::{ErrorCode, ProcessId};
use riverrun_runner::ProcessWrite;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MAX_WRITE, process_id};
use crate::operation::{About, HttpMethod, Operation, OperationGroup, Repeats};
use crate::{ApiError, KeyScope, RequestContext, RunnerCommand, invalid, schema};

pub struct WriteProcessStdin;

/// Write to the standard input of a running process.
///
/// The answer comes when the write is durable. It reaches the process once.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WriteProcessStdinRequest {
    /// The session.
    #[schemars(schema_with = "schema::id")]
    session_id: String,
    /// The process.
    #[schemars(schema_with = "schema::id")]
    process_id: String,
    /// At most 65536 bytes.
    #[serde(default)]
    text: String,
    /// The text is stored nowhere; the event has its size only.
    #[serde(default)]
    secret: bool,
    /// This is the last write: the input is closed.
    #[serde(default)]
    end_of_input: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProcessWritten {
    process_id: ProcessId,
    /// Bytes of the text.
    size: usize,
}

impl Operation for WriteProcessStdin {
    const ABOUT: About = About {
        name: "process.write",
        aliases: &["write_process_stdin"],
        id: "writeProcessStdin",
        group: OperationGroup::Processes,
        method: HttpMethod::Post,
        path: "/v1/sessions/{session}/processes/{process}/stdin",
        scope: KeyScope::Write,
        pages: false,
        repeats: Repeats::AnswerStored,
        statuses: &[(202, "The write is durable.")],
        errors: &[ErrorCode::NotFound, ErrorCode::BodyTooLarge],
        http_names: &[],
    };
    type Request = WriteProcessStdinRequest;
    type Response = ProcessWritten;

    async fn run(
        context: &RequestContext,
        request: WriteProcessStdinRequest,
    ) -> Result<ProcessWritten, ApiError> {
        let hub = context.hub(&request.session_id).await?;
        let WriteProcessStdinRequest { text, secret, end_of_input, .. } = request;
        check_text(&text, end_of_input)?;
        let process = process_id(&request.process_id)?;
        let written = ProcessWritten { process_id: process.clone(), size: text.len() };
        let written_by = Some(context.identity().key_id().to_string());
        let write = ProcessWrite { process, text, secret, end_of_input, written_by };
        let services = context.services();
        let result = services.runner().write_process(&hub.key, write, context.request_key()).await;
        services.answered(RunnerCommand::Process, result)?;
        Ok(written)
    }
}

fn check_text(text: &str, end_of_input: bool) -> Result<(), ApiError> {
    if text.len() > MAX_WRITE {
        let detail =
            format!("`text` has {} bytes, and one write may have {MAX_WRITE}; write it in parts", text.len());
        return Err(ApiError::new(ErrorCode::BodyTooLarge, detail).field("text").limit(MAX_WRITE as u64));
    }
    if text.is_empty() && !end_of_input {
        return Err(invalid("text", &"it is empty: give it something, or `endOfInput`"));
    }
    Ok(())
}
