//! What the turn asks the user, one question after the other.

use std::io::Write;

use riverrun_client::Error;
use riverrun_event::ActionId;
use serde_json::Value;

use super::{Ending, Watch};
use crate::cli::decide::show;
use crate::cli::exit::Outcome;
use crate::cli::run::answer::{Answer, Wanted, answer};
use crate::cli::run::keyboard::Line;
use crate::cli::terminal::{Lines, Mark, Tone, escape};

/// An action that waits for the user.
pub(super) struct Question {
    pub(super) action: ActionId,
    digest: Option<String>,
    request: Value,
}

impl Watch {
    pub(super) fn required(&mut self, event: &Value) -> Outcome<Option<Ending>> {
        let Some(action) = event["actionId"].as_str().and_then(|id| ActionId::new(id).ok()) else {
            return Ok(None);
        };
        let request = event["payload"].clone();
        let digest = request["digest"].as_str().map(str::to_owned);
        self.questions.push_back(Question { action, digest, request });
        if !self.asks {
            return Ok(Some(Ending::Waiting));
        }
        self.ask()?;
        Ok(None)
    }

    pub(super) fn asks_about(&self, resolved: &Value) -> bool {
        self.questions.front().is_some_and(|first| resolved["actionId"] == first.action.as_str())
    }

    /// Drops a question that was decided, here or elsewhere.
    pub(super) fn forget(&mut self, action: &str) {
        if self.questions.front().is_some_and(|first| first.action.as_str() == action) {
            self.is_asked = false;
            self.wanted = Wanted::Decision;
        }
        self.questions.retain(|question| question.action.as_str() != action);
    }

    /// Puts the first question to the user, if it was not put before.
    pub(super) fn ask(&mut self) -> Outcome {
        let Some(first) = self.questions.front().filter(|_| !self.is_asked && self.asks && !self.was_stopped)
        else {
            return Ok(());
        };
        show(self.output, None, &first.request);
        // Nobody can have answered what was not shown yet.
        if self.keyboard.forget() {
            self.output.note("  what was typed before this question does not count");
        }
        let words = self.wanted.prompt(&first.request);
        self.is_asked = true;
        self.prompt(&words);
        Ok(())
    }

    /// Whatever is written next begins below the question that stands on the line.
    pub(super) fn break_line(&self) {
        if self.is_asked {
            self.output.note("");
        }
    }

    /// Puts the question again, behind what was written while it was open.
    pub(super) fn put_again(&self) {
        if let Some(first) = self.questions.front().filter(|_| self.is_asked) {
            self.prompt(&self.wanted.prompt(&first.request));
        }
    }

    /// The user is asked no more, by this question at least.
    pub(super) fn leave_question(&mut self) {
        self.break_line();
        self.is_asked = false;
    }

    fn prompt(&self, words: &str) {
        let style = self.output.style_of_notes();
        let mut stderr = std::io::stderr();
        // A terminal that is gone is no reason to stop.
        let _ = write!(
            stderr,
            "  {} {} ",
            style.mark(Mark::Waiting, "your decision"),
            style.paint(Tone::Dim, &format!("[{words}]"))
        );
        let _ = stderr.flush();
    }

    pub(super) async fn answered(&mut self, line: Option<Line>) -> Outcome<Option<Ending>> {
        let line = match line {
            Some(Line::Whole(line)) => line,
            Some(Line::Late) => {
                return self.ask_again("that line was begun before this question; it does not count");
            }
            // The end of input: nobody can be asked any more.
            None => {
                self.leave_question();
                return Ok(Some(Ending::Waiting));
            }
        };
        let Some(first) = self.questions.front() else { return Ok(None) };
        let (action, digest) = (first.action.clone(), first.digest.clone());
        let mut decision = match answer(line.trim(), self.wanted, &first.request) {
            Answer::Decision(decision) => decision,
            Answer::More(wanted) => {
                self.wanted = wanted;
                self.prompt(&wanted.prompt(&first.request));
                return Ok(None);
            }
            Answer::Unclear(why) => return self.ask_again(&why),
        };
        decision.digest = digest;
        let request = decision.request(self.session.as_str(), action.as_str());
        let decided = tokio::select! {
            () = self.interrupts.next() => {
                self.leave_question();
                self.output.note("the decision was sent, and the server has not answered");
                return self.interrupted().await;
            }
            decided = self.client.decide_action(&request) => decided,
        };
        match decided {
            // The event that tells the decision closes the question.
            Ok(_) => self.is_asked = false,
            Err(Error::Problem(problem)) => return self.ask_again(&problem.detail),
            Err(error) => return Err(error.into()),
        }
        Ok(None)
    }

    fn ask_again(&mut self, why: &str) -> Outcome<Option<Ending>> {
        self.output.note(&format!("  {}", escape(why, Lines::One)));
        self.wanted = Wanted::Decision;
        self.put_again();
        Ok(None)
    }
}
