//! Every event type that is known here, in one place.
//!
//! A row is: the Rust name, the name on the wire, the payload, `extension` if the Agent Runtime standard does not
//! have it, and what it says. A name is never reused for something else.

use crate::catalogue::macros::catalogue;
use crate::catalogue::*;

catalogue! {
    Session = "session", "The durable conversation." {
        SessionCreated = "session.created", Box<SessionInfo>, "A session began.";
        SessionUpdated = "session.updated", Box<SessionInfo>, "Something about the session changed.";
    }
    Thread = "thread", "An ordered line of turns in a session." {
        ThreadStarted = "thread.started", Box<ThreadInfo>, "A thread began.";
        ThreadUpdated = "thread.updated", Box<ThreadInfo>, "Something about the thread changed.";
    }
    Turn = "turn", "One submitted input and everything until its terminal event." {
        TurnSubmitted = "turn.submitted", Box<TurnSubmitted>, "Somebody asked for something.";
        TurnStarted = "turn.started", Box<TurnStarted>, "Work on the turn began.";
        TurnCompleted = "turn.completed", Box<TurnCompleted>, "The turn ended well.";
        TurnFailed = "turn.failed", Box<TurnFailed>, "The turn ended in a failure.";
        TurnCancelled = "turn.cancelled", Box<TurnCancelled>, extension, "The turn ended because somebody asked for it.";
    }
    Task = "task", "An objective, stable over retries." {
        TaskCreated = "task.created", Box<TaskInfo>, "A task came to be.";
        TaskAccepted = "task.accepted", Box<TaskChange>, "A task was taken on.";
        TaskQueued = "task.queued", Box<TaskChange>, "A task waits for its turn.";
        TaskStarted = "task.started", Box<TaskChange>, "Work on a task began.";
        TaskUpdated = "task.updated", Box<TaskInfo>, "Something about a task changed.";
        TaskProgress = "task.progress", Box<TaskProgress>, "A task tells how far it is.";
        TaskWaiting = "task.waiting", Box<TaskChange>, "A task waits for a person, a permission or a resource.";
        TaskBlocked = "task.blocked", Box<TaskChange>, "A task cannot go on.";
        TaskPaused = "task.paused", Box<TaskChange>, "A task was halted.";
        TaskResumed = "task.resumed", Box<TaskChange>, "A task goes on.";
        TaskRetrying = "task.retrying", Box<TaskChange>, "A task is tried again.";
        TaskCancelRequested = "task.cancel_requested", Box<TaskChange>, "Somebody asked to stop a task.";
        TaskCancelled = "task.cancelled", Box<TaskChange>, "A task was stopped.";
        TaskTimedOut = "task.timed_out", Box<TaskChange>, "A task took too long.";
        TaskFailed = "task.failed", Box<TaskFailed>, "A task failed.";
        TaskLost = "task.lost", Box<TaskChange>, "Nobody works on a task any more and its end is unknown.";
        TaskCompleted = "task.completed", Box<TaskCompleted>, "A task reached its objective.";
        TaskArchived = "task.archived", Box<TaskChange>, "A task was put away.";
        TaskProfileResolved = "task.profile.resolved", Box<TaskProfile>, "What a task needs from a model is known.";
        TaskDelegated = "task.delegated", Box<TaskDelegated>, "A task gave work to another task.";
        TaskDependencyUpdated = "task.dependency.updated", Box<TaskRelationship>, "An edge of the task graph changed.";
        TaskAttemptStarted = "task.attempt.started", Box<TaskAttempt>, "An attempt began.";
        TaskAttemptCompleted = "task.attempt.completed", Box<TaskAttempt>, "An attempt ended well.";
        TaskAttemptFailed = "task.attempt.failed", Box<TaskAttempt>, "An attempt failed.";
    }
    Run = "run", "One attempt at a task." {
        RunStatus = "run.status", Box<RunStatus>, "An attempt tells how it fares.";
    }
    Item = "item", "What a task puts out." {
        ItemStarted = "item.started", Box<ItemStarted>, extension, "An item began.";
        ItemUpdated = "item.updated", Box<ItemUpdated>, extension, "A block of an item came, was replaced as a whole, or is final.";
        ItemCompleted = "item.completed", Box<ItemCompleted>, extension, "An item is final.";
        ItemRetracted = "item.retracted", Box<ItemRetracted>, extension, "An item was taken back after it was shown.";
    }
    Model = "model", "Calls of a model." {
        ModelRequested = "model.requested", Box<ModelRequested>, "A model call begins.";
        ModelDelta = "model.delta", ModelDelta, "Text of a message block.";
        ModelRaw = "model.raw", Box<ModelRaw>, extension, "An event of the model service's own stream.";
        ModelCompleted = "model.completed", Box<ModelCompleted>, "A model call ended well.";
        ModelFailed = "model.failed", Box<ModelFailed>, "A model call failed.";
    }
    Reasoning = "reasoning", "What the model thinks." {
        ReasoningDelta = "reasoning.delta", ReasoningDelta, "Text of the model's reasoning.";
        ReasoningSummary = "reasoning.summary", ReasoningSummary, "One part of a reasoning summary is final.";
    }
    Tool = "tool", "Tools and their calls." {
        ToolCatalogResolved = "tool.catalog.resolved", Box<ToolCatalogResolved>, "The tools that are at hand are known.";
        ToolStarted = "tool.started", Box<ToolStarted>, "A tool begins to run.";
        ToolArgs = "tool.args", ToolArgs, "Text of a tool call's arguments.";
        ToolProgress = "tool.progress", Box<ToolProgress>, "A running tool tells how far it is.";
        ToolResult = "tool.result", Box<ToolResult>, "A tool ended well.";
        ToolFailed = "tool.failed", Box<ToolFailed>, "A tool failed.";
        ToolCancelled = "tool.cancelled", Box<ToolCancelled>, extension, "A tool was stopped, or was never begun.";
        ToolOutcomeUnknown = "tool.outcome_unknown", Box<ToolOutcomeUnknown>, extension, "Nobody knows whether a tool had its effect.";
    }
    Action = "action", "Decisions that somebody must make." {
        ActionRequired = "action.required", Box<ActionRequired>, "Somebody must decide.";
        ActionResolved = "action.resolved", Box<ActionResolved>, "Somebody decided.";
    }
    Queue = "queue", "Turns that wait." {
        QueueChanged = "queue.changed", Box<QueueChanged>, "The queue of a thread changed.";
    }
    Agent = "agent", "Who has the conversation." {
        AgentChanged = "agent.changed", Box<AgentChanged>, extension, "Another agent has the conversation now.";
    }
    Handoff = "handoff", "Work that goes from one agent to another." {
        HandoffRequested = "handoff.requested", Box<HandoffRequested>, extension, "The model asked to hand the work to another agent.";
        HandoffCompleted = "handoff.completed", Box<HandoffCompleted>, extension, "Another agent took the work.";
    }
    Input = "input", "What a running turn is told." {
        InputSteered = "input.steered", Box<InputSteered>, extension, "A running turn was given more input.";
    }
    File = "file", "Files that come with an input." {
        FileProcessingStarted = "file.processing.started", Box<FileProcessing>, extension, "A file of the input is about to be read.";
        FileProcessingCompleted = "file.processing.completed", Box<FileProcessing>, extension, "A file of the input was read.";
        FileProcessingFailed = "file.processing.failed", Box<FileProcessing>, extension, "A file of the input could not be read; the turn goes on without it.";
    }
    Context = "context", "What the model reads." {
        ContextResolved = "context.resolved", Box<ContextResolved>, "What the model will read is known.";
        ContextCompactionStarted = "context.compaction.started", Box<Compaction>, "Older context is about to be replaced by a summary.";
        ContextCompactionCompleted = "context.compaction.completed", Box<Compaction>, "Older context was replaced by a summary.";
        ContextCompactionFailed = "context.compaction.failed", Box<Compaction>, "Older context could not be replaced by a summary.";
    }
    Artifact = "artifact", "What outlives the conversation." {
        ArtifactChanged = "artifact.changed", Box<ArtifactChanged>, "An artifact came or changed.";
    }
    Evidence = "evidence", "What proves how the work went." {
        EvidenceChanged = "evidence.changed", Box<EvidenceChanged>, "Evidence came or changed.";
    }
    Subagent = "subagent", "Agents that work for another agent." {
        SubagentSpawned = "subagent.spawned", Box<SubagentSpawned>, "A sub-agent came to be.";
        SubagentStatus = "subagent.status", Box<SubagentStatus>, "A sub-agent tells how it stands.";
        SubagentInput = "subagent.input", Box<SubagentInput>, "A sub-agent was told something.";
        SubagentOutput = "subagent.output", Box<SubagentOutput>, extension, "A sub-agent put something out.";
        SubagentCompleted = "subagent.completed", Box<SubagentCompleted>, "A sub-agent reached its objective.";
        SubagentFailed = "subagent.failed", Box<SubagentFailed>, "A sub-agent failed.";
        SubagentClosed = "subagent.closed", Box<SubagentClosed>, "A sub-agent was closed.";
    }
    Limit = "limit", "What may be used up." {
        LimitChanged = "limit.changed", Box<LimitState>, "A limit stands differently.";
    }
    Snapshot = "snapshot", "Read models." {
        SnapshotUpdated = "snapshot.updated", Box<SnapshotInfo>, "A read model was made anew.";
        SnapshotRepaired = "snapshot.repaired", Box<SnapshotInfo>, "A read model was made anew because events are missing.";
    }
    Runtime = "runtime", "The runtime itself." {
        RuntimeWarning = "runtime.warning", Box<RuntimeNotice>, "Something may be wrong.";
        RuntimeError = "runtime.error", Box<RuntimeNotice>, "Something is wrong.";
    }
    Permission = "permission", "What may be done." {
        PermissionEvaluated = "permission.evaluated", Box<PermissionDecision>, "The rules were asked.";
        PermissionRequested = "permission.requested", Box<PermissionDecision>, "A permission is asked for.";
        PermissionResolved = "permission.resolved", Box<PermissionDecision>, "A permission was given or refused.";
    }
    Sandbox = "sandbox", "The walls around what runs." {
        SandboxApplied = "sandbox.applied", Box<SandboxProfile>, "The walls are up.";
        SandboxViolation = "sandbox.violation", Box<SandboxViolation>, "Something ran against the walls.";
    }
    Hook = "hook", "Code of the operator that runs at certain points." {
        HookStarted = "hook.started", Box<HookRun>, "A hook begins.";
        HookCompleted = "hook.completed", Box<HookRun>, "A hook ended well.";
        HookFailed = "hook.failed", Box<HookRun>, "A hook failed.";
    }
    Policy = "policy", "The rules that hold." {
        PolicyChanged = "policy.changed", Box<PolicyChanged>, "Other rules hold from now on.";
    }
    Process = "process", "Processes of the operating system." {
        ProcessStarted = "process.started", Box<ProcessStarted>, "A process begins.";
        ProcessOutput = "process.output", Box<ProcessOutput>, "A process wrote something.";
        ProcessInput = "process.input", Box<ProcessInput>, "A process was given something to read.";
        ProcessCompleted = "process.completed", Box<ProcessEnded>, "A process ended well.";
        ProcessFailed = "process.failed", Box<ProcessEnded>, "A process failed.";
        ProcessTerminated = "process.terminated", Box<ProcessEnded>, "A process was ended.";
    }
    Routing = "routing", "The choice of a model." {
        RoutingCandidatesResolved = "routing.candidates.resolved", Box<CandidateModels>, "The models that could answer are known.";
        RoutingDecided = "routing.decided", Box<RoutingDecision>, "A model was chosen.";
        RoutingFallbackApplied = "routing.fallback.applied", Box<RoutingDecision>, "Another model was chosen after a failure.";
        RoutingNotPossible = "routing.not_possible", Box<RoutingDecision>, "No model fits.";
        RoutingSingleCandidate = "routing.single_candidate", Box<RoutingDecision>, "Only one model could answer.";
    }
    Cost = "cost", "What the work costs." {
        CostEstimated = "cost.estimated", Box<Cost>, "What something will cost.";
        CostRecorded = "cost.recorded", Box<Cost>, "What something did cost.";
    }
    RateLimit = "rate_limit", "Providers that refuse for a while." {
        RateLimitHit = "rate_limit.hit", Box<RateLimitHit>, "A provider refused because of too many requests.";
    }
    Quota = "quota", "What an account may use up." {
        QuotaLow = "quota.low", Box<LimitState>, "A quota is nearly used up.";
        QuotaBlocked = "quota.blocked", Box<LimitState>, "A quota is used up.";
    }
    Channel = "channel", "Connections to other systems." {
        ChannelConnected = "channel.connected", Box<ChannelState>, "A channel is open.";
        ChannelDisconnected = "channel.disconnected", Box<ChannelState>, "A channel was cut.";
        ChannelResumed = "channel.resumed", Box<ChannelState>, "A channel is open again.";
        ChannelMessage = "channel.message", Box<ChannelMessage>, "A message came or went.";
        ChannelPermissionForwarded = "channel.permission_forwarded", Box<ChannelPermission>, "A decision is asked for over a channel.";
        ChannelPermissionReturned = "channel.permission_returned", Box<ChannelPermission>, "A decision came back over a channel.";
        ChannelPeerTaskLinked = "channel.peer_task.linked", Box<PeerTask>, extension, "A task at the other end stands for one here.";
        ChannelPeerTaskUpdated = "channel.peer_task.updated", Box<PeerTask>, extension, "A task at the other end stands differently.";
    }
    Job = "job", "Many like pieces of work." {
        JobCreated = "job.created", Box<JobInfo>, "A job came to be.";
        JobStarted = "job.started", Box<JobInfo>, "Work on a job began.";
        JobProgress = "job.progress", Box<JobInfo>, "A job tells how far it is.";
        JobItemStarted = "job.item.started", Box<JobItem>, "Work on an item of a job began.";
        JobItemCompleted = "job.item.completed", Box<JobItem>, "An item of a job ended well.";
        JobItemFailed = "job.item.failed", Box<JobItem>, "An item of a job failed.";
        JobCompleted = "job.completed", Box<JobInfo>, "A job ended well.";
        JobFailed = "job.failed", Box<JobInfo>, "A job failed.";
        JobCancelled = "job.cancelled", Box<JobInfo>, "A job was stopped.";
    }
    Output = "output", "Large outputs." {
        OutputSpilled = "output.spilled", Box<OutputChanged>, "A large output was moved out of its event.";
        OutputTruncated = "output.truncated", Box<OutputChanged>, "A large output was cut.";
        OutputRedacted = "output.redacted", Box<OutputChanged>, "Something was taken out of an output.";
        OutputExpired = "output.expired", Box<OutputChanged>, "A large output is gone.";
    }
    History = "history", "What was there before." {
        HistoryWindowLoaded = "history.window.loaded", Box<HistoryWindow>, "A stretch of history was loaded.";
        HistoryReconstructed = "history.reconstructed", Box<HistoryReconstructed>, "History was put together from what was left.";
        HistoryRollbackStarted = "history.rollback.started", Box<HistoryRollback>, "History is about to go back to an earlier place.";
        HistoryRollbackCompleted = "history.rollback.completed", Box<HistoryRollback>, "History went back to an earlier place.";
    }
    Benchmark = "benchmark", "Measurements of agents." {
        BenchmarkDatasetResolved = "benchmark.dataset.resolved", Box<BenchmarkInfo>, "The data set is known.";
        BenchmarkConfigurationResolved = "benchmark.configuration.resolved", Box<BenchmarkInfo>, "The configuration is known.";
        BenchmarkTrialStarted = "benchmark.trial.started", Box<BenchmarkInfo>, "A trial began.";
        BenchmarkTrialCompleted = "benchmark.trial.completed", Box<BenchmarkInfo>, "A trial ended well.";
        BenchmarkTrialFailed = "benchmark.trial.failed", Box<BenchmarkInfo>, "A trial failed.";
        BenchmarkRewardRecorded = "benchmark.reward.recorded", Box<BenchmarkInfo>, "A trial was graded.";
        BenchmarkComparisonCompleted = "benchmark.comparison.completed", Box<BenchmarkInfo>, "Two configurations were compared.";
    }
}
