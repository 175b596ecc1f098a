//! Commands against a server behind a TLS proxy whose certificate only `SSL_CERT_FILE` makes trusted.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use support::{BINARY, Server, lines, said};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

fn certificate() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../net/tests/localhost/certificate.pem")
}

fn acceptor() -> TlsAcceptor {
    let chain = CertificateDer::pem_file_iter(certificate()).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(certificate().with_file_name("test-only.key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Passes decrypted bytes on to a server until the runtime ends. Gives its port.
async fn proxy(server: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = acceptor();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let (acceptor, server) = (acceptor.clone(), server.clone());
            tokio::spawn(async move {
                let mut outside = acceptor.accept(socket).await?;
                let mut inside = TcpStream::connect(server).await?;
                copy_bidirectional(&mut outside, &mut inside).await
            });
        }
    });
    port
}

struct Client<'a> {
    directory: &'a Path,
    url: String,
    key: &'a str,
}

impl Client<'_> {
    fn run(&self, trusted: &Path, words: &[&str], input: &str) -> Output {
        let mut command = Command::new(BINARY);
        command.args(words).current_dir(self.directory);
        command.env("RIVERRUN_URL", &self.url).env("RIVERRUN_KEY", self.key);
        command.env("SSL_CERT_FILE", trusted).env_remove("SSL_CERT_DIR");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

#[test]
fn commands_reach_a_server_over_https() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let runtime = runtime();
    let port = runtime.block_on(proxy(server.url.replacen("http://", "", 1)));
    let url = format!("https://localhost:{port}");
    let client = Client { directory: directory.path(), url, key: &server.key };
    let run = |words: &[&str], input: &str| {
        let output = client.run(&certificate(), words, input);
        assert!(output.status.success(), "{words:?}: {}", said(&output));
        output
    };

    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/recordings/weather.ndjson");
    run(&["play", recording, "--speed", "max"], "");
    let events = lines(&run(&["tail", "-", "--no-follow", "--json"], ""));
    assert!(events.iter().any(|event| event["type"] == "turn.completed"), "{events:?}");

    let request = r#"{"jsonrpc":"2.0","id":1,"method":"session.list","params":{}}"#;
    let answers = lines(&run(&["rpc"], &format!("{request}\n")));
    assert!(answers.iter().any(|answer| answer["id"] == 1 && answer["result"].is_object()), "{answers:?}");
}

#[test]
fn a_certificate_that_is_not_trusted_ends_the_command_with_the_fix() {
    let directory = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let port = runtime.block_on(proxy("127.0.0.1:1".to_owned()));
    let url = format!("https://localhost:{port}");
    let client = Client { directory: directory.path(), url, key: "k" };
    let check = |certificates: &str, expected: &str, fix: &str| {
        let file = directory.path().join("trusted.pem");
        std::fs::write(&file, certificates).unwrap();
        for command in ["sessions", "rpc"] {
            let output = client.run(&file, &[command], "");
            let text = said(&output);
            assert!(text.contains(expected) && text.contains(fix), "{command}: {text}");
            assert_eq!(output.status.code(), Some(8), "{command}: {text}");
        }
    };
    check("", "no trusted certificates were found on this machine", "name a PEM file with SSL_CERT_FILE");
    check(
        OTHER,
        &format!("the certificate of https://localhost:{port} is not trusted"),
        "SSL_CERT_FILE=ca.pem",
    );
}

/// Of another CA, whose key nobody has.
const OTHER: &str = "\
-----BEGIN CERTIFICATE-----
MIIBdzCCAR2gAwIBAgIUG9nLvE9bHSksVhhAb+vQWBFOklgwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFb3RoZXIwIBcNMjYxMTE5MjIwODE1WhgPMjEyNjEwMjYyMjA4
MTVaMBAxDjAMBgNVBAMMBW90aGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
PTdBKyWebQIIuIMl06xioKEpRQHEtpz5r1dBMAW8OEcs6DaOSFOjQ+tBz7MWPzZq
92oaWPkqySWEswzgYZ9KfKNTMFEwHQYDVR0OBBYEFD4sBAxBXpmCmu/xjMRgnR+W
4/naMB8GA1UdIwQYMBaAFD4sBAxBXpmCmu/xjMRgnR+W4/naMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIhAPyEZiObAet9SJOJ2YPJsOIUdIgNXjjv
hkyR4V10laagAiA0A+FsjC7Z3DVLyFuuz9Ze4eyY7wggH7T83pyIwEazhA==
-----END CERTIFICATE-----
";
