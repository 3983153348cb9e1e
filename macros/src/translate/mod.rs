//! From a Rust function to the text of a CUDA function of the same meaning.
//!
//! A macro sees the program before its types are known. C++ must name types where Rust infers them.
//! So the text has *holes*, and is completed when the program runs. With it comes the *shadow*: a
//! copy of the function's body that is never called. In the shadow each expression whose type is
//! needed goes through `typed(expression, hole)`, so that Rust's own inference gives the hole that
//! type. The shadow is also where Rust checks what a macro cannot: that `a + b` adds numbers, and
//! that a called function has been translated too. Constants fill holes with their values.
//!
//! C++ has no blocks with values. One expression of Rust becomes statements that prepare a value,
//! and the value (`Translator::value`). All arithmetic is done by the functions of
//! `kernels/machine/rust.cuh`, which mean what Rust's operators mean.

mod calls;
mod control;
mod expressions;
mod literals;
mod patterns;
mod refused;
mod types;

use crate::names::cuda_variable;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use std::collections::{HashMap, HashSet};
use syn::spanned::Spanned;
use syn::{
    Attribute, Block, Error, Expr, Ident, Item, Local, Pat, Result, Signature, Stmt, UseTree,
    parse_quote,
};

pub(crate) use types::check_type;

/// What separates the text of holes, in pairs: no source has it.
const MARK: char = '\u{1}';

/// A function in CUDA C++, once its holes are filled.
pub(crate) struct Translation {
    /// The text after the name: `(f32 x) { … }`, and the type before it.
    pub(crate) text: Text,
    /// `PhantomData` that the shadow gives types to.
    typed_holes: Vec<Ident>,
    /// The closure that is never called.
    shadow: TokenStream,
}

/// Pieces of text, and between each two of them an expression of type `String`.
pub(crate) struct Text {
    pieces: Vec<String>,
    holes: Vec<TokenStream>,
}

/// A value in C++: an expression that can be put anywhere.
struct Value {
    text: String,
    /// Whether nothing that is computed in between can change it.
    is_stable: bool,
}

impl Value {
    fn stable(text: impl Into<String>) -> Value {
        Value {
            text: text.into(),
            is_stable: true,
        }
    }

    fn computed(text: impl Into<String>) -> Value {
        Value {
            text: text.into(),
            is_stable: false,
        }
    }
}

/// What becomes of the value of a block.
#[derive(Clone)]
enum Target {
    Return,
    Variable(String),
    Nothing,
}

/// What a name in Rust stands for in C++.
#[derive(Clone)]
struct Variable {
    name: String,
    /// Names from different expansions of `macro_rules!` are different names.
    context: String,
    text: String,
    is_mutable: bool,
    /// Whether [`Translator::is_fixed`] is true of its value.
    is_fixed: bool,
}

/// Constants and imports of a block.
struct Items {
    all: Vec<Item>,
    /// The number of scopes around the block. They hide the variables of these.
    outer_scopes: usize,
}

struct Translator {
    function: Ident,
    holes: Vec<TokenStream>,
    typed_holes: Vec<Ident>,
    /// Constants and imports of each block around the current place, which holes may name.
    items: Vec<Items>,
    scopes: Vec<Vec<Variable>>,
    names: HashSet<String>,
    lines: String,
    depth: usize,
    loops: usize,
    errors: Vec<Error>,
}

/// Translates a function. Its body is not changed.
pub(crate) fn translate(
    attributes: &[Attribute],
    signature: &Signature,
    body: &Block,
) -> Result<Translation> {
    let mut translator = Translator {
        function: signature.ident.clone(),
        holes: Vec::new(),
        typed_holes: Vec::new(),
        items: Vec::new(),
        scopes: vec![Vec::new()],
        names: HashSet::new(),
        lines: String::new(),
        depth: 1,
        loops: 0,
        errors: Vec::new(),
    };
    refused::no_configuration(signature, body)?;
    translator.function(is_called(attributes), signature, body)
}

/// Whether a function is to be called, and not inlined: for what is rare, and would be in the way.
fn is_called(attributes: &[Attribute]) -> bool {
    let never: Ident = parse_quote!(never);
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        path.is_ident("inline")
            && attribute
                .parse_args::<Ident>()
                .is_ok_and(|word| word == never)
    })
}

impl Translation {
    /// Statements and an expression that gives the text, where `definitions` and `name` are in
    /// scope.
    pub(crate) fn to_expression(&self) -> TokenStream {
        let Translation {
            text: Text { pieces, holes },
            typed_holes,
            shadow,
        } = self;
        quote! {
            #(let #typed_holes = ::core::marker::PhantomData;)*
            let _ = #shadow;
            ::warpfold::codegen::translated::text(&[#(#pieces),*], &[#(#holes),*])
        }
    }
}

impl Translator {
    fn function(
        &mut self,
        is_called: bool,
        signature: &Signature,
        body: &Block,
    ) -> Result<Translation> {
        let parameters = types::check_signature(signature)?;
        let output = types::output(signature)?;
        let inlining = if is_called {
            "__noinline__"
        } else {
            "__forceinline__"
        };
        let mut text = format!("__device__ {inlining} ");
        // Report a type that has no values in CUDA once only.
        let mut known: HashMap<String, String> = HashMap::new();
        let mut hole_of = |this: &mut Self, ty: &syn::Type| {
            let hole = known.entry(ty.to_token_stream().to_string());
            hole.or_insert_with(|| this.type_hole(ty)).clone()
        };
        text += &hole_of(self, output);
        text += " ";
        text += &self.hole(quote!(::std::string::String::from(name)));
        text += "(";
        let mut closure_parameters = Vec::new();
        for (number, (pattern, ty)) in parameters.iter().enumerate() {
            if number > 0 {
                text += ", ";
            }
            text += &hole_of(self, ty);
            text += " ";
            match pattern {
                Pat::Ident(pattern) if pattern.subpat.is_none() => {
                    let is_mutable = pattern.mutability.is_some();
                    text += &self.declare(&pattern.ident, is_mutable);
                }
                pattern => {
                    let name = self.fresh("argument");
                    self.bind(pattern, &name)?;
                    text += &name;
                }
            }
            closure_parameters.push(quote!(#pattern: #ty));
        }
        text += ") {\n";
        let mut body = body.clone();
        self.block(&mut body, &Target::Return);
        if let Some(error) = self.errors.drain(..).reduce(|mut all, error| {
            all.combine(error);
            all
        }) {
            return Err(error);
        }
        text += &self.lines;
        text += "}";
        Ok(Translation {
            text: self.split(&text),
            typed_holes: std::mem::take(&mut self.typed_holes),
            shadow: quote!(|#(#closure_parameters),*| -> #output #body),
        })
    }

    /// Cuts a text at its holes.
    fn split(&self, text: &str) -> Text {
        let (mut pieces, mut holes) = (Vec::new(), Vec::new());
        for (number, part) in text.split(MARK).enumerate() {
            if number % 2 == 0 {
                pieces.push(part.to_owned());
            } else {
                let hole: usize = part.parse().expect("between two marks is a number");
                holes.push(self.holes[hole].clone());
            }
        }
        Text { pieces, holes }
    }

    // ---- holes ----

    /// A hole that an expression of type `String` fills. It means what it does at the current
    /// place.
    fn hole(&mut self, mut filling: TokenStream) -> String {
        for items in self.items.iter().rev().map(|items| &items.all) {
            if !items.is_empty() {
                filling = quote!({ #(#items)* #filling });
            }
        }
        self.holes.push(filling);
        format!("{MARK}{}{MARK}", self.holes.len() - 1)
    }

    /// The CUDA type of a type that is written down.
    fn type_hole(&mut self, ty: &impl ToTokens) -> String {
        self.hole(quote!(<#ty as ::warpfold::CudaType>::cuda_type(definitions)))
    }

    /// A constant's value.
    fn constant_hole(&mut self, constant: &impl ToTokens) -> String {
        let span = located_at(constant);
        self.hole(
            quote_spanned!(span=> ::warpfold::CudaType::cuda_value(&(#constant), definitions)),
        )
    }

    /// A `PhantomData` whose type the shadow decides.
    fn typed_hole(&mut self) -> Ident {
        let ident = Ident::new(
            &format!("__type_{}", self.typed_holes.len()),
            Span::mixed_site(),
        );
        self.typed_holes.push(ident.clone());
        ident
    }

    /// Has the shadow tell the type of an expression; returns the CUDA type.
    fn type_of(&mut self, expression: &mut Expr) -> String {
        let hole = self.typed_hole();
        let span = located_at(expression);
        types::wrap(expression, "typed", Some(&hole));
        self.hole(
            quote_spanned!(span=> ::warpfold::codegen::translated::type_of(#hole, definitions)),
        )
    }

    // ---- names ----

    /// A name that no other variable of the function has.
    fn fresh(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut number = 1;
        while !self.names.insert(name.clone()) {
            number += 1;
            name = format!("{base}_{number}");
        }
        name
    }

    /// A new variable; what had the name before is shadowed.
    fn declare(&mut self, ident: &Ident, is_mutable: bool) -> String {
        let text = self.fresh(&cuda_variable(ident));
        self.alias(ident, text.clone(), is_mutable);
        text
    }

    /// Declares all names of a pattern.
    fn declare_names(&mut self, pattern: &Pat) {
        match pattern {
            Pat::Ident(name) => {
                self.declare(&name.ident, true);
            }
            Pat::Type(typed) => self.declare_names(&typed.pat),
            Pat::Paren(inner) => self.declare_names(&inner.pat),
            Pat::Tuple(tuple) => tuple.elems.iter().for_each(|part| self.declare_names(part)),
            Pat::TupleStruct(tuple) => tuple.elems.iter().for_each(|part| self.declare_names(part)),
            Pat::Struct(fields) => fields
                .fields
                .iter()
                .for_each(|field| self.declare_names(&field.pat)),
            _ => {}
        }
    }

    /// Another name for what is there already.
    fn alias(&mut self, ident: &Ident, text: String, is_mutable: bool) {
        let scope = self.scopes.last_mut().expect("a function is a scope");
        scope.push(Variable {
            name: ident.to_string(),
            context: context(ident),
            text,
            is_mutable,
            is_fixed: false,
        });
    }

    /// Notes that the value of a variable of this scope is fixed.
    fn fix(&mut self, ident: &Ident) {
        let scope = self.scopes.last_mut().expect("a function is a scope");
        if let Some(variable) = scope.iter_mut().rfind(|variable| *ident == variable.name) {
            variable.is_fixed = !variable.is_mutable;
        }
    }

    /// The variable that a name stands for here: the last one of this name, and if there is one, of
    /// the same expansion. A constant or an import of a block hides those around the block.
    fn variable(&self, ident: &Ident) -> Option<&Variable> {
        let (scope, variable) = self.nearest_variable(ident)?;
        let is_hidden = |items: &Items| scope < items.outer_scopes && items.define(ident);
        (!self.items.iter().any(is_hidden)).then_some(variable)
    }

    /// The variable of that name, whatever blocks define, and the number of its scope.
    fn nearest_variable(&self, ident: &Ident) -> Option<(usize, &Variable)> {
        let all = || {
            let scopes = self.scopes.iter().enumerate().rev();
            scopes
                .flat_map(|(number, scope)| scope.iter().rev().map(move |known| (number, known)))
                .filter(|(_, known)| *ident == known.name)
        };
        let context = context(ident);
        all()
            .find(|(_, known)| known.context == context)
            .or_else(|| all().next())
    }

    /// Whether a block around this place has a constant or an import of a name.
    fn is_of_a_block(&self, ident: &Ident) -> bool {
        self.items.iter().any(|items| items.define(ident))
    }

    /// Whether all that a module has was imported between a variable and this place. Then only Rust
    /// knows whether the name is that of a constant.
    fn may_be_imported(&self, ident: &Ident) -> bool {
        let Some((scope, _)) = self.nearest_variable(ident) else {
            return false;
        };
        let may_define = |items: &Items| scope < items.outer_scopes && items.import_all();
        self.items.iter().any(may_define)
    }

    fn in_scope<R>(&mut self, inside: impl FnOnce(&mut Self) -> R) -> R {
        self.scopes.push(Vec::new());
        let result = inside(self);
        self.scopes.pop();
        result
    }

    // ---- statements of C++ ----

    fn line(&mut self, text: &str) {
        self.lines += &"    ".repeat(self.depth);
        self.lines += text;
        self.lines.push('\n');
    }

    /// Lines within braces; `head` comes before them.
    fn braces<R>(&mut self, head: &str, inside: impl FnOnce(&mut Self) -> R) -> R {
        self.line(&format!("{head}{{"));
        self.depth += 1;
        let result = self.in_scope(inside);
        self.depth -= 1;
        self.line("}");
        result
    }

    /// The lines that something comes to, without adding them.
    fn aside<R>(&mut self, inside: impl FnOnce(&mut Self) -> R) -> (String, R) {
        let before = std::mem::take(&mut self.lines);
        let result = inside(self);
        (std::mem::replace(&mut self.lines, before), result)
    }

    /// A value that will be named more than once, or must not change: the same if it is stable,
    /// otherwise a new constant.
    fn keep(&mut self, value: Value, name: &str) -> String {
        if value.is_stable {
            return value.text;
        }
        let name = self.fresh(name);
        self.line(&format!("const auto {name} = {};", value.text));
        name
    }

    fn give(&mut self, value: Value, target: &Target) {
        match target {
            Target::Return => self.line(&format!("return {};", value.text)),
            Target::Variable(name) => self.line(&format!("{name} = {};", value.text)),
            Target::Nothing => self.line(&format!("(void){};", value.text)),
        }
    }

    // ---- statements of Rust ----

    /// The statements of a block. Each that cannot be translated adds an error; the others are
    /// checked as well.
    fn block(&mut self, block: &mut Block, target: &Target) {
        // They are known from the start of the block on.
        let is_item = |item: &Item| matches!(item, Item::Const(_) | Item::Use(_));
        let items = block.stmts.iter().filter_map(|statement| match statement {
            Stmt::Item(item) if is_item(item) => Some(item.clone()),
            _ => None,
        });
        self.items.push(Items {
            all: items.collect(),
            outer_scopes: self.scopes.len(),
        });
        self.scopes.push(Vec::new());
        let count = block.stmts.len();
        for (number, statement) in block.stmts.iter_mut().enumerate() {
            let is_tail = number + 1 == count;
            if let Err(error) = self.statement(statement, is_tail, target) {
                self.errors.push(error);
                // Declare the name anyway, so that its uses are no further errors.
                if let Stmt::Local(local) = statement {
                    self.declare_names(&local.pat);
                }
            }
        }
        self.items.pop();
        self.scopes.pop();
    }

    fn statement(&mut self, statement: &mut Stmt, is_tail: bool, target: &Target) -> Result<()> {
        match statement {
            Stmt::Local(local) => self.local(local),
            Stmt::Expr(expression, None) if is_tail => self.give_to(expression, target),
            Stmt::Expr(expression, _) => self.give_to(expression, &Target::Nothing),
            Stmt::Item(Item::Const(_) | Item::Use(_)) => Ok(()),
            Stmt::Item(item) => Err(Error::new_spanned(
                item,
                "only constants and imports can stand inside of a function that runs on a GPU: move this out of it",
            )),
            Stmt::Macro(statement) => Err(refused::no_macro(&statement.mac)),
        }
    }

    fn local(&mut self, local: &mut Local) -> Result<()> {
        let Some(init) = &mut local.init else {
            return Err(Error::new_spanned(
                &*local,
                "a variable needs a value from the start: write `let x = if … { … } else { … };`, or give it one that is replaced later",
            ));
        };
        if let Some((_, diverging)) = &init.diverge {
            return Err(Error::new_spanned(
                diverging,
                "`let … else` is not translated to CUDA: write `if … { return …; }` before a plain `let`",
            ));
        }
        let (pattern, ty) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(&*typed.ty)),
            pattern => (pattern, None),
        };
        let ty = ty.filter(|ty| !matches!(ty, syn::Type::Infer(_)));
        if let Some(ty) = ty {
            check_type(ty)?;
        }
        let Pat::Ident(name) = pattern else {
            let value = self.value(&mut init.expr)?;
            let value = self.keep(value, "parts");
            return self.bind(pattern, &value);
        };
        if let Some(by_ref) = &name.by_ref {
            return Err(refused::no_reference(by_ref));
        }
        if let Some((_, subpattern)) = &name.subpat {
            return Err(Error::new_spanned(
                subpattern,
                "write two `let`s, one for the whole and one for its parts",
            ));
        }
        let is_mutable = name.mutability.is_some();
        if control::has_blocks(&init.expr) {
            // The name is in scope only after the statement, but the variable stands before it.
            let (lines, result) = self.aside(|this| -> Result<String> {
                let variable = this.fresh(&cuda_variable(&name.ident));
                this.in_scope(|this| {
                    this.give_to(&mut init.expr, &Target::Variable(variable.clone()))
                })?;
                Ok(variable)
            });
            let variable = result?;
            let type_name = match ty {
                Some(ty) => self.type_hole(ty),
                None => self.type_of(&mut init.expr),
            };
            self.line(&format!("{type_name} {variable};"));
            self.lines += &lines;
            self.alias(&name.ident, variable, is_mutable);
            return Ok(());
        }
        let is_fixed = self.is_fixed(&init.expr);
        let value = self.value(&mut init.expr)?;
        let type_name = ty.map_or("auto".to_owned(), |ty| self.type_hole(ty));
        let variable = self.declare(&name.ident, is_mutable);
        let constant = if is_mutable { "" } else { "const " };
        self.line(&format!(
            "{constant}{type_name} {variable} = {};",
            value.text
        ));
        if is_fixed {
            self.fix(&name.ident);
        }
        Ok(())
    }
}

impl Items {
    /// Whether one of them has this name.
    fn define(&self, ident: &Ident) -> bool {
        self.all.iter().any(|item| match item {
            Item::Const(constant) => constant.ident == *ident,
            Item::Use(import) => imports(&import.tree).any(|name| name == Some(ident)),
            _ => false,
        })
    }

    /// Whether one of them imports all that a module has.
    fn import_all(&self) -> bool {
        self.all.iter().any(|item| match item {
            Item::Use(import) => imports(&import.tree).any(|name| name.is_none()),
            _ => false,
        })
    }
}

/// The names that an import defines; `None` for all of a module.
fn imports(tree: &UseTree) -> Box<dyn Iterator<Item = Option<&Ident>> + '_> {
    match tree {
        UseTree::Path(path) => imports(&path.tree),
        UseTree::Name(name) => Box::new(std::iter::once(Some(&name.ident))),
        UseTree::Rename(rename) => Box::new(std::iter::once(Some(&rename.rename))),
        UseTree::Glob(_) => Box::new(std::iter::once(None)),
        UseTree::Group(group) => Box::new(group.items.iter().flat_map(imports)),
    }
}

/// Which expansion of `macro_rules!` a name comes from. Only how a compiler shows a place tells:
/// `#4 bytes(10..11)`. Where it tells nothing, all names come from one.
fn context(ident: &Ident) -> String {
    let place = format!("{:?}", ident.span());
    let number = place.split(' ').next().filter(|word| word.starts_with('#'));
    number.unwrap_or_default().to_owned()
}

/// Errors about generated code point to where its source was written. Its names are still those of
/// the macro.
fn located_at(tokens: &impl ToTokens) -> Span {
    Span::call_site().located_at(tokens.span())
}
