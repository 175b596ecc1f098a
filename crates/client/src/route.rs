//! How an operation travels over HTTP: its members go into the path, the query or the body.

use http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::client::{Client, decode, encode};
use crate::error::{Error, Result};
use crate::exchange::{self, Call, JSON};

/// The route of one operation.
pub(crate) struct Route {
    pub method: Method,
    pub path: &'static str,
    /// The member that each parameter of the path takes.
    pub path_members: &'static [(&'static str, &'static str)],
    /// Members with another name in the query.
    pub query_names: &'static [(&'static str, &'static str)],
}

impl Client {
    pub(crate) async fn run<T: DeserializeOwned>(
        &self,
        route: &Route,
        request: &impl Serialize,
    ) -> Result<T> {
        decode(self.http().fetch(call(route, request)?).await?)
    }

    /// An operation that answers with nothing.
    pub(crate) async fn run_silent(&self, route: &Route, request: &impl Serialize) -> Result<()> {
        self.http().fetch(call(route, request)?).await?;
        Ok(())
    }
}

fn call(route: &Route, request: &impl Serialize) -> Result<Call> {
    let mut members = match serde_json::to_value(request) {
        Ok(Value::Object(members)) => members,
        Ok(_) => return Err(Error::Malformed("a request is an object".to_owned())),
        Err(error) => return Err(Error::Malformed(format!("request: {error}"))),
    };
    let mut path = route.path.to_owned();
    for (parameter, member) in route.path_members {
        let value = members.remove(*member).unwrap_or_default();
        path = path.replace(&format!("{{{parameter}}}"), &exchange::encode(&text(&value)));
    }
    let has_body = route.method == Method::POST || route.method == Method::PUT;
    if has_body {
        return Ok(Call::new(route.method.clone(), path).body(JSON, encode(&members)?));
    }
    Ok(Call::new(route.method.clone(), with_query(path, route, &members)))
}

fn with_query(path: String, route: &Route, members: &Map<String, Value>) -> String {
    let name = |member: &str| {
        let renamed = route.query_names.iter().find(|(known, _)| *known == member);
        renamed.map_or_else(|| member.to_owned(), |(_, name)| (*name).to_owned())
    };
    let pairs: Vec<String> = members
        .iter()
        .map(|(member, value)| format!("{}={}", name(member), exchange::encode(&text(value))))
        .collect();
    if pairs.is_empty() { path } else { format!("{path}?{}", pairs.join("&")) }
}

/// A value as a path or a query writes it: lists with commas.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(entries) => entries.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ROUTE: Route = Route {
        method: Method::GET,
        path: "/v1/sessions/{session}/queue",
        path_members: &[("session", "sessionId")],
        query_names: &[("threadId", "thread")],
    };

    #[test]
    fn members_go_into_path_and_query() {
        let call = call(&ROUTE, &json!({"sessionId": "a/b", "threadId": "t 1", "types": ["x", "y"]}));
        assert_eq!(
            call.map(|call| call.path).ok().as_deref(),
            Some("/v1/sessions/a%2Fb/queue?thread=t%201&types=x%2Cy")
        );
    }

    #[test]
    fn the_rest_is_the_body() {
        let route = Route { method: Method::POST, ..ROUTE };
        let call = call(&route, &json!({"sessionId": "s", "threadId": "t"})).ok();
        assert_eq!(
            call.map(|call| (call.path, call.content_type)),
            Some(("/v1/sessions/s/queue".to_owned(), Some(JSON)))
        );
    }
}
