//! Writes JSON objects member by member, in the order of the calls.

use std::collections::BTreeMap;

use riverrun_event::{RawJson, json};

/// An object that is being written.
pub(crate) struct Members<'a> {
    out: &'a mut String,
    is_first: bool,
}

impl<'a> Members<'a> {
    pub(crate) fn open(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, is_first: true }
    }

    pub(crate) fn close(self) {
        self.out.push('}');
    }

    pub(crate) fn text(&mut self, name: &str, value: &str) {
        json::write_string(self.name(name), value);
    }

    pub(crate) fn maybe_text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    pub(crate) fn number(&mut self, name: &str, value: u64) {
        self.name(name).push_str(&value.to_string());
    }

    pub(crate) fn flag(&mut self, name: &str, value: bool) {
        self.name(name).push_str(if value { "true" } else { "false" });
    }

    pub(crate) fn maybe_number(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.number(name, value);
        }
    }

    /// `json` is one JSON value on one line.
    pub(crate) fn raw(&mut self, name: &str, json: &str) {
        self.name(name).push_str(json);
    }

    /// The same with a name from outside this crate.
    pub(crate) fn raw_with_name(&mut self, name: &str, json: &str) {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.push(',');
        }
        json::write_string(self.out, name);
        self.out.push(':');
        self.out.push_str(json);
    }

    /// The members of an object as they are.
    pub(crate) fn all(&mut self, object: &RawJson) {
        let members: BTreeMap<String, RawJson> = object.to().unwrap_or_default();
        members.iter().for_each(|(name, value)| self.raw_with_name(name, value.get()));
    }

    /// The value is what `write` appends.
    pub(crate) fn with(&mut self, name: &str, write: impl FnOnce(&mut String)) {
        write(self.name(name));
    }

    fn name(&mut self, name: &str) -> &mut String {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }
}

/// A list that is being written.
pub(crate) struct List<'a> {
    out: &'a mut String,
    is_first: bool,
}

impl<'a> List<'a> {
    pub(crate) fn open(out: &'a mut String) -> Self {
        out.push('[');
        Self { out, is_first: true }
    }

    /// Where the next entry is to be written.
    pub(crate) fn entry(&mut self) -> &mut String {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.push(',');
        }
        self.out
    }

    pub(crate) fn close(self) {
        self.out.push(']');
    }
}

/// Writes `[…]`, one value per entry.
pub(crate) fn write_list<T>(
    out: &mut String,
    list: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    let mut entries = List::open(out);
    for entry in list {
        write(entries.entry(), entry);
    }
    entries.close();
}
