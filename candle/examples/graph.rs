//! A layer of a graph network: each node gets the mean of what its neighbours have, and learns how
//! much of it to take.
//!
//! `cargo run --release -p warpfold-candle --example graph`

use candle_core::{DType, Device, Result, Tensor, Var};
use warpfold::Order;
use warpfold_candle::{Fold, Scan, WarpfoldExt};

/// A graph by its edges, in the order of the nodes that they lead to.
struct Graph {
    /// The node that each edge comes from.
    sources: Tensor,
    /// Where the edges that lead to each node begin, and the number of all.
    offsets: Tensor,
    /// How many edges lead to each node, 1 for none, as a column.
    degrees: Tensor,
}

impl Graph {
    fn new(sources: &Tensor, targets: &Tensor, nodes: usize) -> Result<Graph> {
        let (_, order) = targets.warpfold().sort(0, Order::ascending())?;
        let counts = targets.warpfold().bincount_padded(nodes)?;
        let begins = counts.warpfold().cumsum_as(Scan::exclusive(), 0)?;
        let all = counts.warpfold().sum_keepdim(0)?;
        let degrees = counts.to_dtype(DType::F32)?.maximum(1_f32)?.unsqueeze(1)?;
        Ok(Graph {
            sources: sources.index_select(&order, 0)?,
            offsets: Tensor::cat(&[begins, all], 0)?,
            degrees,
        })
    }

    /// Candle's own way is `index_add`, in which on a GPU a thread goes through all edges.
    fn means(&self, features: &Tensor) -> Result<Tensor> {
        let of_edges = features.warpfold().index_select(&self.sources, 0)?;
        let sums = of_edges
            .warpfold()
            .segment_reduce(&self.offsets, Fold::Sum)?;
        sums.broadcast_div(&self.degrees)
    }
}

/// Learns a weight so that `weight · means` is what it should be.
fn learn(graph: &Graph, features: &Tensor, wanted: &Tensor, steps: usize) -> Result<f32> {
    let weight = Var::from_tensor(&Tensor::new(&[[0_f32]], features.device())?)?;
    for _ in 0..steps {
        let got = graph.means(&features.broadcast_mul(weight.as_tensor())?)?;
        let loss = (got - wanted)?.sqr()?.warpfold().mean((0, 1))?;
        let gradients = loss.backward()?;
        let slope = gradients.get(&weight).expect("the loss depends on it");
        weight.set(&(weight.as_tensor() - (slope * 0.3)?)?)?;
    }
    weight.flatten_all()?.get(0)?.to_scalar()
}

fn main() -> Result<()> {
    let (nodes, edges, width) = (2000, 20_000, 16);
    let device = Device::Cpu;
    let ends = || Tensor::rand(0_f32, nodes as f32, edges, &device)?.to_dtype(DType::U32);
    let graph = Graph::new(&ends()?, &ends()?, nodes)?;
    let features = Tensor::randn(0_f32, 1.0, (nodes, width), &device)?;
    let started = std::time::Instant::now();
    let means = graph.means(&features)?;
    println!("{edges} edges of {width} features: {:?}", started.elapsed());
    let weight = learn(&graph, &features, &(means * 0.75)?, 300)?;
    println!("learnt {weight}, which should be 0.75");
    Ok(())
}

#[test]
fn each_node_gets_the_mean_of_its_neighbours() -> Result<()> {
    let features = Tensor::new(&[[1_f32, 10.0], [2.0, 20.0], [4.0, 40.0]], &Device::Cpu)?;
    let sources = Tensor::new(&[0_u32, 1, 2, 2], &Device::Cpu)?;
    let targets = Tensor::new(&[2_u32, 0, 0, 2], &Device::Cpu)?;
    let graph = Graph::new(&sources, &targets, 3)?;
    let means = graph.means(&features)?.to_vec2::<f32>()?;
    assert_eq!(means, [[3.0, 30.0], [0.0, 0.0], [2.5, 25.0]]);
    Ok(())
}

#[test]
fn gradients_go_through_the_segments() -> Result<()> {
    let features = Tensor::new(&[[0.5_f32], [-1.0], [1.5]], &Device::Cpu)?;
    let sources = Tensor::new(&[0_u32, 1, 2, 2], &Device::Cpu)?;
    let targets = Tensor::new(&[1_u32, 0, 0, 2], &Device::Cpu)?;
    let graph = Graph::new(&sources, &targets, 3)?;
    let wanted = (graph.means(&features)? * 0.75)?;
    let weight = learn(&graph, &features, &wanted, 60)?;
    assert!((weight - 0.75).abs() < 1e-3, "{weight}");
    Ok(())
}
