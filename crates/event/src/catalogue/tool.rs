//! Payloads of tools and of the actions that guard them.

use crate::catalogue::macros::payload;
use crate::catalogue::{BlobRef, Block, ErrorInfo, RawJson};

payload! {
    /// The tools that are at hand.
    ToolCatalogResolved optional {
        /// The tools.
        tools: Vec<ToolDescription>,
    };

    /// What is known of a tool.
    ToolDescription optional {
        /// The tool.
        tool_name "tool_name": String,
        /// What it does.
        description: String,
        /// The JSON Schema of its arguments, opaque to us.
        input_schema "input_schema": RawJson,
        /// `read`, `write`, `network`, `browser`, `filesystem`, `shell`, `artifact`.
        capabilities: Vec<String>,
        /// `allowed`, `ask`, `denied`, `sandboxed`, `unavailable`.
        policy: String,
        /// Who runs it.
        runtime_owner "runtime_owner": String,
        /// Where more is known.
        metadata_ref "metadata_ref": BlobRef,
        /// True if it changes nothing.
        is_read_only "is_read_only": bool,
        /// True if it may run beside others.
        is_concurrency_safe "is_concurrency_safe": bool,
        /// True if it may destroy something.
        is_destructive "is_destructive": bool,
        /// True if the same call again changes nothing more: it may be repeated.
        is_idempotent "is_idempotent": bool,
        /// What happens to it on a cancel.
        interrupt_behavior "interrupt_behavior": String,
    };

    /// A tool begins to run.
    ToolStarted {
        /// The tool.
        tool_name "tool_name": String,
    } optional {
        /// The arguments that run, without secrets and large values, opaque to us.
        safe_args "safe_args": RawJson,
        /// `allowed`, `ask`, `denied`, `sandboxed`, `unavailable`.
        policy: String,
        /// The rules that let the call run: `policy:MODE`, `rule:ID`, `hook:NAME`.
        rule_refs "rule_refs": Vec<BlobRef>,
        /// Who let the call run: `policy`, `rule`, `person`.
        decision_source "decision_source": String,
        /// The action by which somebody let the call run.
        approval_action_id "approval_action_id": String,
        /// Where large arguments are.
        input_ref "input_ref": BlobRef,
        /// The beginning of large arguments.
        preview: String,
        /// Media type, encoding, size and digest of large arguments, opaque to us.
        metadata: RawJson,
    };

    /// Text of a tool call's arguments.
    ToolArgs {
        /// The text that comes after what is there.
        delta: String,
    } optional {
        /// The item.
        item_id "item_id": String,
        /// The item's place in the task's output.
        output_index "output_index": u32,
        /// The call.
        call_id "call_id": String,
        /// How events of the service carried this text, if not one event as expected: bytes, or members that differ.
        sent: Vec<RawJson>,
    };

    /// A running tool tells how far it is.
    ToolProgress optional {
        /// What it does now.
        message: String,
        /// How far it is, from 0 to 1.
        fraction: f64,
        /// What it has so far.
        partial: Block,
    };

    /// A tool ended well.
    ToolResult optional {
        /// The tool.
        tool_name "tool_name": String,
        /// `completed`, or the tool's own word.
        status: String,
        /// The beginning of the result.
        preview: String,
        /// Where a large result is.
        output_ref "output_ref": BlobRef,
        /// How long it ran, in milliseconds.
        duration_ms "duration_ms": u64,
        /// Media type, encoding, size, digest, truncation and redaction of a large result, and what else the tool said,
        /// opaque to us.
        metadata: RawJson,
        /// Where the structured result is.
        structured_content_ref "structured_content_ref": BlobRef,
        /// Where the tool's bytes are.
        raw_output_ref "raw_output_ref": BlobRef,
        /// The artifacts that it made.
        artifact_refs "artifact_refs": Vec<BlobRef>,
    };

    /// A tool failed.
    ToolFailed {
        /// Why.
        error: ErrorInfo,
    } optional {
        /// The tool.
        tool_name "tool_name": String,
        /// Where what it put out is.
        output_ref "output_ref": BlobRef,
        /// How long it ran, in milliseconds.
        duration_ms "duration_ms": u64,
        /// The beginning of a large output.
        preview: String,
        /// Media type, encoding, size, digest, truncation and redaction of a large output, opaque to us.
        metadata: RawJson,
    };

    /// A tool was stopped, or was never begun.
    ToolCancelled optional {
        /// The tool.
        tool_name "tool_name": String,
        /// Why.
        reason: String,
    };

    /// Nobody knows whether a tool had its effect: its runner was lost while it ran.
    ToolOutcomeUnknown optional {
        /// The tool.
        tool_name "tool_name": String,
        /// Why.
        reason: String,
    };

    /// Somebody must decide.
    ActionRequired {
        /// What is to be decided: `tool_permission`, `question`, `client_tool`, …
        action_type "action_type": String,
    } optional {
        /// The tool that waits.
        tool_name "tool_name": String,
        /// The question, for a person.
        prompt: String,
        /// The JSON Schema of the answer, opaque to us.
        schema: RawJson,
        /// The arguments that would run, opaque to us.
        arguments: RawJson,
        /// What the call would set in motion: a command line, an address, an MCP server; names of variables and headers,
        /// never their values. Opaque to us.
        runs: RawJson,
        /// The digest of exactly what would run; a decision names it.
        digest: String,
        /// The decisions that are possible: `approve`, `edit`, `reject`, `respond`.
        decisions: Vec<String>,
        /// The kind of decision, where the sender has one: `allow_or_deny`.
        decision_kind "decision_kind": String,
        /// How long the action waits, in seconds.
        timeout_seconds "timeout_seconds": u64,
        /// When the action ends by itself, RFC 3339.
        expires_at "expires_at": String,
        /// The rule that asked for the decision, opaque to us.
        policy: RawJson,
        /// What the decision covers, opaque to us.
        scope: RawJson,
        /// The calls that were asked for together.
        batch_id "batch_id": String,
        /// The number of this action among those of its batch that were required at once, from 0.
        batch_index "batch_index": u32,
        /// How many actions of the batch were required at once. Absent for one alone.
        batch_size "batch_size": u32,
    };

    /// Somebody decided.
    ActionResolved {
        /// `approve`, `edit`, `reject`, `respond`.
        decision: String,
    } optional {
        /// Where the decision came from: `person`, `rule`, `timeout`, `cancel`, `turn_ended`.
        source: String,
        /// Who decided.
        decided_by "decided_by": String,
        /// What the decider said.
        message: String,
        /// The arguments that run instead, opaque to us. Readers of older logs find the answer here too.
        arguments: RawJson,
        /// The answer in the tool's place, opaque to us.
        response: RawJson,
        /// True if the decision holds for this tool from now on.
        always: bool,
        /// The digest of what was decided upon.
        digest: String,
    };
}
