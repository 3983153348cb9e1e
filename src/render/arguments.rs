//! What kernels take: structs that are written once, here, and that CUDA gets from them.

use std::alloc::Layout;
use std::marker::PhantomData;

/// Names types, and holds none of them.
pub(crate) type Named<T> = PhantomData<fn() -> T>;

/// A function of a generated source. It takes one argument, a struct `A`.
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

        impl<$($parameter: Copy),*> $crate::render::Arguments for $name<$($parameter),*> {
            fn cuda() -> String {
                let layout = std::alloc::Layout::new::<Self>();
                // Data, in place of code for each type.
                $crate::render::struct_text(stringify!($name), layout, const { &[
                    $($crate::render::Field {
                        name: stringify!($field),
                        cuda: $cuda,
                        layout: std::alloc::Layout::new::<$ty>(),
                    },)*
                ] })
            }
        }
    };
}
pub(crate) use arguments;

/// A field of a struct of arguments.
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// Its type in CUDA.
    pub(crate) cuda: &'static str,
    pub(crate) layout: Layout,
}

/// A struct in CUDA, and the check that it is laid out as on the host.
pub(crate) fn struct_text(name: &str, layout: Layout, fields: &[Field]) -> String {
    let mut text = format!("struct {name} {{\n");
    for Field { name, cuda, .. } in fields {
        text += &format!("    {cuda} {name};\n");
    }
    text += "};\n";
    let mut check = |what: &str, ty: &str, layout: Layout| {
        let (size, align) = (layout.size(), layout.align());
        text += &format!(
            "static_assert(sizeof({what}) == {size} && alignof({ty}) == {align}, \"as on the host\");\n"
        );
    };
    check(name, name, layout);
    // Fields of the same sizes and alignments, in the same order, lie at the same offsets, which
    // NVRTC cannot be asked for.
    for field in fields {
        let what = format!("{name}::{}", field.name);
        check(&what, &format!("decltype({what})"), field.layout);
    }
    text
}

/// Where a workspace lies, and its key: `Workspace` in `kernels/grid/workspace.cuh`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct WorkspaceArguments {
    /// The address of the header.
    pub address: u64,
    /// What the header must fit.
    pub key: u64,
}
