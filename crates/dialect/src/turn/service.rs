//! What the service behind a turn says in its own words.

use std::collections::BTreeMap;

use riverrun_event::{Event, EventType, RawJson};

use super::{TurnEnding, View};

/// A word of a service's stream that has no place here, as the log keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Vendor<'a> {
    /// `x.PROVIDER.NAME`
    kind: &'a str,
    raw: &'a RawJson,
}

impl<'a> Vendor<'a> {
    pub(super) fn of(event: &'a Event) -> Option<Self> {
        let EventType::Other(kind) = &event.kind else { return None };
        kind.strip_prefix("x.")?;
        Some(Self { kind, raw: event.raw_payload.as_ref()? })
    }

    /// The frame, if it is one: then it is kept under the name that it has itself.
    pub(crate) fn frame(&self) -> Option<(String, BTreeMap<String, RawJson>)> {
        let members: BTreeMap<String, RawJson> = self.raw.to().ok()?;
        let name = members.get("type")?.as_text()?.into_owned();
        let is_named_so = self.kind.strip_suffix(name.as_str()).is_some_and(|before| before.ends_with('.'));
        is_named_so.then_some((name, members))
    }
}

impl View<'_> {
    /// What the service says of its answer, if it speaks this dialect. It is known when the turn has ended well.
    pub(crate) fn service_members(&self, dialect: &str) -> BTreeMap<String, RawJson> {
        let is_ended = matches!(self.ending, Some(TurnEnding::Completed(_)));
        let completed = self.completed.filter(|completed| completed.dialect.as_deref() == Some(dialect));
        let members = completed.filter(|_| is_ended).and_then(|completed| completed.members.as_ref());
        let mut members: BTreeMap<String, RawJson> =
            members.and_then(|members| members.to().ok()).unwrap_or_default();
        // The tokens of several calls are only known added up.
        if completed.and_then(|completed| completed.usage.as_ref()) != Some(&self.turn.usage) {
            members.remove("usage");
        }
        members
    }

    /// The service's own name of the model that answered, where the caller named a service.
    pub(crate) fn service_model(&self) -> Option<&str> {
        let completed = self.completed.filter(|completed| completed.dialect.is_some())?;
        let is_agent = self.facts.text("model").is_none_or(|model| model.starts_with("agent/"));
        completed.model.as_deref().filter(|_| !is_agent && self.ending.is_some())
    }
}
