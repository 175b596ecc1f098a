//! What operations work with: the engine, the runner, the agents.

use std::sync::{Arc, RwLock};

use prometheus_client::encoding::EncodeLabelSet;
use riverrun_event::{SessionId, TenantId, Timestamp};
use riverrun_log::seeded::{self, Bug};
use riverrun_log::{Error, Log, Random, SessionKey};
use riverrun_runner::{CommandError, Runner};
use riverrun_session::metrics::{Counter, Family};
use riverrun_session::{DEFAULT_TENANT, Hub, Hubs, Sessions, SystemRandom};

use crate::in_flight::InFlight;
use crate::{
    Agents, ApiError, Identity, KeyScope, KeyTable, TenantMeter, TenantRates, not_found, session_deleted,
};

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

/// What a transport knows about tenants.
pub struct TenantServices {
    pub keys: Arc<dyn KeyTable>,
    pub meter: Arc<dyn TenantMeter>,
    pub rates: Arc<dyn TenantRates>,
}

impl TenantServices {
    /// One object that is all of them.
    pub fn of<T: KeyTable + TenantMeter + TenantRates + Clone + 'static>(edge: &T) -> Self {
        Self { keys: Arc::new(edge.clone()), meter: Arc::new(edge.clone()), rates: Arc::new(edge.clone()) }
    }
}

/// What was asked of the runner, and what it answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct CommandLabels {
    pub command: &'static str,
    /// `ok`, or the code of the error.
    pub result: &'static str,
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
    commands: Family<CommandLabels, Counter>,
    tenants: TenantServices,
}

impl Services {
    pub fn new(
        sessions: Sessions,
        runner: Runner,
        agents: Agents,
        commands: Family<CommandLabels, Counter>,
        tenants: TenantServices,
    ) -> Self {
        let (agents, in_flight) = (RwLock::new(Arc::new(agents)), InFlight::default());
        Self(Arc::new(Inner { sessions, runner, agents, in_flight, commands, tenants }))
    }

    /// The keys of this server.
    pub fn keys(&self) -> &dyn KeyTable {
        &*self.0.tenants.keys
    }

    /// What tenants use, and may use.
    pub fn meter(&self) -> &dyn TenantMeter {
        &*self.0.tenants.meter
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

    /// What tenants may do in a time.
    pub fn rates(&self) -> &dyn TenantRates {
        &*self.0.tenants.rates
    }

    /// The bytes of a new id that sorts by time: 48 bits of milliseconds, then 80 random ones.
    pub fn random_id(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        SystemRandom.fill(&mut bytes[6..]);
        bytes[..6].copy_from_slice(&self.now().millis().to_be_bytes()[2..]);
        bytes
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
    async fn absence(&self, identity: &Identity, key: &SessionKey) -> Result<ApiError, Error> {
        if !identity.has(KeyScope::Read) {
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
        let labels = CommandLabels { command: command.as_str(), result: word };
        self.0.commands.get_or_create(&labels).inc();
        result
    }
}
