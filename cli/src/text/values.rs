//! Numbers of a type that is known at run time.

use super::Words;
use super::spelling::{Bad, Spelling, trim};
use crate::args::Missing;
use crate::cast;
use crate::number::{BadNumber, DType, Number};
use crate::value::Value;
use warpfold::bytemuck::{self, Zeroable};
use warpfold::codegen::kernels::Bits;
use warpfold::{Order, Sortable};

/// Numbers of one type.
macro_rules! values {
    ($($name:ident $number:ty),*) => {
        #[derive(Debug, Clone, PartialEq)]
        pub(crate) enum Values {
            $($name(Vec<$number>)),*
        }

        $(
            impl From<Vec<$number>> for Values {
                fn from(values: Vec<$number>) -> Values {
                    Values::$name(values)
                }
            }
        )*

        impl Values {
            /// So many zeros.
            pub(crate) fn zeros(dtype: DType, count: usize) -> Values {
                match dtype {
                    $(DType::$name => Values::$name(vec![Zeroable::zeroed(); count])),*
                }
            }

            /// Appends numbers, which are cast if they have another type.
            pub(crate) fn append(&mut self, others: Values) {
                match (&mut *self, others) {
                    $((Values::$name(values), Values::$name(mut others)) => {
                        values.append(&mut others);
                    })*
                    (values, others) => values.append(others.cast(values.dtype())),
                }
            }

            /// Appends the text of the number in a row.
            pub(crate) fn append_text(&self, row: usize, text: &mut Vec<u8>) {
                match self {
                    $(Values::$name(values) => values[row].append_to(text)),*
                }
            }

            /// The numbers as memory holds them.
            pub(crate) fn bytes(&self) -> &[u8] {
                match self {
                    $(Values::$name(values) => bytemuck::cast_slice(values)),*
                }
            }

            /// The memory of the numbers, to be written.
            pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
                match self {
                    $(Values::$name(values) => bytemuck::cast_slice_mut(values)),*
                }
            }

            /// The number in a row, as a result.
            pub(crate) fn value(&self, row: usize) -> Value {
                match self {
                    $(Values::$name(values) => values[row].to_value()),*
                }
            }

            /// The number in a row, as an integer.
            pub(crate) fn integer(&self, row: usize) -> i128 {
                match self {
                    $(Values::$name(values) => values[row].to_integer()),*
                }
            }

            /// The number in a row, as the nearest `f64`.
            pub(crate) fn float(&self, row: usize) -> f64 {
                match self {
                    $(Values::$name(values) => values[row].to_float()),*
                }
            }

            /// The sum of integers.
            pub(crate) fn sum(&self) -> i128 {
                match self {
                    $(Values::$name(values) => {
                        values.iter().map(|value| value.to_integer()).sum()
                    })*
                }
            }

            /// The numbers from the last to the first.
            pub(crate) fn reversed(mut self) -> Values {
                match &mut self {
                    $(Values::$name(values) => values.reverse()),*
                }
                self
            }

            /// The numbers in some rows.
            pub(crate) fn gather(&self, rows: &[usize]) -> Values {
                match self {
                    $(Values::$name(values) => {
                        Values::$name(rows.iter().map(|&row| values[row]).collect())
                    })*
                }
            }

            /// The numbers in their places, and NaN in those that are absent; nothing if the type
            /// has no NaN.
            pub(crate) fn spread(&self, cells: &[Option<usize>]) -> Option<Values> {
                if !self.dtype().is_float() && cells.contains(&None) {
                    return None;
                }
                Some(match self {
                    $(Values::$name(values) => {
                        let nan = <$number as Number>::from_float(f64::NAN);
                        let cells = cells.iter();
                        Values::$name(cells.map(|cell| cell.map_or(nan, |at| values[at])).collect())
                    })*
                })
            }

            /// The ranks of the numbers: integers that grow as an order says.
            pub(crate) fn ranks(&self, order: Order) -> Vec<u64> {
                match self {
                    $(Values::$name(values) => {
                        let map = <$number>::key_map(order);
                        values.iter().map(|&value| map.rank(value).wide() as u64).collect()
                    })*
                }
            }

            /// None of a type.
            pub(crate) fn of(dtype: DType) -> Values {
                match dtype {
                    $(DType::$name => Values::$name(Vec::new())),*
                }
            }

            pub(crate) fn dtype(&self) -> DType {
                match self {
                    $(Values::$name(_) => DType::$name),*
                }
            }

            pub(crate) fn len(&self) -> usize {
                match self {
                    $(Values::$name(values) => values.len()),*
                }
            }

            /// Appends the number that a field stands for, and says whether there is one.
            #[inline]
            pub(super) fn push(&mut self, field: &[u8], spelling: &Spelling) -> Result<bool, Bad> {
                match self {
                    $(Values::$name(values) => {
                        let number = spelling.number::<$number>(field)?;
                        values.extend(number);
                        Ok(number.is_some())
                    })*
                }
            }

            pub(crate) fn truncate(&mut self, length: usize) {
                match self {
                    $(Values::$name(values) => values.truncate(length)),*
                }
            }
        }
    };
}

impl Values {
    /// The numbers in another type.
    pub(crate) fn cast(self, dtype: DType) -> Values {
        if self.dtype() == dtype {
            return self;
        }
        let mut to = Values::zeros(dtype, self.len());
        cast::cast((self.dtype(), self.bytes()), (dtype, to.bytes_mut()));
        to
    }

    /// The numbers in a type; without a copy if they have it.
    pub(crate) fn into_vec<A: Number>(self) -> Vec<A> {
        A::of_values(self.cast(A::DTYPE))
    }

    /// The row of the first number that is infinite or NaN.
    pub(crate) fn first_not_finite(&self) -> Option<usize> {
        match self {
            Values::F16(values) => values.iter().position(|value| !value.is_finite()),
            Values::Bf16(values) => values.iter().position(|value| !value.is_finite()),
            Values::F32(values) => values.iter().position(|value| !value.is_finite()),
            Values::F64(values) => values.iter().position(|value| !value.is_finite()),
            _ => None,
        }
    }

    /// Appends the code of a word, and says whether there is one.
    pub(super) fn push_word(
        &mut self,
        field: &[u8],
        spelling: &Spelling,
        words: &Words,
    ) -> Result<bool, Bad> {
        let is_missing = spelling.missing != Missing::Nan
            && match spelling.keys_are_words {
                true => trim(field).is_empty(),
                false => spelling.is_missing(trim(field)),
            };
        match (is_missing, spelling.missing) {
            (true, Missing::Skip) => return Ok(false),
            (true, _) => return Err(Bad::Missing),
            (false, _) => {}
        }
        let code = words
            .code(field)
            .ok_or(Bad::Number(BadNumber::NotANumber))?;
        if let Values::U64(codes) = self {
            codes.push(code);
        }
        Ok(true)
    }
}

values!(
    U8 u8, I8 i8, U16 u16, I16 i16, U32 u32, I32 i32, U64 u64, I64 i64,
    F16 warpfold::half::f16, Bf16 warpfold::half::bf16, F32 f32, F64 f64
);
