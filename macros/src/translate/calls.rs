//! Calls of functions and of numbers' methods.

use super::expressions::list;
use super::refused::{no_method, no_option};
use super::{Translator, Value};
use crate::names::NUMBERS;
use proc_macro2::Span;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Error, Expr, ExprCall, ExprMethodCall, Ident, PathArguments, Result, parse_quote};

/// The methods of numbers that exist on both sides, and the number of their arguments, by what has
/// them: a function of the shadow (`src/translated.rs`) takes only that, since a trait of
/// the user's may give others a method of the same name. `kernels/machine/rust.cuh` has each by the
/// same name. One that is added goes also into the list of `macros/src/lib.rs`, and into
/// `tests/programs/generator/`. `crate::math` has the others.
#[rustfmt::skip]
const METHODS: &[(&str, &[(&str, usize)])] = &[
    ("number", &[("min", 1), ("max", 1), ("clamp", 2), ("rem_euclid", 1), ("div_euclid", 1)]),
    ("signed_number", &[("abs", 0), ("signum", 0)]),
    ("integer", &[
        ("wrapping_add", 1), ("wrapping_sub", 1), ("wrapping_mul", 1), ("wrapping_div", 1), ("wrapping_rem", 1),
        ("wrapping_neg", 0), ("wrapping_shl", 1), ("wrapping_shr", 1), ("wrapping_pow", 1),
        ("saturating_add", 1), ("saturating_sub", 1), ("saturating_mul", 1), ("abs_diff", 1), ("pow", 1),
        ("count_ones", 0), ("count_zeros", 0), ("leading_zeros", 0), ("trailing_zeros", 0), ("leading_ones", 0), ("trailing_ones", 0),
        ("rotate_left", 1), ("rotate_right", 1), ("swap_bytes", 0), ("reverse_bits", 0),
    ]),
    ("signed_integer", &[("wrapping_abs", 0), ("unsigned_abs", 0), ("is_positive", 0), ("is_negative", 0)]),
    ("unsigned_integer", &[("is_power_of_two", 0), ("div_ceil", 1)]),
    // To the last bit as in Rust.
    ("float", &[
        ("sqrt", 0), ("mul_add", 2), ("floor", 0), ("ceil", 0), ("round", 0), ("round_ties_even", 0), ("trunc", 0), ("fract", 0),
        ("recip", 0), ("copysign", 1), ("to_bits", 0), ("is_nan", 0), ("is_finite", 0), ("is_infinite", 0), ("is_normal", 0),
        ("is_sign_negative", 0), ("is_sign_positive", 0),
    ]),
];

impl Translator {
    pub(super) fn method(&mut self, call: &mut ExprMethodCall) -> Result<Value> {
        if let Some(turbofish) = &call.turbofish {
            return Err(Error::new_spanned(
                turbofish,
                "methods with type arguments are not translated to CUDA",
            ));
        }
        let count = call.args.len();
        let arguments = std::iter::once(&mut *call.receiver).chain(call.args.iter_mut());
        // Report what is wrong further in first: the error began there.
        let values = self.values(arguments)?;
        let of = self.check_method(&call.method, count)?;
        super::types::wrap(&mut call.receiver, of, None);
        Ok(Value::computed(format!(
            "rust::{}({})",
            call.method,
            list(&values)
        )))
    }

    /// What has a method, if it is one of numbers and has so many arguments.
    fn check_method(&self, method: &Ident, arguments: usize) -> Result<&'static str> {
        let name = method.to_string();
        let known = METHODS.iter().chain([&("float", crate::math::METHODS)]);
        let mut known = known.flat_map(|(of, methods)| methods.iter().map(move |it| (*of, *it)));
        match known.find(|(_, (known, _))| *known == name) {
            Some((of, (_, count))) if count == arguments => Ok(of),
            Some((_, (_, count))) => Err(Error::new(
                method.span(),
                format!("`{name}` takes {count} arguments here"),
            )),
            None => Err(Error::new(method.span(), no_method(&name))),
        }
    }

    pub(super) fn call(&mut self, call: &mut ExprCall) -> Result<Value> {
        let Expr::Path(callee) = &mut *call.func else {
            return Err(Error::new_spanned(
                &call.func,
                "only functions can be called on a GPU: name one that has #[warpfold::function]",
            ));
        };
        if callee.qself.is_some() {
            return Err(Error::new_spanned(
                &*callee,
                "write this call as a method, `x.min(y)`, or by a plain path",
            ));
        }
        let path = &callee.path;
        let names: Vec<String> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        let (last, before) = names.split_last().expect("a path has a last part");
        let is_type = |name: &str| name.starts_with(|c: char| c.is_uppercase());

        if before.is_empty()
            && self.function == last.as_str()
            && self.variable(&self.function).is_none()
            && !self.is_of_a_block(&self.function)
        {
            return Err(Error::new_spanned(
                &*callee,
                "a function that runs on a GPU cannot call itself: write a loop, `for` or `while`",
            ));
        }
        if let [number] = before
            && NUMBERS.contains(&number.as_str())
        {
            return self.associated(call);
        }
        if matches!(last.as_str(), "Some" | "Ok" | "Err" | "None") {
            return Err(no_option(callee));
        }
        if is_type(last) {
            let ty = self.type_hole(path);
            let values = self.values(call.args.iter_mut())?;
            return Ok(Value::computed(format!("{ty}{{{}}}", list(&values))));
        }
        if before.last().is_some_and(|name| is_type(name)) {
            return Err(Error::new_spanned(
                &*callee,
                "functions of a type are not translated to CUDA: write one that stands alone, with #[warpfold::function], and call it by its name",
            ));
        }
        if matches!(names[0].as_str(), "std" | "core" | "alloc") && !before.is_empty() {
            return Err(Error::new_spanned(
                &*callee,
                "functions of the standard library are not translated to CUDA, but numbers' methods are: write `x.max(y)`, or a function with #[warpfold::function]",
            ));
        }
        if before.is_empty() && self.variable(&path.segments[0].ident).is_some() {
            return Err(Error::new_spanned(
                &*callee,
                "a variable cannot be called: there are no closures on a GPU",
            ));
        }
        // The function's path is also that of the type that stands for it. That type has the
        // function once more, with a parameter that tells the shadow's hole its type.
        let hole = self.typed_hole();
        let span = path.span();
        let shadow_call = Ident::new("__call", Span::call_site().located_at(span));
        let mut shadow_path = path.clone();
        shadow_path.segments.push(parse_quote!(#shadow_call));
        callee.path = shadow_path;
        let values = self.values(call.args.iter_mut())?;
        call.args.insert(0, parse_quote!(#hole));
        let name = self.hole(quote!(::warpfold::codegen::translated::name_of(#hole, definitions)));
        Ok(Value::computed(format!("{name}({})", list(&values))))
    }

    /// A call such as `f32::max(a, b)` or `u64::from(x)`.
    fn associated(&mut self, call: &mut ExprCall) -> Result<Value> {
        let Expr::Path(callee) = &*call.func else {
            unreachable!("by the caller")
        };
        let [ty, method] = [0, 1].map(|number| callee.path.segments[number].clone());
        if !matches!(method.arguments, PathArguments::None) {
            return Err(Error::new_spanned(
                &method,
                "type arguments are not translated to CUDA here",
            ));
        }
        let (ty, method) = (ty.ident, method.ident);
        let values = self.values(call.args.iter_mut())?;
        let name = method.to_string();
        let (function, of) = match (name.as_str(), values.len()) {
            ("from", 1) => (format!("cast<{}>", self.type_hole(&ty)), "convertible"),
            ("from_bits", 1) if ty == "f32" || ty == "f64" => ("from_bits".to_owned(), "integer"),
            (_, 0) => return Err(Error::new(method.span(), no_method(&name))),
            (_, count) => {
                let of = self.check_method(&method, count - 1)?;
                (name, of)
            }
        };
        super::types::wrap(&mut call.args[0], of, None);
        Ok(Value::computed(format!(
            "rust::{function}({})",
            list(&values)
        )))
    }
}
