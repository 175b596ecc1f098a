//! What the Agent Runtime standard asks of an event when it is taken strictly.

use crate::catalogue::{EventFamily, EventType};

/// The version that the Lime profile of the standard fixes.
pub const LIME_SCHEMA_VERSION: &str = "lime-profile-0.4.0";
/// The runtime of what nobody else's runtime told, where the profile demands one.
pub const RUNTIME_ID: &str = "riverrun";

/// A member of the envelope that names what an event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScopeMember {
    /// `threadId`.
    Thread,
    /// `turnId`.
    Turn,
    /// `taskId`.
    Task,
    /// `runId`.
    Run,
    /// `stepId`.
    Step,
    /// `toolCallId`.
    ToolCall,
    /// `actionId`.
    Action,
    /// `subagentId`.
    Subagent,
    /// `evidence`.
    Evidence,
    /// `benchmark`.
    Benchmark,
    /// `comparison`.
    Comparison,
    /// `refs`.
    Refs,
}

impl ScopeMember {
    /// The member's name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            ScopeMember::Thread => "threadId",
            ScopeMember::Turn => "turnId",
            ScopeMember::Task => "taskId",
            ScopeMember::Run => "runId",
            ScopeMember::Step => "stepId",
            ScopeMember::ToolCall => "toolCallId",
            ScopeMember::Action => "actionId",
            ScopeMember::Subagent => "subagentId",
            ScopeMember::Evidence => "evidenceId",
            ScopeMember::Benchmark => "benchmark",
            ScopeMember::Comparison => "comparison",
            ScopeMember::Refs => "refs",
        }
    }
}

impl EventType {
    /// The members that the envelope must have in strict mode, besides those that every event has.
    pub fn scope(&self) -> &'static [ScopeMember] {
        use EventType as E;
        match self {
            // It names no call, although its family does.
            E::ToolCatalogResolved => &[ScopeMember::Thread, ScopeMember::Turn],
            E::TaskAttemptStarted | E::TaskAttemptCompleted | E::TaskAttemptFailed => {
                &[ScopeMember::Task, ScopeMember::Run]
            }
            E::BenchmarkTrialStarted => &[
                ScopeMember::Thread,
                ScopeMember::Turn,
                ScopeMember::Task,
                ScopeMember::Run,
                ScopeMember::Benchmark,
                ScopeMember::Refs,
            ],
            E::BenchmarkTrialCompleted | E::BenchmarkTrialFailed | E::BenchmarkRewardRecorded => {
                &[ScopeMember::Task, ScopeMember::Run, ScopeMember::Benchmark, ScopeMember::Refs]
            }
            E::BenchmarkComparisonCompleted => {
                &[ScopeMember::Benchmark, ScopeMember::Comparison, ScopeMember::Refs]
            }
            other => other.family().scope(),
        }
    }

    /// The standard's type for this one, and the status that the envelope then carries.
    ///
    /// What the standard has no type for is a `run.status`, so that its reader gets every payload.
    pub fn strict_type(&self) -> (EventType, Option<&'static str>) {
        match self {
            EventType::TurnCancelled => (EventType::TurnFailed, Some("cancelled")),
            EventType::ToolCancelled => (EventType::ToolFailed, Some("cancelled")),
            EventType::ToolOutcomeUnknown => (EventType::ToolFailed, Some("unknown")),
            EventType::SubagentOutput => (EventType::SubagentStatus, Some("streaming")),
            EventType::AgentChanged
            | EventType::HandoffRequested
            | EventType::HandoffCompleted
            | EventType::InputSteered => (EventType::RunStatus, Some("running")),
            EventType::ChannelPeerTaskLinked | EventType::ChannelPeerTaskUpdated => {
                (EventType::ChannelMessage, None)
            }
            EventType::Other(_) => (EventType::RunStatus, None),
            extension if extension.is_extension() => (EventType::RunStatus, None),
            standard => (standard.clone(), None),
        }
    }

    /// The members that the Lime profile demands beside those that every event has. It makes no exception for
    /// `tool.catalog.resolved`, which names no call.
    pub fn profile_scope(&self) -> Vec<ScopeMember> {
        let mut members = self.scope().to_vec();
        if *self == EventType::ToolCatalogResolved {
            members.extend([ScopeMember::Step, ScopeMember::ToolCall]);
        }
        members
    }
}

/// As [`EventType::strict_type`].
pub fn strict_type(kind: &EventType) -> (EventType, Option<&'static str>) {
    kind.strict_type()
}

impl EventFamily {
    fn scope(self) -> &'static [ScopeMember] {
        use EventFamily as F;
        match self {
            F::Thread | F::Queue => &[ScopeMember::Thread],
            F::Turn | F::Model | F::Reasoning | F::Permission | F::Sandbox | F::Hook | F::Context => {
                &[ScopeMember::Thread, ScopeMember::Turn]
            }
            F::Routing | F::Cost | F::RateLimit | F::Quota => &[ScopeMember::Thread, ScopeMember::Turn],
            F::Agent | F::Handoff | F::Input | F::File => &[ScopeMember::Thread, ScopeMember::Turn],
            F::Tool => &[ScopeMember::Thread, ScopeMember::Turn, ScopeMember::Step, ScopeMember::ToolCall],
            F::Action => &[ScopeMember::Thread, ScopeMember::Turn, ScopeMember::Action],
            F::Item => &[ScopeMember::Thread, ScopeMember::Turn, ScopeMember::Task],
            F::Task => &[ScopeMember::Task],
            F::Subagent => &[ScopeMember::Subagent],
            F::Evidence => &[ScopeMember::Evidence],
            F::Benchmark => &[ScopeMember::Benchmark],
            F::Session | F::Run | F::Artifact | F::Limit | F::Snapshot | F::Runtime | F::Policy => &[],
            F::Process | F::Channel | F::Job | F::Output | F::History | F::Other => &[],
        }
    }
}
