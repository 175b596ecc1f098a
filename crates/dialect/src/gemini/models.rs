//! `GET /v1beta/models` and one of them, as Google's clients read them.

use crate::members::{Members, write_list};

/// A model that can be requested. Its limits are nobody's knowledge here, so they are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GeminiModel<'a> {
    /// `agent/NAME`, `PROVIDER/MODEL` or `scripted/SCENARIO`.
    pub id: &'a str,
    /// True if its service counts tokens.
    pub counts: bool,
}

/// A page of the list, and what to ask the next one with.
pub fn models(page: &[GeminiModel<'_>], next: Option<&str>) -> String {
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.with("models", |out| write_list(out, page, write_model));
    members.maybe_text("nextPageToken", next);
    members.close();
    out
}

pub fn model(model: &GeminiModel<'_>) -> String {
    let mut out = String::new();
    write_model(&mut out, model);
    out
}

fn write_model(out: &mut String, model: &GeminiModel<'_>) {
    let methods = ["generateContent", "streamGenerateContent"].into_iter();
    let methods = methods.chain(model.counts.then_some("countTokens"));
    let mut members = Members::open(out);
    members.text("name", &format!("models/{}", model.id));
    members.text("baseModelId", model.id);
    members.text("displayName", model.id);
    members.with("supportedGenerationMethods", |out| {
        write_list(out, methods, riverrun_event::json::write_string);
    });
    members.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_its_models_and_the_way_to_the_next() {
        let model = GeminiModel { id: "scripted/text", counts: false };
        assert_eq!(
            models(&[model], Some("scripted/text")),
            r#"{"models":[{"name":"models/scripted/text","baseModelId":"scripted/text","displayName":"scripted/text","supportedGenerationMethods":["generateContent","streamGenerateContent"]}],"nextPageToken":"scripted/text"}"#
        );
        assert!(super::model(&GeminiModel { counts: true, ..model }).contains(r#","countTokens"]"#));
    }
}
