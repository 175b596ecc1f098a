//! What a runtime is made of, and the checks before it starts.

use std::path::PathBuf;
use std::sync::Arc;

use riverrun_log::memory::MemoryLog;
use riverrun_log::{Clock, Log, SystemClock};
use riverrun_log_sqlite::SqliteLog;
use riverrun_provider::{Provider, ProviderConfig, Scenario, Scripted};
use riverrun_runner::{AgentSpec, Options, Registry, Runner, check_schema};
use riverrun_session::{Drain, Ownership, Parts, SessionMetrics, Sessions, Settings, SystemRandom};

use super::{Agent, Error, Riverrun};

/// Events larger than this have their long texts stored apart. It is far above what models write, so that a run's
/// state carries everything.
const EVENT_BYTES: usize = 4 << 20;

/// Collects agents, providers and the store. Mistakes are told by [`Builder::start`].
#[derive(Default)]
pub struct Builder {
    agents: Vec<Agent>,
    providers: Vec<(String, ProviderConfig)>,
    own: Vec<Arc<dyn Provider>>,
    scripts: Vec<(String, String)>,
    directory: Option<PathBuf>,
}

impl Builder {
    /// An agent, and those that came with it.
    pub fn agent(mut self, agent: Agent) -> Self {
        self.agents.push(agent);
        self
    }

    /// A model service under the name by which models are called: `NAME/MODEL`.
    pub fn provider(mut self, name: impl Into<String>, config: ProviderConfig) -> Self {
        self.providers.push((name.into(), config));
        self
    }

    /// A provider of your own; its name is what it says.
    pub fn own_provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.own.push(provider);
        self
    }

    /// A scenario in TOML for the model `scripted/NAME`, beside the built-in ones.
    pub fn script(mut self, name: impl Into<String>, toml: impl Into<String>) -> Self {
        self.scripts.push((name.into(), toml.into()));
        self
    }

    /// Keeps everything in this directory, which belongs to one process at a time. Without it everything is in memory
    /// and gone with the process.
    pub fn data_dir(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Starts, and goes on with every run that a former process left. Must be called inside a tokio runtime.
    pub async fn start(mut self) -> Result<Riverrun, Error> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let log: Arc<dyn Log> = match &self.directory {
            Some(directory) => Arc::new(SqliteLog::open(riverrun_log_sqlite::SqliteOptions::new(directory))?),
            None => Arc::new(MemoryLog::new(clock.clone())),
        };
        super::mcp::keep(&mut self.agents).await;
        let registry = Arc::new(self.registry()?);
        let ownership = Arc::new(Ownership::acquire(&*log, &SystemRandom).await?);
        let sessions = Sessions::new(Parts {
            log,
            clock,
            ownership,
            settings: Settings { event_bytes: EVENT_BYTES, ..Settings::default() },
            metrics: Arc::new(SessionMetrics::new()),
            drain: Drain::new(),
        });
        let runner = Runner::over(&sessions, registry, Arc::new(SystemRandom), Options::default());
        runner.recover().await?;
        Ok(Riverrun::new(sessions, runner))
    }

    fn registry(&self) -> Result<Registry, Error> {
        let mut registry = Registry::default();
        let mut scripted = Scripted::new();
        for (name, text) in &self.scripts {
            scripted = scripted.with(name, Scenario::parse(&format!("{name}.toml"), text)?);
        }
        registry.providers.insert("scripted".to_owned(), Arc::new(scripted));
        for (name, config) in &self.providers {
            let built = config.build(name).map_err(|error| Error::Provider(error.to_string()))?;
            registry.providers.insert(name.clone(), built);
        }
        for provider in &self.own {
            registry.providers.insert(provider.name().to_owned(), provider.clone());
        }
        for agent in &self.agents {
            add(&mut registry, agent)?;
        }
        registry.default_agent = self.agents.first().map(|agent| agent.spec.name.clone());
        check(&registry)?;
        Ok(registry)
    }
}

fn add(registry: &mut Registry, agent: &Agent) -> Result<(), Error> {
    let name = &agent.spec.name;
    let wrong = |reason: &str| Error::Agent { agent: name.clone(), reason: reason.to_owned() };
    if !riverrun_tool::is_valid_name(name) {
        return Err(wrong("its name is no name; use letters, digits, `_` and `-`"));
    }
    if agent.spec.models.is_empty() {
        return Err(wrong("it has no model; give one with `.model(\"PROVIDER/MODEL\")`"));
    }
    if registry.agents.insert(name.clone(), Arc::new(agent.spec.clone())).is_some() {
        return Err(wrong(
            "it is given twice; give it once and name it elsewhere with `.handoff_to(name)` or \
                          `.sub_agent_named(name)`",
        ));
    }
    agent.others.iter().try_for_each(|other| add(registry, other))
}

/// A schema that no value can be held against would fail every call, or hold it up.
fn check_schemas(agent: &AgentSpec) -> Result<(), String> {
    for used in &agent.tools {
        let definition = used.tool.definition();
        check_schema(&definition.parameters)
            .map_err(|error| format!("the schema of its tool `{}`: {error}", definition.name))?;
    }
    let output = agent.output_schema.as_ref().map_or(Ok(()), check_schema);
    output.map_err(|error| format!("its output schema: {error}"))
}

/// Every name that an agent uses stands for something.
fn check(registry: &Registry) -> Result<(), Error> {
    for (name, agent) in &registry.agents {
        let wrong = |reason: String| Error::Agent { agent: name.clone(), reason };
        for model in &agent.models {
            let provider = model.split_once('/').map(|(provider, _)| provider);
            if !provider.is_some_and(|provider| registry.providers.contains_key(provider)) {
                let known: Vec<&str> = registry.providers.keys().map(String::as_str).collect();
                let known = known.join(", ");
                return Err(wrong(format!("its model `{model}` has no provider; there are: {known}")));
            }
        }
        check_schemas(agent).map_err(wrong)?;
        for (place, hook) in agent.hooks.iter().enumerate() {
            if agent.hooks[..place].iter().any(|before| before.name == hook.name) {
                return Err(wrong(format!(
                    "it has two hooks `{}`; give one of them another name",
                    hook.name
                )));
            }
        }
        let named = agent.subagents.iter().chain(&agent.handoffs);
        if let Some(absent) = named.into_iter().find(|other| !registry.agents.contains_key(*other)) {
            return Err(wrong(format!("it names the agent `{absent}`, which is not given")));
        }
    }
    Ok(())
}
