//! Finds the name that a caller most likely meant.

/// The known name nearest to `given`, if one is near enough to be worth saying.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const LONGEST: usize = 64;
    if given.len() > LONGEST {
        return None;
    }
    let near_enough = given.chars().count() / 3 + 1;
    let folded = fold(given);
    known
        .into_iter()
        .map(|name| (distance(&folded, &fold(name)), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= near_enough)
        .map(|(_, name)| name)
}

/// `session_id`, `sessionID` and `sessionId` are one name to a person.
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect()
}

/// Edits between the two, where swapping two neighbours is one edit.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let known = ["model", "input", "sessionId", "threadId"];
        for (given, expected) in [
            ("modle", Some("model")),
            ("session_id", Some("sessionId")),
            ("inptu", Some("input")),
            ("Serch", None),
            ("colour", None),
            ("", None),
            (&"x".repeat(1000), None),
        ] {
            assert_eq!(nearest(given, known), expected, "{given:?}");
        }
        let settings = ["listen", "data_dir", "heartbeat", "search"];
        for (given, expected) in [("lsiten", "listen"), ("datadir", "data_dir"), ("Serch", "search")] {
            assert_eq!(nearest(given, settings), Some(expected), "{given:?}");
        }
    }
}
