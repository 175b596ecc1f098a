//! The groups that one task can cite.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use riverrun_event::{Block, Item, Part};
use sha2::{Digest, Sha256};

use super::wrapper::{disarm, is_marker, set_number};
use super::{ReferenceMode, Wrapper};

/// Numbers rise by one from 1. The same group gets the same number again.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    pub(super) wrapper: Wrapper,
    groups: BTreeMap<u64, Group>,
    numbers: HashMap<[u8; 32], u64>,
}

/// What one number stands for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Group {
    /// What the model read, without markers.
    pub content: Vec<Part>,
    /// What the user saw.
    pub block_list: Vec<Block>,
}

/// A tool's output as it goes into its `tool_result`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Numbered {
    pub content: Vec<Part>,
    pub block_list: Vec<Block>,
    pub problems: Vec<Problem>,
}

/// Why a group that a tool named got no number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("the tool's group {0} is in what the user sees, but not in what the model reads")]
    NotForModel(u64),
    #[error("the tool's group {0} is in what the model reads, but not in what the user sees")]
    NotForUser(u64),
}

/// What holds a tool's parts together before they have a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Local {
    /// The tool gave them the same id.
    Named(u64),
    /// The same part stands in both lists; this is its first place among the blocks.
    Same(usize),
}

impl Local {
    fn is_admitted(self, mode: ReferenceMode) -> bool {
        match (mode, self) {
            (ReferenceMode::Off, _) | (ReferenceMode::Cited, Local::Same(_)) => false,
            (ReferenceMode::Cited, Local::Named(_)) | (ReferenceMode::All, _) => true,
        }
    }
}

impl Pool {
    pub fn new(wrapper: Wrapper) -> Self {
        Self { wrapper, ..Self::default() }
    }

    /// The pool as it stood after these items of the task.
    pub fn restore<'a>(wrapper: Wrapper, items: impl IntoIterator<Item = &'a Item>) -> Self {
        let mut pool = Pool::new(wrapper);
        for item in items {
            let Item::ToolResult(result) = item else { continue };
            let mut found: BTreeMap<u64, Group> = BTreeMap::new();
            for part in result.content.iter().flatten().filter(|part| !is_marker(part)) {
                let Some(number) = part.ref_id() else { continue };
                found.entry(number).or_default().content.push(part.clone());
            }
            for block in result.block_list.iter().flatten() {
                let Some(group) = block.ref_id().and_then(|number| found.get_mut(&number)) else { continue };
                group.block_list.push(block.clone());
            }
            for (number, group) in found {
                pool.keep(number, group);
            }
        }
        pool
    }

    /// The same numbers in other words: another agent may have taken the task over.
    pub fn with_wrapper(&mut self, wrapper: Wrapper) -> &mut Self {
        self.wrapper = wrapper;
        self
    }

    pub fn contains(&self, number: u64) -> bool {
        self.groups.contains_key(&number)
    }

    pub fn group(&self, number: u64) -> Option<&Group> {
        self.groups.get(&number)
    }

    pub fn groups(&self) -> impl Iterator<Item = (u64, &Group)> {
        self.groups.iter().map(|(number, group)| (*number, group))
    }

    /// Numbers what both see, and wraps it for the model. Markers that are there already are taken off first.
    pub fn number(&mut self, content: Vec<Part>, block_list: Vec<Block>) -> Numbered {
        self.number_as(ReferenceMode::All, content, block_list)
    }

    /// The same for those that `mode` admits.
    pub fn number_as(
        &mut self,
        mode: ReferenceMode,
        mut content: Vec<Part>,
        mut block_list: Vec<Block>,
    ) -> Numbered {
        content.retain(|part| !is_marker(part));
        block_list.retain(|block| !is_marker(block));
        let (of_content, of_blocks) = locals(&content, &block_list);
        let admit = |locals: Vec<Option<Local>>| -> Vec<Option<Local>> {
            locals.into_iter().map(|local| local.filter(|local| local.is_admitted(mode))).collect()
        };
        let (of_content, of_blocks) = (admit(of_content), admit(of_blocks));
        let problems = problems(&of_content, &of_blocks);
        content.iter_mut().for_each(disarm);
        for part in content.iter_mut().chain(&mut block_list) {
            set_number(part, None);
        }
        let in_blocks: HashSet<Local> = of_blocks.iter().copied().flatten().collect();
        let mut numbers: HashMap<Local, u64> = HashMap::new();
        for local in of_content.iter().copied().flatten().filter(|local| in_blocks.contains(local)) {
            if let Entry::Vacant(slot) = numbers.entry(local) {
                let group = Group {
                    content: select(&content, &of_content, local),
                    block_list: select(&block_list, &of_blocks, local),
                };
                slot.insert(self.admit(group));
            }
        }
        set_numbers(&mut content, &of_content, &numbers);
        set_numbers(&mut block_list, &of_blocks, &numbers);
        Numbered { content: self.wrapper.wrap(content), block_list, problems }
    }

    /// The group's number: the one it has, or the next.
    pub(super) fn admit(&mut self, group: Group) -> u64 {
        if let Some(number) = self.numbers.get(&digest(&group)) {
            return *number;
        }
        let number = self.groups.last_key_value().map_or(1, |(last, _)| last.saturating_add(1));
        self.keep(number, group);
        number
    }

    fn keep(&mut self, number: u64, mut group: Group) {
        if self.groups.contains_key(&number) {
            return;
        }
        for part in group.content.iter_mut().chain(&mut group.block_list) {
            set_number(part, None);
        }
        self.numbers.entry(digest(&group)).or_insert(number);
        for part in group.content.iter_mut().chain(&mut group.block_list) {
            set_number(part, Some(number));
        }
        self.groups.insert(number, group);
    }
}

impl Group {
    /// The group without its number.
    pub(crate) fn unnumbered(&self) -> Group {
        let mut group = self.clone();
        for part in group.content.iter_mut().chain(&mut group.block_list) {
            set_number(part, None);
        }
        group
    }
}

fn locals(content: &[Part], block_list: &[Block]) -> (Vec<Option<Local>>, Vec<Option<Local>>) {
    let mut places: HashMap<String, usize> = HashMap::new();
    let keys: Vec<Option<String>> = block_list.iter().map(key).collect();
    for (position, key) in keys.iter().enumerate() {
        if let Some(key) = key {
            places.entry(key.clone()).or_insert(position);
        }
    }
    let same = |key: Option<String>| Some(Local::Same(*places.get(&key?)?));
    let of_content: Vec<_> =
        content.iter().map(|part| part.ref_id().map(Local::Named).or_else(|| same(key(part)))).collect();
    let seen: HashSet<Local> = of_content.iter().copied().flatten().collect();
    let of_block = |(block, key): (&Block, Option<String>)| {
        block.ref_id().map(Local::Named).or_else(|| same(key).filter(|local| seen.contains(local)))
    };
    let of_blocks = block_list.iter().zip(keys).map(of_block).collect();
    (of_content, of_blocks)
}

/// By which the same part is found in the other list. None for what cannot be cited without being named.
fn key(part: &Part) -> Option<String> {
    let is_known = !matches!(part, Block::Item(_) | Block::Other(_));
    let is_empty = part.text().is_some_and(|text| text.trim().is_empty());
    if part.ref_id().is_some() || !is_known || is_empty {
        return None;
    }
    serde_json::to_string(part).ok()
}

fn problems(of_content: &[Option<Local>], of_blocks: &[Option<Local>]) -> Vec<Problem> {
    let named = |locals: &[Option<Local>]| -> Vec<u64> {
        let mut seen = HashSet::new();
        let ids = locals.iter().flatten().filter_map(|local| match local {
            Local::Named(id) => Some(*id),
            Local::Same(_) => None,
        });
        ids.filter(|id| seen.insert(*id)).collect()
    };
    let (model, user) = (named(of_content), named(of_blocks));
    let not_for_user = model.iter().filter(|id| !user.contains(id)).map(|id| Problem::NotForUser(*id));
    let not_for_model = user.iter().filter(|id| !model.contains(id)).map(|id| Problem::NotForModel(*id));
    not_for_user.chain(not_for_model).collect()
}

fn select(parts: &[Part], locals: &[Option<Local>], local: Local) -> Vec<Part> {
    parts.iter().zip(locals).filter(|(_, of)| **of == Some(local)).map(|(part, _)| part.clone()).collect()
}

fn set_numbers(parts: &mut [Part], locals: &[Option<Local>], numbers: &HashMap<Local, u64>) {
    for (part, local) in parts.iter_mut().zip(locals) {
        set_number(part, local.and_then(|local| numbers.get(&local).copied()));
    }
}

/// The same over restarts and on every machine.
fn digest(group: &Group) -> [u8; 32] {
    let mut hash = Sha256::new();
    for list in [&group.content, &group.block_list] {
        let json = serde_json::to_vec(list).expect("parts are plain data and always have a JSON form");
        hash.update((json.len() as u64).to_be_bytes());
        hash.update(json);
    }
    hash.finalize().into()
}
