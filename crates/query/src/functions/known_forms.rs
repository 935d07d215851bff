//! How a function is called, as far as its signature tells: what `duckdb_functions()` says of its arguments and its result.

use super::plain::Plain;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::logical_expr::{AggregateUDF, ScalarUDF, TypeSignature};
use hushdb_sql::type_names::display_type;
use std::any::Any;

/// One way of calling a function. Types have their names in SQL, `ANY` where all are taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownForm {
    /// What it takes, one by one.
    pub parameters: Vec<String>,
    /// What it takes any number of behind these.
    pub varargs: Option<String>,
    /// What it gives.
    pub result: Option<String>,
}

const ANY: &str = "ANY";

/// The ways of calling a function of single values; none where only a call tells.
pub fn forms_of(function: &ScalarUDF) -> Vec<KnownForm> {
    let inner: &dyn Any = function.inner().as_ref();
    if let Some(plain) = inner.downcast_ref::<Plain>() {
        let shapes = plain.shapes();
        return shapes
            .map(|(takes, gives)| exact(&takes, Some(&gives)))
            .collect();
    }
    let result = |types: &[DataType]| function.return_type(types).ok();
    signature_forms(&function.signature().type_signature, &result)
}

/// The same of an aggregate.
pub fn forms_of_aggregate(function: &AggregateUDF) -> Vec<KnownForm> {
    let result = |types: &[DataType]| function.return_type(types).ok();
    signature_forms(&function.signature().type_signature, &result)
}

fn signature_forms(
    signature: &TypeSignature,
    result: &dyn Fn(&[DataType]) -> Option<DataType>,
) -> Vec<KnownForm> {
    let any = |count| KnownForm {
        parameters: vec![ANY.to_owned(); count],
        ..KnownForm::default()
    };
    match signature {
        TypeSignature::Nullary => vec![exact(&[], result(&[]).as_ref())],
        TypeSignature::Exact(types) => vec![exact(types, result(types).as_ref())],
        TypeSignature::Uniform(count, types) => {
            let each = types.iter().map(|one| vec![one.clone(); *count]);
            each.map(|types| exact(&types, result(&types).as_ref()))
                .collect()
        }
        TypeSignature::Any(count) => vec![any(*count)],
        TypeSignature::VariadicAny => vec![KnownForm {
            varargs: Some(ANY.to_owned()),
            ..KnownForm::default()
        }],
        TypeSignature::OneOf(several) => {
            let forms = several.iter().map(|one| signature_forms(one, result));
            let forms: Vec<_> = forms.collect();
            // All of them, or none: half of what a function takes would look like the whole.
            match forms.iter().any(Vec::is_empty) {
                true => vec![],
                false => forms.concat(),
            }
        }
        TypeSignature::Variadic(_)
        | TypeSignature::UserDefined
        | TypeSignature::Coercible(_)
        | TypeSignature::Comparable(_)
        | TypeSignature::ArraySignature(_)
        | TypeSignature::Numeric(_)
        | TypeSignature::String(_) => vec![],
    }
}

fn exact(takes: &[DataType], gives: Option<&DataType>) -> KnownForm {
    KnownForm {
        parameters: takes.iter().map(called).collect(),
        varargs: None,
        result: gives.map(called),
    }
}

fn called(of: &DataType) -> String {
    display_type(&Field::new("", of.clone(), true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::scalar_functions;
    use datafusion::execution::memory_pool::{MemoryPool, UnboundedMemoryPool};
    use std::sync::Arc;

    #[test]
    fn forms_are_those_of_the_function() {
        let memory: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        let all = scalar_functions(&memory);
        let named = |name: &str| all.iter().find(|one| one.name() == name).unwrap();
        let bar = forms_of(named("bar"));
        let takes: Vec<usize> = bar.iter().map(|form| form.parameters.len()).collect();
        assert_eq!(takes, [3, 4]);
        assert_eq!(bar[0].parameters, ["DOUBLE"; 3]);
        assert!(
            bar.iter()
                .all(|form| form.result.as_deref() == Some("VARCHAR"))
        );
    }

    #[test]
    fn what_a_signature_does_not_tell_is_not_told() {
        let none = |_: &[DataType]| None;
        let exact = TypeSignature::Exact(vec![DataType::Int64]);
        let mixed = TypeSignature::OneOf(vec![exact.clone(), TypeSignature::UserDefined]);
        assert_eq!(signature_forms(&mixed, &none), []);
        let forms = signature_forms(&exact, &|_| Some(DataType::Utf8));
        assert_eq!(forms[0].parameters, ["BIGINT"]);
        assert_eq!(forms[0].result.as_deref(), Some("VARCHAR"));
    }
}
