//! The macros that let a payload be written once, as its fields and what they mean.

/// Declares payload structs: the members that must be there, then those that may be absent.
///
/// A name of more than one word is followed by itself as a string: the wire has camelCase, and snake_case is
/// accepted too. A test compares the two.
macro_rules! payload {
    ($(
        $(#[$doc:meta])* $name:ident
        $({ $($(#[$must_doc:meta])* $must:ident $($must_snake:literal)? : $must_type:ty),* $(,)? })?
        $(optional { $($(#[$may_doc:meta])* $may:ident $($may_snake:literal)? : $may_type:ty),* $(,)? })?;
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase", expecting = "an object")]
        pub struct $name {
            $($(
                $(#[$must_doc])*
                $(#[serde(alias = $must_snake)])?
                pub $must: $must_type,
            )*)?
            $($(
                $(#[$may_doc])*
                $(#[serde(alias = $may_snake)])?
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $may: Option<$may_type>,
            )*)?
        }
    )*};
}

/// Declares an enum that is tagged by its member `type`, whose unknown tags are kept verbatim.
///
/// The first variant is the default. Reading goes through the raw text, because serde's own tagged enums buffer
/// their content and then can hold no raw JSON.
macro_rules! tagged {
    (
        $(#[$doc:meta])* $name:ident, $opening:literal {
            $first:ident($first_type:ty) = $first_tag:literal $(| $first_alias:literal)*,
            $($variant:ident($type:ty) = $tag:literal $(| $alias:literal)*,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            #[doc = concat!("`", $first_tag, "`")]
            $first($first_type),
            $(#[doc = concat!("`", $tag, "`")] $variant($type),)*
            /// A type that is not known here, kept as it came.
            Other($crate::catalogue::Opaque),
        }

        impl $name {
            /// The tags that are known here.
            pub const TAGS: &[&str] = &[$first_tag, $($tag),*];

            /// The member `type`.
            pub fn tag(&self) -> &str {
                match self {
                    $name::$first(_) => $first_tag,
                    $($name::$variant(_) => $tag,)*
                    $name::Other(opaque) => &opaque.tag,
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                $name::$first(Default::default())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                #[derive(serde::Serialize)]
                #[serde(tag = "type")]
                enum Known<'a> {
                    #[serde(rename = $first_tag)]
                    $first(&'a $first_type),
                    $(#[serde(rename = $tag)] $variant(&'a $type),)*
                }
                match self {
                    $name::$first(inner) => Known::$first(inner).serialize(serializer),
                    $($name::$variant(inner) => Known::$variant(inner).serialize(serializer),)*
                    $name::Other(opaque) => opaque.raw.serialize(serializer),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let raw = $crate::catalogue::RawJson::deserialize(deserializer)?;
                let tag = $crate::catalogue::raw::tag_of::<D::Error>(&raw)?;
                match tag.as_str() {
                    $first_tag $(| $first_alias)* => raw.nested().map($name::$first),
                    $($tag $(| $alias)* => raw.nested().map($name::$variant),)*
                    _ => Ok($name::Other($crate::catalogue::Opaque { tag, raw })),
                }
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let known = vec![
                    ($first_tag, generator.subschema_for::<$first_type>()),
                    $(($tag, generator.subschema_for::<$type>()),)*
                ];
                $crate::catalogue::schema::tagged_schema($opening, known)
            }
        }
    };
}

/// Declares an item and its patch from one list of fields, so that the two cannot drift apart.
macro_rules! item {
    ($(
        $(#[$doc:meta])* $name:ident / $patch:ident
        $({ $($(#[$must_doc:meta])* $must:ident $($must_snake:literal)? : $must_type:ty),* $(,)? })?
        $(optional { $($(#[$may_doc:meta])* $may:ident $($may_snake:literal)? : $may_type:ty),* $(,)? })?;
    )*) => {$(
        $crate::catalogue::macros::payload! {
            $(#[$doc])* $name {
                /// The item's id, unique in its task.
                id: String,
                $($($(#[$must_doc])* $must $($must_snake)? : $must_type,)*)?
            } $(optional { $($(#[$may_doc])* $may $($may_snake)? : $may_type,)* })?;
        }

        $(#[$doc])*
        ///
        /// As a patch: an absent member is kept, `null` clears it, anything else replaces it.
        #[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "camelCase", expecting = "an object")]
        pub struct $patch {
            /// The item's id, unique in its task.
            pub id: String,
            $($(
                $(#[$must_doc])*
                $(#[serde(alias = $must_snake)])?
                #[serde(default, skip_serializing_if = "Patch::is_keep")]
                pub $must: Patch<$must_type>,
            )*)?
            $($(
                $(#[$may_doc])*
                $(#[serde(alias = $may_snake)])?
                #[serde(default, skip_serializing_if = "Patch::is_keep")]
                pub $may: Patch<$may_type>,
            )*)?
        }

        impl $patch {
            /// Changes the item; a member that must be there is emptied when cleared.
            pub fn apply(self, item: &mut $name) {
                $($(self.$must.apply_required(&mut item.$must);)*)?
                $($(self.$may.apply(&mut item.$may);)*)?
            }
        }

        impl From<$name> for $patch {
            fn from(item: $name) -> Self {
                $patch {
                    id: item.id,
                    $($($must: Patch::Set(item.$must),)*)?
                    $($($may: item.$may.map_or(Patch::Keep, Patch::Set),)*)?
                }
            }
        }
    )*};
}

/// Declares the event types and what goes with each: its name, its family, its payload.
macro_rules! catalogue {
    ($($family:ident = $family_name:literal, $family_doc:literal {
        $($variant:ident = $name:literal, $payload:ty, $($extension:ident,)? $doc:literal;)*
    })*) => {
        /// What kind of fact an event is.
        ///
        /// [`EventType::parse`] is the way to make one from text: it never puts a known name into `Other`.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum EventType {
            $($(#[doc = $doc] $variant,)*)*
            /// A vendor's type (`x.*`) or one that is not known here, kept verbatim.
            Other(std::sync::Arc<str>),
        }

        /// The first word of a type's name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum EventFamily {
            $(#[doc = $family_doc] $family,)*
            /// Types that are not known here.
            Other,
        }

        /// What an event says, typed by its [`EventType`]. The frequent ones are held inline, the others boxed.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Payload {
            $($(#[doc = $doc] $variant($payload),)*)*
            /// The payload of a type that is not known here, kept verbatim.
            Other($crate::catalogue::RawJson),
        }

        /// The place of each type in the tables, in the order of the rows.
        #[derive(Clone, Copy)]
        pub(crate) enum Row { $($($variant,)*)* }

        pub(crate) const NAMES: &[&str] = &[$($($name,)*)*];
        pub(crate) const DESCRIPTIONS: &[&str] = &[$($($doc,)*)*];
        pub(crate) const EXTENSIONS: &[bool] = &[$($($crate::catalogue::macros::is_extension!($($extension)?),)*)*];

        impl EventType {
            /// Every type that is known here, in the order of the table.
            pub const ALL: &[EventType] = &[$($(EventType::$variant,)*)*];

            pub(crate) fn row(&self) -> Option<Row> {
                match self {
                    $($(EventType::$variant => Some(Row::$variant),)*)*
                    EventType::Other(_) => None,
                }
            }

            /// The first word of the name.
            pub fn family(&self) -> EventFamily {
                match self {
                    $($(EventType::$variant => EventFamily::$family,)*)*
                    EventType::Other(_) => EventFamily::Other,
                }
            }
        }

        impl EventFamily {
            /// Every family, in the order of the table.
            pub const ALL: &[EventFamily] = &[$(EventFamily::$family,)*];

            /// The family's name, the first part of its event types.
            pub const fn as_str(self) -> &'static str {
                match self { $(EventFamily::$family => $family_name,)* EventFamily::Other => "other" }
            }
            /// What the family is about, in one sentence.
            pub const fn description(self) -> &'static str {
                match self { $(EventFamily::$family => $family_doc,)* EventFamily::Other => "Types that are not known here." }
            }
        }

        impl Payload {
            pub(crate) fn read(kind: &EventType, text: &str) -> Result<Self, $crate::catalogue::PayloadError> {
                match kind {
                    $($(EventType::$variant => $crate::catalogue::payload::read(text).map(Payload::$variant),)*)*
                    EventType::Other(_) => $crate::catalogue::payload::read(text).map(Payload::Other),
                }
            }

            /// The type that this is the payload of; None if that is not known here.
            pub fn event_type(&self) -> Option<EventType> {
                match self {
                    $($(Payload::$variant(_) => Some(EventType::$variant),)*)*
                    Payload::Other(_) => None,
                }
            }
        }

        impl serde::Serialize for Payload {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $($(Payload::$variant(payload) => payload.serialize(serializer),)*)*
                    Payload::Other(raw) => raw.serialize(serializer),
                }
            }
        }

        /// The schema of a type's payload; None if the type is not known here.
        pub(crate) fn payload_schema(
            kind: &EventType,
            generator: &mut schemars::SchemaGenerator,
        ) -> Option<schemars::Schema> {
            match kind {
                $($(EventType::$variant => Some(generator.subschema_for::<$payload>()),)*)*
                EventType::Other(_) => None,
            }
        }

        /// The members of each payload, snake_case spellings included, in the order of the rows.
        pub(crate) fn members_by_row() -> Vec<&'static [&'static str]> {
            vec![$($($crate::catalogue::members::members_of::<$payload>(),)*)*]
        }
    };
}

macro_rules! is_extension {
    () => {
        false
    };
    (extension) => {
        true
    };
}

pub(crate) use {catalogue, is_extension, item, payload, tagged};
