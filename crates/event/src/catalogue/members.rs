//! The names of a payload's members, asked of its own `Deserialize`.

use std::sync::LazyLock;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::catalogue::EventType;
use crate::catalogue::table::members_by_row;

/// The members of a type's payload as the wire spells them, in camelCase. Empty if the type is not known here.
pub fn field_names(kind: &EventType) -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<Vec<&'static str>>> = LazyLock::new(|| {
        let camel = |names: &'static [&'static str]| {
            names.iter().copied().filter(|name| !name.contains('_')).collect()
        };
        members_by_row().into_iter().map(camel).collect()
    });
    kind.index().map_or(&[], |index| NAMES[index].as_slice())
}

/// All spellings that `T` accepts: a derived `Deserialize` tells them to whoever deserializes it.
pub(crate) fn members_of<T: Deserialize<'static>>() -> &'static [&'static str] {
    let mut members: &'static [&'static str] = &[];
    // The listener always fails, after it has heard the names.
    let _ = T::deserialize(Listener { members: &mut members });
    members
}

struct Listener<'a> {
    members: &'a mut &'static [&'static str],
}

impl Deserializer<'static> for Listener<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_struct<V: Visitor<'static>>(
        self,
        _: &'static str,
        members: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        *self.members = members;
        Err(Error::custom("only the names were asked for"))
    }

    fn deserialize_any<V: Visitor<'static>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Error::custom("a payload is a struct"))
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'static>>
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
