//! Payloads of permissions, sandboxes, hooks and policies.

use crate::catalogue::macros::payload;
use crate::catalogue::{BlobRef, ErrorInfo, Input, RawJson};

payload! {
    /// What may be done, and who says so.
    PermissionDecision optional {
        /// The tool that asks.
        tool_name "tool_name": String,
        /// `allow`, `ask`, `deny`.
        decision: String,
        /// Who decided: a rule, a person, a hook, a mode.
        decision_source "decision_source": String,
        /// Why.
        decision_reason "decision_reason": String,
        /// `default`, `untrusted`, `on_request`, `on_failure`, `never`, `plan`, `bypass`, `auto`.
        mode: String,
        /// The rules that matched.
        rule_refs "rule_refs": Vec<BlobRef>,
        /// Where the changed input is.
        updated_input_ref "updated_input_ref": BlobRef,
        /// The action that asks a person.
        approval_action_id "approval_action_id": String,
        /// Until when the decision holds, RFC 3339.
        expires_at "expires_at": String,
        /// What the decision covers, opaque to us.
        scope: RawJson,
        /// The question, for a person.
        prompt: String,
        /// True if something may be destroyed.
        destructive: bool,
        /// What may be destroyed.
        impact_scope "impact_scope": String,
        /// How to take it back.
        rollback_advice "rollback_advice": String,
    };

    /// The walls around what runs.
    SandboxProfile optional {
        /// How tight they are.
        mode: String,
        /// The working directory.
        cwd: String,
        /// What may be read.
        read_roots "read_roots": Vec<String>,
        /// What may be written.
        write_roots "write_roots": Vec<String>,
        /// What of the network may be reached, opaque to us.
        network: RawJson,
        /// Where the environment is described.
        environment_ref "environment_ref": BlobRef,
        /// What processes may use, opaque to us.
        process_limits "process_limits": RawJson,
        /// Where the violations are.
        violation_refs "violation_refs": Vec<BlobRef>,
    };

    /// Something ran against the walls.
    SandboxViolation optional {
        /// How tight the walls are.
        mode: String,
        /// What was tried.
        operation: String,
        /// What it was tried on.
        target: String,
        /// The rule that it broke.
        rule: String,
        /// True if it was stopped.
        denied: bool,
        /// What happened, for a person.
        message: String,
        /// Where the violations are.
        violation_refs "violation_refs": Vec<BlobRef>,
    };

    /// A hook and what came of it.
    HookRun optional {
        /// The hook.
        hook_name "hook_name": String,
        /// `session_start`, `user_prompt_submit`, `pre_tool_use`, `permission_request`, `post_tool_use`,
        /// `post_tool_failure`, `post_sampling`, `stop`.
        point: String,
        /// `continue`, `block`, `allow`, `deny`, `ask`.
        outcome: String,
        /// Why.
        reason: String,
        /// The tool whose call it is about.
        tool_name "tool_name": String,
        /// The input before the hook changed it, unless it is large.
        original_input "original_input": RawJson,
        /// Where the input before the change is.
        original_input_ref "original_input_ref": BlobRef,
        /// The changed input, unless it is large.
        updated_input "updated_input": RawJson,
        /// Where the changed input is.
        updated_input_ref "updated_input_ref": BlobRef,
        /// What the turn is asked from now on.
        updated_prompt "updated_prompt": Input,
        /// The beginning of what changed and is too large to be shown here.
        preview: String,
        /// The beginning of what the model reads in addition.
        additional_context "additional_context": String,
        /// What the model reads in addition.
        additional_context_refs "additional_context_refs": Vec<BlobRef>,
        /// Where the changed tool output is.
        updated_tool_output_ref "updated_tool_output_ref": BlobRef,
        /// True if the output is not shown.
        suppress_output "suppress_output": bool,
        /// Where the hook's own records are.
        audit_refs "audit_refs": Vec<BlobRef>,
        /// How long it ran, in milliseconds.
        duration_ms "duration_ms": u64,
        /// Why it failed.
        error: ErrorInfo,
    };

    /// Other rules hold from now on.
    PolicyChanged optional {
        /// The policy.
        policy: String,
        /// The mode from now on.
        mode: String,
        /// The mode before.
        previous_mode "previous_mode": String,
        /// Who changed it.
        source: String,
        /// Why.
        reason: String,
        /// The rules.
        rule_refs "rule_refs": Vec<BlobRef>,
    };
}
