//! `GET /v1/models`, in a form that OpenAI's and Anthropic's clients both read.

use crate::members::{Members, write_list};

/// A model that can be requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenAiModel<'a> {
    /// `agent/NAME`, `PROVIDER/MODEL` or `scripted/SCENARIO`.
    pub id: &'a str,
    /// Seconds since 1970.
    pub created: u64,
    pub owned_by: &'a str,
}

/// The list of models.
pub fn models(models: &[OpenAiModel<'_>]) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.text("object", "list");
    members.with("data", |out| write_list(out, models, write_model));
    members.flag("has_more", false);
    for (name, model) in [("first_id", models.first()), ("last_id", models.last())] {
        match model {
            Some(model) => members.text(name, model.id),
            None => members.raw(name, "null"),
        }
    }
    members.close();
    out
}

/// One model, for `GET /v1/models/{id}`.
pub fn model(model: &OpenAiModel<'_>) -> String {
    let mut out = String::new();
    write_model(&mut out, model);
    out
}

fn write_model(out: &mut String, model: &OpenAiModel<'_>) {
    let mut members = Members::open(out);
    members.text("id", model.id);
    members.text("object", "model");
    members.number("created", model.created);
    members.text("owned_by", model.owned_by);
    members.text("type", "model");
    members.text("display_name", model.id);
    members.close();
}
