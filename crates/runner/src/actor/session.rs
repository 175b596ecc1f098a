//! The session that an actor serves, as its log has it.
//!
//! Most of what the actor decides and writes follows from this alone: those functions take a [`HostedSession`] and
//! nothing else. What the actor remembers beside it belongs to one concern each and is lost with the actor: a new owner
//! builds it again.

use std::sync::Arc;

use riverrun_fold::State;
use riverrun_log::SessionKey;

use crate::shared::RunnerShared;
use crate::view::View;
use crate::{Incarnation, Registry};

pub(crate) struct HostedSession {
    pub shared: Arc<RunnerShared>,
    /// Agents and models for turns. A reload is taken up when no turn is open, so that each turn ends with the
    /// configuration that it began with.
    pub registry: Arc<Registry>,
    pub key: SessionKey,
    /// Identifies this session among all that ever had its key.
    pub incarnation: Incarnation,
    pub state: State,
    pub view: View,
}
