//! The members of the envelope, for those who generate or describe it.

/// What a member of the envelope holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberForm {
    /// A string that is not empty.
    Id,
    /// Any string.
    Text,
    /// An RFC 3339 time.
    Time,
    /// An integer from 0.
    Integer,
    /// An object that is opaque to us.
    Object,
}

/// One member of the envelope. `type` and `payload` are not among them: their form follows from the event's type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvelopeMember {
    /// The name on the wire.
    pub name: &'static str,
    /// What the member holds.
    pub form: MemberForm,
    /// True if every event that we send has it.
    pub always: bool,
    /// One sentence for generated pages.
    pub description: &'static str,
}

const fn always(name: &'static str, form: MemberForm, description: &'static str) -> EnvelopeMember {
    EnvelopeMember { name, form, always: true, description }
}

const fn may(name: &'static str, form: MemberForm, description: &'static str) -> EnvelopeMember {
    EnvelopeMember { name, form, always: false, description }
}

const fn id(name: &'static str, description: &'static str) -> EnvelopeMember {
    may(name, MemberForm::Id, description)
}

/// In the order of the wire.
pub const ENVELOPE_MEMBERS: &[EnvelopeMember] = &[
    always(
        "eventId",
        MemberForm::Id,
        "The event's own name; two copies of one event share it, also after an export and import or a restore.",
    ),
    always("schemaVersion", MemberForm::Text, "The version of this envelope, `riverrun/1`."),
    always("timestamp", MemberForm::Time, "When it happened, RFC 3339 in UTC with milliseconds."),
    always("sequence", MemberForm::Integer, "The place in the session's log, dense from 1."),
    always("sessionId", MemberForm::Id, "The session whose log this is."),
    id("threadId", "The thread."),
    id("turnId", "The turn."),
    id("taskId", "The task."),
    id("runId", "The attempt at the task."),
    id("stepId", "The step: one model call and the tools it asked for."),
    id("toolCallId", "The tool call."),
    id("actionId", "The action."),
    id("subagentId", "The sub-agent."),
    id("parentTaskId", "The task that this task works for."),
    id("parentToolCallId", "The call by which the parent asked for this task."),
    may("depth", MemberForm::Integer, "How many tasks are above this one."),
    may("traceId", MemberForm::Text, "The trace, for correlation."),
    may("spanId", MemberForm::Text, "The span, for correlation."),
    id("runtimeId", "The installation that the event came from."),
    id("attemptId", "The attempt, where it has a name besides the run's."),
    id("rootTaskId", "The task at the top."),
    id("artifactId", "The artifact."),
    id("evidenceId", "The evidence."),
    id("processId", "The process."),
    id("channelId", "The channel."),
    id("jobId", "The job."),
    id("jobItemId", "The item of the job."),
    id("queueId", "The queue."),
    id("requestId", "The request that caused it."),
    id("modelRequestId", "The model call that caused it."),
    may("status", MemberForm::Text, "How what it is about stands."),
    may("nativeStatus", MemberForm::Text, "The status in the words of the system that it came from."),
    may("statusReason", MemberForm::Text, "Why it stands so."),
    may("phase", MemberForm::Text, "Which phase it is in."),
    may("refs", MemberForm::Object, "Where large parts are, by name."),
];
