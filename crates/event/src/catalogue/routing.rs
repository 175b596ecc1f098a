//! Payloads of the choice of a model, of cost and of rate limits.

use crate::catalogue::macros::payload;
use crate::catalogue::{ErrorInfo, RawJson, Usage};

payload! {
    /// The models that could answer.
    CandidateModels optional {
        /// How many there are.
        candidate_count "candidate_count": u32,
        /// The models, opaque to us.
        candidates: Vec<RawJson>,
        /// The models that were left out.
        excluded: Vec<ExcludedModel>,
        /// What none of them can do.
        gaps: Vec<String>,
        /// True if there is only one.
        single_candidate "single_candidate": bool,
        /// The kind of task that they are for.
        task_kind "task_kind": String,
    };

    /// A model that was left out.
    ExcludedModel optional {
        /// Who serves the model.
        provider: String,
        /// The model.
        model: String,
        /// Why it was left out.
        reason: String,
    };

    /// The model that answers, and why.
    RoutingDecision optional {
        /// How the choice is made.
        routing_mode "routing_mode": String,
        /// Who chose.
        decision_source "decision_source": String,
        /// Why.
        decision_reason "decision_reason": String,
        /// Who serves the model that was chosen.
        selected_provider "selected_provider": String,
        /// The model that was chosen.
        selected_model "selected_model": String,
        /// Who serves the model that was asked for.
        requested_provider "requested_provider": String,
        /// The model that was asked for.
        requested_model "requested_model": String,
        /// How many models could answer.
        candidate_count "candidate_count": u32,
        /// The models to try, in order.
        fallback_chain "fallback_chain": Vec<String>,
        /// What the chosen model cannot do; `none` if nothing.
        capability_gap "capability_gap": String,
        /// True if a person must agree.
        requires_user_override "requires_user_override": bool,
        /// How the limits stood, opaque to us.
        limit_state_snapshot "limit_state_snapshot": RawJson,
        /// The kind of task that the choice is for.
        task_kind "task_kind": String,
        /// What went wrong with the model before.
        error: ErrorInfo,
    };

    /// What something costs.
    Cost {
        /// How much.
        amount: f64,
    } optional {
        /// The currency, `USD` if absent.
        currency: String,
        /// The model.
        model: String,
        /// Who serves the model.
        provider: String,
        /// The tokens that the cost is for.
        usage: Usage,
    };

    /// A provider refused because of too many requests.
    RateLimitHit optional {
        /// Who refused.
        provider: String,
        /// The model.
        model: String,
        /// What is limited.
        kind: String,
        /// How much is allowed.
        limit: f64,
        /// How much is left.
        remaining: f64,
        /// When to try again, in milliseconds.
        retry_after_ms "retry_after_ms": u64,
        /// When it is full again, RFC 3339.
        reset_at "reset_at": String,
        /// What the provider said.
        message: String,
    };
}
