//! Providers as the configuration names them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use riverrun_event::nearest;
use riverrun_provider::{ApiName, Provider, ProviderConfig, Scripted, SecretSource};

use super::failure::wrong;
use super::tool::secrets;
use crate::cli::config::{Declared, FileRead, Name, ProviderTable as Declaration, SecretText};
use crate::cli::exit::{Exit, Failure, Outcome};

/// The provider of scripts, with those of the configuration.
pub fn scripted(declared: &Declared, read: &FileRead) -> Outcome<Scripted> {
    let mut scripted = Scripted::new();
    for file in &declared.scripts {
        let failure = |error| read.at(file, Failure::new(Exit::Config, format_args!("[scripts] {error}")));
        scripted = scripted.with_file(&read.directory().join(&file.text)).map_err(failure)?;
    }
    check_scripts(declared, &scripted, read)?;
    Ok(scripted)
}

/// A model that names a script must name one that is there.
fn check_scripts(declared: &Declared, scripted: &Scripted, read: &FileRead) -> Outcome {
    let models = declared.agents.iter().flat_map(|agent| &agent.models);
    for model in models.chain(declared.routes.values().flatten()) {
        let Some(script) = model.text.strip_prefix("scripted/") else { continue };
        let script = script.split('?').next().unwrap_or_default();
        if scripted.names().all(|known| known != script) {
            let hint = match nearest(script, scripted.names()) {
                Some(near) => format!("did you mean `scripted/{near}`?"),
                None => format!("there are: {}", scripted.names().collect::<Vec<_>>().join(", ")),
            };
            let failure = Failure::new(Exit::Config, format_args!("there is no script `{script}`; {hint}"));
            return Err(read.at(model, failure));
        }
    }
    Ok(())
}

/// The declaration without the secrets that this environment has not.
pub fn without_absent_keys(declaration: &Declaration) -> Declaration {
    let is_absent = |text: &SecretText| matches!(text, SecretText::Env(name) if riverrun_secret::variable(name).is_none());
    let mut declaration = declaration.clone();
    declaration.key = declaration.key.filter(|key| !is_absent(key));
    declaration.headers.retain(|_, value| !is_absent(value));
    declaration
}

/// What is wrong if a secret stands in a variable that this environment has not.
pub fn absent_secret(declaration: &Declaration, read: &FileRead) -> Option<Failure> {
    let provider = &declaration.name.text;
    let absent = |text: &SecretText| match text {
        SecretText::Env(variable) if riverrun_secret::variable(variable).is_none() => Some(variable.clone()),
        SecretText::Env(_) | SecretText::File(_) | SecretText::Plain(_) => None,
    };
    let failure = |place: &Name, what: &str, variable: &str| {
        let what = format!("[providers.{provider}] {what}: environment variable `{variable}` is not set");
        read.at(place, Failure::new(Exit::Config, what).hint(format_args!("set {variable}")))
    };
    if let Some(variable) = declaration.key.as_ref().and_then(absent) {
        let place = declaration.key_place.as_ref().unwrap_or(&declaration.name);
        return Some(failure(place, "key", &variable));
    }
    let mut headers = declaration.headers.iter();
    let (header, variable) = headers.find_map(|(name, text)| Some((name, absent(text)?)))?;
    Some(failure(&declaration.name, &format!("header `{header}`"), &variable))
}

/// True if an agent or a route names a model of this provider.
pub fn is_used(declaration: &Declaration, declared: &Declared) -> bool {
    let models = declared.agents.iter().flat_map(|agent| &agent.models);
    let mut models = models.chain(declared.routes.values().flatten());
    models.any(|model| model.text.split_once('/').is_some_and(|(name, _)| name == declaration.name.text))
}

/// A provider that needs a service. Nobody is called yet, but the key must be there.
pub fn build(declaration: &Declaration, directory: &Path) -> Outcome<Arc<dyn Provider>> {
    let name = &declaration.name.text;
    let Some(api) = ApiName::parse(&declaration.kind) else {
        return Err(wrong("providers", name, format_args!("`{}` is no kind of provider", declaration.kind)));
    };
    let mut config = ProviderConfig::new(api);
    config.base_url.clone_from(&declaration.base_url);
    config.key = declaration.key.as_ref().and_then(|key| match key {
        SecretText::Env(name) => Some(SecretSource::Env(name.clone())),
        SecretText::File(path) => Some(SecretSource::File(directory.join(path))),
        SecretText::Plain(_) => None,
    });
    config.headers = headers(declaration, directory)?;
    let secret = declaration.headers.iter().filter(|(_, value)| !matches!(value, SecretText::Plain(_)));
    config.secret_headers = secret.map(|(name, _)| name.clone()).collect();
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs().max(1));
    config.connect_timeout_seconds = seconds(declaration.patience.connect);
    config.first_byte_timeout_seconds = seconds(declaration.patience.first_byte);
    config.idle_timeout_seconds = seconds(declaration.patience.idle);
    config.total_timeout_seconds = seconds(declaration.patience.total);
    config.ca_file = declaration.ca_file.as_ref().map(|file| directory.join(file));
    config.threads = declaration.threads;
    config.prices = declaration.prices.iter().cloned().collect();
    config.build(name).map_err(|error| wrong("providers", name, error.reason))
}

fn headers(declaration: &Declaration, directory: &Path) -> Outcome<BTreeMap<String, String>> {
    let mut headers = BTreeMap::new();
    for (name, secret) in secrets(&declaration.headers, directory) {
        let value = secret.read().map_err(|problem| {
            wrong("providers", &declaration.name.text, format_args!("header `{name}`: {problem}"))
        })?;
        headers.insert(name, value);
    }
    Ok(headers)
}
