//! The configuration in force: flag over environment over file over default, each value with its origin.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use riverrun_event::nearest;

use super::declared::{Declared, Name};
use super::file;
use super::settings::{SETTINGS, Setting, SettingValue};
use crate::cli::exit::{Exit, Failure, Outcome};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    File { path: PathBuf, line: usize },
    Environment(String),
    Flag(&'static str),
}

/// A setting that a flag gave: (flag, section, key, text).
pub type FlagValue = (&'static str, &'static str, &'static str, String);

#[derive(Debug)]
pub struct Effective {
    pub entries: Vec<Entry>,
    /// What the file declares to run; None without a file.
    pub declared: Option<Declared>,
    pub read: FileRead,
}

/// The file that was read, to say where in it something is wrong.
#[derive(Debug, Default)]
pub struct FileRead {
    file: Option<PathBuf>,
    text: String,
}

impl FileRead {
    /// The directory that paths in the file are relative to.
    pub fn directory(&self) -> &Path {
        self.file.as_deref().and_then(Path::parent).unwrap_or(Path::new(""))
    }

    /// Says of a failure where in the file its cause is.
    pub fn at(&self, name: &Name, failure: Failure) -> Failure {
        let Some(file) = &self.file else { return failure };
        let (line, column) = file::place(&self.text, name.span.start);
        Failure { what: format!("{}:{line}:{column}: {}", file.display(), failure.what), ..failure }
    }
}

#[derive(Debug)]
pub struct Entry {
    pub setting: &'static Setting,
    pub value: SettingValue,
    pub origin: Origin,
}

impl Effective {
    /// Reads all layers. `variables` is the environment.
    pub fn load(
        path: Option<&Path>,
        variables: impl IntoIterator<Item = (String, String)>,
        flags: &[FlagValue],
    ) -> Outcome<Self> {
        let (given, declared, text) = match path.map(read_file).transpose()? {
            Some(file::Contents { given, declared, text }) => (given, Some(declared), text),
            None => (Vec::new(), None, String::new()),
        };
        let entries = SETTINGS.iter().map(default_entry).collect::<Result<_, _>>().map_err(wrong)?;
        let file = path.map(Path::to_owned);
        let mut effective = Effective { entries, declared, read: FileRead { file, text } };
        for given in given {
            let origin = Origin::File { path: path.unwrap_or(Path::new("")).to_owned(), line: given.line };
            effective.set(given.setting, given.value, origin);
        }
        effective.add_variables(variables)?;
        for (flag, section, key, text) in flags {
            let setting =
                super::settings::find(section, key).ok_or_else(|| wrong(format!("{section}.{key}")))?;
            let value =
                setting.read(text).map_err(|e| Failure::new(Exit::Usage, format_args!("{flag}: {e}")))?;
            effective.set(setting, value, Origin::Flag(flag));
        }
        Ok(effective)
    }

    /// These values, but those of `old` where `keeps` says so.
    pub fn with_old(mut self, old: &Self, keeps: impl Fn(&str, &str) -> bool) -> Self {
        for (entry, before) in self.entries.iter_mut().zip(&old.entries) {
            if keeps(entry.setting.section, entry.setting.key) {
                entry.value = before.value.clone();
            }
        }
        self
    }

    fn add_variables(&mut self, variables: impl IntoIterator<Item = (String, String)>) -> Outcome {
        for (name, text) in variables {
            // Two underscores part section and key; the other RIVERRUN_ variables are not settings.
            if !name.starts_with("RIVERRUN_") || !name.contains("__") {
                continue;
            }
            let Some(setting) = SETTINGS.iter().find(|setting| setting.variable() == name) else {
                let known: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
                let failure = wrong(format!("{name} is not a setting"));
                return Err(match nearest(&name, known.iter().map(String::as_str)) {
                    Some(near) => failure.hint(format_args!("did you mean {near}?")),
                    None => failure.hint("`riverrun config show` lists all settings"),
                });
            };
            let value = setting.read(&text).map_err(|e| wrong(format!("{name}: {e}")))?;
            self.set(setting, value, Origin::Environment(name));
        }
        Ok(())
    }

    fn set(&mut self, setting: &'static Setting, value: SettingValue, origin: Origin) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.setting == setting) {
            *entry = Entry { setting, value, origin };
        }
    }

    fn value(&self, section: &str, key: &str) -> Option<&SettingValue> {
        let entry =
            self.entries.iter().find(|entry| entry.setting.section == section && entry.setting.key == key);
        entry.map(|entry| &entry.value)
    }

    pub fn text(&self, section: &str, key: &str) -> String {
        match self.value(section, key) {
            Some(SettingValue::Text(text)) => text.clone(),
            _ => String::new(),
        }
    }

    pub fn list(&self, section: &str, key: &str) -> Vec<String> {
        match self.value(section, key) {
            Some(SettingValue::TextList(list)) => list.clone(),
            _ => Vec::new(),
        }
    }

    pub fn integer(&self, section: &str, key: &str) -> u64 {
        match self.value(section, key) {
            Some(SettingValue::Integer(number)) => *number,
            _ => 0,
        }
    }

    pub fn duration(&self, section: &str, key: &str) -> Duration {
        match self.value(section, key) {
            Some(SettingValue::Duration(duration)) => *duration,
            _ => Duration::ZERO,
        }
    }

    pub fn flag(&self, section: &str, key: &str) -> bool {
        matches!(self.value(section, key), Some(SettingValue::Flag(true)))
    }
}

fn default_entry(setting: &'static Setting) -> Result<Entry, String> {
    Ok(Entry { setting, value: setting.read(setting.default)?, origin: Origin::Default })
}

fn read_file(path: &Path) -> Outcome<file::Contents> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::new(Exit::Config, format_args!("{}: {e}", path.display()))
            .hint("name the file with --config")
    })?;
    file::read(&text).map_err(|complaints| {
        let lines: Vec<String> =
            complaints.iter().map(|complaint| format!("{}:{complaint}", path.display())).collect();
        wrong(lines.join("\n       ")).hint("`riverrun config schema` describes every setting")
    })
}

fn wrong(what: String) -> Failure {
    Failure::new(Exit::Config, what)
}

/// The file to read: the flag's, the environment's, or `riverrun.toml` here if there is one.
pub fn find_file(flag: Option<&Path>) -> Option<PathBuf> {
    if let Some(path) = flag {
        return Some(path.to_owned());
    }
    if let Some(path) = std::env::var_os("RIVERRUN_CONFIG").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    let here = PathBuf::from("riverrun.toml");
    here.exists().then_some(here)
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{}:{line}", path.display()),
            Origin::Environment(name) => f.write_str(name),
            Origin::Flag(flag) => f.write_str(flag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(effective: &Effective, name: &str) -> Option<String> {
        effective
            .entries
            .iter()
            .find(|entry| entry.setting.name() == name)
            .map(|entry| entry.origin.to_string())
    }

    #[test]
    fn a_flag_beats_the_environment_which_beats_the_file() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("riverrun.toml");
        std::fs::write(&path, "[server]\nlisten = \"127.0.0.1:1\"\ndata_dir = \"a\"\ndrain = \"1s\"\n")
            .expect("our file");
        let variables = [
            ("RIVERRUN_SERVER__LISTEN", "127.0.0.1:2"),
            ("RIVERRUN_SERVER__DATA_DIR", "b"),
            ("RIVERRUN_KEY", "k"),
        ];
        let variables = variables.map(|(name, text)| (name.to_owned(), text.to_owned()));
        let flags = [("--listen", "server", "listen", "127.0.0.1:3".to_owned())];
        let effective = Effective::load(Some(&path), variables, &flags).expect("valid");
        assert_eq!(effective.text("server", "listen"), "127.0.0.1:3");
        assert_eq!(effective.text("server", "data_dir"), "b");
        assert_eq!(effective.duration("server", "drain"), Duration::from_secs(1));
        assert_eq!(origin(&effective, "server.listen").as_deref(), Some("--listen"));
        assert_eq!(origin(&effective, "server.data_dir").as_deref(), Some("RIVERRUN_SERVER__DATA_DIR"));
        assert_eq!(origin(&effective, "stream.heartbeat").as_deref(), Some("default"));
        assert!(origin(&effective, "server.drain").is_some_and(|origin| origin.ends_with("riverrun.toml:4")));
    }

    #[test]
    fn a_variable_that_is_no_setting_is_refused() {
        let variables = [("RIVERRUN_SERVER__LISTN".to_owned(), "x".to_owned())];
        let failure = Effective::load(None, variables, &[]).expect_err("unknown");
        assert_eq!(failure.exit, Exit::Config);
        assert_eq!(failure.hint.as_deref(), Some("did you mean RIVERRUN_SERVER__LISTEN?"));
    }
}
