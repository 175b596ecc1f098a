//! The names of the envelope's members.

use std::borrow::Cow;

/// The members that have a place of their own.
#[derive(Debug, Clone, Copy)]
pub(super) enum Name {
    Type,
    EventId,
    SchemaVersion,
    Timestamp,
    FirstSequence,
    Sequence,
    SessionId,
    ThreadId,
    TurnId,
    TaskId,
    RunId,
    StepId,
    ToolCallId,
    ActionId,
    SubagentId,
    ParentTaskId,
    ParentToolCallId,
    Depth,
    TraceId,
    SpanId,
}

impl Name {
    pub const COUNT: usize = Name::SpanId as usize + 1;

    pub fn find(name: &str) -> Option<Self> {
        Some(match name {
            "type" => Name::Type,
            "eventId" => Name::EventId,
            "schemaVersion" => Name::SchemaVersion,
            "timestamp" => Name::Timestamp,
            "firstSequence" => Name::FirstSequence,
            "sequence" => Name::Sequence,
            "sessionId" => Name::SessionId,
            "threadId" => Name::ThreadId,
            "turnId" => Name::TurnId,
            "taskId" => Name::TaskId,
            "runId" => Name::RunId,
            "stepId" => Name::StepId,
            "toolCallId" => Name::ToolCallId,
            "actionId" => Name::ActionId,
            "subagentId" => Name::SubagentId,
            "parentTaskId" => Name::ParentTaskId,
            "parentToolCallId" => Name::ParentToolCallId,
            "depth" => Name::Depth,
            "traceId" => Name::TraceId,
            "spanId" => Name::SpanId,
            _ => return None,
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Name::Type => "type",
            Name::EventId => "eventId",
            Name::SchemaVersion => "schemaVersion",
            Name::Timestamp => "timestamp",
            Name::FirstSequence => "firstSequence",
            Name::Sequence => "sequence",
            Name::SessionId => "sessionId",
            Name::ThreadId => "threadId",
            Name::TurnId => "turnId",
            Name::TaskId => "taskId",
            Name::RunId => "runId",
            Name::StepId => "stepId",
            Name::ToolCallId => "toolCallId",
            Name::ActionId => "actionId",
            Name::SubagentId => "subagentId",
            Name::ParentTaskId => "parentTaskId",
            Name::ParentToolCallId => "parentToolCallId",
            Name::Depth => "depth",
            Name::TraceId => "traceId",
            Name::SpanId => "spanId",
        }
    }
}

/// `event_id` → `eventId`; a name without `_` is itself.
pub(super) fn camel_case(name: &str) -> Cow<'_, str> {
    if !name.contains('_') || name.starts_with('_') {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for c in name.chars() {
        match c {
            '_' => upper = true,
            c if upper => {
                out.extend(c.to_uppercase());
                upper = false;
            }
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Envelope members of the standard that are kept as they come; their snake_case forms are renamed.
pub(super) fn is_standard(name: &str) -> bool {
    [
        "runtimeId",
        "attemptId",
        "artifactId",
        "evidenceId",
        "rootTaskId",
        "requestId",
        "modelRequestId",
        "processId",
        "channelId",
        "jobId",
        "jobItemId",
        "queueId",
        "outputRef",
        "statusReason",
        "nativeStatus",
        "taskAttempt",
        "taskRelationship",
        "taskGraph",
        "taskProgress",
        "taskAcceptance",
        "deliveryState",
        "permissionDecision",
        "sandboxProfile",
        "routingDecision",
        "candidateModelSet",
        "taskProfile",
        "limitState",
        "limitEvent",
        "costState",
        "hookRun",
        "executionEnvironment",
        "jobItem",
        "historyBoundary",
        "runtimeCorrelation",
    ]
    .contains(&name)
}
