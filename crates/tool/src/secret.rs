//! Values that must not be seen: they stand outside the configuration and are read when they are needed.

use std::fmt;
use std::path::PathBuf;

/// Where a value comes from. Debug output never shows the value.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// The value itself, for what is not secret.
    Plain(String),
    /// The name of an environment variable of the server.
    Env(String),
    /// A file; the newline at its end does not count.
    File(PathBuf),
}

impl Secret {
    /// Err names the place, never the value.
    pub fn read(&self) -> Result<String, String> {
        match self {
            Secret::Plain(value) => Ok(value.clone()),
            Secret::Env(name) => {
                let value = riverrun_secret::variable(name);
                let value = value.ok_or_else(|| format!("the environment variable `{name}` is not set"))?;
                riverrun_secret::learn_referred(&value);
                Ok(value)
            }
            Secret::File(path) => match std::fs::read_to_string(path) {
                Ok(text) => {
                    riverrun_secret::learn(&text);
                    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
                }
                Err(error) => Err(format!("the secret file `{}` cannot be read: {error}", path.display())),
            },
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Secret::Plain(_) => f.write_str("Plain(…)"),
            Secret::Env(name) => write!(f, "Env({name})"),
            Secret::File(path) => write!(f, "File({})", path.display()),
        }
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Secret::Plain(value.to_owned())
    }
}
