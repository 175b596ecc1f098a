//! The schemas that a foreign request brings along, looked at before anything is done.

use riverrun_runner::{Route, SchemaError, Submit, check_schema};
use serde_json::Value;

use crate::app::App;
use crate::edge::{Problem, invalid};

/// The place is named in the caller's own words.
pub fn check_schemas(app: &App, submit: &Submit) -> Result<(), Problem> {
    let Some(settings) = &submit.settings else { return Ok(()) };
    for (place, tool) in settings.tools.iter().enumerate() {
        // What is no schema here may be one for the caller or the service; what is too large is refused for all.
        if let Err(SchemaError::TooLarge(reason)) = check_schema(&tool["parameters"]) {
            let name = tool["name"].as_str().unwrap_or_default();
            let reason = format!("the parameters of the tool `{name}`: {reason}");
            return Err(invalid(&format!("tools[{place}]"), &reason));
        }
    }
    // A bare model's service judges its answer itself; an agent's is held against the schema here.
    let agents = app.agents();
    let agent = submit.agent.as_deref().and_then(|name| agents.registry.resolve(name));
    match (&settings.output_schema, agent) {
        (Some(schema), Some(Route::Agent(_))) => check_output(schema, settings.dialect.as_deref()),
        _ => Ok(()),
    }
}

fn check_output(schema: &Value, dialect: Option<&str>) -> Result<(), Problem> {
    let field = match dialect {
        Some("chat") => "response_format.json_schema.schema",
        Some("responses") => "text.format.schema",
        Some("anthropic") => "output_config.format.schema",
        Some(_) | None => "output_schema",
    };
    check_schema(schema).map_err(|reason| invalid(field, &reason))
}
