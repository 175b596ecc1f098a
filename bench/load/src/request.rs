//! Requests, rendered once and sent many times.

use crate::target::Target;

/// Creates `session`, where the server wants to be asked.
pub fn create(target: &Target, session: &str) -> Option<Vec<u8>> {
    let (path, body) = target.routes.create.as_ref()?;
    Some(post(target, path, "application/json", &body.replace("{session}", session)))
}

/// Appends one event.
pub fn append(target: &Target, session: &str, event: &str) -> Vec<u8> {
    post(target, &target.routes.append.replace("{session}", session), "application/json", event)
}

/// Appends the events of `lines`, one per line.
pub fn append_lines(target: &Target, session: &str, lines: &str) -> Vec<u8> {
    post(target, &target.routes.append.replace("{session}", session), "application/x-ndjson", lines)
}

/// Subscribes along `route`, one of the target's templates.
pub fn subscribe(target: &Target, route: &str, session: &str, after: u64) -> Vec<u8> {
    let path = route.replace("{session}", session).replace("{after}", &after.to_string());
    get(target, &path, "text/event-stream")
}

pub fn get(target: &Target, path: &str, accept: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\n{}Accept: {accept}\r\n\r\n", shared(target)).into_bytes()
}

fn post(target: &Target, path: &str, media: &str, body: &str) -> Vec<u8> {
    let (headers, length) = (shared(target), body.len());
    let head =
        format!("POST {path} HTTP/1.1\r\n{headers}Content-Type: {media}\r\nContent-Length: {length}\r\n\r\n");
    (head + body).into_bytes()
}

fn shared(target: &Target) -> String {
    let key = target.key.as_ref().map(|key| format!("Authorization: Bearer {key}\r\n"));
    format!("Host: {}\r\n{}", target.address, key.unwrap_or_default())
}
