//! Against a real server on a real socket.

use std::time::Duration;

use futures_util::StreamExt;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::chat::Chat;
use crate::{HistoryEntry, StopReason};

const KEY: &str = "sk-canary-4711";
const OPEN: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";
const TEXT: &str =
    r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":null}]}"#;
const STOP: &str = r#"{"id":"c1","model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn provider(port: u16, change: impl FnOnce(&mut Limits)) -> HttpProvider<Chat> {
    let mut limits = Limits::default();
    change(&mut limits);
    HttpProvider::new(Settings {
        threads: false,
        name: "local".to_owned(),
        base_url: Some(format!("http://127.0.0.1:{port}/v1")),
        key: Some(ProviderKey::new(KEY).unwrap()),
        headers: BTreeMap::new(),
        secret_headers: Vec::new(),
        prices: BTreeMap::new(),
        limits,
        ca_file: None,
    })
    .unwrap()
}

fn request() -> ModelRequest {
    let user = HistoryEntry::User { parts: vec![riverrun_event::Part::plain("hi")] };
    ModelRequest { model: "m".to_owned(), history: vec![user], ..ModelRequest::default() }
}

fn frame(data: &str) -> String {
    let frame = format!("data: {data}\n\n");
    format!("{:x}\r\n{frame}\r\n", frame.len())
}

/// Reads the request's head and body; gives them back with the socket.
async fn accept(listener: &TcpListener) -> (TcpStream, String) {
    let (mut socket, _) = listener.accept().await.unwrap();
    let mut text = Vec::new();
    loop {
        let mut buffer = [0; 4096];
        let count = socket.read(&mut buffer).await.unwrap();
        text.extend_from_slice(&buffer[..count]);
        let head = String::from_utf8_lossy(&text);
        let length = head
            .to_lowercase()
            .split("content-length: ")
            .nth(1)
            .and_then(|remaining| remaining.split("\r\n").next()?.parse::<usize>().ok());
        if let (Some(at), Some(length)) = (head.find("\r\n\r\n"), length)
            && text.len() >= at + 4 + length
        {
            return (socket, String::from_utf8(text).unwrap());
        }
    }
}

/// Answers one request with these bytes, then closes the socket.
async fn serve(answer: String) -> (u16, oneshot::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (asked, was_asked) = oneshot::channel();
    tokio::spawn(async move {
        let (mut socket, text) = accept(&listener).await;
        let _ = asked.send(text);
        let _ = socket.write_all(answer.as_bytes()).await;
        let _ = socket.shutdown().await;
    });
    (port, was_asked)
}

async fn call_all(provider: &HttpProvider<Chat>, request: ModelRequest) -> Vec<ModelEvent> {
    provider.call(request, CancellationToken::new()).collect().await
}

async fn answer_to(answer: String) -> Vec<ModelEvent> {
    let (port, _) = serve(answer).await;
    call_all(&provider(port, |_| {}), request()).await
}

#[track_caller]
fn failure(events: &[ModelEvent]) -> ModelError {
    match events.last() {
        Some(ModelEvent::Failed(error)) => error.clone(),
        other => panic!("not a failure: {other:?}"),
    }
}

fn json_answer(status: &str, headers: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[tokio::test]
async fn a_good_answer_completes_and_gives_its_bytes_if_asked() {
    let body = [TEXT, STOP, "[DONE]"].map(frame).concat();
    let (port, asked) = serve(format!("{OPEN}{body}0\r\n\r\n")).await;
    let events = call_all(&provider(port, |_| {}), ModelRequest { keep_raw: true, ..request() }).await;
    assert!(matches!(events.last(), Some(ModelEvent::Completed { stop: StopReason::End, .. })), "{events:?}");
    let ModelEvent::Raw(raw) = &events[events.len() - 2] else { panic!("{events:?}") };
    assert_eq!(raw, format!("data: {TEXT}\n\ndata: {STOP}\n\ndata: [DONE]\n\n").as_bytes());
    let asked = asked.await.unwrap();
    assert!(asked.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains(&format!("authorization: Bearer {KEY}\r\n")), "{asked}");
}

#[tokio::test]
async fn nobody_listens() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = failure(&call_all(&provider(port, |_| {}), request()).await);
    assert_eq!(error.category, Category::Connection);
    assert!(error.message.contains(&format!("127.0.0.1:{port}")), "{error}");
}

#[tokio::test]
async fn a_refused_key_is_reported_without_the_key() {
    let body = format!(
        r#"{{"error":{{"message":"Incorrect API key provided: {KEY}.","type":"invalid_request_error","code":"invalid_api_key"}}}}"#
    );
    let (port, _) = serve(json_answer("401 Unauthorized", "", &body)).await;
    let events = call_all(&provider(port, |_| {}), ModelRequest { keep_raw: true, ..request() }).await;
    assert_eq!(events[0], ModelEvent::Raw(body.replace(KEY, "[key]").into()));
    let error = failure(&events);
    assert_eq!((error.category, error.status), (Category::Authentication, Some(401)));
    assert!(error.message.contains("[key]") && !format!("{error:?}").contains(KEY), "{error:?}");
}

#[tokio::test]
async fn a_rate_limit_has_its_retry_delay() {
    let headers = "Retry-After: 7\r\nx-ratelimit-limit-requests: 60\r\nx-ratelimit-remaining-requests: 0\r\n";
    let body = r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#;
    let events = answer_to(json_answer("429 Too Many Requests", headers, body)).await;
    let ModelEvent::RateLimited(limit) = &events[0] else { panic!("{events:?}") };
    assert_eq!((limit.kind.as_str(), limit.remaining), ("requests", Some(0)));
    let error = failure(&events);
    assert_eq!((error.category, error.retry_after), (Category::RateLimit, Some(Duration::from_secs(7))));
    let body = r#"{"error":{"message":"You exceeded your quota","code":"insufficient_quota"}}"#;
    let error = failure(&answer_to(json_answer("429 Too Many Requests", "", body)).await);
    assert_eq!(error.category, Category::Quota);
}

#[tokio::test]
async fn statuses_without_a_readable_body_are_classified() {
    for (status, category) in [
        ("500 Internal Server Error", Category::Server),
        ("503 Service Unavailable", Category::Overloaded),
        ("404 Not Found", Category::ModelNotFound),
        ("400 Bad Request", Category::InvalidRequest),
        ("504 Gateway Timeout", Category::Timeout),
    ] {
        let error = failure(&answer_to(json_answer(status, "", "<html>no</html>")).await);
        assert_eq!(error.category, category, "{status}");
        assert!(!error.message.contains("html"), "{error}");
    }
}

#[tokio::test]
async fn a_redirect_is_an_error_and_the_key_goes_nowhere() {
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let location = format!("Location: http://{}/v1/chat/completions\r\n", other.local_addr().unwrap());
    let error = failure(&answer_to(json_answer("307 Temporary Redirect", &location, "")).await);
    assert_eq!((error.category, error.status), (Category::Protocol, Some(307)));
    let visited = tokio::time::timeout(Duration::from_millis(50), other.accept()).await;
    assert!(visited.is_err(), "the other server was asked");
}

#[tokio::test]
async fn a_page_instead_of_a_stream_is_an_error() {
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p>x".to_owned();
    assert_eq!(failure(&answer_to(page).await).fault, Some("provider_bad_content_type"));
    let error =
        json_answer("200 OK", "", r#"{"error":{"message":"no such model","code":"model_not_found"}}"#);
    assert_eq!(failure(&answer_to(error).await).category, Category::ModelNotFound);
    let zipped = OPEN.replace("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n");
    assert_eq!(failure(&answer_to(zipped).await).category, Category::Protocol);
}

#[tokio::test]
async fn a_body_that_ends_early_is_never_complete() {
    let clean = failure(&answer_to(format!("{OPEN}{}0\r\n\r\n", frame(TEXT))).await);
    assert_eq!(clean.category, Category::Truncated);
    let events = answer_to(format!("{OPEN}{}", frame(TEXT))).await;
    assert_eq!(failure(&events).category, Category::Connection);
    assert!(events.contains(&ModelEvent::Text { index: 0, delta: "Yes.".to_owned() }), "{events:?}");
    assert_eq!(failure(&answer_to(String::new()).await).category, Category::Connection);
}

#[tokio::test]
async fn a_reset_in_the_middle_keeps_the_text() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let provider = provider(port, |_| {});
    let mut stream = provider.call(request(), CancellationToken::new());
    let (mut socket, _) = tokio::join!(async { accept(&listener).await.0 }, async {
        tokio::time::timeout(Duration::from_millis(100), stream.next()).await.ok()
    });
    socket.write_all(format!("{OPEN}{}", frame(TEXT)).as_bytes()).await.unwrap();
    let mut events = Vec::new();
    while !matches!(events.last(), Some(ModelEvent::Text { .. })) {
        events.push(stream.next().await.unwrap());
    }
    socket.set_zero_linger().unwrap();
    drop(socket);
    events.extend(stream.collect::<Vec<_>>().await);
    assert_eq!(failure(&events).category, Category::Connection);
}

/// A server that says this much and then nothing, and tells when its socket is closed.
async fn silent(answer: String) -> (u16, oneshot::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (closed, is_closed) = oneshot::channel();
    tokio::spawn(async move {
        let (mut socket, _) = accept(&listener).await;
        // A reader that has had enough closes before the end.
        let _ = socket.write_all(answer.as_bytes()).await;
        let mut buffer = [0; 16];
        while matches!(socket.read(&mut buffer).await, Ok(count) if count > 0) {}
        let _ = closed.send(());
    });
    (port, is_closed)
}

#[tokio::test]
async fn silence_ends_the_call_and_the_connection() {
    let short = Duration::from_millis(60);
    let (port, closed) = silent(String::new()).await;
    let error = failure(&call_all(&provider(port, |limits| limits.first_byte = short), request()).await);
    assert_eq!(error.message, "the service did not begin to answer within 0.06 s");
    closed.await.unwrap();

    let (port, closed) = silent(format!("{OPEN}{}", frame(TEXT))).await;
    let events = call_all(&provider(port, |limits| limits.idle = short), request()).await;
    assert_eq!(failure(&events).message, "the service fell silent within 0.06 s");
    assert!(events.contains(&ModelEvent::Text { index: 0, delta: "Yes.".to_owned() }));
    closed.await.unwrap();

    let (port, closed) = silent(format!("{OPEN}{}", frame(TEXT))).await;
    let error = failure(&call_all(&provider(port, |limits| limits.total = short), request()).await);
    assert_eq!(error.category, Category::Timeout);
    closed.await.unwrap();
}

#[tokio::test]
async fn cancelling_or_dropping_closes_the_upstream_connection() {
    for by_token in [true, false] {
        let (port, closed) = silent(format!("{OPEN}{}", frame(TEXT))).await;
        let cancel = CancellationToken::new();
        let provider = provider(port, |_| {});
        let mut stream = provider.call(request(), cancel.clone());
        while !matches!(stream.next().await, Some(ModelEvent::Text { .. })) {}
        if by_token {
            cancel.cancel();
            assert_eq!(failure(&stream.collect::<Vec<_>>().await).category, Category::Cancelled);
        } else {
            drop(stream);
        }
        tokio::time::timeout(Duration::from_secs(5), closed).await.expect("the socket stayed open").unwrap();
    }
}

#[tokio::test]
async fn what_is_too_large_is_cut_off() {
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "a".repeat(1 << 20));
    let (port, closed) = silent(format!("{OPEN}{}", chunk.repeat(17))).await;
    let error = failure(&call_all(&provider(port, |_| {}), request()).await);
    assert_eq!(error.message, "a frame of the stream is over 16777216 bytes");
    assert_eq!(error.info().code.as_deref(), Some("answer_too_large"));
    closed.await.unwrap();

    let (port, closed) = silent(format!("{OPEN}{}", frame(TEXT).repeat(100))).await;
    let error = failure(&call_all(&provider(port, |limits| limits.stream_bytes = 2000), request()).await);
    assert_eq!(error.message, "the answer is over 2000 bytes, the most that is read of one");
    assert_eq!(error.info().code.as_deref(), Some("answer_too_large"));
    closed.await.unwrap();

    let huge = json_answer("500 Internal Server Error", "", &"x".repeat(1 << 20));
    let (port, closed) = silent(huge).await;
    assert_eq!(failure(&call_all(&provider(port, |_| {}), request()).await).category, Category::Server);
    closed.await.unwrap();
}

/// An https server with a certificate that nobody signed.
async fn serve_tls(answer: String) -> (u16, PathBuf) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../net/tests/localhost");
    let certificates = CertificateDer::pem_file_iter(folder.join("certificate.pem")).unwrap();
    let certificates = certificates.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("test-only.key.pem")).unwrap();
    let config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (socket, _) = listener.accept().await.unwrap();
        let Ok(mut socket) = TlsAcceptor::from(Arc::new(config)).accept(socket).await else { return };
        let _ = socket.read(&mut [0; 4096]).await;
        let _ = socket.write_all(answer.as_bytes()).await;
        let _ = socket.shutdown().await;
    });
    (port, folder.join("certificate.pem"))
}

fn https(port: u16, ca_file: Option<PathBuf>) -> Result<HttpProvider<Chat>, String> {
    HttpProvider::new(Settings {
        threads: false,
        name: "local".to_owned(),
        base_url: Some(format!("https://localhost:{port}/v1")),
        key: Some(ProviderKey::new(KEY).unwrap()),
        headers: BTreeMap::new(),
        secret_headers: Vec::new(),
        prices: BTreeMap::new(),
        limits: Limits::default(),
        ca_file,
    })
}

#[tokio::test]
async fn a_certificate_is_trusted_only_by_configuration() {
    let body = [TEXT, STOP, "[DONE]"].map(frame).concat();
    let (port, certificate) = serve_tls(format!("{OPEN}{body}0\r\n\r\n")).await;
    let events = call_all(&https(port, Some(certificate)).unwrap(), request()).await;
    assert!(matches!(events.last(), Some(ModelEvent::Completed { .. })), "{events:?}");

    let (port, _) = serve_tls(String::new()).await;
    let error = failure(&call_all(&https(port, None).unwrap(), request()).await);
    assert_eq!(error.category, Category::Connection);
    assert!(error.message.contains("TLS with `localhost:"), "{error}");

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let provider = https(listener.local_addr().unwrap().port(), None).unwrap();
    let no_tls =
        async { listener.accept().await.unwrap().0.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await };
    let (events, _) = tokio::join!(call_all(&provider, request()), no_tls);
    let plain = failure(&events);
    assert_eq!(plain.category, Category::Connection);
    let absent = https(1, Some(PathBuf::from("/no/such.pem"))).err().unwrap();
    assert!(absent.starts_with("ca_file `/no/such.pem` cannot be read"), "{absent}");
}

#[test]
fn a_price_is_found_by_name_or_longest_prefix() {
    let price = |input| Price { input, output: 1.0, ..Price::default() };
    let mut provider = provider(1, |_| {});
    provider.prices = [("m*", 1.0), ("m-large*", 2.0), ("m-large-1", 3.0)]
        .map(|(name, input)| (name.to_owned(), price(input)))
        .into();
    let input = |model: &str| provider.price(model).map(|price| price.input);
    assert_eq!(
        [input("m-1"), input("m-large-2"), input("m-large-1"), input("x")],
        [Some(1.0), Some(2.0), Some(3.0), None]
    );
}
