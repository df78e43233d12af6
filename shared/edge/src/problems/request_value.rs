//! `RequestValue`: a value of a request, on its way to a type. No word of a parser and no name of a type reaches a client:
//! `serde` reports an error by a method of [`Mismatch`], and each of them writes a sentence about the request.
//!
//! It is stricter than `serde_json`, which reads a list as an object whose members come in the order of their declaration.

use std::fmt::{self, Display};

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Number, Value};

/// A value of a request.
pub(super) struct RequestValue(pub(super) Value);

impl RequestValue {
    fn whole_number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let number = self.number("a whole number")?;
        match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => visitor.visit_i64(number),
            (_, Some(number)) => visitor.visit_u64(number),
            // The canonical form of a whole number has no point, so serde_json holds it as an integer if it fits.
            _ if number.as_f64().is_some_and(|number| number.abs() >= BEYOND) => {
                Err(Mismatch::expected(IN_RANGE))
            }
            _ => Err(Mismatch::expected("a whole number")),
        }
    }

    fn number(self, what: &str) -> Result<Number, Mismatch> {
        if let Value::Number(number) = self.0 { Ok(number) } else { Err(Mismatch::expected(what)) }
    }

    fn text<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let Value::String(text) = self.0 else { return Err(Mismatch::expected("a string")) };
        visitor.visit_string(text)
    }

    fn list<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let Value::Array(items) = self.0 else { return Err(Mismatch::expected("a list")) };
        let mut items = SeqDeserializer::new(items.into_iter().map(Self));
        let value = visitor.visit_seq(&mut items)?;
        items.end().map(|()| value)
    }

    fn object<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let Value::Object(members) = self.0 else { return Err(Mismatch::expected("an object")) };
        visitor.visit_map(members_of(members))
    }
}

/// 2^63: from here on, a number is in no range.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;
const IN_RANGE: &str = "a whole number within the documented range";

fn members_of<'de>(
    members: Map<String, Value>,
) -> MapDeserializer<'de, impl Iterator<Item = (String, RequestValue)>, Mismatch> {
    MapDeserializer::new(members.into_iter().map(|(name, value)| (name, RequestValue(value))))
}

macro_rules! read_as {
    ($($read:ident: $($method:ident)*;)*) => {$($(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
            self.$read(visitor)
        }
    )*)*};
}

impl<'de> Deserializer<'de> for RequestValue {
    type Error = Mismatch;

    read_as! {
        whole_number: deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
            deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128;
        text: deserialize_char deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf;
        list: deserialize_seq;
        object: deserialize_map;
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        self.object(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let Value::Bool(value) = self.0 else { return Err(Mismatch::expected("true or false")) };
        visitor.visit_bool(value)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        let number = self.number("a number")?;
        visitor.visit_f64(number.as_f64().ok_or_else(|| Mismatch::expected("a number"))?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(name.into_deserializer()),
            Value::Object(members) => visitor.visit_enum(MapAccessDeserializer::new(members_of(members))),
            _ => Err(Mismatch::unknown_variant("", variants)),
        }
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mismatch> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(_) => self.deserialize_bool(visitor),
            Value::Number(ref number) if number.is_f64() => self.deserialize_f64(visitor),
            Value::Number(_) => self.whole_number(visitor),
            Value::String(_) => self.text(visitor),
            Value::Array(_) => self.list(visitor),
            Value::Object(_) => self.object(visitor),
        }
    }

    forward_to_deserialize_any! { unit unit_struct tuple tuple_struct identifier ignored_any }
}

impl IntoDeserializer<'_, Mismatch> for RequestValue {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// What is wrong with a value, in words for its author.
#[derive(Debug)]
pub(super) struct Mismatch(String);

impl Mismatch {
    fn expected(what: impl Display) -> Self {
        Self(format!("expected {what}"))
    }
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [name] => format!("`{name}`"),
        names => format!("one of `{}`", names.join("`, `")),
    }
}

/// The methods by which `serde` and derived code report an error. None of them repeats the value, which may be a card number.
impl Error for Mismatch {
    /// The words of the type itself, such as those of a SKU.
    fn custom<T: Display>(words: T) -> Self {
        match words.to_string() {
            parser if parser.starts_with("UUID parsing failed") => Self::expected("a UUID"),
            words => Self(words),
        }
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn Expected) -> Self {
        Self::expected("a value of the documented type")
    }

    fn invalid_value(found: Unexpected<'_>, _: &dyn Expected) -> Self {
        match found {
            Unexpected::Signed(_) | Unexpected::Unsigned(_) => Self::expected(IN_RANGE),
            _ => Self::expected("a documented value"),
        }
    }

    fn invalid_length(_: usize, _: &dyn Expected) -> Self {
        Self::expected("the documented number of values")
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        Self::expected(one_of(expected))
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        Self(format!("unknown member, expected {}", one_of(expected)))
    }

    fn missing_field(field: &'static str) -> Self {
        Self(format!("missing member `{field}`"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self(format!("more than one member `{field}`"))
    }
}

impl std::error::Error for Mismatch {}

impl Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
