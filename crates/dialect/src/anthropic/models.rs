//! `GET /v1/models`, as Anthropic's clients read it.

use crate::members::{Members, write_list};
use crate::request::RequestFailure;

/// The requested page of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPageQuery {
    pub limit: usize,
    pub after: Option<String>,
    pub before: Option<String>,
}

impl ModelPageQuery {
    /// As many as the API gives to a client that names no number, and as many as it gives at most.
    pub const DEFAULT: usize = 20;
    pub const MOST: usize = 1000;
}

/// A page of the models with these names.
pub fn models(names: &[String], page: &ModelPageQuery) -> Result<String, RequestFailure> {
    let bound = |param: &str, id: &Option<String>| match id {
        None => Ok(None),
        Some(id) => {
            let found = names.iter().position(|name| name == id);
            found.map(Some).ok_or_else(|| unknown(param, id))
        }
    };
    let (after, before) = (bound("after_id", &page.after)?, bound("before_id", &page.before)?);
    let (shown, has_more) = match before {
        // Those that stand right before it.
        Some(end) => (&names[end.saturating_sub(page.limit)..end], end > page.limit),
        None => {
            let remaining = &names[after.map_or(0, |at| at + 1)..];
            (&remaining[..remaining.len().min(page.limit)], remaining.len() > page.limit)
        }
    };
    let mut out = String::new();
    let mut members = Members::open(&mut out);
    members.with("data", |out| write_list(out, shown, |out, name| write_model(out, name)));
    members.flag("has_more", has_more);
    for (name, model) in [("first_id", shown.first()), ("last_id", shown.last())] {
        match model {
            Some(model) => members.text(name, model),
            None => members.raw(name, "null"),
        }
    }
    members.close();
    Ok(out)
}

/// One model, for `GET /v1/models/{id}`.
pub fn model(name: &str) -> String {
    let mut out = String::new();
    write_model(&mut out, name);
    out
}

/// Nobody here knows when a model was released; the API says the epoch then.
fn write_model(out: &mut String, name: &str) {
    let mut members = Members::open(out);
    members.text("type", "model");
    members.text("id", name);
    members.text("display_name", name);
    members.text("created_at", "1970-01-01T00:00:00Z");
    members.close();
}

fn unknown(param: &str, id: &str) -> RequestFailure {
    let shown: String = id.chars().take(80).filter(|c| !c.is_control()).collect();
    RequestFailure::new(400, "invalid_value", format!("`{param}` is `{shown}`, which is no model here"))
        .param(param)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_go_on_in_both_directions() {
        let names: Vec<String> = (1..=5).map(|number| format!("agent/{number}")).collect();
        let check = |limit, after: Option<&str>, before: Option<&str>, wanted: &[&str], has_more| {
            let page = ModelPageQuery { limit, after: after.map(Into::into), before: before.map(Into::into) };
            let listed = models(&names, &page).expect("a page");
            let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
            let ids: Vec<&str> = listed["data"]
                .as_array()
                .expect("a list")
                .iter()
                .filter_map(|one| one["id"].as_str())
                .collect();
            assert_eq!((ids.as_slice(), &listed["has_more"]), (wanted, &serde_json::json!(has_more)));
            assert_eq!(listed["first_id"].as_str(), wanted.first().copied());
            assert_eq!(listed["last_id"].as_str(), wanted.last().copied());
        };
        check(2, None, None, &["agent/1", "agent/2"], true);
        check(2, Some("agent/4"), None, &["agent/5"], false);
        check(2, Some("agent/5"), None, &[], false);
        check(2, None, Some("agent/4"), &["agent/2", "agent/3"], true);
        check(9, None, Some("agent/2"), &["agent/1"], false);
        let page = ModelPageQuery { limit: 1, after: Some("agent/9".to_owned()), before: None };
        assert_eq!(models(&names, &page).expect_err("no such model").param.as_deref(), Some("after_id"));
    }
}
