//! What operations work with: the engine, the runner, the agents.

use std::sync::{Arc, RwLock};

use riverrun_event::{SessionId, TenantId, Timestamp};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{Log, LogError, SessionKey};
use riverrun_runner::{CommandError, Runner};
use riverrun_session::metrics::{Counter, Family};
use riverrun_session::{DEFAULT_TENANT, Hub, Hubs, Sessions};

use crate::in_flight::InFlight;
use crate::{Agents, ApiError, Identity, Scope, not_found, session_deleted};

/// What is asked of the runner, as the metrics name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunnerCommand {
    Submit,
    Cancel,
    Pause,
    Retry,
    Steer,
    Decide,
    Rule,
    Queue,
    Subagent,
    Process,
}

impl RunnerCommand {
    const fn as_str(self) -> &'static str {
        match self {
            RunnerCommand::Submit => "submit",
            RunnerCommand::Cancel => "cancel",
            RunnerCommand::Pause => "pause",
            RunnerCommand::Retry => "retry",
            RunnerCommand::Steer => "steer",
            RunnerCommand::Decide => "decide",
            RunnerCommand::Rule => "rule",
            RunnerCommand::Queue => "queue",
            RunnerCommand::Subagent => "subagent",
            RunnerCommand::Process => "process",
        }
    }
}

/// Shared by every operation. Cloning it is cheap.
#[derive(Clone)]
pub struct Services(Arc<Inner>);

struct Inner {
    sessions: Sessions,
    runner: Runner,
    agents: RwLock<Arc<Agents>>,
    in_flight: InFlight,
    /// By command and result.
    commands: Arc<Family<Counter>>,
}

impl Services {
    pub fn new(sessions: Sessions, runner: Runner, agents: Agents, commands: Arc<Family<Counter>>) -> Self {
        let agents = RwLock::new(Arc::new(agents));
        Self(Arc::new(Inner { sessions, runner, agents, in_flight: InFlight::default(), commands }))
    }

    pub fn sessions(&self) -> &Sessions {
        &self.0.sessions
    }

    pub fn runner(&self) -> &Runner {
        &self.0.runner
    }

    pub fn log(&self) -> &Arc<dyn Log> {
        self.0.sessions.log()
    }

    pub fn hubs(&self) -> &Arc<Hubs> {
        self.0.sessions.hubs()
    }

    pub fn now(&self) -> Timestamp {
        self.0.sessions.now()
    }

    pub fn in_flight(&self) -> &InFlight {
        &self.0.in_flight
    }

    /// The agents that callers may run.
    pub fn agents(&self) -> Arc<Agents> {
        self.0.agents.read().unwrap_or_else(|poison| poison.into_inner()).clone()
    }

    /// Takes another set of agents. Running turns continue with the set that they began with.
    pub fn set_agents(&self, agents: Agents) {
        self.0.runner.set_registry(agents.registry.clone());
        *self.0.agents.write().unwrap_or_else(|poison| poison.into_inner()) = Arc::new(agents);
    }

    /// The session, if the caller may know of it. Absent, foreign and malformed answer alike.
    pub async fn hub(&self, identity: &Identity, session: &str) -> Result<Arc<Hub>, ApiError> {
        let id = SessionId::new(session).map_err(|_| not_found())?;
        identity.require_session(&id)?;
        let tenant = match seeded::is_on(Bug::TenantBlind) {
            true => TenantId::new(DEFAULT_TENANT).map_err(|_| not_found())?,
            false => identity.tenant().clone(),
        };
        let key = SessionKey::new(tenant, id);
        match self.hubs().get(&key).await? {
            Some(hub) => Ok(hub),
            None => Err(self.absence(identity, &key).await?),
        }
    }

    /// The error for an absent session: that it was deleted, if the caller could have read it.
    async fn absence(&self, identity: &Identity, key: &SessionKey) -> Result<ApiError, LogError> {
        if !identity.has(Scope::Read) {
            return Ok(not_found());
        }
        let deleted = self.0.sessions.deleted_at(key).await?;
        Ok(deleted.map_or_else(not_found, session_deleted))
    }

    /// Counts what was asked of the runner, and turns its error into one of the API.
    pub fn answered<T>(
        &self,
        command: RunnerCommand,
        result: Result<T, CommandError>,
    ) -> Result<T, ApiError> {
        let result = result.map_err(|error| ApiError::from(&error));
        let word = result.as_ref().map_or_else(|error| error.code().as_str(), |_| "ok");
        self.0.commands.with(&[command.as_str(), word]).increment();
        result
    }
}
