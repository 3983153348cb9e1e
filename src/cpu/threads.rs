//! Tasks for all threads of rayon's current pool.
//!
//! What rayon compiles for a call is compiled once here, for all element types and operators:
//! iterators of rayon would be compiled for each.

use super::mode::in_rust_mode;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Calls `work` once on each of so many threads. It runs in Rust's mode of floats. A panic goes on
/// in the caller, when all threads are done.
pub(crate) fn on_threads(threads: usize, work: &(dyn Fn() + Sync)) {
    if threads <= 1 {
        return in_rust_mode(work);
    }
    rayon::scope(|scope| {
        (0..threads).for_each(|_| scope.spawn(|_| in_rust_mode(work)));
    });
}

/// Calls `task` for every number below `count`, in any order, each thread with a worker of its own.
pub(crate) fn for_each<W>(
    count: usize,
    worker: &(dyn Fn() -> W + Sync),
    task: &(dyn Fn(&mut W, usize) + Sync),
) {
    for_each_then(count, worker, task, &drop);
}

/// As [`for_each`]. Each thread gives its worker to `end` when no task is left.
pub(crate) fn for_each_then<W>(
    count: usize,
    worker: &(dyn Fn() -> W + Sync),
    task: &(dyn Fn(&mut W, usize) + Sync),
    end: &(dyn Fn(W) + Sync),
) {
    share(count, &|numbers| {
        let mut worker = worker();
        while let Some(number) = numbers.take() {
            task(&mut worker, number);
        }
        end(worker);
    });
}

/// What `task` gives for the numbers below `count`, in their order. It is called in any order, each
/// thread with a worker of its own.
pub(crate) fn map<W, R: Send>(
    count: usize,
    worker: &(dyn Fn() -> W + Sync),
    task: &(dyn Fn(&mut W, usize) -> R + Sync),
) -> Vec<R> {
    let results = try_map(count, worker, &|worker, number| {
        Ok::<R, Infallible>(task(worker, number))
    });
    match results {
        Ok(results) => results,
        Err(never) => match never {},
    }
}

/// As [`map`], for tasks that may fail: one of their errors is returned, and tasks that have not
/// begun are left out.
pub(crate) fn try_map<W, R: Send, E: Send>(
    count: usize,
    worker: &(dyn Fn() -> W + Sync),
    task: &(dyn Fn(&mut W, usize) -> Result<R, E> + Sync),
) -> Result<Vec<R>, E> {
    let results: Vec<Option<R>> = (0..count).map(|_| None).collect();
    let (results, failure) = (Mutex::new(results), Mutex::new(None));
    share(count, &|numbers| {
        let mut worker = worker();
        while let Some(number) = numbers.take() {
            match task(&mut worker, number) {
                Ok(result) => lock(&results)[number] = Some(result),
                Err(error) => {
                    numbers.leave_out_the_rest();
                    *lock(&failure) = Some(error);
                }
            }
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => {
            let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
            let all = results.into_iter().flatten().collect::<Vec<R>>();
            debug_assert_eq!(all.len(), count);
            Ok(all)
        }
    }
}

/// What `merge` makes of what `task` gives for the numbers below `count`. It is called in any
/// order, and each thread merges its own first: so the order may not show.
pub(crate) fn reduce<R: Send>(
    count: usize,
    task: &(dyn Fn(usize) -> R + Sync),
    merge: &(dyn Fn(R, R) -> R + Sync),
) -> Option<R> {
    let all = Mutex::new(None);
    share(count, &|numbers| {
        let mut own: Option<R> = None;
        while let Some(number) = numbers.take() {
            let next = task(number);
            own = Some(match own {
                Some(before) => merge(before, next),
                None => next,
            });
        }
        let mut all = lock(&all);
        *all = match (all.take(), own) {
            (Some(others), Some(own)) => Some(merge(others, own)),
            (others, own) => others.or(own),
        };
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Calls `task` for each item, in any order.
pub(crate) fn for_each_of<I>(
    items: &mut (dyn ExactSizeIterator<Item = I> + Send),
    task: &(dyn Fn(I) + Sync),
) {
    for_each_of_with(items, &|| (), &|_, item| task(item));
}

/// As [`for_each_of`], each thread with a worker of its own.
pub(crate) fn for_each_of_with<W, I>(
    items: &mut (dyn ExactSizeIterator<Item = I> + Send),
    worker: &(dyn Fn() -> W + Sync),
    task: &(dyn Fn(&mut W, I) + Sync),
) {
    let threads = rayon::current_num_threads().min(items.len());
    let items = Mutex::new(items);
    on_threads(threads, &|| {
        let mut worker = worker();
        loop {
            // The lock is released before the work begins.
            let taken = lock(&items).next();
            let Some(item) = taken else { break };
            task(&mut worker, item);
        }
    });
}

/// The numbers of tasks that no thread has taken yet.
struct Numbers {
    next: AtomicUsize,
    count: usize,
}

impl Numbers {
    fn take(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.count).then_some(number)
    }

    fn leave_out_the_rest(&self) {
        self.next.store(self.count, Ordering::Relaxed);
    }
}

/// Has as many threads as are worth it take numbers below `count`.
fn share(count: usize, work: &(dyn Fn(&Numbers) + Sync)) {
    let numbers = Numbers {
        next: AtomicUsize::new(0),
        count,
    };
    let threads = rayon::current_num_threads().min(count);
    on_threads(threads, &|| work(&numbers));
}

/// Locks what no thread leaves half done.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stand_in_the_order_of_tasks() {
        let squares = map(1000, &|| (), &|(), number| number * number);
        assert!(
            squares
                .into_iter()
                .eq((0..1000).map(|number| number * number))
        );
        assert!(map(0, &|| (), &|(), number| number).is_empty());
    }

    #[test]
    fn all_results_are_merged() {
        let sum = reduce(1001, &|number| number, &|a, b| a + b);
        assert_eq!(sum, Some(500_500));
        assert_eq!(reduce(0, &|number| number, &|a, b| a + b), None);
    }

    #[test]
    fn every_task_is_done_once() {
        let done: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
        for_each(done.len(), &|| (), &|(), number| {
            done[number].fetch_add(1, Ordering::Relaxed);
        });
        assert!(done.iter().all(|times| times.load(Ordering::Relaxed) == 1));
    }

    #[test]
    fn an_error_ends_the_work() {
        let begun = AtomicUsize::new(0);
        let result = try_map(1 << 20, &|| (), &|(), number| {
            begun.fetch_add(1, Ordering::Relaxed);
            if number == 10 {
                Err(number)
            } else {
                Ok(number)
            }
        });
        assert_eq!(result, Err(10));
        // Each thread may have begun one more meanwhile, but none takes all of a million.
        assert!(begun.load(Ordering::Relaxed) < 1 << 20);
    }

    #[test]
    fn a_panic_of_a_task_reaches_the_caller() {
        let caught = std::panic::catch_unwind(|| {
            map(100, &|| (), &|(), number| {
                assert_ne!(number, 50, "as it is to")
            });
        });
        assert!(caught.is_err());
    }
}
