//! The accept loop on real sockets.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;

struct Served {
    fixture: Fixture,
    address: SocketAddr,
    serving: JoinHandle<std::io::Result<()>>,
}

async fn serve_with(limits: Limits) -> Served {
    let fixture = fixture_with(limits).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    let serving = tokio::spawn(serve(listener, fixture.router.clone(), fixture.edge.clone()));
    Served { fixture, address, serving }
}

impl Served {
    async fn connect(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("the server accepts");
        stream.write_all(text.as_bytes()).await.expect("the server reads");
        stream
    }

    fn get(&self, path: &str) -> String {
        format!(
            "GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
            self.fixture.admin
        )
    }

    /// The same for a connection that serves nothing else.
    fn get_once(&self, path: &str) -> String {
        self.get(path).replacen("\r\n\r\n", "\r\nconnection: close\r\n\r\n", 1)
    }

    /// Sends `text` and reads until the server closes.
    async fn exchange(&self, text: &str) -> String {
        read_to_close(&mut self.connect(text).await).await
    }
}

async fn read_to_close(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset counts as a close: what was read before it is what the caller saw.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut byte = [0];
    while !text.ends_with(end) && stream.read(&mut byte).await.is_ok_and(|count| count > 0) {
        text.push(byte[0].into());
    }
    text
}

#[tokio::test]
async fn a_whole_stream_ends_with_the_last_chunk_and_a_cut_one_does_not() {
    let served = serve_with(Limits::default()).await;
    let whole = served.exchange(&served.get_once("/v1/sessions/whole/events")).await;
    assert!(
        whole.starts_with("HTTP/1.1 200 OK\r\n") && whole.contains("transfer-encoding: chunked\r\n"),
        "{whole}"
    );
    assert!(whole.ends_with("\r\n\r\n9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\n"), "{whole}");
    let cut = served.exchange(&served.get("/v1/sessions/cut/events")).await;
    assert!(cut.ends_with("9\r\ndata: 2\n\n\r\n"), "{cut}");
    for answer in [whole, cut] {
        assert!(
            !answer.to_ascii_lowercase().contains("connection:"),
            "a close hides a cut from Node: {answer}"
        );
    }
}

#[tokio::test]
async fn a_connection_serves_the_next_request_after_a_whole_stream() {
    let served = serve_with(Limits::default()).await;
    let mut stream = served.connect(&served.get("/v1/sessions/whole/events")).await;
    for _ in 0..3 {
        read_until(&mut stream, "\r\n0\r\n\r\n").await;
        stream.write_all(served.get("/livez").as_bytes()).await.expect("the connection is open");
        read_until(&mut stream, "{\"status\":\"ok\"}").await;
        let next = served.get("/v1/sessions/whole/events");
        stream.write_all(next.as_bytes()).await.expect("the connection is open");
    }
    assert_eq!(served.fixture.edge.metrics().connections.get(), 1);
}

#[tokio::test]
async fn a_request_that_came_too_early_ends_with_the_connection() {
    let served = serve_with(Limits::default()).await;
    // In one write with the stream's own request, and with a body that the stream's request does not name.
    for behind in [served.get("/livez"), "garbage".to_owned()] {
        let both = served.get("/v1/sessions/whole/events") + &behind;
        let answer = tokio::time::timeout(Duration::from_secs(5), served.exchange(&both)).await;
        let answer = answer.expect("the connection is closed at once");
        assert!(answer.ends_with("\r\n0\r\n\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn a_reader_that_pauses_misses_nothing() {
    let served = serve_with(Limits::default()).await;
    let mut stream = served.connect(&served.get_once("/v1/sessions/large/events")).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let answer = read_to_close(&mut stream).await;
    assert_eq!(answer.matches('.').count() - answer[..200].matches('.').count(), LARGE_FRAME * LARGE_FRAMES);
    assert!(answer.ends_with("\r\n0\r\n\r\n"));
}

#[tokio::test]
async fn a_reader_that_never_reads_is_cut_in_the_end() {
    let served = serve_with(Limits { stall_time: Duration::from_millis(300), ..Limits::default() }).await;
    let _stuck = served.connect(&served.get("/v1/sessions/large/events")).await;
    let open = || served.fixture.edge.metrics().connections.get();
    while open() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    while open() > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn an_old_client_gets_a_stream_without_chunks() {
    let served = serve_with(Limits::default()).await;
    let text = served.get("/v1/sessions/whole/events").replace("HTTP/1.1", "HTTP/1.0");
    let answer = served.exchange(&text).await;
    assert!(
        answer.starts_with("HTTP/1.0 200 OK\r\n") && answer.ends_with("\r\n\r\ndata: 1\n\ndata: 2\n\n"),
        "{answer}"
    );
    // The end of the connection would be the end of the body, so a cut is a reset.
    let text = served.get("/v1/sessions/cut/events").replace("HTTP/1.1", "HTTP/1.0");
    let mut cut = served.connect(&text).await;
    let read = cut.read_to_end(&mut Vec::new()).await;
    assert_eq!(read.map_err(|error| error.kind()), Err(std::io::ErrorKind::ConnectionReset));
}

#[tokio::test]
async fn an_answer_before_a_stream_on_one_connection_arrives_whole() {
    let served = serve_with(Limits::default()).await;
    let both = served.get("/livez") + &served.get("/v1/sessions/whole/events");
    let answer = served.exchange(&both).await;
    assert_eq!(answer.matches("HTTP/1.1 200 OK").count(), 2, "{answer}");
    assert!(answer.contains("{\"status\":\"ok\"}") && answer.ends_with("0\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn a_reader_that_hangs_up_gives_its_place_back() {
    let served = serve_with(Limits::default()).await;
    let mut stream = served.connect(&served.get("/v1/sessions/open/events")).await;
    read_until(&mut stream, "data: 2\n\n\r\n").await;
    let open = || served.fixture.edge.metrics().connections.get();
    assert_eq!(open(), 1);
    drop(stream);
    while open() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn malformed_heads_are_refused_and_closed() {
    let served = serve_with(Limits::default()).await;
    let both = "POST /livez HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    let two =
        "POST /livez HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!";
    let garbage = "\u{16}\u{3}\u{1} tls here\r\n\r\n";
    let long = format!("GET /livez HTTP/1.1\r\nhost: localhost\r\nx-long: {}\r\n\r\n", "x".repeat(20 * 1024));
    for (text, status) in [(both, "400"), (two, "400"), (garbage, "400"), (&long, "431")] {
        let answer = served.exchange(text).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{status}: {answer}");
    }
}

#[tokio::test]
async fn a_head_that_trickles_is_cut_at_its_deadline() {
    let head_time = Duration::from_millis(200);
    let served = serve_with(Limits { head_time, ..Limits::default() }).await;
    for start in ["", "G", "GET /livez HTTP/1.1\r\nhost: loc"] {
        let mut stream = served.connect(start).await;
        let closed = tokio::time::timeout(Duration::from_secs(5), read_to_close(&mut stream)).await;
        assert_eq!(closed.as_deref(), Ok(""), "{start:?}");
    }
}

#[tokio::test]
async fn a_refused_upload_still_gets_its_answer() {
    let served = serve_with(Limits::default()).await;
    let size = 3 * 1024 * 1024;
    let head = served.get("/v1/echo").replacen("GET", "POST", 1);
    let head = head.replacen(
        "\r\n\r\n",
        &format!("\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n\r\n"),
        1,
    );
    let mut stream = served.connect(&head).await;
    let (mut reader, mut writer) = stream.split();
    let upload = async {
        // The server may close while the body is under way.
        let _ = writer.write_all(&vec![b' '; size]).await;
    };
    let mut answer = Vec::new();
    let (_, _) = tokio::join!(upload, reader.read_to_end(&mut answer));
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("body_too_large"), "{answer}");
}

#[tokio::test]
async fn connections_over_the_cap_are_turned_away() {
    let served = serve_with(Limits { connections: 2, ..Limits::default() }).await;
    let mut first = served.connect(&served.get("/v1/sessions/open/events")).await;
    let mut second = served.connect(&served.get("/v1/sessions/open/events")).await;
    read_until(&mut first, "data: 2\n\n\r\n").await;
    read_until(&mut second, "data: 2\n\n\r\n").await;
    let third = served.exchange("").await;
    assert!(third.starts_with("HTTP/1.1 503") && third.contains("\"code\":\"overloaded\""), "{third}");
    drop(first);
    while served.fixture.edge.metrics().connections.get() > 1 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let whole = served.exchange(&served.get_once("/v1/sessions/whole/events")).await;
    assert!(whole.starts_with("HTTP/1.1 200"), "{whole}");
}

#[tokio::test]
async fn a_drain_waits_for_streams_until_its_deadline() {
    let served = serve_with(Limits { drain_time: Duration::from_millis(200), ..Limits::default() }).await;
    let mut stream = served.connect(&served.get("/v1/sessions/open/events")).await;
    let mut idle = served.connect("").await;
    read_until(&mut stream, "data: 2\n\n\r\n").await;
    served.fixture.edge.drain().start();
    assert_eq!(read_to_close(&mut idle).await, "");
    assert_eq!(read_to_close(&mut stream).await, "", "no last chunk");
    served.serving.await.expect("no panic").expect("no error");
    assert!(TcpStream::connect(served.address).await.is_err());
}

#[tokio::test]
async fn a_websocket_keeps_its_connection_counted_until_it_ends() {
    let served = serve_with(Limits::default()).await;
    let hello = served.get("/v1/ws").replacen(
        "\r\n\r\n",
        "\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        1,
    );
    let mut stream = served.connect(&hello).await;
    let answer = read_until(&mut stream, "\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 101"), "{answer}");
    // A text frame `hi` with a mask of zeros, and the same without mask back.
    stream.write_all(&[0x81, 0x82, 0, 0, 0, 0, b'h', b'i']).await.expect("the server reads");
    let mut echo = [0; 4];
    stream.read_exact(&mut echo).await.expect("the server echoes");
    assert_eq!(echo, [0x81, 0x02, b'h', b'i']);
    let open = || served.fixture.edge.metrics().connections.get();
    assert_eq!(open(), 1);
    drop(stream);
    while open() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
