//! The languages that a reader wants, best first.

/// Languages of a reader that are looked for; the rest of a long list says nothing more.
const MOST: usize = 3;
/// The longest tag, in bytes: `zh-hant-tw` fits.
const LONGEST: usize = 12;

/// A language tag in lower case, such as `vi` or `pt-br`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Language {
    tag: [u8; LONGEST],
    length: u8,
}

impl Language {
    /// None for a text that is no language tag.
    pub fn parse(text: &str) -> Option<Self> {
        let is_part =
            |part: &str| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric());
        let is_tag = text.len() <= LONGEST
            && text.split(['-', '_']).all(is_part)
            && text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
        if !is_tag {
            return None;
        }
        let mut tag = [0; LONGEST];
        for (to, from) in tag.iter_mut().zip(text.bytes()) {
            *to = if from == b'_' { b'-' } else { from.to_ascii_lowercase() };
        }
        Some(Self { tag, length: text.len() as u8 })
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.tag[..usize::from(self.length)]).unwrap_or_default()
    }

    /// The language without its region or script.
    pub fn base(&self) -> &str {
        self.as_str().split('-').next().unwrap_or_default()
    }
}

/// What a reader reads, best first. Empty without a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Languages([Option<Language>; MOST]);

impl Languages {
    pub fn one(language: Language) -> Self {
        Self([Some(language), None, None])
    }

    /// Reads an `Accept-Language` header. What cannot be read in it is left out.
    pub fn accepted(header: &str) -> Self {
        let mut wanted: Vec<(f64, Language)> = header.split(',').take(32).filter_map(weighted).collect();
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut found = Self::default();
        let mut at = 0;
        for (_, language) in wanted {
            // `en` behind `en-us` adds nothing: a region falls back on its language.
            let is_covered = found.iter().any(|known| known == language || known.base() == language.as_str());
            if !is_covered && at < MOST {
                found.0[at] = Some(language);
                at += 1;
            }
        }
        found
    }

    pub fn iter(&self) -> impl Iterator<Item = Language> + '_ {
        self.0.iter().flatten().copied()
    }
}

fn weighted(entry: &str) -> Option<(f64, Language)> {
    let mut parts = entry.split(';').map(str::trim);
    let language = Language::parse(parts.next()?)?;
    let weight =
        parts.find_map(|part| part.strip_prefix("q=")).map_or(Some(1.0), |text| text.parse().ok())?;
    (weight > 0.0 && weight <= 1.0).then_some((weight, language))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_language_comes_first_and_nonsense_is_left_out() {
        let check = |header: &str, wanted: &[&str]| {
            let found = Languages::accepted(header);
            let tags: Vec<String> = found.iter().map(|language| language.as_str().to_owned()).collect();
            assert_eq!(tags, wanted, "{header}");
        };
        check("vi", &["vi"]);
        check("en-US,en;q=0.9,vi;q=0.8", &["en-us", "vi"]);
        check("fr;q=0.1, vi;q=0.9", &["vi", "fr"]);
        check("*, x y, vi;q=0, de;q=2, a_b", &["a-b"]);
        check("", &[]);
        check("a,b,c,d", &["a", "b", "c"]);
    }
}
