//! What the Agent Runtime standard asks of an event when it is taken strictly.

use crate::catalogue::{EventType, Family};

/// A member of the envelope that names what an event belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScopeMember {
    Thread,
    Turn,
    Task,
    Run,
    Step,
    ToolCall,
    Action,
    Subagent,
    Evidence,
    Benchmark,
    Comparison,
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
    /// None for what the standard cannot say: a strict reader is not sent it. The gap in the sequence is no loss,
    /// because the deltas, tool events and terminal events that it stands beside are all the standard's own.
    pub fn strict_type(&self) -> Option<(EventType, Option<&'static str>)> {
        match self {
            EventType::TurnCancelled => Some((EventType::TurnFailed, Some("cancelled"))),
            EventType::ToolCancelled => Some((EventType::ToolFailed, Some("cancelled"))),
            EventType::ToolOutcomeUnknown => Some((EventType::ToolFailed, Some("unknown"))),
            EventType::SubagentOutput => Some((EventType::SubagentStatus, Some("streaming"))),
            EventType::AgentChanged
            | EventType::HandoffRequested
            | EventType::HandoffCompleted
            | EventType::InputSteered => Some((EventType::RunStatus, Some("running"))),
            EventType::ChannelPeerTaskLinked | EventType::ChannelPeerTaskUpdated => {
                Some((EventType::ChannelMessage, None))
            }
            extension if extension.is_extension() => None,
            standard => Some((standard.clone(), None)),
        }
    }
}

/// As [`EventType::strict_type`].
pub fn strict_type(kind: &EventType) -> Option<(EventType, Option<&'static str>)> {
    kind.strict_type()
}

impl Family {
    fn scope(self) -> &'static [ScopeMember] {
        use Family as F;
        match self {
            F::Thread | F::Queue => &[ScopeMember::Thread],
            F::Turn | F::Model | F::Reasoning | F::Permission | F::Sandbox | F::Hook | F::Context => {
                &[ScopeMember::Thread, ScopeMember::Turn]
            }
            F::Routing | F::Cost | F::RateLimit | F::Quota => &[ScopeMember::Thread, ScopeMember::Turn],
            F::Agent | F::Handoff | F::Input => &[ScopeMember::Thread, ScopeMember::Turn],
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
