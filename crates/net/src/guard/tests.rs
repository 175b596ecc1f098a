use super::*;

#[test]
fn addresses_are_judged_by_their_text() {
    for url in [
        "http://169.254.169.254/",
        "http://127.0.0.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::1]:80/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "https://localhost/",
        "https://metadata.google.internal./",
        "https://ok.example\\@127.0.0.1/",
        "https://ok@127.0.0.1/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "/relative",
        "",
    ] {
        assert!(is_blocked(url).is_some(), "{url}");
    }
    for url in ["https://example.com/a.png", "http://example.com/", "https://8.8.8.8/", "https://1.example/"]
    {
        assert_eq!(is_blocked(url), None, "{url}");
    }
}

async fn check(allow: &[&str], url: &str) -> Result<(), BlockedAddress> {
    let guard = AddressGuard { allow: allow.iter().map(|host| (*host).to_owned()).collect() };
    let address = url.parse().ok().and_then(|uri| ServerAddress::of(&uri));
    guard.resolve(&address.ok_or(BlockedAddress::NotAUrl)?).await.map(drop)
}

#[tokio::test]
async fn nothing_inside_is_reached() {
    let inside = [
        "https://127.0.0.1/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://0/",
        "https://10.1.2.3/",
        "https://169.254.169.254/latest",
        "https://100.64.0.1/",
        "https://192.168.0.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[2002:7f00:1::]/",
        "https://[fe80::1]/",
        "https://[fc00::1]/",
        "https://[::]/",
        "https://[::127.0.0.1]/",
        "https://[2001:0:1::1]/",
        "https://localhost/",
        "https://255.255.255.255/",
        "https://224.0.0.1/",
    ];
    for url in inside {
        let found = check(&[], url).await;
        let is_refused = matches!(
            found,
            Err(BlockedAddress::NotPublic(_) | BlockedAddress::Unresolved(_) | BlockedAddress::NotAUrl)
        );
        assert!(is_refused, "{url}: {found:?}");
    }
    assert_eq!(
        check(&[], "https://[::ffff:169.254.169.254]/").await,
        Err(BlockedAddress::NotPublic("::ffff:169.254.169.254".into()))
    );
}

#[tokio::test]
async fn only_plain_https_addresses_are_taken() {
    for url in [
        "file:///etc/passwd",
        "gopher://a/",
        "/path",
        "https://ok.example\\@127.0.0.1/",
        "https://ok.example@127.0.0.1/",
        "https://",
        "data:,x",
        "ftp://8.8.8.8/",
    ] {
        assert_eq!(check(&["127.0.0.1"], url).await, Err(BlockedAddress::NotAUrl), "{url}");
    }
    assert_eq!(check(&[], "http://8.8.8.8/").await, Err(BlockedAddress::NotSecure("8.8.8.8".into())));
    assert_eq!(check(&[], "https://8.8.8.8/").await, Ok(()));
    assert_eq!(check(&[], "https://[2606:4700::1111]/").await, Ok(()));
    assert_eq!(check(&[], "https://[::ffff:8.8.8.8]/").await, Ok(()));
}

#[tokio::test]
async fn what_the_operator_named_is_reached() {
    assert_eq!(check(&["127.0.0.1:25001"], "http://127.0.0.1:25001/x").await, Ok(()));
    assert_eq!(check(&["127.0.0.1"], "http://127.0.0.1:25001/x").await, Ok(()));
    assert!(check(&["127.0.0.1:25001"], "http://127.0.0.1:25002/x").await.is_err());
}

#[test]
fn what_is_never_reached_is_known_without_resolving() {
    let guard = AddressGuard { allow: vec!["named.internal".to_owned(), "10.0.0.1:8080".to_owned()] };
    for (url, expected) in [
        ("https://example.com/{id}", None),
        ("http://example.com/{id}", Some(Unreachable::NotSecure("example.com".to_owned()))),
        ("http://localhost:1/", Some(Unreachable::NotPublic("localhost".to_owned()))),
        ("https://10.0.0.1/", Some(Unreachable::NotPublic("10.0.0.1".to_owned()))),
        ("http://10.0.0.1:8080/", None),
        ("http://NAMED.internal{path}", None),
        ("{url}", None),
    ] {
        assert_eq!(guard.never_reaches(url), expected, "{url}");
    }
    assert!(guard.allows("http://named.internal/a") && !guard.allows("https://example.com/"));
}
