//! Assistants: the agents and models that a caller may name.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use serde_json::{Value, json as object};

use super::DIALECT;
use crate::app::App;
use crate::edge::Scope;
use crate::foreign::{enter, json};

pub async fn search(State(app): State<App>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |_| {
        let all: Vec<Value> = app.agents().models().iter().map(|name| described(name)).collect();
        Ok(json(Value::Array(all).to_string()))
    })
    .await
}

pub async fn one(State(app): State<App>, Path(name): Path<String>, request: Request) -> Response {
    enter(&app, DIALECT, Scope::Read, request, async |_| {
        app.agents().check(&name)?;
        Ok(json(described(&name).to_string()))
    })
    .await
}

fn described(name: &str) -> Value {
    object!({
        "assistant_id": name, "graph_id": name, "name": name, "version": 1,
        "config": {}, "context": {}, "metadata": {},
    })
}
