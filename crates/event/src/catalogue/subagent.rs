//! Payloads of sub-agents and of channels to other systems.

use crate::catalogue::macros::payload;
use crate::catalogue::{BlobRef, Block, ErrorInfo, Input, RawJson, Usage};

payload! {
    /// A sub-agent came to be.
    SubagentSpawned optional {
        /// The agent.
        agent: String,
        /// What it is there for.
        role: String,
        /// A name for people.
        nickname: String,
        /// What it was asked to reach.
        objective: String,
        /// The task that it works on.
        child_task_id "child_task_id": String,
        /// The thread that it works in.
        child_thread_id "child_thread_id": String,
        /// How far it is kept apart from its parent.
        isolation: String,
        /// The models that it may use, opaque to us.
        model_policy "model_policy": RawJson,
        /// How it stands.
        status: String,
    };

    /// How a sub-agent stands.
    SubagentStatus optional {
        /// How it stands.
        status: String,
        /// Why.
        reason: String,
        /// Where its last message is.
        last_message_ref "last_message_ref": BlobRef,
    };

    /// A sub-agent was told something.
    SubagentInput optional {
        /// What it was told.
        input: Input,
        /// Where a large input is.
        input_ref "input_ref": BlobRef,
    };

    /// A sub-agent put something out.
    SubagentOutput optional {
        /// The text that comes after what is there.
        delta: String,
        /// A whole block.
        block: Block,
        /// The beginning of a large output.
        preview: String,
        /// Where a large output is.
        output_ref "output_ref": BlobRef,
    };

    /// A sub-agent reached its objective.
    SubagentCompleted optional {
        /// How it stands.
        status: String,
        /// What it came to, for people.
        summary: String,
        /// Where the output is.
        output_ref "output_ref": BlobRef,
        /// Where its last message is.
        last_message_ref "last_message_ref": BlobRef,
        /// The tokens of all its model calls.
        usage: Usage,
    };

    /// A sub-agent failed.
    SubagentFailed optional {
        /// Why.
        error: ErrorInfo,
        /// How it stands.
        status: String,
        /// Why, in a word.
        reason: String,
    };

    /// A sub-agent was closed.
    SubagentClosed optional {
        /// Why.
        reason: String,
    };

    /// How a channel stands.
    ChannelState optional {
        /// `websocket`, `sse`, `json_rpc`, `grpc`, `http_json`, `stdio`, `in_process`.
        transport: String,
        /// `client`, `host`, `worker`, `remote_runtime`, `peer_agent`, `tool_server`.
        peer_role "peer_role": String,
        /// The account at the other end.
        account_ref "account_ref": String,
        /// What the other end can do.
        capabilities: Vec<String>,
        /// When the other end was last heard, RFC 3339.
        last_seen_at "last_seen_at": String,
        /// Where the resume token is; the token itself is never in an event.
        resume_token_ref "resume_token_ref": String,
        /// The last event that the other end has.
        last_acked_sequence "last_acked_sequence": u64,
        /// The protocol in the words of the other end.
        native_protocol "native_protocol": String,
        /// How it stands: `running`, `idle`, `waiting`, `completed_not_reconciled`, `archived`, `unreachable`.
        status: String,
        /// Why.
        reason: String,
    };

    /// A message came or went.
    ChannelMessage optional {
        /// `in` or `out`.
        direction: String,
        /// The text.
        text: String,
        /// The beginning of a large message.
        preview: String,
        /// Where a large message is.
        message_ref "message_ref": BlobRef,
        /// The task at the other end.
        remote_task_id "remote_task_id": String,
        /// The context at the other end.
        remote_context_id "remote_context_id": String,
    };

    /// A decision is asked for, or comes back, over a channel.
    ChannelPermission optional {
        /// Who asks.
        requester: String,
        /// What for.
        target: String,
        /// Who decides.
        decider: String,
        /// Where the decision came from.
        source: String,
        /// The decision.
        decision: String,
        /// What the decision covers, opaque to us.
        scope: RawJson,
    };

    /// A task at the other end that stands for one here.
    PeerTask optional {
        /// The task at the other end.
        remote_task_id "remote_task_id": String,
        /// The context at the other end.
        remote_context_id "remote_context_id": String,
        /// The agent at the other end.
        remote_agent_ref "remote_agent_ref": String,
        /// Where the agent's card is.
        agent_card_ref "agent_card_ref": String,
        /// How it stands.
        status: String,
        /// How it stands in the words of the other end.
        native_status "native_status": String,
    };
}
