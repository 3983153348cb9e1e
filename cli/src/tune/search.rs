//! Searches for the fastest policy: changes one parameter at a time, until no change gains
//! anything.
//!
//! It knows nothing of GPUs: the caller says what a policy costs.

use warpfold::codegen::WavePolicy;

/// A parameter, and the values it may take.
#[derive(Debug, Clone, Copy)]
enum Axis {
    Stages,
    Loads,
    Warps,
    Reducers,
    Batch,
    Wave,
    Rows,
}

impl Axis {
    /// First those that matter most, so that the others are judged beside good values of these.
    const ALL: [Axis; 7] = [
        Axis::Stages,
        Axis::Loads,
        Axis::Warps,
        Axis::Reducers,
        Axis::Batch,
        Axis::Wave,
        Axis::Rows,
    ];

    /// In rising order. Stages and loads beyond 7 and 4 are for small tiles.
    fn values(self) -> &'static [u32] {
        match self {
            Axis::Stages => &[3, 4, 5, 6, 7, 10, 12, 14],
            Axis::Loads => &[1, 2, 3, 4, 6, 8],
            Axis::Warps => &[4, 8, 16],
            Axis::Reducers => &[2, 4, 8],
            Axis::Batch => &[1, 2, 4, 8],
            Axis::Wave => &[32, 64, 128],
            Axis::Rows => &[1, 2, 4, 8, 16],
        }
    }

    fn of(self, policy: WavePolicy) -> u32 {
        match self {
            Axis::Stages => policy.stages,
            Axis::Loads => policy.loads,
            Axis::Warps => policy.warps,
            Axis::Reducers => policy.reducers,
            Axis::Batch => policy.batch,
            Axis::Wave => policy.wave,
            Axis::Rows => policy.rows,
        }
    }

    /// The policy with another value here. What makes sense only together changes too: other warps
    /// share the same tile; and if tiles change size, there are as many as take the same memory.
    fn set(self, policy: WavePolicy, value: u32) -> WavePolicy {
        match self {
            Axis::Stages => WavePolicy {
                stages: value,
                ..policy
            },
            Axis::Loads => WavePolicy {
                loads: value,
                ..policy
            },
            Axis::Warps => WavePolicy {
                warps: value,
                rows: policy.rows * policy.warps / value,
                ..policy
            },
            Axis::Reducers => WavePolicy {
                reducers: value,
                ..policy
            },
            Axis::Batch => WavePolicy {
                batch: value,
                ..policy
            },
            Axis::Wave => WavePolicy {
                wave: value,
                ..policy
            },
            Axis::Rows => WavePolicy {
                rows: value,
                stages: policy.stages * policy.rows / value,
                loads: (policy.loads * policy.rows / value).max(1),
                ..policy
            },
        }
    }

    /// The policies that differ from this one here, by at most `reach` values.
    fn neighbours(self, policy: WavePolicy, reach: usize) -> impl Iterator<Item = WavePolicy> {
        let values = self.values();
        let now = self.of(policy);
        let place = values.partition_point(|value| *value < now);
        values
            .iter()
            .enumerate()
            .filter(move |(i, value)| **value != now && i.abs_diff(place) <= reach)
            .map(move |(_, value)| self.set(policy, *value))
            // There is no less than one row or one stage. A batch of more rows than there are is
            // the same as one of fewer.
            .filter(|next| next.rows > 0 && next.stages > 1 && next.batch <= next.rows)
    }
}

/// What the search leaves to its caller.
pub(crate) trait Contest {
    type Error;

    /// The policy with no more stages than there is room for; `None` if it cannot run at all.
    fn fitted(&self, policy: WavePolicy) -> Option<WavePolicy>;

    /// What each policy costs, measured side by side; `None` for one that turns out not to run.
    fn measure(&mut self, policies: &[WavePolicy]) -> Result<Vec<Option<f64>>, Self::Error>;
}

/// How to search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    /// Gains below this part of the cost are noise.
    pub(crate) noise: f64,
    /// How many values away from the present one a parameter is tried.
    pub(crate) reach: usize,
}

impl Search {
    /// The policy that no change of one parameter improves beyond the noise, or `start` if it does
    /// not run.
    pub(crate) fn run<C: Contest>(
        self,
        start: WavePolicy,
        contest: &mut C,
    ) -> Result<WavePolicy, C::Error> {
        let mut best = start;
        // A beaten policy is not tried again. So the search ends, however large the noise is.
        let mut beaten = Vec::new();
        let mut settled = 0;
        for axis in Axis::ALL.into_iter().cycle() {
            if settled == Axis::ALL.len() {
                break;
            }
            settled += 1;
            let mut line = vec![best];
            for policy in axis.neighbours(best, self.reach) {
                if let Some(policy) = contest.fitted(policy)
                    && !line.contains(&policy)
                    && !beaten.contains(&policy)
                {
                    line.push(policy);
                }
            }
            if let Some(challenger) = self.winner(&line, contest)?
                // The luckiest of many looks better than it is. So it has to win again, alone.
                && self.winner(&[best, challenger], contest)?.is_some()
            {
                beaten.push(best);
                best = challenger;
                settled = 1;
            }
        }
        Ok(best)
    }

    /// The fastest, if it beats the first one by more than noise.
    fn winner<C: Contest>(
        self,
        line: &[WavePolicy],
        contest: &mut C,
    ) -> Result<Option<WavePolicy>, C::Error> {
        if line.len() < 2 {
            return Ok(None);
        }
        let costs = contest.measure(line)?;
        let Some(limit) = costs[0].map(|cost| cost * (1.0 - self.noise)) else {
            return Ok(None);
        };
        let run = line
            .iter()
            .zip(costs)
            .filter_map(|(policy, cost)| Some((*policy, cost?)));
        Ok(run
            .filter(|(_, cost)| *cost < limit)
            .min_by(|(_, a), (_, b)| a.total_cmp(b))
            .map(|(policy, _)| policy))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    const START: WavePolicy = WavePolicy {
        warps: 16,
        rows: 4,
        run: 4,
        stages: 7,
        loads: 2,
        wave: 128,
        batch: 2,
        reducers: 4,
        anywhere: false,
    };

    const FULL: Search = Search {
        noise: 0.005,
        reach: usize::MAX,
    };

    /// A machine whose costs are known.
    struct Machine<F> {
        cost: F,
        /// The part of the cost by which measurements are off.
        noise: f64,
        measured: Vec<WavePolicy>,
    }

    impl<F: Fn(WavePolicy) -> Option<f64>> Machine<F> {
        fn new(noise: f64, cost: F) -> Self {
            Machine {
                cost,
                noise,
                measured: Vec::new(),
            }
        }
    }

    impl<F: Fn(WavePolicy) -> Option<f64>> Contest for Machine<F> {
        type Error = Infallible;

        fn fitted(&self, policy: WavePolicy) -> Option<WavePolicy> {
            policy.fitted::<f32>()
        }

        fn measure(&mut self, policies: &[WavePolicy]) -> Result<Vec<Option<f64>>, Infallible> {
            let costs = policies.iter().map(|policy| {
                self.measured.push(*policy);
                let count = self.measured.len() as u64;
                let random = count.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
                let error = self.noise * (random as f64 / (1_u64 << 52) as f64 - 1.0);
                Some((self.cost)(*policy)? * (1.0 + error))
            });
            Ok(costs.collect())
        }
    }

    /// Costs that grow with the distance from an optimum.
    fn distance(policy: WavePolicy, optimum: WavePolicy) -> f64 {
        let of_axis = |axis: Axis| {
            let (a, b) = (axis.of(policy), axis.of(optimum));
            (f64::from(a) / f64::from(b)).log2().abs()
        };
        1.0 + 0.1 * Axis::ALL.into_iter().map(of_axis).sum::<f64>()
    }

    #[test]
    fn the_optimum_is_found_from_afar() {
        let optima = [
            START,
            WavePolicy {
                stages: 5,
                loads: 4,
                batch: 1,
                wave: 64,
                ..START
            },
            WavePolicy {
                warps: 8,
                rows: 8,
                reducers: 8,
                loads: 1,
                batch: 4,
                ..START
            },
            WavePolicy {
                rows: 2,
                stages: 12,
                loads: 6,
                reducers: 2,
                ..START
            },
        ];
        for optimum in optima {
            for noise in [0.0, 0.002] {
                let mut machine = Machine::new(noise, |policy| Some(distance(policy, optimum)));
                let found = FULL.run(START, &mut machine).unwrap();
                assert_eq!(found, optimum, "with noise of {noise}");
                let tried = machine.measured.len();
                assert!(tried < 200, "{tried} are as many as all there are");
            }
        }
    }

    #[test]
    fn noise_moves_nothing() {
        let mut machine = Machine::new(0.002, |_| Some(1.0));
        assert_eq!(FULL.run(START, &mut machine).unwrap(), START);
    }

    #[test]
    fn the_search_ends_where_noise_is_worse_than_thought() {
        let mut machine = Machine::new(0.5, |_| Some(1.0));
        FULL.run(START, &mut machine).unwrap();
    }

    #[test]
    fn what_does_not_run_is_passed_over() {
        let optimum = WavePolicy { batch: 4, ..START };
        let cost = |policy: WavePolicy| (policy.batch != 4).then(|| distance(policy, optimum));
        let mut machine = Machine::new(0.0, cost);
        assert_eq!(FULL.run(START, &mut machine).unwrap(), START);
        let mut machine = Machine::new(0.0, |_| None);
        assert_eq!(FULL.run(START, &mut machine).unwrap(), START);
    }

    #[test]
    fn only_what_the_kernel_takes_is_measured() {
        let optimum = WavePolicy {
            rows: 1,
            stages: 14,
            loads: 8,
            ..START
        };
        let mut machine = Machine::new(0.0, |policy| Some(distance(policy, optimum)));
        FULL.run(START, &mut machine).unwrap();
        for policy in machine.measured {
            assert_eq!(policy.fitted::<f32>(), Some(policy));
            assert!(policy.rows > 0 && policy.batch <= policy.rows, "{policy:?}");
        }
    }

    #[test]
    fn a_short_reach_tries_what_is_near() {
        let loads = |reach| {
            let policies = Axis::Loads.neighbours(START, reach);
            policies.map(|policy| policy.loads).collect::<Vec<_>>()
        };
        assert_eq!(loads(1), [1, 3]);
        assert_eq!(loads(usize::MAX), [1, 3, 4, 6, 8]);
    }
}
