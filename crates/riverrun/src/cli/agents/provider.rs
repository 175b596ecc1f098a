//! Providers as the configuration names them.

use std::path::Path;
use std::sync::Arc;

use riverrun_provider::{ApiName, Price, Provider, ProviderConfig, Scripted, SecretSource};

use super::failure::wrong;
use crate::cli::config::{Declared, Provider as Declaration, SecretText};
use crate::cli::exit::{Exit, Failure, Outcome};

/// The provider of scripts, with those of the configuration.
pub fn scripted(declared: &Declared, directory: &Path) -> Outcome<Arc<dyn Provider>> {
    let mut scripted = Scripted::new();
    for file in &declared.scripts {
        let path = directory.join(file);
        let failure =
            |error| Failure::new(Exit::Config, format_args!("[scripts] {}: {error}", path.display()));
        scripted = scripted.with_file(&path).map_err(failure)?;
    }
    Ok(Arc::new(scripted))
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
    let price = |(model, input, cached, output): &(String, f64, f64, f64)| {
        (model.clone(), Price { input: *input, cached_input: Some(*cached), output: *output })
    };
    config.prices = declaration.prices.iter().map(price).collect();
    config.build(name).map_err(|error| wrong("providers", name, error.reason))
}
