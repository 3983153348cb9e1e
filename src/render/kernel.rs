//! Kernels as values: what they are rendered from, and what they take.

use super::template;
use crate::Result;
use crate::definitions::Definitions;
use crate::engine::{Engine, Way};
use crate::source::Form;
use std::alloc::Layout;
use std::any::{TypeId, type_name};
use std::collections::BTreeMap;

/// The variables of a template.
pub(crate) type Variables = minijinja::Value;

/// A kernel: everything that its CUDA source is rendered from, and the functions in that source. It
/// is cheap to make, to clone and to compare. [`source`](Kernel::source) renders it.
///
/// A primitive makes one like this, in its room:
///
/// ```ignore
/// fn bind<T: Element, Op: Monoid<T>, F: Form<Item = T>>(
///     definitions: &mut Definitions,
/// ) -> Variables {
///     let read = bind_source::<F>(definitions);      // Source, Element
///     let monoid = bind_monoid::<T, Op>(definitions); // T, Operator
///     let arguments = Arguments::<F::Arguments>::cuda();
///     context! { arguments => arguments, ..context! { ..read, ..monoid } }
/// }
///
/// const FOLD: Function<Arguments<F::Arguments>> = Function::new("segmented_fold");
///
/// Kernel::new("segmented.cu.jinja", &[FOLD.name], &bind::<T, Op, F>)
///     .operator::<Op>()
///     .parameter("items", 8)                // `{{ items }}` in the template
///     .engine(Engine::Rows(policy))         // `{{ policy.rows }}`; only for kernels of an engine
/// ```
///
/// `cuda::kernels::Lazy` compiles and loads it when it is first used, and `cuda::launch::launch`
/// launches a [`Function`](super::Function) of it with the arguments that the function has.
#[derive(Clone)]
pub struct Kernel {
    identity: Identity,
    functions: &'static [&'static str],
    operator: &'static str,
    has_fast_paths: bool,
    takes_all_shared_memory: bool,
    bind: &'static Bind,
}

type Bind = dyn Fn(&mut Definitions) -> Variables + Sync;

/// A function that binds, as a value.
#[derive(Clone, Copy)]
pub(crate) struct Binding {
    bind: &'static Bind,
    id: TypeId,
    name: &'static str,
}

impl Binding {
    /// That of a function item.
    pub(crate) fn of<B>(bind: &'static B) -> Binding
    where
        B: Fn(&mut Definitions) -> Variables + Sync + 'static,
    {
        // So its type says all that it does.
        const { assert!(size_of::<B>() == 0, "`bind` captures nothing") };
        Binding {
            bind,
            id: TypeId::of::<B>(),
            name: type_name::<B>(),
        }
    }
}

/// What tells a kernel from all others: those of one identity have one source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    template: &'static str,
    engine: Option<Engine>,
    parameters: Vec<(&'static str, u64)>,
    /// The type of the function that binds, which names all types that it is generic over.
    bound_by: TypeId,
}

impl Kernel {
    /// The kernel of a template in `templates/`, which has these functions. `bind` is a function
    /// item: it adds to the definitions what the template needs, and returns its variables, beside
    /// `policy`, `definitions` and the [parameters](Kernel::parameter).
    pub(crate) fn new<B>(
        template: &'static str,
        functions: &'static [&'static str],
        bind: &'static B,
    ) -> Kernel
    where
        B: Fn(&mut Definitions) -> Variables + Sync + 'static,
    {
        Kernel::bound(template, functions, Binding::of(bind))
    }

    /// As [`new`](Kernel::new). It is compiled once for all types.
    pub(crate) fn bound(
        template: &'static str,
        functions: &'static [&'static str],
        binding: Binding,
    ) -> Kernel {
        Kernel {
            identity: Identity {
                template,
                engine: None,
                parameters: Vec::new(),
                bound_by: binding.id,
            },
            functions,
            operator: binding.name,
            has_fast_paths: false,
            takes_all_shared_memory: false,
            bind: binding.bind,
        }
    }

    /// With an engine, whose policy is the template's variable `policy`.
    #[must_use]
    pub(crate) fn engine(mut self, engine: Engine) -> Kernel {
        self.identity.engine = Some(engine);
        self.has_fast_paths = engine.has_fast_paths();
        self.takes_all_shared_memory = engine.takes_all_shared_memory();
        self
    }

    /// With a number that the template knows by a name. It is part of what the kernel is.
    #[must_use]
    pub(crate) fn parameter(mut self, name: &'static str, value: u64) -> Kernel {
        self.identity.parameters.push((name, value));
        self
    }

    /// With a type that its errors name: the operator, or what else the user wrote.
    #[must_use]
    pub(crate) fn operator<Op: ?Sized>(self) -> Kernel {
        self.named(type_name::<Op>())
    }

    /// With the name of such a type.
    #[must_use]
    pub(crate) fn named(mut self, operator: &'static str) -> Kernel {
        self.operator = operator;
        self
    }

    /// Its blocks may ask for all shared memory that there is. Others have 48 KiB.
    #[must_use]
    pub(crate) fn taking_all_shared_memory(mut self) -> Kernel {
        self.takes_all_shared_memory = true;
        self
    }

    /// The functions of its source.
    pub fn functions(&self) -> &'static [&'static str] {
        self.functions
    }

    /// What its errors name.
    #[cfg(feature = "cuda")]
    pub(crate) fn operator_name(&self) -> &'static str {
        self.operator
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn has_all_shared_memory(&self) -> bool {
        self.takes_all_shared_memory
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Its CUDA C++ source. The text is complete: it includes nothing, and any CUDA compiler takes
    /// it (`--std=c++20 --fmad=false`).
    ///
    /// # Errors
    ///
    /// [`Error::Codegen`](crate::Error::Codegen) if two different structs of one name meet, or
    /// functions call each other in a circle.
    pub fn source(&self) -> Result<String> {
        let mut definitions = Definitions::default();
        let mut bound = (self.bind)(&mut definitions);
        if !self.has_fast_paths {
            definitions.fast_path.clear();
            bound = minijinja::context! { fast_path => (), ..bound };
        }
        let parameters = self.identity.parameters.iter().copied();
        let parameters = Variables::from(parameters.collect::<BTreeMap<_, _>>());
        let context = minijinja::context! {
            version => env!("CARGO_PKG_VERSION"),
            policy => self.identity.engine.map(policy_variables),
            definitions => definitions.text()?,
            ..minijinja::context! { ..parameters, ..bound }
        };
        template::render(self.identity.template, context)
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Kernel");
        shown.field("identity", &self.identity);
        shown.field("operator", &self.operator).finish()
    }
}

/// The variables of both.
pub(crate) fn joined(first: Variables, second: Variables) -> Variables {
    minijinja::context! { ..first, ..second }
}

/// Some texts, and other variables. A function that binds is compiled for each type and operator,
/// and this once.
pub(crate) fn with_texts(texts: &[(&'static str, &str)], others: Variables) -> Variables {
    let texts = texts.iter().copied();
    let texts = texts.map(|(name, text)| (name, Variables::from(text)));
    joined(Variables::from(texts.collect::<BTreeMap<_, _>>()), others)
}

/// What templates name of a source: `Source`, and the type of its items, `Element`.
pub(crate) fn bind_source<F: Form>(definitions: &mut Definitions) -> Variables {
    fn bind(element: String, layout: Layout, source: String) -> Variables {
        minijinja::context! {
            source => source,
            element => element,
            element_bytes => layout.size(),
            element_align => layout.align(),
        }
    }
    use crate::CudaType;
    let element = F::Item::cuda_type(definitions);
    let source = F::cuda(definitions);
    bind(element, Layout::new::<F::Item>(), source)
}

/// The kernels of a primitive for some types, one for each engine: a type that names them, without
/// values.
pub trait Kernels: 'static {
    /// The primitive's name.
    const NAME: &'static str;

    /// The kernel for an engine that the primitive has.
    fn kernel(engine: Engine) -> Kernel;

    /// What is wrong with an engine for it, if anything.
    fn fault(engine: Engine) -> Option<&'static str>;
}

/// An error unless the primitive has the engine, with the policy that it has.
///
/// # Errors
///
/// [`Error::Codegen`](crate::Error::Codegen), which says what the policy has to be.
pub fn check<K: Kernels>(engine: Engine) -> Result<()> {
    check_fault(engine, K::fault(engine))
}

/// An error if something is wrong with an engine.
pub(super) fn check_fault(engine: Engine, fault: Option<&str>) -> Result<()> {
    match fault {
        Some(fault) => Err(crate::Error::Codegen(format!("{engine:?}: {fault}"))),
        None => Ok(()),
    }
}

/// What the templates name of a policy.
fn policy_variables(engine: Engine) -> Variables {
    match engine {
        Engine::Levels => minijinja::context! {},
        Engine::Rows(policy) => minijinja::context! {
            run => policy.run,
            rows => policy.rows,
            batch => policy.batch,
            blocks => policy.blocks,
            warps => policy.warps,
            sums => policy.sums,
            grouped => (policy.way == Way::Grouped).to_string(),
            compact => (policy.way == Way::Compact).to_string(),
            one_by_one => (policy.way == Way::OneByOne).to_string(),
            in_turn => policy.in_turn.to_string(),
        },
        Engine::Block(policy) => minijinja::context! {
            run => policy.run,
            warps => policy.warps,
        },
        Engine::Wave(policy) => minijinja::context! {
            warps => policy.warps,
            rows => policy.rows,
            run => policy.run,
            stages => policy.stages,
            loads => policy.loads,
            wave => policy.wave,
            batch => policy.batch,
            reducers => policy.reducers,
            anywhere => policy.anywhere.to_string(),
            shared_bytes => crate::engine::WavePolicy::SHARED_BYTES,
        },
        Engine::Shares(policy) => minijinja::context! {
            run => policy.run,
            rows => policy.rows,
            batch => policy.batch,
            warps => policy.warps,
            blocks => policy.blocks,
        },
    }
}
