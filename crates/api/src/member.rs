//! The members of a request, as its schema describes them.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::operation::OperationEntry;

/// How a value is written in a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueForm {
    Text,
    Integer,
    Flag,
    /// Texts with commas between them.
    List,
}

/// One member of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestMember {
    pub name: String,
    pub form: ValueForm,
    pub required: bool,
    pub in_path: bool,
}

impl OperationEntry {
    /// The members of the request, in the order of the type.
    pub fn members(&self) -> Vec<RequestMember> {
        let schema = self.request_schema(&mut request_generator());
        let in_path: Vec<String> = self.path_parameters().map(|name| self.path_member(name)).collect();
        let required = |name: &str| {
            let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            names.filter_map(Value::as_str).any(|required| required == name)
        };
        let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
        let member = |(name, schema): (&String, &Value)| RequestMember {
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

fn form(schema: &Value) -> ValueForm {
    let is = |word: &str| match &schema["type"] {
        Value::String(only) => only == word,
        Value::Array(several) => several.iter().any(|one| one == word),
        _ => false,
    };
    match () {
        () if is("integer") => ValueForm::Integer,
        () if is("boolean") => ValueForm::Flag,
        () if is("array") => ValueForm::List,
        () => ValueForm::Text,
    }
}
