//! The members of a request, as its schema describes them.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::Value;

use crate::operation::Entry;

/// How a value is written in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    Integer,
    Flag,
    /// Texts with commas between them.
    List,
}

/// One member of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    pub form: Form,
    pub required: bool,
    pub in_path: bool,
}

impl Entry {
    /// The members of the request, in the order of the type.
    pub fn members(&self) -> Vec<Member> {
        let schema = self.request_schema(&mut request_generator());
        let in_path: Vec<String> = self.path_parameters().map(|name| self.path_member(name)).collect();
        let required = |name: &str| {
            let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            names.filter_map(Value::as_str).any(|required| required == name)
        };
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let member = |(name, schema): (&String, &Value)| Member {
            name: name.clone(),
            form: form(schema),
            required: required(name),
            in_path: in_path.contains(name),
        };
        properties.map(member).collect()
    }
}

/// Makes the schemas of requests.
pub fn request_generator() -> SchemaGenerator {
    settings().for_deserialize().into_generator()
}

/// Makes the schemas of answers.
pub fn response_generator() -> SchemaGenerator {
    settings().for_serialize().into_generator()
}

fn settings() -> SchemaSettings {
    SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    })
}

fn form(schema: &Value) -> Form {
    let is = |word: &str| match &schema["type"] {
        Value::String(only) => only == word,
        Value::Array(several) => several.iter().any(|one| one == word),
        _ => false,
    };
    match () {
        () if is("integer") => Form::Integer,
        () if is("boolean") => Form::Flag,
        () if is("array") => Form::List,
        () => Form::Text,
    }
}

/// The schema of a request without a reference around it. Some requests serialise a part of themselves as a payload; the
/// mark `writeOnly` on the other members would tell callers nothing.
pub fn inline<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = T::json_schema(generator);
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    for member in
        members.into_iter().flat_map(|members| members.values_mut()).filter_map(Value::as_object_mut)
    {
        member.remove("writeOnly");
    }
    schema
}
