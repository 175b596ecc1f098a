//! Providers as the configuration names them.

use std::path::Path;
use std::sync::Arc;

use riverrun_provider::{Provider, Scripted};

use super::failure::wrong;
use crate::cli::config::{Declared, Provider as Declaration};
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

/// A provider that needs a service.
pub fn build(declaration: &Declaration, _directory: &Path) -> Outcome<Arc<dyn Provider>> {
    let name = &declaration.name.text;
    Err(wrong("providers", name, format_args!("`{}` is not spoken by this build", declaration.kind)))
}
