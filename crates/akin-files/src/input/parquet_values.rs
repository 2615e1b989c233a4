//! Values of Parquet as JSON, by their logical types. Numbers, texts, lists and groups are values
//! of JSON; times are in RFC 3339, decimals have all of their digits, and bytes are never texts.

use std::borrow::Cow;

use jiff::civil::{Date, Time};
use jiff::{Span, Timestamp};
use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::data_type::Decimal;
use parquet::record::Field;
use parquet::schema::types::Type;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value as Json};

use super::members::Value;

/// The bytes of the longest decimals: 76 digits.
const DECIMAL_BYTES_MAX: usize = 32;
const MICROS: i128 = 1_000;
const MILLIS: i128 = 1_000_000;

/// The value of a column of this type.
pub fn value(field: &Field, of: &Type) -> Value<'static> {
    match field {
        Field::Str(text) => Value::Text(text.clone().into()),
        field => {
            let json = to_raw_value(&json(field, Some(of))).expect("a value always makes JSON");
            Value::Json(Cow::Owned(json))
        }
    }
}

/// Bytes of variable length that are UTF-8: many writers leave out that they are texts.
pub fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn json(field: &Field, of: Option<&Type>) -> Json {
    let logical = of.and_then(|of| of.get_basic_info().logical_type_ref());
    match field {
        Field::Null => Json::Null,
        Field::Bool(value) => (*value).into(),
        Field::Byte(value) => (*value).into(),
        Field::Short(value) => (*value).into(),
        Field::Int(value) => (*value).into(),
        Field::Long(value) => match logical {
            Some(LogicalType::Timestamp(of)) if of.unit == TimeUnit::NANOS => {
                timestamp((*value).into())
            }
            Some(LogicalType::Time(of)) if of.unit == TimeUnit::NANOS => time((*value).into()),
            _ => (*value).into(),
        },
        Field::UByte(value) => (*value).into(),
        Field::UShort(value) => (*value).into(),
        Field::UInt(value) => (*value).into(),
        Field::ULong(value) => (*value).into(),
        Field::Float16(value) => f32::from(*value).into(),
        // The shortest digits of the float: 0.1 and not 0.10000000149011612.
        Field::Float(value) => value.to_string().parse::<f64>().map_or(Json::Null, Json::from),
        Field::Double(value) => (*value).into(),
        Field::Decimal(value) => decimal(value),
        Field::Str(text) => text.as_str().into(),
        Field::Bytes(value) => match (logical, value.data()) {
            (Some(LogicalType::Uuid), bytes) if bytes.len() == 16 => uuid(bytes).into(),
            (_, bytes) if is_fixed(of) => hexadecimal(bytes).into(),
            (_, bytes) => as_text(bytes).map_or_else(|| hexadecimal(bytes), str::to_owned).into(),
        },
        Field::Date(days) => Span::new()
            .try_days(*days)
            .and_then(|days| Date::constant(1970, 1, 1).checked_add(days))
            .map_or_else(|_| (*days).into(), |date| date.to_string().into()),
        Field::TimeMillis(value) => time(i128::from(*value) * MILLIS),
        Field::TimeMicros(value) => time(i128::from(*value) * MICROS),
        Field::TimestampMillis(value) => timestamp(i128::from(*value) * MILLIS),
        Field::TimestampMicros(value) => timestamp(i128::from(*value) * MICROS),
        Field::Group(row) => {
            let inner = of.filter(|of| of.is_group()).map_or(&[][..], Type::get_fields);
            let part = |(at, (name, field)): (usize, (&String, _))| {
                (name.clone(), json(field, inner.get(at).map(|of| &**of)))
            };
            row.get_column_iter().enumerate().map(part).collect::<Map<_, _>>().into()
        }
        Field::ListInternal(list) => {
            let (element, is_two_level) = of.map(element).unzip();
            let fields = list.elements().iter().flat_map(|field| match field {
                // The library wraps the elements of old lists twice.
                Field::ListInternal(inner) if is_two_level == Some(true) => inner.elements(),
                field => std::slice::from_ref(field),
            });
            fields.map(|field| json(field, element)).collect()
        }
        Field::MapInternal(map) => {
            let pair = of.filter(|of| of.is_group()).and_then(|of| of.get_fields().first());
            let part = |at: usize| pair.filter(|pair| pair.is_group())?.get_fields().get(at);
            let [key, value] = [0, 1].map(|at| part(at).map(|of| &**of));
            let name = |field| match json(field, key) {
                Json::String(name) => name,
                name => name.to_string(),
            };
            let entries = map.entries().iter();
            entries.map(|(k, v)| (name(k), json(v, value))).collect::<Map<_, _>>().into()
        }
    }
}

/// The type of the elements, as [`parquet::record::reader`] finds it, and whether the list is an
/// old list without a group for each element.
fn element(list: &Type) -> (&Type, bool) {
    let is_list_type = |of: &Type| of.get_basic_info().converted_type() == ConvertedType::LIST;
    let is_list = is_list_type(list);
    let Some(repeated) = list.is_group().then(|| list.get_fields().first()).flatten() else {
        return (list, false);
    };
    if !is_list || !repeated.is_group() {
        return if is_list { (repeated, true) } else { (list, false) };
    }
    let is_struct = repeated.get_fields().len() > 1
        || repeated.name() == "array"
        || repeated.name() == format!("{}_tuple", list.name());
    let is_nested = is_list_type(repeated)
        || matches!(repeated.get_fields(), [only] if only.get_basic_info().has_repetition()
            && only.get_basic_info().repetition() == Repetition::REPEATED);
    match is_struct && !is_nested {
        true => (repeated, true),
        false => (repeated.get_fields().first().map_or(repeated, |element| element), false),
    }
}

fn is_fixed(of: Option<&Type>) -> bool {
    of.is_some_and(|of| {
        of.is_primitive() && of.get_physical_type() == PhysicalType::FIXED_LEN_BYTE_ARRAY
    })
}

/// A time in UTC, as the Python client sends it; the number if it is out of the range of years.
fn timestamp(nanoseconds: i128) -> Json {
    let seconds = || (nanoseconds / 1_000_000_000) as f64;
    Timestamp::from_nanosecond(nanoseconds)
        .map_or_else(|_| seconds().into(), |time| time.to_string().into())
}

/// A time of day.
fn time(nanoseconds: i128) -> Json {
    let since = i64::try_from(nanoseconds).ok().map(|since| Span::new().try_nanoseconds(since));
    let time =
        since.and_then(Result::ok).and_then(|since| Time::midnight().checked_add(since).ok());
    time.map_or_else(|| (nanoseconds as f64).into(), |time| time.to_string().into())
}

fn uuid(bytes: &[u8]) -> String {
    let digits = &hexadecimal(bytes)[2..];
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}

/// `0x` and the digits.
fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: &u8| [byte >> 4, byte & 15].map(|at| DIGITS[usize::from(at)] as char);
    ['0', 'x'].into_iter().chain(bytes.iter().flat_map(digits)).collect()
}

/// A string with all digits: a float would have other digits.
fn decimal(value: &Decimal) -> Json {
    if value.data().len() > DECIMAL_BYTES_MAX {
        return hexadecimal(value.data()).into();
    }
    let mut magnitude = value.data().to_vec();
    let is_negative = magnitude.first().is_some_and(|byte| byte & 0x80 != 0);
    if is_negative {
        // The two's complement, from the lowest byte.
        let mut carries = true;
        for byte in magnitude.iter_mut().rev() {
            (*byte, carries) = (!*byte).overflowing_add(carries.into());
        }
    }
    let mut digits = Vec::new();
    while magnitude.iter().any(|byte| *byte != 0) {
        let mut rest = 0;
        for byte in &mut magnitude {
            let dividend = rest << 8 | u16::from(*byte);
            (*byte, rest) = ((dividend / 10) as u8, dividend % 10);
        }
        digits.push(b'0' + rest as u8);
    }
    let scale = usize::try_from(value.scale()).unwrap_or(0);
    digits.resize(digits.len().max(scale + 1), b'0');
    if scale > 0 {
        digits.insert(scale, b'.');
    }
    if is_negative {
        digits.push(b'-');
    }
    digits.iter().rev().map(|digit| *digit as char).collect::<String>().into()
}
