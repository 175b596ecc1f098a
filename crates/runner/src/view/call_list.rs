//! The calls of a task in the order in which the model wrote them, found by their ids without a search.

use foldhash::HashMap;
use riverrun_event::StepId;

use super::call::{CallView, ResultView};

#[derive(Debug, Default)]
pub(crate) struct CallList {
    list: Vec<CallView>,
    /// The newest call of an id.
    by_call: HashMap<String, usize>,
    /// Calls by their own item and by the item of their result.
    by_item: HashMap<String, usize>,
    /// Every call before this position has its result.
    answered: usize,
}

impl CallList {
    /// Adds a call, numbered within its step.
    pub fn push(&mut self, mut call: CallView) {
        call.number = match self.list.last() {
            Some(last) if last.step == call.step => last.number.saturating_add(1),
            Some(_) | None => 0,
        };
        let position = self.list.len();
        self.by_call.insert(call.call.clone(), position);
        self.by_item.insert(call.item.clone(), position);
        self.list.push(call);
    }

    pub fn iter(&self) -> std::slice::Iter<'_, CallView> {
        self.list.iter()
    }

    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, CallView> {
        self.list.iter_mut()
    }

    /// The calls from the first one without a result on. Some of those behind it may have theirs.
    pub fn unanswered(&self) -> std::slice::Iter<'_, CallView> {
        self.list[self.answered..].iter()
    }

    /// The calls of a step. Those of the newest step are the last ones.
    pub fn of_newest_step<'a>(&'a self, step: &'a Option<StepId>) -> impl Iterator<Item = &'a CallView> {
        let from = self.list.iter().rev().take_while(|call| call.step == *step).count();
        self.list[self.list.len() - from..].iter()
    }

    pub fn get(&self, call: &str) -> Option<&CallView> {
        self.by_call.get(call).map(|position| &self.list[*position])
    }

    pub fn get_mut(&mut self, call: &str) -> Option<&mut CallView> {
        self.by_call.get(call).map(|position| &mut self.list[*position])
    }

    pub fn with_item(&self, item: &str) -> Option<&CallView> {
        self.by_item.get(item).map(|position| &self.list[*position])
    }

    pub fn with_item_mut(&mut self, item: &str) -> Option<&mut CallView> {
        self.by_item.get(item).map(|position| &mut self.list[*position])
    }

    pub fn open_result(&mut self, call: &str, item: String, index: u32) {
        let Some(position) = self.by_call.get(call).copied() else { return };
        self.by_item.insert(item.clone(), position);
        self.list[position].result = ResultView::Open { item, index };
    }

    /// The item of a result is complete.
    pub fn answer(&mut self, item: &str) {
        let Some(call) = self.with_item_mut(item) else { return };
        if matches!(&call.result, ResultView::Open { item: open, .. } if open == item) {
            call.result = ResultView::Done;
        }
        let answered = self.list[self.answered..].iter().take_while(|call| call.is_answered()).count();
        self.answered += answered;
    }

    /// The item of a call was taken back.
    pub fn retract(&mut self, item: &str) {
        let before = self.list.len();
        self.list.retain(|call| call.item != item);
        if self.list.len() == before {
            return;
        }
        (self.by_call, self.by_item, self.answered) = Default::default();
        for (position, call) in self.list.iter().enumerate() {
            self.by_call.insert(call.call.clone(), position);
            self.by_item.insert(call.item.clone(), position);
            if let ResultView::Open { item, .. } = &call.result {
                self.by_item.insert(item.clone(), position);
            }
        }
        self.answered = self.list.iter().take_while(|call| call.is_answered()).count();
    }
}

impl<'a> IntoIterator for &'a CallList {
    type Item = &'a CallView;
    type IntoIter = std::slice::Iter<'a, CallView>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut CallList {
    type Item = &'a mut CallView;
    type IntoIter = std::slice::IterMut<'a, CallView>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: &str, step: &str) -> CallView {
        CallView::new(id.to_owned(), format!("item_{id}"), 0, "look".to_owned(), StepId::new(step).ok())
    }

    fn unanswered(list: &CallList) -> Vec<&str> {
        list.unanswered().map(|call| call.call.as_str()).collect()
    }

    #[test]
    fn calls_are_numbered_within_their_step() {
        let mut list = CallList::default();
        for (id, step) in [("a", "s1"), ("b", "s1"), ("c", "s2")] {
            list.push(call(id, step));
        }
        assert_eq!(list.iter().map(|call| call.number).collect::<Vec<_>>(), [0, 1, 0]);
        let newest = StepId::new("s2").ok();
        assert_eq!(list.of_newest_step(&newest).map(|call| call.call.as_str()).collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn answered_calls_leave_the_front() {
        let mut list = CallList::default();
        for id in ["a", "b", "c"] {
            list.push(call(id, "s1"));
            list.open_result(id, format!("result_{id}"), 0);
        }
        list.answer("result_b");
        assert_eq!(unanswered(&list), ["a", "b", "c"]);
        list.answer("result_a");
        assert_eq!(unanswered(&list), ["c"]);
    }

    #[test]
    fn a_retracted_call_is_not_found() {
        let mut list = CallList::default();
        for id in ["a", "b"] {
            list.push(call(id, "s1"));
        }
        list.retract("item_a");
        assert!(list.get("a").is_none());
        assert_eq!(list.get("b").map(|call| call.item.as_str()), Some("item_b"));
        assert!(list.with_item_mut("item_a").is_none());
    }
}
