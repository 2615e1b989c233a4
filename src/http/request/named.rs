//! Reads structs from values with names: the parameters of a query, or the members of a body. Each
//! struct takes the values with the names of its fields, so a call can combine several structs in a
//! tuple. (`serde(flatten)` would lose the names of wrong values, and could not read the numbers of
//! a query.)

use std::borrow::Cow;

use serde::de::value::MapDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Error;
use serde_path_to_error::{Path, Track};

pub struct Named<'a, N> {
    /// `None` once a struct has taken it.
    values: Vec<Option<(Cow<'a, str>, N)>>,
    /// The fields of the structs read so far.
    known: Vec<&'static [&'static str]>,
    /// The value that could not be read.
    wrong: Option<Path>,
}

impl<'a, N> Named<'a, N> {
    pub fn new(values: impl Iterator<Item = (Cow<'a, str>, N)>) -> Self {
        Self { values: values.map(Some).collect(), known: Vec::new(), wrong: None }
    }

    /// Reads a struct or a tuple of them.
    ///
    /// # Errors
    /// The path of the value that cannot be read, and its fault.
    pub fn read<'de, T>(&mut self) -> Result<T, (Option<Path>, Error)>
    where
        T: Deserialize<'de>,
        N: IntoDeserializer<'de, Error>,
    {
        T::deserialize(&mut *self).map_err(|error| (self.wrong.take(), error))
    }

    /// The first name that no struct has taken.
    pub fn left(&self) -> Option<&str> {
        self.values.iter().flatten().next().map(|(name, _)| &**name)
    }

    /// The fields of the structs that were read.
    pub fn known(&self) -> Vec<&'static str> {
        self.known.concat()
    }
}

impl<'de, N: IntoDeserializer<'de, Error>> Deserializer<'de> for &mut Named<'_, N> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.known.push(fields);
        let is_own = |(name, _): &mut (Cow<'_, str>, N)| fields.contains(&&**name);
        let own = self.values.iter_mut().filter_map(|value| value.take_if(is_own));
        let mut track = Track::new();
        let values = MapDeserializer::new(own);
        let read = serde_path_to_error::Deserializer::new(values, &mut track)
            .deserialize_struct(name, fields, visitor);
        if read.is_err() {
            self.wrong = Some(track.path());
        }
        read
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Structs(self))
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_struct("", &[], visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple_struct map enum identifier ignored_any
    }
}

/// The structs of a tuple, in order.
struct Structs<'n, 'a, N>(&'n mut Named<'a, N>);

impl<'de, N: IntoDeserializer<'de, Error>> SeqAccess<'de> for Structs<'_, '_, N> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Error> {
        seed.deserialize(&mut *self.0).map(Some)
    }
}
