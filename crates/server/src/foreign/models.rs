//! `GET /v1/models`: what can be asked for.

use axum::extract::{Path, Request, State};
use axum::response::Response;
use riverrun_dialect::Dialect;
use riverrun_dialect::request::Failure;
use riverrun_dialect::responses::models::{Model, model, models};

use super::{enter, json};
use crate::app::App;
use crate::edge::Scope;

pub async fn list(State(app): State<App>, request: Request) -> Response {
    enter(&app, Dialect::Responses, Scope::Read, request, async |_| {
        let names = app.agents().models();
        let all: Vec<Model<'_>> = names.iter().map(|name| described(name)).collect();
        Ok(json(models(&all)))
    })
    .await
}

pub async fn one(State(app): State<App>, Path(name): Path<String>, request: Request) -> Response {
    enter(&app, Dialect::Responses, Scope::Read, request, async |_| {
        let names = app.agents().models();
        // A gateway takes every name behind its provider's; the list has those that it knows.
        let is_known = names.contains(&name) || name.contains('/') && app.agents().check(&name).is_ok();
        if !is_known {
            let shown: String = name.chars().take(80).collect();
            let message = format!("The model '{shown}' does not exist; there are: {}", names.join(", "));
            return Err(Failure::new(404, "model_not_found", message).param("model").into());
        }
        Ok(json(model(&described(&name))))
    })
    .await
}

fn described(name: &str) -> Model<'_> {
    let owner = name.split_once('/').map_or("riverrun", |(owner, _)| owner);
    Model { id: name, created: 0, owned_by: owner }
}
