use std::sync::{Arc, Mutex};
use std::time::Duration;

use riverrun_tool::{AddressGuard, HttpConfig, HttpTool, ToolErrorKind, ValueSource};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::{call, fails, run, text};

/// A server that answers every request with the same bytes, and keeps what it was sent.
struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answers: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (told, answers) = (seen.clone(), answers.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>());
        tokio::spawn(async move {
            for count in 0.. {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !is_whole(&request) {
                    if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                        break;
                    }
                }
                told.lock().unwrap().push(String::from_utf8(request).unwrap());
                let answer = &answers[count.min(answers.len() - 1)];
                let _ = stream.write_all(answer.as_bytes()).await;
                if answer.is_empty() {
                    tokio::time::sleep(Duration::from_secs(60)).await;
                }
            }
        });
        Self { port, seen }
    }

    fn config(&self, method: &str, path: &str) -> HttpConfig {
        HttpConfig {
            name: "it".to_owned(),
            parameters: json!({"type": "object", "properties": {"id": {}, "q": {}, "url": {}}}),
            method: method.to_owned(),
            url: format!("http://127.0.0.1:{}{path}", self.port),
            outbound: AddressGuard { allow: vec![format!("127.0.0.1:{}", self.port)] },
            ..HttpConfig::default()
        }
    }

    fn tool(&self, method: &str, path: &str) -> HttpTool {
        HttpTool::new(self.config(method, path)).unwrap()
    }

    fn seen(&self) -> String {
        self.seen.lock().unwrap().join("\n---\n")
    }
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ").map(str::to_owned));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

fn id() -> Value {
    json!({"id": "a/b", "q": "Huế"})
}

#[tokio::test]
async fn a_request_carries_arguments_secrets_and_the_key() {
    let server =
        Server::start(&[&answer("200 OK", "content-type: application/json\r\n", r#"{"n":1}"#)]).await;
    let mut config = server.config("POST", "/v1/{id}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "Bearer s3cret\n").unwrap();
    config.headers = vec![("Authorization".to_owned(), ValueSource::File(file))];
    let output = run(HttpTool::new(config).unwrap(), call(id())).await.unwrap();
    assert_eq!((text(&output), &output.structured), (r#"{"n":1}"#, &Some(json!({"n": 1}))));
    let seen = server.seen().to_lowercase();
    for part in [
        "post /v1/a%2fb http/1.1",
        "authorization: bearer s3cret",
        "idempotency-key: key-1",
        "host: 127.0.0.1:",
        r#"{"q":"huế"}"#,
    ] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    run(server.tool("GET", "/v1?k=1"), call(id())).await.unwrap();
    assert!(server.seen().contains("GET /v1?k=1&id=a%2Fb&q=Hu%E1%BA%BF HTTP/1.1"), "{}", server.seen());
}

#[tokio::test]
async fn refusals_have_the_end_of_the_answer() {
    let body = format!("{}the end", "x".repeat(5000));
    let server =
        Server::start(&[&answer("404 Not Found", "", &body), &answer("503 Service Unavailable", "", "")])
            .await;
    let message = fails(server.tool("GET", "/"), call(id()), ToolErrorKind::Failed).await;
    assert!(
        message.contains("404 Not Found") && message.ends_with("xthe end") && message.len() < 2200,
        "{message}"
    );
    fails(server.tool("GET", "/"), call(id()), ToolErrorKind::Unavailable).await;
}

#[tokio::test]
async fn limits_and_broken_answers() {
    let server = Server::start(&[
        &answer("200 OK", "", &"x".repeat(2000)),
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf",
        "garbage\r\n\r\n",
        "",
    ])
    .await;
    let limited = HttpTool::new(HttpConfig { response_limit: 1000, ..server.config("GET", "/") }).unwrap();
    fails(limited, call(id()), ToolErrorKind::LimitPassed).await;
    fails(server.tool("GET", "/"), call(id()), ToolErrorKind::Crashed).await;
    fails(server.tool("GET", "/"), call(id()), ToolErrorKind::Crashed).await;
    let slow = HttpTool::new(HttpConfig { timeout: Duration::from_millis(300), ..server.config("GET", "/") })
        .unwrap();
    fails(slow, call(id()), ToolErrorKind::Timeout).await;
}

#[tokio::test]
async fn a_cancelled_request_ends() {
    let server = Server::start(&[""]).await;
    let call = call(id());
    let cancel = call.cancel.clone();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        cancel.cancel();
    };
    tokio::join!(fails(server.tool("GET", "/"), call, ToolErrorKind::Cancelled), stop);
}

#[tokio::test]
async fn redirects_stay_on_the_host() {
    let here = answer("302 Found", "location: /next?a=b\r\n", "");
    let server = Server::start(&[&here, &answer("200 OK", "", "there")]).await;
    assert_eq!(text(&run(server.tool("GET", "/"), call(json!({}))).await.unwrap()), "there");
    assert!(server.seen().contains("GET /next?a=b HTTP/1.1"));
    for location in ["https://169.254.169.254/", "//evil.test/x", "http://127.0.0.1:1/", "ftp://x/"] {
        let server =
            Server::start(&[&answer("307 Temporary Redirect", &format!("location: {location}\r\n"), "")])
                .await;
        fails(server.tool("GET", "/"), call(json!({})), ToolErrorKind::Denied).await;
        assert_eq!(server.seen.lock().unwrap().len(), 1);
    }
    let server = Server::start(&[&here]).await;
    fails(server.tool("GET", "/"), call(json!({})), ToolErrorKind::Failed).await;
    assert_eq!(server.seen.lock().unwrap().len(), 4, "three are followed");
    fails(server.tool("POST", "/"), call(json!({})), ToolErrorKind::Failed).await;
}

#[tokio::test]
async fn an_address_of_the_model_s_choice_stays_outside() {
    let server = Server::start(&[&answer("200 OK", "", "secret inside")]).await;
    let fetch = || {
        let config = HttpConfig {
            url: "{url}".to_owned(),
            outbound: AddressGuard::default(),
            ..server.config("GET", "/")
        };
        HttpTool::new(config).unwrap()
    };
    let inside = format!("https://127.0.0.1:{}/", server.port);
    for url in [
        inside.as_str(),
        "http://169.254.169.254/latest",
        "https://[::ffff:127.0.0.1]/",
        "https://2130706433/",
        "https://ok.example\\@127.0.0.1/",
        "file:///etc/passwd",
        "gopher://x/",
        "https://localhost/",
        "",
        "https://u@8.8.8.8/",
    ] {
        let message = fails(fetch(), call(json!({ "url": url })), ToolErrorKind::Denied).await;
        assert!(!message.contains("secret"), "{message}");
    }
    assert_eq!(server.seen(), "", "nothing was sent");
}

#[tokio::test]
async fn a_wrong_configuration_is_reported() {
    let server = Server { port: 1, seen: Arc::default() };
    let problem = |config: HttpConfig| HttpTool::new(config).err().expect("it is refused");
    assert!(problem(server.config("G T", "/")).contains("G T"));
    assert!(problem(server.config("GET", "/{nope}")).contains("{nope}"));
    let mut config = server.config("GET", "/");
    config.headers = vec![("a b".to_owned(), "x".into())];
    assert!(problem(config).contains("a b"));
    let mut config = server.config("GET", "/");
    config.headers = vec![("x".to_owned(), ValueSource::Env("RIVERRUN_NO_SUCH_VARIABLE".to_owned()))];
    let message = fails(HttpTool::new(config).unwrap(), call(json!({})), ToolErrorKind::Unavailable).await;
    assert!(message.contains("RIVERRUN_NO_SUCH_VARIABLE"), "{message}");
}

/// What a service says for the model and for the user apart is read as a program's words are.
#[tokio::test]
async fn a_service_answers_the_model_and_the_user_differently() {
    for body in [
        r#"{"content":[{"type":"text","text":"m"}],"blockList":[{"type":"html","text":"u"}]}"#,
        r#"{"message_content":[{"type":"text","text":"m"}],"block_list":[{"type":"html","text":"u"}]}"#,
    ] {
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let server = Server::start(&[&answer]).await;
        let output = run(server.tool("GET", "/"), call(json!({}))).await.unwrap();
        assert_eq!((output.content.len(), output.content[0].text()), (1, Some("m")), "{body}");
        assert_eq!((output.block_list[0].tag(), output.block_list[0].text()), ("html", Some("u")), "{body}");
    }
}
