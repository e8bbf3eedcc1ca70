//! Reads `[[experiment.row]]` and `[[experiment.order]]`.

use super::reader::Reader;
use crate::experiment::{Across, RowSpec, Take};
use crate::selection::Selection;
use whimbrel_sim::scenario::ScenarioError;
use whimbrel_sim::scenario::document::Value;
use whimbrel_sim::scenario::fields::{Field, Fields, unknown};
use whimbrel_units::Probability;

const ROW_KEYS: [&str; 15] = [
    "label",
    "where",
    "over",
    "minus",
    "each",
    "across",
    "take",
    "paper",
    "measure",
    "flows",
    "from",
    "to",
    "tolerance",
    "above",
    "below",
];
const ORDER_KEYS: [&str; 8] = [
    "key",
    "greatest_first",
    "where",
    "each",
    "measure",
    "flows",
    "from",
    "to",
];

/// Values of `take`.
const TAKES: [(&str, Take); 2] = [("mean", Take::Mean), ("maximum", Take::Maximum)];

impl Reader<'_> {
    /// Reads all rows and orders.
    pub(super) fn rows(&self) -> Result<Vec<RowSpec>, ScenarioError> {
        let mut rows = Vec::new();
        for (key, keys) in [("row", &ROW_KEYS[..]), ("order", &ORDER_KEYS[..])] {
            let Some(all) = self.fields.get(key) else {
                continue;
            };
            for field in all.list()? {
                let fields = field.fields()?;
                fields.only(keys)?;
                rows.extend(if key == "row" {
                    self.row(&fields)?
                } else {
                    self.order(&fields)?
                });
            }
        }
        if rows
            .iter()
            .all(|row| row.paper.is_none() && row.above.is_none() && row.below.is_none())
        {
            return Err(self.fields.fail(
                "no row has an expected value: give a row the paper's number (`paper = 46`) or a \
                 bound (`above = 0`), or add [[experiment.order]]",
            ));
        }
        Ok(rows)
    }

    /// Reads one `[[experiment.row]]`: one row, or one for each value of `each` or `over`.
    fn row(&self, fields: &Fields<'_>) -> Result<Vec<RowSpec>, ScenarioError> {
        let label = fields.required("label", "\"CERL over NewReno\"")?.text()?;
        let at = self.selection(fields.get("where"))?;
        let number = |key| fields.get(key).map(|field| field.number()).transpose();
        let (above, below) = (number("above")?, number("below")?);
        if let (Some(low), Some(high)) = (above, below)
            && low >= high
        {
            return Err(fields.fail(format!("no number is above {low} and below {high}")));
        }
        check_label(fields)?;
        let base = RowSpec {
            label: label.to_owned(),
            above,
            below,
            across: self.across(fields, &at)?,
            ..self.base(fields)?
        };
        let mut rows = Vec::new();
        for (label, at) in self.each(fields, &base.label, &at)? {
            let row = RowSpec {
                label,
                at: at.clone(),
                ..base.clone()
            };
            match (fields.get("over"), fields.get("minus")) {
                (Some(_), Some(minus)) => {
                    return Err(minus.fail("a row has either `over` or `minus`, not both"));
                }
                (None, None) => rows.push(row),
                (Some(over), None) => {
                    rows.extend(self.others(&over, &at)?.into_iter().map(|(value, other)| {
                        RowSpec {
                            label: row.label.replace("{over}", &value),
                            over: Some(other),
                            ..row.clone()
                        }
                    }));
                }
                (None, Some(minus)) => {
                    rows.extend(self.others(&minus, &at)?.into_iter().map(|(value, other)| {
                        RowSpec {
                            label: row.label.replace("{minus}", &value),
                            minus: Some(other),
                            ..row.clone()
                        }
                    }));
                }
            }
        }
        let Some(field) = fields.get("paper") else {
            return Ok(rows);
        };
        let numbers: Vec<f64> = match field.value() {
            Value::List(_) => field
                .list()?
                .iter()
                .map(Field::number)
                .collect::<Result<_, _>>()?,
            _ => vec![field.number()?],
        };
        if numbers.len() != rows.len() {
            let many = |count, what| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            let (numbers, rows) = (many(numbers.len(), "number"), many(rows.len(), "row"));
            return Err(field.fail(format!("has {numbers} for {rows}")));
        }
        if self.tolerance(fields).is_none() {
            return Err(field.fail(
                "needs a tolerance, of the row or under [experiment]; write e.g. \
                 `tolerance = \"10 %\"`",
            ));
        }
        for (row, number) in rows.iter_mut().zip(numbers) {
            row.paper = Some(number);
        }
        Ok(rows)
    }

    /// Reads one `[[experiment.order]]`: a row for each neighboring pair.
    fn order(&self, fields: &Fields<'_>) -> Result<Vec<RowSpec>, ScenarioError> {
        let key = fields.required("key", "\"flow.controller\"")?;
        let order = fields.required("greatest_first", "[\"cerl\", \"newreno\"]")?;
        let values: Vec<&str> = order
            .list()?
            .iter()
            .map(Field::text)
            .collect::<Result<_, _>>()?;
        if values.len() < 2 {
            return Err(order.fail("an order needs at least two values"));
        }
        let key_name = self.known_key(&key, key.text()?)?;
        for value in &values {
            self.known_value(&order, &key_name, value)?;
        }
        let base = RowSpec {
            above: Some(0.0),
            ..self.base(fields)?
        };
        let mut rows = Vec::new();
        for (suffix, at) in self.each(fields, "", &self.selection(fields.get("where"))?)? {
            for pair in values.windows(2) {
                rows.push(RowSpec {
                    label: format!("{} over {}{suffix}", pair[0], pair[1]),
                    at: at.with(&key_name, pair[0]),
                    over: Some(at.with(&key_name, pair[1])),
                    ..base.clone()
                });
            }
        }
        Ok(rows)
    }

    /// What a row and an order have in common, with the experiment's values as defaults.
    fn base(&self, fields: &Fields<'_>) -> Result<RowSpec, ScenarioError> {
        let (measure, period) = self.measure(fields, "measure")?;
        let tolerance: Probability = self
            .tolerance(fields)
            .map_or(Ok(Probability::ZERO), |field| field.parse())?;
        Ok(RowSpec {
            label: String::new(),
            measure,
            flows: self.flows(fields)?,
            period,
            at: Selection::default(),
            over: None,
            minus: None,
            across: None,
            paper: None,
            tolerance: tolerance.get(),
            above: None,
            below: None,
        })
    }

    /// The tolerance of a row, its own or the experiment's.
    fn tolerance<'f>(&'f self, fields: &'f Fields<'_>) -> Option<Field<'f>> {
        fields.get("tolerance").or(self.fields.get("tolerance"))
    }

    /// The labels and points of the rows that `each` makes.
    fn each(
        &self,
        fields: &Fields<'_>,
        label: &str,
        at: &Selection,
    ) -> Result<Vec<(String, Selection)>, ScenarioError> {
        let Some(field) = fields.get("each") else {
            return Ok(vec![(label.to_owned(), at.clone())]);
        };
        let key = self.known_key(&field, field.text()?)?;
        let chosen = at.values(&key).map(<[String]>::to_vec);
        let placeholder = format!("{{{key}}}");
        let labelled = |value: &String| {
            let label = if label.contains(&placeholder) {
                label.replace(&placeholder, value)
            } else {
                format!(
                    "{label}, {} {value}",
                    key.rsplit('.').next().unwrap_or(&key)
                )
            };
            (label, at.with(&key, value))
        };
        Ok(chosen
            .unwrap_or_else(|| self.values(&key))
            .iter()
            .map(labelled)
            .collect())
    }

    /// `across` and `take`: at which points gains are computed one by one.
    fn across(&self, fields: &Fields<'_>, at: &Selection) -> Result<Option<Across>, ScenarioError> {
        let Some(field) = fields.get("across") else {
            return match fields.get("take") {
                Some(take) => Err(take.fail("needs `across`, the key whose points are combined")),
                None => Ok(None),
            };
        };
        if fields.get("over").is_none() {
            return Err(field.fail("combines gains, so the row needs `over`"));
        }
        let key = self.known_key(&field, field.text()?)?;
        let values = at
            .values(&key)
            .map_or_else(|| self.values(&key), <[String]>::to_vec);
        let take = fields.required("take", "\"mean\"")?;
        let text = take.text()?;
        let found = TAKES.iter().find(|(name, _)| *name == text);
        let (_, take) = found.ok_or_else(|| {
            let names = TAKES.iter().map(|(name, _)| *name);
            take.fail(unknown("value of `take`", text, names))
        })?;
        Ok(Some(Across {
            key,
            values,
            take: *take,
        }))
    }

    /// The points that `over` or `minus` compares with, one set for each value of its key, with
    /// that value. With several keys each has one value: one set, and the value of the first key.
    fn others(
        &self,
        field: &Field<'_>,
        at: &Selection,
    ) -> Result<Vec<(String, Selection)>, ScenarioError> {
        let fields = field.fields()?;
        let choices: Vec<(String, Vec<String>)> = fields
            .all()
            .map(|(key, field)| self.choice(key, &field))
            .collect::<Result<_, _>>()?;
        let Some(((key, values), more)) = choices.split_first() else {
            return Err(field.fail("needs a key, e.g. `{ \"flow.controller\" = \"newreno\" }`"));
        };
        let several = choices.iter().any(|(_, values)| values.len() != 1);
        if !more.is_empty() && several {
            return Err(field.fail("with several keys, each has one value"));
        }
        let other = |value: &String| {
            let first = at.with(key, value);
            let all = more
                .iter()
                .flat_map(|(key, values)| values.iter().map(move |v| (key, v)));
            let other = all.fold(first, |at, (key, value)| at.with(key, value));
            (value.clone(), other)
        };
        Ok(values.iter().map(other).collect())
    }
}

/// Checks that each placeholder in the label of a row is one that the row replaces.
fn check_label(fields: &Fields<'_>) -> Result<(), ScenarioError> {
    let label = fields.required("label", "\"CERL over NewReno\"")?;
    let known = ["over", "minus"].into_iter();
    let mut known: Vec<&str> = known.filter(|key| fields.get(key).is_some()).collect();
    let each = fields.get("each");
    known.extend(each.as_ref().and_then(|field| field.text().ok()));
    for part in label.text()?.split('{').skip(1) {
        let Some((word, _)) = part.split_once('}') else {
            return Err(label.fail("has a `{` without a `}`"));
        };
        if !known.contains(&word) {
            let known = known.iter().copied();
            return Err(label.fail(unknown("placeholder of this row", word, known)));
        }
    }
    Ok(())
}
