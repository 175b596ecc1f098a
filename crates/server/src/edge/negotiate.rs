//! Chooses among the media types that a route offers.

use http::HeaderMap;
use http::header::ACCEPT;
use riverrun_event::ErrorCode;

use super::problem::Problem;

/// A form that an answer can take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Media {
    EventStream,
    Ndjson,
    Json,
}

impl Media {
    pub const fn as_str(self) -> &'static str {
        match self {
            Media::EventStream => "text/event-stream",
            Media::Ndjson => "application/x-ndjson",
            Media::Json => "application/json",
        }
    }
}

/// The offered type that the caller likes best; the first one wins a tie and an absent `Accept`. 406 if none fits.
pub fn negotiate(headers: &HeaderMap, offered: &[Media]) -> Result<Media, Problem> {
    let accept: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let accept = accept.join(",");
    let mut best: Option<(Media, f32)> = None;
    for media in offered {
        let quality = if accept.trim().is_empty() { 1.0 } else { quality(&accept, *media) };
        if quality > best.map_or(0.0, |(_, best)| best) {
            best = Some((*media, quality));
        }
    }
    best.map(|(media, _)| media).ok_or_else(|| {
        let names: Vec<_> = offered.iter().map(|media| media.as_str()).collect();
        let detail = format!("this path answers as {}; ask for one of these in `Accept`", names.join(", "));
        Problem::new(ErrorCode::NotAcceptable, detail).field("Accept").with("offered", names)
    })
}

/// 406 for a caller that would not take what this route answers, before anything is done for it.
pub async fn answers_json(
    request: axum::extract::Request,
    next: axum::middleware::Next,
) -> axum::response::Response {
    match negotiate(request.headers(), &[Media::Json]) {
        Ok(_) => next.run(request).await,
        Err(problem) => axum::response::IntoResponse::into_response(problem),
    }
}

/// How much the caller likes `media`: its most specific range counts.
fn quality(accept: &str, media: Media) -> f32 {
    let name = media.as_str();
    let (kind, _) = name.split_once('/').unwrap_or((name, ""));
    let mut best = (0, 0.0);
    for range in accept.split(',') {
        let mut parts = range.split(';').map(str::trim);
        let wanted = parts.next().unwrap_or("").to_ascii_lowercase();
        let specificity = match wanted.as_str() {
            "*/*" => 1,
            wanted if wanted.strip_suffix("/*") == Some(kind) => 2,
            wanted if wanted == name => 3,
            _ => continue,
        };
        let weight =
            parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |text| text.parse().ok());
        if specificity > best.0 {
            best = (specificity, weight.filter(|weight| (0.0..=1.0).contains(weight)).unwrap_or(0.0));
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_liked_offer_wins() {
        use Media::*;
        let none = Err(ErrorCode::NotAcceptable);
        for (accept, expected) in [
            ("", Ok(Json)),
            ("*/*", Ok(Json)),
            ("text/event-stream", Ok(EventStream)),
            ("TEXT/Event-Stream; charset=utf-8", Ok(EventStream)),
            ("application/json;q=0.5, application/x-ndjson", Ok(Ndjson)),
            ("text/*, application/json;q=0.9", Ok(EventStream)),
            ("*/*, application/json;q=0, application/x-ndjson;q=0", Ok(EventStream)),
            ("application/xml", none),
            ("application/json;q=0", none),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().expect("a header value"));
            let chosen = negotiate(&headers, &[Json, Ndjson, EventStream]).map_err(|problem| problem.code());
            assert_eq!(chosen, expected, "{accept:?}");
        }
    }
}
