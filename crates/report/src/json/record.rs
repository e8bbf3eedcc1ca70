//! One definition of each field of the output: its name, type, value and meaning.
//!
//! [`record!`] makes of it a member of the JSON output and a column of the tables in
//! [`frame`](crate::frame). The name of a column is the path of the member, joined by `_`.

use crate::column::{Column, Kind};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::fmt;

/// A type of the members of a record.
pub(crate) trait Field {
    /// Adds the columns of a member of this type that has this name and meaning.
    fn columns(name: &str, about: &str, to: &mut Vec<Column>);
}

macro_rules! single_column {
    ($($type:ty: $kind:ident;)*) => {
        $(impl Field for $type {
            fn columns(name: &str, about: &str, to: &mut Vec<Column>) {
                to.push(Column::new(name, Kind::$kind, about));
            }
        })*
    };
}

single_column! {
    u64: Integer;
    u32: Integer;
    u8: Integer;
    f64: Float;
    bool: Switch;
    &str: Text;
    Map<String, Value>: Text;
}

impl<T: Field> Field for Option<T> {
    fn columns(name: &str, about: &str, to: &mut Vec<Column>) {
        T::columns(name, about, to);
    }
}

/// A name that identifies a record. Tables have it as a column of their own.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Key<'a>(pub &'a str);

impl Field for Key<'_> {
    fn columns(_: &str, _: &str, _: &mut Vec<Column>) {}
}

/// A name that identifies a record, as it is shown. Tables have it as a column of their own.
pub(crate) struct Shown<'a, T>(pub &'a T);

impl<T: fmt::Display> Serialize for Shown<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

impl<T> Field for Shown<'_, T> {
    fn columns(_: &str, _: &str, _: &mut Vec<Column>) {}
}

/// A list of records. Tables have a row for each of them instead of a column.
pub(crate) struct List<'a, T>(pub &'a [T]);

impl<T> List<'_, T> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// What is written of a value.
pub(crate) trait Recorded {
    type Record<'a>: From<&'a Self> + Serialize
    where
        Self: 'a;
}

impl<T: Recorded> Serialize for List<'_, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(T::Record::from))
    }
}

impl<T> Field for List<'_, T> {
    fn columns(_: &str, _: &str, _: &mut Vec<Column>) {}
}

/// The path of a member of a member.
pub(crate) fn path(outer: &str, name: &str) -> String {
    if outer.is_empty() {
        name.to_owned()
    } else {
        format!("{outer}_{name}")
    }
}

/// The meaning of a member of a member.
pub(crate) fn meaning(outer: &str, about: &str) -> String {
    if outer.is_empty() {
        about.to_owned()
    } else {
        format!("{outer}: {about}")
    }
}

/// Defines what is written of a type: a struct for JSON, its conversion and its columns.
macro_rules! record {
    (
        $(#[$attribute:meta])*
        $name:ident $(<$life:lifetime>)? of $source:ident: $from:ty {
            $(
                $(#[$member_attribute:meta])*
                $member:ident: $type:ty = $value:expr, $about:literal;
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(serde::Serialize)]
        pub(crate) struct $name $(<$life>)? {
            $($(#[$member_attribute])* $member: $type,)*
        }

        impl $(<$life>)? From<&$($life)? $from> for $name $(<$life>)? {
            fn from($source: &$($life)? $from) -> Self {
                Self { $($member: $value,)* }
            }
        }

        impl $(<$life>)? $crate::json::record::Field for $name $(<$life>)? {
            fn columns(name: &str, about: &str, to: &mut Vec<$crate::column::Column>) {
                use $crate::json::record::{Field, meaning, path};
                $(<$type as Field>::columns(
                    &path(name, stringify!($member)),
                    &meaning(about, $about),
                    to,
                );)*
            }
        }
    };
}
pub(crate) use record;
