//! A provider as the configuration names it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::Provider;
use crate::anthropic::Anthropic;
use crate::chat::Chat;
use crate::gemini::Gemini;
use crate::http::{HttpProvider, Limits, Settings};
use crate::openai::OpenAi;
use crate::price::Price;
use crate::secret::SecretSource;

/// `[providers.NAME]` of the configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderConfig {
    pub api: ApiName,
    /// Where the service is; the API's own address if absent.
    pub base_url: Option<String>,
    /// `{ env = "NAME" }` or `{ file = "path" }`; a local server may need none.
    pub key: Option<SecretSource>,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Names of headers whose values nobody may read: they are cut out of what the service says of its failures.
    #[serde(default)]
    pub secret_headers: Vec<String>,
    /// By model; a name that ends in `*` stands for all that begin so.
    #[serde(default)]
    pub prices: BTreeMap<String, Price>,
    pub connect_timeout_seconds: Option<u64>,
    pub first_byte_timeout_seconds: Option<u64>,
    pub idle_timeout_seconds: Option<u64>,
    pub total_timeout_seconds: Option<u64>,
    /// Certificates (PEM) to trust instead of the system's, for a server with one of its own.
    pub ca_file: Option<PathBuf>,
    /// The service holds conversations itself (`thread` of Anthropic's Messages). Without a word: only at
    /// Anthropic's own address.
    pub threads: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApiName {
    /// OpenAI Responses.
    Openai,
    /// Chat Completions, as many servers speak them.
    #[serde(alias = "openai-chat")]
    Chat,
    Anthropic,
    Gemini,
}

impl ApiName {
    /// `openai`, `chat` (or `openai-chat`), `anthropic`, `gemini`.
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "openai" => Some(ApiName::Openai),
            "chat" | "openai-chat" => Some(ApiName::Chat),
            "anthropic" => Some(ApiName::Anthropic),
            "gemini" => Some(ApiName::Gemini),
            _ => None,
        }
    }
}

/// What is wrong with a provider's configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("provider `{provider}`: {reason}")]
pub struct ConfigError {
    pub provider: String,
    pub reason: String,
}

impl ProviderConfig {
    /// The API at its own address, without a key.
    pub fn new(api: ApiName) -> Self {
        Self {
            api,
            base_url: None,
            key: None,
            headers: BTreeMap::new(),
            secret_headers: Vec::new(),
            prices: BTreeMap::new(),
            connect_timeout_seconds: None,
            first_byte_timeout_seconds: None,
            idle_timeout_seconds: None,
            total_timeout_seconds: None,
            ca_file: None,
            threads: None,
        }
    }

    /// Reads the key and checks the address; calls nobody.
    pub fn build(&self, name: &str) -> Result<Arc<dyn Provider>, ConfigError> {
        let wrong = |reason: String| ConfigError { provider: name.to_owned(), reason };
        let settings = Settings {
            name: name.to_owned(),
            base_url: self.base_url.clone(),
            key: self.key.as_ref().map(SecretSource::read).transpose().map_err(wrong)?,
            headers: self.headers.clone(),
            secret_headers: self.secret_headers.clone(),
            prices: self.prices.clone(),
            limits: self.limits(),
            ca_file: self.ca_file.clone(),
            threads: self.api == ApiName::Anthropic && self.threads.unwrap_or(self.base_url.is_none()),
        };
        Ok(match self.api {
            ApiName::Openai => Arc::new(HttpProvider::<OpenAi>::new(settings).map_err(wrong)?),
            ApiName::Chat => Arc::new(HttpProvider::<Chat>::new(settings).map_err(wrong)?),
            ApiName::Anthropic => Arc::new(HttpProvider::<Anthropic>::new(settings).map_err(wrong)?),
            ApiName::Gemini => Arc::new(HttpProvider::<Gemini>::new(settings).map_err(wrong)?),
        })
    }

    fn limits(&self) -> Limits {
        let seconds = |given: Option<u64>, default: Duration| given.map_or(default, Duration::from_secs);
        let usual = Limits::default();
        Limits {
            connect: seconds(self.connect_timeout_seconds, usual.connect),
            first_byte: seconds(self.first_byte_timeout_seconds, usual.first_byte),
            idle: seconds(self.idle_timeout_seconds, usual.idle),
            total: seconds(self.total_timeout_seconds, usual.total),
            ..usual
        }
    }
}
