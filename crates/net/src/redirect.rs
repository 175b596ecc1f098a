//! Where a redirect leads.

use http::Uri;

/// The `Location` of an answer to a request for `from`, as an absolute URL. `None` if it is none.
///
/// Whether to go there is the caller's decision. An [`AddressGuard`](crate::AddressGuard) checks it like every address.
pub fn redirect_target(from: &Uri, location: &str) -> Option<Uri> {
    let (scheme, authority) = (from.scheme_str()?, from.authority()?.as_str());
    let location = location.split('#').next().filter(|location| !location.is_empty())?;
    let url = if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if location.starts_with('?') {
        format!("{scheme}://{authority}{}{location}", from.path())
    } else if location.contains("://") {
        location.to_owned()
    } else {
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{location}")
    };
    url.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_resolved_against_the_request() {
        let from: Uri = "https://host:81/a/b?c=d".parse().expect("valid");
        for (location, expected) in [
            ("https://other/x", Some("https://other/x")),
            ("//other/x", Some("https://other/x")),
            ("/x?y", Some("https://host:81/x?y")),
            ("x#fragment", Some("https://host:81/a/x")),
            ("?y", Some("https://host:81/a/b?y")),
            ("", None),
            ("#fragment", None),
            ("http://a b/", None),
        ] {
            let found = redirect_target(&from, location).map(|uri| uri.to_string());
            assert_eq!(found.as_deref(), expected, "{location}");
        }
    }
}
