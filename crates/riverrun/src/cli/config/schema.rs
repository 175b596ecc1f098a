//! The JSON Schema of `riverrun.toml`, for editors.

use serde_json::{Map, Value, json};

use super::declared::{self, DECLARED};
use super::settings::{Kind, SETTINGS, Setting, sections};

pub fn schema() -> Value {
    let settings = sections().map(|section| (section.to_owned(), section_schema(section)));
    let declared = DECLARED.iter().map(|section| (section.name.to_owned(), declared::schema(section)));
    let parts: Map<String, Value> = settings.chain(declared).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "riverrun.toml",
        "type": "object",
        "additionalProperties": false,
        "properties": parts,
    })
}

fn section_schema(section: &str) -> Value {
    let settings = SETTINGS.iter().filter(|setting| setting.section == section);
    let properties: Map<String, Value> =
        settings.map(|setting| (setting.key.to_owned(), setting_schema(setting))).collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn setting_schema(setting: &Setting) -> Value {
    let mut schema = match setting.kind {
        Kind::Text | Kind::Address => json!({ "type": "string" }),
        Kind::TextList => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Duration => json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$" }),
        Kind::Size => {
            json!({ "type": ["integer", "string"], "minimum": 0, "pattern": "^[0-9]+(B|KiB|MiB|GiB)?$" })
        }
        Kind::Integer => json!({ "type": "integer", "minimum": 0 }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Word(words) => json!({ "enum": words }),
    };
    schema["description"] = setting.about.into();
    if !setting.default.is_empty() {
        schema["default"] = match setting.kind {
            Kind::Integer | Kind::Flag => serde_json::from_str(setting.default).unwrap_or_default(),
            Kind::Text | Kind::Address | Kind::TextList | Kind::Duration | Kind::Size | Kind::Word(_) => {
                setting.default.into()
            }
        };
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_described() {
        let schema = schema();
        for setting in SETTINGS {
            let described = &schema["properties"][setting.section]["properties"][setting.key]["description"];
            assert_eq!(described, setting.about);
        }
        assert_eq!(schema["properties"]["limits"]["properties"]["connections"]["default"], 4096);
    }
}
