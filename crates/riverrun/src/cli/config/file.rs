//! Reads `riverrun.toml` strictly: what is not known is an error with its line and a suggestion.

use std::fmt;
use std::ops::Range;

use riverrun_event::nearest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::declared::{self, DECLARED, Declared, Form, Node};
use super::settings::{Kind, SETTINGS, Setting, SettingValue, find, sections};

/// Something wrong in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// From 1.
    pub line: usize,
    pub column: usize,
    pub what: String,
    pub suggestion: Option<String>,
}

/// A setting as the file gives it.
#[derive(Debug, PartialEq, Eq)]
pub struct Given {
    pub setting: &'static Setting,
    pub value: SettingValue,
    pub line: usize,
}

/// What a file says: settings of the server, and what it runs.
#[derive(Debug, Default)]
pub struct Contents {
    pub given: Vec<Given>,
    pub declared: Declared,
    pub text: String,
}

/// All of the file, or everything that is wrong with it.
pub fn read(text: &str) -> Result<Contents, Vec<Complaint>> {
    let mut reader = Reader { text, given: Vec::new(), sections: Vec::new(), complaints: Vec::new() };
    match DeTable::parse(text) {
        Ok(root) => reader.root(root.get_ref()),
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            reader.complain(span.clone(), syntax(error.message(), text.get(span).unwrap_or_default()), None);
        }
    }
    let (declared, wrong) = declared::read(&reader.sections);
    for (span, what, near) in wrong {
        reader.complain(span, what, near.as_deref());
    }
    // Tables come sorted by name; a reader of complaints goes through the file from the top.
    reader.complaints.sort_by_key(|complaint| (complaint.line, complaint.column));
    match reader.complaints.is_empty() {
        true => Ok(Contents { given: reader.given, declared, text: text.to_owned() }),
        false => Err(reader.complaints),
    }
}

/// What is wrong with the file as TOML. The parser says that a key is there twice, but not which.
fn syntax(message: &str, at: &str) -> String {
    match message {
        "duplicate key" => format!("`{at}` is declared twice; keep one of the two"),
        message => message.to_owned(),
    }
}

/// Every section that a file may have.
fn known_sections() -> impl Iterator<Item = &'static str> {
    sections().chain(DECLARED.iter().map(|section| section.name))
}

struct Reader<'a> {
    text: &'a str,
    given: Vec<Given>,
    /// Those that declare something.
    sections: Vec<(String, Node)>,
    complaints: Vec<Complaint>,
}

impl Reader<'_> {
    fn root(&mut self, root: &DeTable<'_>) {
        for (name, value) in root.iter() {
            let section = name.get_ref().as_ref();
            if !known_sections().any(|known| known == section) {
                let near = nearest(section, known_sections());
                let what = match is_section(value.get_ref()) {
                    true => format!("unknown section `{section}`"),
                    false => format!("unknown key `{section}`: keys stand in sections such as [server]"),
                };
                self.complain(name.span(), what, near);
                continue;
            }
            let declared = DECLARED.iter().find(|declared| declared.name == section);
            match value.get_ref().as_table() {
                Some(_) if declared.is_some() => {
                    self.sections.push((section.to_owned(), Node::of(value)));
                }
                None if declared.is_some_and(|declared| declared.form == Form::List) => {
                    self.sections.push((section.to_owned(), Node::of(value)));
                }
                Some(table) => self.section(section, table),
                None => {
                    self.complain(name.span(), format!("`{section}` is a section: write [{section}]"), None)
                }
            }
        }
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>) {
        for (name, value) in table.iter() {
            let key = name.get_ref().as_ref();
            let Some(setting) = find(section, key) else {
                let known =
                    SETTINGS.iter().filter(|setting| setting.section == section).map(|setting| setting.key);
                let what = format!("unknown key `{key}` in [{section}]");
                self.complain(name.span(), what, nearest(key, known));
                continue;
            };
            match value_of(setting, value) {
                Ok(value) => {
                    let line = place(self.text, name.span().start).0;
                    self.given.push(Given { setting, value, line });
                }
                Err(what) => self.complain(value.span(), format!("{}: {what}", setting.name()), None),
            }
        }
    }

    fn complain(&mut self, span: Range<usize>, what: String, suggestion: Option<&str>) {
        let (line, column) = place(self.text, span.start);
        let suggestion = suggestion.map(str::to_owned);
        self.complaints.push(Complaint { line, column, what, suggestion });
    }
}

fn value_of(setting: &Setting, value: &Spanned<DeValue<'_>>) -> Result<SettingValue, String> {
    let value = value.get_ref();
    let wrong = |wanted: &str| Err(format!("wants {wanted}, not {}", kind_of(value)));
    match (setting.kind, value) {
        (Kind::TextList, DeValue::Array(items)) => {
            let texts: Option<Vec<String>> =
                items.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect();
            texts.map(SettingValue::TextList).ok_or_else(|| "wants a list of texts".to_owned())
        }
        (Kind::TextList, _) => wrong("a list of texts"),
        (Kind::Integer | Kind::Size, DeValue::Integer(number)) => {
            setting.read(&number.as_str().replace('_', ""))
        }
        (Kind::Size, DeValue::String(text)) => setting.read(text),
        (Kind::Integer, _) => wrong("a whole number"),
        (Kind::Size, _) => wrong("a size such as \"256KiB\""),
        (Kind::Flag, DeValue::Boolean(flag)) => Ok(SettingValue::Flag(*flag)),
        (Kind::Flag, _) => wrong("true or false"),
        (Kind::Text | Kind::Address | Kind::Duration | Kind::Word(_), DeValue::String(text)) => {
            setting.read(text)
        }
        (Kind::Duration, _) => wrong("a duration such as \"15s\""),
        (Kind::Text | Kind::Address | Kind::Word(_), _) => wrong("a text"),
    }
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a section",
    }
}

/// `[name]` or `[[name]]`.
fn is_section(value: &DeValue<'_>) -> bool {
    let is_table = |item: &Spanned<DeValue<'_>>| item.get_ref().as_table().is_some();
    value.as_table().is_some() || value.as_array().is_some_and(|items| items.iter().any(is_table))
}

pub fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.what)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, "; did you mean `{suggestion}`?"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> Vec<String> {
        read(text).err().unwrap_or_default().iter().map(Complaint::to_string).collect()
    }

    #[test]
    fn a_good_file_gives_its_settings_with_their_lines() {
        let given = read(
            "[server]\nlisten = \"127.0.0.1:9000\"\n[limits]\nbody_bytes = \"2MiB\"\nconnections = 1_000\n",
        );
        let shown: Vec<_> = given
            .expect("valid")
            .given
            .into_iter()
            .map(|given| (given.setting.name(), given.value, given.line))
            .collect();
        assert_eq!(
            shown,
            [
                ("limits.body_bytes".into(), SettingValue::Integer(2 << 20), 4),
                ("limits.connections".into(), SettingValue::Integer(1000), 5),
                ("server.listen".into(), SettingValue::Text("127.0.0.1:9000".into()), 2),
            ]
        );
    }

    #[test]
    fn every_mistake_is_named_with_its_place() {
        let text = "[server]\nlsiten = \"x\"\nlisten = \"here\"\ndrain = 30\n\n[limit]\n";
        assert_eq!(
            complaints(text),
            [
                "2:1: unknown key `lsiten` in [server]; did you mean `listen`?",
                "3:10: server.listen: `here` is not an address such as 127.0.0.1:7777",
                "4:9: server.drain: wants a duration such as \"15s\", not a number",
                "6:2: unknown section `limit`; did you mean `limits`?",
            ]
        );
    }

    #[test]
    fn what_stands_outside_of_every_section_is_a_key() {
        assert_eq!(complaints("x = 1\n"), ["1:1: unknown key `x`: keys stand in sections such as [server]"]);
        assert_eq!(complaints("[[x]]\n"), ["1:3: unknown section `x`"]);
    }

    #[test]
    fn a_file_that_is_no_toml_says_where() {
        assert!(complaints("[server]\nlisten = \n")[0].starts_with("2:"));
    }
}
