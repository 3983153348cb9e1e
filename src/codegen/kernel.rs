//! Kernels as types: what they are generated from, and what they take.

use super::{Definitions, Engine};
use crate::Result;
use crate::source::Form;
use std::marker::PhantomData;

/// Names types, and holds none of them.
pub(crate) type Named<T> = PhantomData<fn() -> T>;

/// The kernels of a primitive, for one form of source and one operator. A type that implements this
/// is a request: it has no values.
pub trait Kernels: 'static {
    /// The primitive's name. Its templates lie in `src/primitives/NAME/`.
    const NAME: &'static str;

    /// What is read.
    type Form: Form;

    /// Adds what the request needs to `definitions`; returns what the templates name, apart from
    /// what every template can name.
    fn bind(engine: Engine, definitions: &mut Definitions) -> minijinja::Value;

    /// What is wrong with an engine for this request, if anything.
    fn fault(engine: Engine) -> Option<&'static str>;

    /// The functions of the source that an engine has.
    fn functions(engine: Engine) -> Vec<&'static str>;

    /// Whether the functions of an engine may ask for all shared memory that a block can have.
    fn takes_all_shared_memory(engine: Engine) -> bool {
        matches!(engine, Engine::Wave(_))
    }

    /// What errors call the request.
    fn operator() -> &'static str;
}

/// An error unless the primitive has the engine, with the policy that it has.
///
/// # Errors
///
/// [`Error::Codegen`](crate::Error::Codegen), which says what the policy has to be.
pub fn check<K: Kernels>(engine: Engine) -> Result<()> {
    match K::fault(engine) {
        None => Ok(()),
        Some(fault) => Err(crate::Error::Codegen(format!("{engine:?}: {fault}"))),
    }
}

/// A function of a generated source, which takes one argument: a struct `A`.
#[derive(Debug)]
pub struct Function<A> {
    /// Its name in CUDA.
    pub name: &'static str,
    arguments: PhantomData<fn(A)>,
}

impl<A: Arguments> Function<A> {
    /// The function of a name.
    pub const fn new(name: &'static str) -> Function<A> {
        Function {
            name,
            arguments: PhantomData,
        }
    }
}

/// What a kernel takes: a struct that is written once, here, and from which the one in CUDA is
/// made. The macro `arguments!` implements it.
pub trait Arguments: Copy {
    /// The struct in CUDA, and the check that it is laid out as this one.
    fn cuda() -> String;
}

/// Declares the struct of a kernel's arguments. Each field has its type in CUDA beside it. There
/// `Source` is the type of what is read, `Element` that of its items, and `T` that of its
/// accumulators.
macro_rules! arguments {
    (
        $(#[$doc:meta])*
        pub struct $name:ident<$($parameter:ident),*> {
            $($(#[$field_doc:meta])* pub $field:ident: $ty:ty => $cuda:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        #[repr(C)]
        pub struct $name<$($parameter),*> {
            $($(#[$field_doc])* pub $field: $ty,)*
        }

        impl<$($parameter: Copy),*> $crate::codegen::Arguments for $name<$($parameter),*> {
            fn cuda() -> String {
                let name = stringify!($name);
                let mut text = format!("struct {name} {{\n");
                $(text += concat!("    ", $cuda, " ", stringify!($field), ";\n");)*
                text += "};\n";
                let (size, align) = (size_of::<Self>(), align_of::<Self>());
                text += &format!("static_assert(sizeof({name}) == {size} && alignof({name}) == {align}, \"as on the host\");\n");
                // Fields of the same sizes and alignments, in the same order, lie at the same
                // offsets, which NVRTC cannot be asked for.
                $(
                    let (field, size, align) = (stringify!($field), size_of::<$ty>(), align_of::<$ty>());
                    text += &format!("static_assert(sizeof({name}::{field}) == {size} && alignof(decltype({name}::{field})) == {align}, \"as on the host\");\n");
                )*
                text
            }
        }
    };
}
pub(crate) use arguments;

/// Where a workspace lies, and its key: `Workspace` in `kernels/grid/workspace.cuh`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct WorkspaceArguments {
    /// The address of the header.
    pub address: u64,
    /// What the header must fit.
    pub key: u64,
}
