//! Values with the place where they were written, so that a later check can name it.

use super::ScenarioError;
use super::document::Value;
use super::parameter::ParameterValue;
use super::position::Position;
use std::fmt::Display;
use std::str::FromStr;
use whimbrel_net::{Queue, QueueLimit};
use whimbrel_units::{Bytes, Duration, Probability, Rate};

/// Where something was written: file, line and key, or the name of a flag or an argument.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Span {
    place: Option<Position>,
    key: String,
}

impl Span {
    /// A flag or an argument with this name.
    pub fn named(name: &str) -> Self {
        Self {
            place: None,
            key: name.to_owned(),
        }
    }

    /// A key of a file.
    pub(super) fn new(place: &Position, key: &str) -> Self {
        Self {
            place: Some(place.clone()),
            key: key.to_owned(),
        }
    }

    /// An error about what was written here.
    pub fn fail(&self, why: impl Display) -> ScenarioError {
        ScenarioError::at(self.place.as_ref(), &self.key, why)
    }
}

/// A value, the text that stands for it in a scenario file, and where it was written.
#[derive(Debug, Clone)]
pub struct Written<T> {
    /// The value.
    pub value: T,
    source: Value,
    span: Span,
}

impl<T> Written<T> {
    /// The value of a flag or an argument. `source` is the value as a scenario file would have it.
    pub fn new(name: &str, value: T, source: impl Into<Value>) -> Self {
        Self {
            value,
            source: source.into(),
            span: Span::named(name),
        }
    }

    /// A value that was written at `span`.
    pub(super) fn at(span: Span, value: T, source: Value) -> Self {
        Self {
            value,
            source,
            span,
        }
    }

    /// The value of a flag or an argument that was computed.
    pub fn of(name: &str, value: T) -> Self
    where
        T: Clone + Into<Value>,
    {
        Self::new(name, value.clone(), value)
    }

    /// Reads the text of a flag or an argument.
    ///
    /// # Errors
    /// If the text is not a `T`; the error names the flag.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError>
    where
        T: FromStr,
        T::Err: Display,
    {
        let value = text.parse().map_err(|why| Span::named(name).fail(why))?;
        Ok(Self::new(name, value, text.trim()))
    }

    /// An error about this value.
    pub fn fail(&self, why: impl Display) -> ScenarioError {
        self.span.fail(why)
    }

    /// Another value that was written here with the same text.
    pub fn with<U>(&self, value: U) -> Written<U> {
        Written {
            value,
            source: self.source.clone(),
            span: self.span.clone(),
        }
    }

    /// Another value that was written here, and how a scenario file would have it.
    pub fn with_source<U>(&self, value: U, source: impl Into<Value>) -> Written<U> {
        Written {
            value,
            source: source.into(),
            span: self.span.clone(),
        }
    }

    /// Another value that follows from what was written here.
    pub fn computed<U: Clone + Into<Value>>(&self, value: U) -> Written<U> {
        self.with_source(value.clone(), value)
    }

    /// The value as a scenario file has it.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// The text of the value, as written.
    pub fn text(&self) -> String {
        self.source.to_string()
    }

    /// The value as a parameter of a sweep.
    pub(super) fn parameter(&self) -> ParameterValue {
        ParameterValue::from(&self.source)
    }
}

/// The shortest text that reads as the same value: rounded for a reader if that is exact.
fn exact<T>(value: &T, in_base_units: impl Fn(&T) -> String) -> String
where
    T: Display + FromStr + PartialEq,
{
    let short = value.to_string();
    match short.parse::<T>() {
        Ok(read) if read == *value => short,
        _ => in_base_units(value),
    }
}

/// A number, or else a percentage, that reads as the same probability.
fn all_digits(probability: &Probability) -> String {
    let number = probability.get().to_string();
    let percent = probability.get() * 100.0;
    // The product is rounded, so that the quotient may be the next number.
    let near = [percent, percent.next_down(), percent.next_up()];
    let percents = near.into_iter().map(|percent| format!("{percent} %"));
    let mut texts = std::iter::once(number.clone()).chain(percents);
    let same = |text: &String| text.parse() == Ok(*probability);
    texts.find(same).unwrap_or(number)
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<bool> for Value {
    fn from(on: bool) -> Self {
        Self::Switch(on)
    }
}

impl From<Duration> for Value {
    fn from(time: Duration) -> Self {
        Self::Text(exact(&time, |time| format!("{} ns", time.as_nanos())))
    }
}

impl From<Rate> for Value {
    fn from(rate: Rate) -> Self {
        let bits = |rate: &Rate| format!("{} bit/s", rate.as_bits_per_sec());
        Self::Text(exact(&rate, bits))
    }
}

impl From<Bytes> for Value {
    fn from(size: Bytes) -> Self {
        Self::Text(exact(&size, |size| format!("{} B", size.get())))
    }
}

impl From<Probability> for Value {
    fn from(probability: Probability) -> Self {
        Self::Text(exact(&probability, all_digits))
    }
}

impl From<Queue> for Value {
    fn from(queue: Queue) -> Self {
        match queue {
            Queue::Bdp(multiple) => Self::Text(format!("{multiple} bdp")),
            Queue::Fixed(QueueLimit::Unlimited) => "unlimited".into(),
            Queue::Fixed(QueueLimit::Packets(packets)) => Self::Text(format!("{packets} packets")),
            Queue::Fixed(QueueLimit::Bytes(size)) => size.into(),
        }
    }
}

impl<T: Into<Self>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        Self::list(items.into_iter().map(Into::into))
    }
}
