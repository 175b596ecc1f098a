//! Numbers for what tools gave back, so that the model can cite it and the user can look it up.
//!
//! What both the model and the user see of a result is a group with a number in the task's [`Pool`]. The model reads
//! the group between two marker parts that carry the number, and cites it as `[^1]`. A child has a pool of its own;
//! what its message cites is given numbers of the parent's pool. Nothing here does I/O: the pool of a task can be
//! made again from its items at any time.

mod adopt;
mod citation;
mod pool;
mod wrapper;

pub use adopt::{Adopted, Keep};
pub use citation::{Citations, Found, annotate, without_citations};
pub use pool::{Group, Numbered, Pool, Problem};
pub use wrapper::Wrapper;
pub(crate) use wrapper::disarm_all;

/// Which results get a number and are wrapped for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReferenceMode {
    /// None: the model reads what the tool wrote.
    Off,
    /// Those that the tool itself marked as sources, by `refId` (or AgentLin's `id`).
    Cited,
    /// Everything that both the model and the user see.
    All,
}

impl ReferenceMode {
    pub const ALL: [(&'static str, ReferenceMode); 3] =
        [("off", ReferenceMode::Off), ("cited", ReferenceMode::Cited), ("all", ReferenceMode::All)];

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == word).map(|(_, mode)| mode)
    }
}

/// What an agent's model reads of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct References {
    /// Default: `All` for an agent whose model is told how to cite (`explain`), else `Cited`. A model that was told
    /// nothing, a small one most of all, repeats the marks to the user.
    pub mode: Option<ReferenceMode>,
    /// The words around what can be cited.
    pub wrapper: Wrapper,
    /// What the model reads of its sub-agents' sources beside their messages.
    pub keep: Keep,
    /// Tells the model how to cite, behind its instructions. Without it the instructions must say so.
    pub explain: bool,
}

impl References {
    pub fn mode(self) -> ReferenceMode {
        self.mode.unwrap_or(if self.explain { ReferenceMode::All } else { ReferenceMode::Cited })
    }

    /// What the model is told, if it is to be told anything.
    pub(crate) fn explanation(self) -> Option<String> {
        (self.explain && self.mode() != ReferenceMode::Off).then(|| {
            let name = self.wrapper.name();
            format!(
                "Some results of tools stand between <{name}> and </{name}>, with a number behind \"ID:\". \
                 When you say something that such a result tells, put its number behind the sentence as [^1]. \
                 Cite only numbers that you were given, and never write the tags yourself."
            )
        })
    }
}

#[cfg(test)]
mod tests;
