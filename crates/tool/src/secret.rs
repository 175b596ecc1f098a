//! Values that must not be seen: they stand outside the configuration and are read when they are needed.

use std::fmt;
use std::path::PathBuf;

/// Where a value comes from. Debug output never shows the value.
#[derive(Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// The value itself, for what is not secret.
    Plain(String),
    /// The name of an environment variable of the server.
    Env(String),
    /// A file; the newline at its end does not count.
    File(PathBuf),
}

impl ValueSource {
    /// Err names the place, never the value.
    pub fn read(&self) -> Result<String, String> {
        match self {
            ValueSource::Plain(value) => Ok(value.clone()),
            ValueSource::Env(name) => {
                let value = riverrun_secret::variable(name);
                let value = value.ok_or_else(|| format!("the environment variable `{name}` is not set"))?;
                riverrun_secret::learn_referred(&value);
                Ok(value)
            }
            ValueSource::File(path) => match std::fs::read_to_string(path) {
                Ok(text) => {
                    riverrun_secret::learn(&text);
                    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
                }
                Err(error) => Err(format!("the secret file `{}` cannot be read: {error}", path.display())),
            },
        }
    }
}

impl fmt::Debug for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueSource::Plain(_) => f.write_str("Plain(…)"),
            ValueSource::Env(name) => write!(f, "Env({name})"),
            ValueSource::File(path) => write!(f, "File({})", path.display()),
        }
    }
}

impl From<&str> for ValueSource {
    fn from(value: &str) -> Self {
        ValueSource::Plain(value.to_owned())
    }
}
