//! Requests to real servers on real sockets.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use std::time::Duration;

use http::header::HOST;
use http::{Request, Response};
use http_body_util::BodyExt;
use riverrun_net::{
    AddressGuard, BaseUrl, BlockedAddress, BodyError, ConnectionPool, DialError, Dialer, RequestBody,
    ResponseBody, SendError, ServerAddress, TlsConfig, full, send,
};
use support::{acceptor, certificate, listen, read_head};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const LIMIT: Duration = Duration::from_secs(5);
const HELLO: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello";

fn address(url: &str) -> ServerAddress {
    BaseUrl::parse(url).unwrap().address().clone()
}

fn get(to: &ServerAddress) -> Request<RequestBody> {
    Request::get("/path").header(HOST, to.host_header()).body(full("")).unwrap()
}

async fn ask(dialer: &Dialer, url: &str) -> Result<Response<ResponseBody>, SendError> {
    let to = address(url);
    send(dialer, &to, get(&to), Some(LIMIT)).await
}

/// Answers one connection's first request with this and keeps the connection open.
async fn answer_once(listener: TcpListener, text: &str) -> tokio::net::TcpStream {
    let (mut socket, _) = listener.accept().await.unwrap();
    read_head(&mut socket).await;
    socket.write_all(text.as_bytes()).await.unwrap();
    socket
}

#[tokio::test]
async fn an_answer_is_read_up_to_a_limit() {
    for (limit, expected) in [(5, Ok("hello".into())), (4, Err(BodyError::TooLong(4)))] {
        let (listener, port) = listen().await;
        let dialer = Dialer::new(LIMIT);
        let url = format!("http://127.0.0.1:{port}");
        let (answer, _socket) = tokio::join!(ask(&dialer, &url), answer_once(listener, HELLO));
        assert_eq!(answer.unwrap().into_body().read(limit).await, expected);
    }
}

#[tokio::test]
async fn the_start_of_an_answer_is_what_came_in_time() {
    let (listener, port) = listen().await;
    let half = HELLO.replace("length: 5", "length: 50");
    let (dialer, url) = (Dialer::new(LIMIT), format!("http://127.0.0.1:{port}"));
    let (answer, _socket) = tokio::join!(ask(&dialer, &url), answer_once(listener, &half));
    let mut body = answer.unwrap().into_body();
    assert_eq!(body.read_start(3, LIMIT).await, b"hel");
    assert_eq!(body.read_start(3, Duration::from_millis(20)).await, b"", "the server says no more");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_an_error() {
    let (listener, port) = listen().await;
    let half = HELLO.replace("length: 5", "length: 50");
    let (dialer, url) = (Dialer::new(LIMIT), format!("http://127.0.0.1:{port}"));
    let (answer, socket) = tokio::join!(ask(&dialer, &url), answer_once(listener, &half));
    drop(socket);
    let mut body = answer.unwrap().into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "hello");
    assert!(matches!(body.frame().await, Some(Err(BodyError::Broken(_)))));
}

#[tokio::test]
async fn dropping_the_body_closes_the_socket() {
    let (listener, port) = listen().await;
    let (dialer, url) = (Dialer::new(LIMIT), format!("http://127.0.0.1:{port}"));
    let half = HELLO.replace("length: 5", "length: 50");
    let (answer, mut socket) = tokio::join!(ask(&dialer, &url), answer_once(listener, &half));
    drop(answer.unwrap());
    let closed = tokio::time::timeout(LIMIT, socket.read(&mut [0; 8])).await;
    assert!(matches!(closed, Ok(Ok(0) | Err(_))), "{closed:?}");
}

#[tokio::test]
async fn silence_ends_the_wait() {
    let (_listener, port) = listen().await;
    let to = address(&format!("http://127.0.0.1:{port}"));
    let short = Duration::from_millis(30);
    let error = send(&Dialer::new(LIMIT), &to, get(&to), Some(short)).await.err().unwrap();
    assert_eq!(error.to_string(), "no answer within 0.03 s");

    let to = address(&format!("https://127.0.0.1:{port}"));
    let dialer = Dialer::new(short).with_tls(TlsConfig::of_file(&certificate()).unwrap());
    let error = send(&dialer, &to, get(&to), None).await.err().unwrap();
    assert_eq!(error.to_string(), "no connection within 0.03 s");
}

#[tokio::test]
async fn a_guard_lets_pass_only_what_it_names() {
    let (listener, port) = listen().await;
    let (https, http) = (format!("https://127.0.0.1:{port}"), format!("http://127.0.0.1:{port}"));
    let guarded = Dialer::new(LIMIT).with_guard(AddressGuard::default());
    for (url, expected) in [
        (&https, BlockedAddress::NotPublic("127.0.0.1".to_owned())),
        (&http, BlockedAddress::NotSecure("127.0.0.1".to_owned())),
    ] {
        match ask(&guarded, url).await.err().unwrap() {
            SendError::Dial(DialError::Blocked(blocked)) => assert_eq!(blocked, expected),
            other => panic!("{other:?}"),
        }
    }
    let named = Dialer::new(LIMIT).with_guard(AddressGuard { allow: vec!["127.0.0.1".to_owned()] });
    let (answer, _socket) = tokio::join!(ask(&named, &http), answer_once(listener, HELLO));
    assert_eq!(answer.unwrap().status(), 200);
}

#[tokio::test]
async fn a_pool_uses_a_connection_again_and_replaces_a_closed_one() {
    let (listener, port) = listen().await;
    let to = address(&format!("http://127.0.0.1:{port}"));
    let pool = ConnectionPool::new(to.clone(), Box::new(Dialer::new(LIMIT)), LIMIT);
    // Two requests on the first connection, which is then closed, and one on the second.
    let server = tokio::spawn(async move {
        for requests in [2, 1] {
            let (mut socket, _) = listener.accept().await.unwrap();
            for _ in 0..requests {
                assert!(read_head(&mut socket).await.starts_with("GET /path HTTP/1.1\r\n"));
                socket.write_all(HELLO.as_bytes()).await.unwrap();
            }
        }
    });
    for _ in 0..3 {
        let mut body = pool.send(get(&to)).await.unwrap().into_body();
        assert_eq!(body.read(9).await.unwrap(), "hello");
        pool.reuse(body);
    }
    server.await.unwrap();
}

/// Accepts one TLS connection; answers if the client trusts it.
async fn serve_tls(listener: TcpListener) {
    let (socket, _) = listener.accept().await.unwrap();
    let Ok(mut socket) = acceptor().accept(socket).await else { return };
    read_head(&mut socket).await;
    socket.write_all(HELLO.as_bytes()).await.unwrap();
    let _ = socket.shutdown().await;
}

#[tokio::test]
async fn a_server_is_trusted_by_its_certificate() {
    let trusting = Dialer::new(LIMIT).with_tls(TlsConfig::of_file(&certificate()).unwrap());
    for host in ["localhost", "127.0.0.1"] {
        let (listener, port) = listen().await;
        let url = format!("https://{host}:{port}");
        let (answer, ()) = tokio::join!(ask(&trusting, &url), serve_tls(listener));
        assert_eq!(answer.unwrap().into_body().read(9).await.unwrap(), "hello");
    }
    // The certificate is of another name, or not in the store of the system.
    for (dialer, host) in [(&trusting, "127.0.0.2"), (&Dialer::new(LIMIT), "localhost")] {
        let bound = if host == "localhost" { "127.0.0.1" } else { host };
        let listener = TcpListener::bind((bound, 0)).await.unwrap();
        let url = format!("https://{host}:{}", listener.local_addr().unwrap().port());
        let (answer, ()) = tokio::join!(ask(dialer, &url), serve_tls(listener));
        let error = answer.err().unwrap();
        assert!(matches!(error, SendError::Dial(DialError::Certificate(_))), "{host}: {error:?}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_not_a_wrong_certificate() {
    let (listener, port) = listen().await;
    let plain = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        socket
    };
    let dialer = Dialer::new(LIMIT).with_tls(TlsConfig::of_file(&certificate()).unwrap());
    let url = format!("https://127.0.0.1:{port}");
    let (answer, _socket) = tokio::join!(ask(&dialer, &url), plain);
    let error = answer.err().unwrap();
    assert!(matches!(error, SendError::Dial(DialError::Tls(_))), "{error:?}");
}
