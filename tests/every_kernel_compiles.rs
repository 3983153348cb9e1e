//! NVRTC compiles every kernel of the matrix for every supported architecture.

use crate::support::data::Sample;
use crate::support::matrix::{self, Visitor, for_every_group};
use crate::support::skip;
use rayon::prelude::*;
use warpfold::Monoid;
use warpfold::codegen::{Engine, Primitive, RowPolicy, WavePolicy, source};
use warpfold::cuda::nvrtc::{self, Target};

/// What is compiled for when `WARPFOLD_ARCHITECTURES` does not say: the oldest, one for every
/// engine, and the newest.
const ARCHITECTURES: &str = "75,90,120";

/// Engines, names and texts.
#[derive(Default)]
struct Sources(Vec<(Engine, String, String)>);

impl Visitor for Sources {
    fn visit<T: Sample, Op: Monoid<T>>(&mut self) {
        for primitive in Primitive::ALL {
            let mut engines = vec![Engine::Blelloch];
            if primitive == Primitive::Reduce {
                engines.push(Engine::Tiles(RowPolicy::of_reduce::<T>()));
            } else {
                let [short, long] = [false, true].map(RowPolicy::of_scan::<T>);
                engines.push(Engine::Tiles(short));
                if long != short {
                    engines.push(Engine::Tiles(long));
                }
                engines.extend(WavePolicy::of::<T>().map(Engine::Wave));
            }
            for engine in engines {
                let name = format!(
                    "{} {} {} {engine:?}",
                    primitive.name(),
                    std::any::type_name::<T>(),
                    std::any::type_name::<Op>()
                );
                let text = source::<T, Op>(primitive, engine).unwrap();
                self.0.push((engine, name, text));
            }
        }
    }
}

fn compile(sources: &[(Engine, String, String)]) {
    if let Err(error) = nvrtc::version() {
        return skip("nvrtc", &error.to_string());
    }
    let architectures = std::env::var("WARPFOLD_ARCHITECTURES").unwrap_or(ARCHITECTURES.into());
    let architectures: Vec<u32> = architectures
        .split(',')
        .map(|text| text.trim().parse().expect("a list such as 75,90"))
        .collect();
    let pairs: Vec<_> = sources
        .iter()
        .flat_map(|source| architectures.iter().map(move |a| (source, *a)))
        .filter(|((engine, ..), architecture)| engine.runs_on(*architecture))
        .collect();
    pairs
        .into_par_iter()
        .for_each(|((_, name, source), architecture)| {
            match nvrtc::compile(source, name, Target::Cubin(architecture)) {
                Ok(image) => assert_eq!(&image[..4], b"\x7fELF", "{name} for sm_{architecture}"),
                Err(error) => panic!("{name} for sm_{architecture}: {error}"),
            }
        });
}

macro_rules! compile_test {
    ($group:ident) => {
        #[test]
        fn $group() {
            let mut sources = Sources::default();
            matrix::$group(&mut sources);
            compile(&sources.0);
        }
    };
}

for_every_group!(compile_test);

#[test]
fn ptx_is_the_fallback() {
    let Ok(architectures) = nvrtc::architectures() else {
        return skip("nvrtc", "NVRTC is not there");
    };
    // A GPU that is newer than this NVRTC.
    let target = Target::for_capability(9999).unwrap();
    assert_eq!(
        Some(target),
        architectures.into_iter().max().map(Target::Ptx)
    );
    let source = source::<f32, warpfold::ops::Add>(Primitive::Scan, Engine::Blelloch).unwrap();
    let ptx = nvrtc::compile(&source, "Add", target).unwrap();
    assert!(String::from_utf8_lossy(&ptx).contains(".entry scan_tiles"));
}
