//! Random functions give the same bits in Rust and in their translations to C++.

#[path = "generator/random.rs"]
mod random;
mod words;

use random::Random;
use words::Words;
use words::words;

#[allow(warnings, arithmetic_overflow, clippy::all)]
mod programs {
    include!(concat!(env!("OUT_DIR"), "/programs.rs"));
}

trait Function {
    type Input;
    type Output;
    fn call(input: Self::Input) -> Self::Output;
}

pub(crate) struct Program {
    name: &'static str,
    run: fn(&mut Random) -> (Vec<u64>, Vec<u64>, String),
}

impl Program {
    fn of<F: Function<Input: Words, Output: Words>>(name: &'static str) -> Program {
        Program {
            name,
            run: |random| {
                let input = F::Input::sample(random);
                let (mut a, mut b) = (Vec::new(), Vec::new());
                input.put(&mut a);
                let text = format!("{input:?}");
                F::call(input).put(&mut b);
                (a, b, text)
            },
        }
    }
}

#[test]
fn host() {
    let mut random = Random::new(1);
    let t = std::time::Instant::now();
    for p in programs::all() {
        let tp = std::time::Instant::now();
        let mut outs = std::collections::HashSet::new();
        for _ in 0..64 {
            let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (p.run)(&mut random)));
            match r { Ok(r) => { outs.insert(r.1); }, Err(_) => println!("PANIC {}", p.name) }
        }
        if tp.elapsed().as_millis() > 20 { println!("slow {} {:?}", p.name, tp.elapsed()); }
        if std::env::var("DISTINCT").is_ok() { println!("distinct {}", outs.len()); }
    }
    println!("{:?}", t.elapsed());
}
