//! What LangGraph's server has and this one has not, said by its name: a client takes 404 for a wrong address.

use std::pin::Pin;

use axum::extract::{Request, State};
use axum::response::Response;
use riverrun_dialect::request::RequestFailure;

use super::DIALECT;
use crate::app::App;
use crate::edge::Scope;
use crate::gateway::{Refusal, enter};

type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// Answers that a route is not provided, and what does instead.
pub fn absent(instead: &'static str) -> impl Fn(State<App>, Request) -> Answer + Clone + Send + Sync {
    move |State(app), request| {
        let what = format!("{} {}", request.method(), request.uri().path());
        Box::pin(async move {
            enter(&app, DIALECT, Scope::Read, request, async |_| Err(not_provided(&what, instead))).await
        })
    }
}

/// 501; `what` is the request, or a member of it.
pub fn not_provided(what: &str, instead: &str) -> Refusal {
    let shown: String = what.chars().take(120).filter(|c| !c.is_control()).collect();
    let message = format!("`{shown}` is not provided by this server; {instead}");
    RequestFailure::new(501, "not_provided", message).into()
}
