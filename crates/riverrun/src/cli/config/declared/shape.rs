//! The form of a value, for the reader and for the JSON Schema.

use serde_json::{Map, Value, json};

#[derive(Debug, Clone, Copy)]
pub enum Shape {
    Text,
    Texts,
    /// One text, or a list of them.
    TextOrTexts,
    /// A text, or `{ file = "…" }`.
    TextOrFile,
    /// `{ env = "…" }` or `{ file = "…" }`, never the value itself.
    Secret,
    /// Names to texts or secrets.
    TextMap,
    /// A text, or languages to texts.
    TextByLanguage,
    /// Names to tables.
    NumberTables(&'static [Field]),
    /// More than no time.
    Duration,
    Whole,
    /// A number of bytes, or `64MiB`.
    Size,
    /// The same, or 0.
    Quota,
    /// A whole number from 1 on.
    Count,
    /// Dollars: a number from 0 on.
    Money,
    /// A number from 0 to 2.
    Temperature,
    /// An address; that of a tool may hold arguments.
    Url,
    Flag,
    Word(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    Table(&'static [Field]),
    /// One of these words, or a table.
    WordOrTable(&'static [&'static str], &'static [Field]),
    /// Names to texts or lists of texts.
    Routes,
    /// Any table, or `{ file = "….json" }`: a JSON Schema.
    JsonSchema,
}

#[derive(Debug, Clone, Copy)]
pub struct Field {
    pub key: &'static str,
    pub shape: Shape,
    pub required: bool,
    pub about: &'static str,
}

/// How a section is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Named tables: `[agents.NAME]`.
    Named,
    /// Tables in an order: `[[hooks]]`.
    List,
    /// One table.
    Plain,
}

/// A section of the file.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    pub name: &'static str,
    pub form: Form,
    pub fields: &'static [Field],
    pub about: &'static str,
}

/// The JSON Schema of a section.
pub fn schema(section: &Section) -> Value {
    let table = table(section.fields);
    let mut schema = match section.form {
        Form::Named => json!({ "type": "object", "additionalProperties": table }),
        Form::List => json!({ "type": "array", "items": table }),
        Form::Plain if section.fields.is_empty() => of(Shape::Routes),
        Form::Plain => table,
    };
    schema["description"] = section.about.into();
    schema
}

fn table(fields: &[Field]) -> Value {
    let property = |field: &Field| {
        let mut schema = of(field.shape);
        schema["description"] = field.about.into();
        (field.key.to_owned(), schema)
    };
    let properties: Map<String, Value> = fields.iter().map(property).collect();
    let required: Vec<&str> = fields.iter().filter(|field| field.required).map(|field| field.key).collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties, "required": required })
}

fn of(shape: Shape) -> Value {
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let file = json!({ "type": "object", "additionalProperties": false, "required": ["file"], "properties": { "file": { "type": "string" } } });
    let env = json!({ "type": "object", "additionalProperties": false, "required": ["env"], "properties": { "env": { "type": "string" } } });
    match shape {
        Shape::Text => json!({ "type": "string" }),
        Shape::Texts => texts,
        Shape::TextOrTexts => json!({ "oneOf": [{ "type": "string" }, texts] }),
        Shape::TextOrFile => json!({ "oneOf": [{ "type": "string" }, file] }),
        Shape::Secret => json!({ "oneOf": [env, file] }),
        Shape::TextMap => {
            json!({ "type": "object", "additionalProperties": { "oneOf": [{ "type": "string" }, env, file] } })
        }
        Shape::TextByLanguage => {
            json!({ "oneOf": [{ "type": "string" }, { "type": "object", "additionalProperties": { "type": "string" } }] })
        }
        Shape::NumberTables(fields) => json!({ "type": "object", "additionalProperties": table(fields) }),
        Shape::Duration => json!({ "type": "string", "pattern": "^0*[1-9][0-9]*(ms|s|m|h|d)$" }),
        Shape::Whole => json!({ "type": "integer", "minimum": 0 }),
        Shape::Size => {
            json!({ "type": ["integer", "string"], "minimum": 1, "pattern": "^0*[1-9][0-9]*(B|KiB|MiB|GiB)?$" })
        }
        Shape::Quota => {
            json!({ "type": ["integer", "string"], "minimum": 0, "pattern": "^0*[1-9][0-9]*(B|KiB|MiB|GiB)?$" })
        }
        Shape::Count => json!({ "type": "integer", "minimum": 1 }),
        Shape::Money => json!({ "type": "number", "minimum": 0 }),
        Shape::Temperature => json!({ "type": "number", "minimum": 0, "maximum": 2 }),
        Shape::Url => json!({ "type": "string", "pattern": "^(https?://|[{])" }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::Words(words) => json!({ "type": "array", "items": { "enum": words }, "minItems": 1 }),
        Shape::Table(fields) => table(fields),
        Shape::WordOrTable(words, fields) => json!({ "oneOf": [{ "enum": words }, table(fields)] }),
        Shape::Routes => {
            json!({ "type": "object", "additionalProperties": { "oneOf": [{ "type": "string" }, texts] } })
        }
        Shape::JsonSchema => json!({ "type": "object" }),
    }
}
