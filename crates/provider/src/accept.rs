//! Which files a service reads by itself.

/// True if a service that speaks this dialect reads files of this type; otherwise it is sent their text. Services that
/// speak none, and those of Chat Completions, see pictures alone.
pub fn accepts_file(dialect: Option<&str>, media_type: &str) -> bool {
    let is_picture = matches!(media_type, "image/png" | "image/jpeg" | "image/webp");
    let is_pdf = media_type == "application/pdf";
    match dialect {
        Some("gemini") => {
            is_picture
                || is_pdf
                || matches!(media_type, "image/heic" | "image/heif")
                || media_type.starts_with("audio/")
                || media_type.starts_with("video/")
        }
        Some("responses" | "anthropic") => is_picture || is_pdf || media_type == "image/gif",
        Some(_) | None => is_picture || media_type == "image/gif",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_service_is_sent_what_it_reads() {
        let table = [
            ("image/png", [true, true, true, true, true]),
            ("image/gif", [true, true, false, true, true]),
            ("image/heic", [false, false, true, false, false]),
            ("image/tiff", [false; 5]),
            ("application/pdf", [true, true, true, false, false]),
            ("audio/wav", [false, false, true, false, false]),
            ("text/csv", [false; 5]),
            ("application/zip", [false; 5]),
        ];
        let dialects = [Some("responses"), Some("anthropic"), Some("gemini"), Some("chat"), None];
        for (media_type, expected) in table {
            assert_eq!(dialects.map(|dialect| accepts_file(dialect, media_type)), expected, "{media_type}");
        }
    }
}
