//! Words in a scenario's text that stand for something of the request.
//!
//! `{input}` the last input of the user, `{result}` the newest tool result, `{n}` the number of this round,
//! `{cite:K}` the reference of the K-th cited result as `[^n]`, `{due}` the time at which the piece is said, in
//! microseconds since 1970. Everything else in braces is text.

use riverrun_event::json::write_string;

use super::condition::Situation;

/// Filled when the piece is said.
pub const DUE: &str = "{due}";

/// Where the text goes decides how it is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Into {
    Text,
    /// Inside a JSON string of a tool call's arguments.
    Arguments,
}

/// All but `{n}`, which differs by round.
pub fn fill(piece: &str, situation: &Situation, into: Into) -> String {
    if !piece.contains('{') {
        return piece.to_owned();
    }
    let result = situation.results.last().map_or("", |result| result.text.as_str());
    let mut text = replace(piece, "{input}", &situation.input, into);
    text = replace(&text, "{result}", result, into);
    let mut references: Vec<u64> =
        situation.results.iter().flat_map(|result| result.references.iter().copied()).collect();
    // Parts of one result share its number.
    references.dedup();
    for number in 1..=9_usize {
        let cited = references.get(number - 1).or(references.last());
        // Results without numbers are those of somebody who counts them from 1; no result, no citation.
        let cited = cited.copied().or((!situation.results.is_empty()).then_some(number as u64));
        let mark = cited.map(|number| format!("[^{number}]")).unwrap_or_default();
        text = replace(&text, &format!("{{cite:{number}}}"), &mark, into);
    }
    text
}

pub fn fill_round(piece: &str, round: u64) -> String {
    if !piece.contains("{n}") {
        return piece.to_owned();
    }
    piece.replace("{n}", &round.to_string())
}

fn replace(text: &str, word: &str, by: &str, into: Into) -> String {
    match into {
        Into::Text => text.replace(word, by),
        Into::Arguments => {
            let mut quoted = String::new();
            write_string(&mut quoted, by);
            text.replace(word, &quoted[1..quoted.len() - 1])
        }
    }
}
