//! What was said before and what is asked now, put together.

use std::panic::{AssertUnwindSafe, catch_unwind};

use riverrun_provider::HistoryEntry;

use crate::agent::Merge;

/// One behind the other, unless the agent has a way of its own.
pub(crate) fn merged(
    mut past: Vec<HistoryEntry>,
    mut asked: Vec<HistoryEntry>,
    merge: Option<&Merge>,
) -> Result<Vec<HistoryEntry>, String> {
    let Some(merge) = merge else {
        past.append(&mut asked);
        return Ok(past);
    };
    let merged = catch_unwind(AssertUnwindSafe(|| merge(past, asked)));
    let merged = merged.unwrap_or_else(|_| Err("the agent's function failed; see the log".to_owned()))?;
    match merged.is_empty() {
        true => Err("nothing is left for the model to read".to_owned()),
        false => Ok(merged),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use riverrun_event::Part;

    use super::*;

    fn user(text: &str) -> Vec<HistoryEntry> {
        vec![HistoryEntry::User { parts: vec![Part::plain(text)] }]
    }

    fn check(merge: Option<Merge>) -> Result<Vec<HistoryEntry>, String> {
        merged(user("old"), user("new"), merge.as_ref())
    }

    #[test]
    fn without_a_way_of_its_own_the_past_stands_first() {
        assert_eq!(check(None), Ok([user("old"), user("new")].concat()));
    }

    #[test]
    fn an_agent_may_leave_the_past_out() {
        assert_eq!(check(Some(Arc::new(|_, asked| Ok(asked)))), Ok(user("new")));
    }

    #[test]
    fn what_fails_or_leaves_nothing_is_told_and_never_a_panic() {
        assert_eq!(check(Some(Arc::new(|_, _| Err("no".to_owned())))), Err("no".to_owned()));
        let nothing = check(Some(Arc::new(|_, _| Ok(Vec::new()))));
        assert_eq!(nothing, Err("nothing is left for the model to read".to_owned()));
        let panicked = check(Some(Arc::new(|_, _| panic!("a bug"))));
        assert_eq!(panicked, Err("the agent's function failed; see the log".to_owned()));
    }
}
