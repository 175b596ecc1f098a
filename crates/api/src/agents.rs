//! Which agents a server runs, and for whom.

use std::fmt;
use std::sync::Arc;

use riverrun_event::{ErrorCode, nearest};
use riverrun_runner::{Options, Registry};

use crate::ApiError;

/// The provider that plays scripts.
const SCRIPTED: &str = "scripted";

/// What a server is told about agents when it starts.
#[derive(Clone, Default)]
pub struct Agents {
    pub registry: Arc<Registry>,
    pub runner: Options,
    /// Everybody may run scripts. Otherwise only agents that name one do.
    pub scripts_for_all: bool,
    /// Who answers a chat that names nobody; the default: that of the registry.
    pub chat_agent: Option<String>,
}

impl Agents {
    /// 400 if nothing that a caller may run has this name.
    pub fn check(&self, name: &str) -> Result<(), ApiError> {
        let is_script = name.split_once('/').is_some_and(|(provider, _)| provider == SCRIPTED);
        if self.registry.resolve(name).is_some() && (self.scripts_for_all || !is_script) {
            return Ok(());
        }
        let known = self.names();
        let shown: String = name.chars().take(64).flat_map(char::escape_default).collect();
        let hint = match nearest(name, known.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "this server has no agents; declare one in riverrun.toml".to_owned(),
            None => format!("there are: {}", known.join(", ")),
        };
        let detail = format!("nothing here is named `{shown}`; {hint}");
        Err(ApiError::new(ErrorCode::UnknownAgent, detail).field("agent").with("known", known))
    }

    /// Everything that a foreign client may name as its model.
    pub fn models(&self) -> Vec<String> {
        let agents = self.registry.agents.keys().map(|name| format!("agent/{name}"));
        let providers = self.registry.providers.iter();
        let providers = providers.filter(|(name, _)| self.scripts_for_all || *name != SCRIPTED);
        let models = providers.flat_map(|(name, provider)| {
            provider.models().into_iter().map(move |model| format!("{name}/{model}"))
        });
        // A route for many names is not one that can be asked for.
        let routes = self.registry.routes.exact.keys().cloned();
        agents.chain(routes).chain(models).collect()
    }

    /// The names that a caller may use.
    pub fn names(&self) -> Vec<String> {
        let bare = self.registry.agents.keys().cloned();
        let providers = self.registry.providers.keys();
        let providers = providers.filter(|name| self.scripts_for_all || *name != SCRIPTED);
        let routes = self.registry.routes.names();
        bare.chain(routes).chain(providers.map(|name| format!("{name}/…"))).collect()
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agents").field("names", &self.registry.names()).finish_non_exhaustive()
    }
}
