//! Group-by over sorted keys: total, and dearest item, of each customer.
//!
//! Orders lie customer by customer. A customer's orders are a run of equal keys, and each statistic
//! is the fold of a run (Dean & Ghemawat 2004, the reduce of MapReduce). The result of a run is
//! that of a reduction of its values alone, whatever lies before it.
//!
//! `cargo run --release --example group_by`

mod support;

use support::Report;
use warpfold::ops::{Add, Max};
use warpfold::{Buffer, Device, Result};

/// The customer of each order, and its price in cents.
type Orders = (Vec<u32>, Vec<u32>);
type There = (Buffer<u32>, Buffer<u32>);

/// The totals, and then the greatest prices, of all customers in their order.
fn in_parallel(device: &Device, (customers, prices): &There) -> Result<Vec<u32>> {
    let (_, totals) = device.reduce_by_key::<u32, u32, Add>(customers, prices)?;
    let (_, dearest) = device.reduce_by_key::<u32, u32, Max>(customers, prices)?;
    Ok([totals.into_vec()?, dearest.into_vec()?].concat())
}

/// The sequential program: one order after the other.
fn sequentially((customers, prices): &Orders) -> Vec<u32> {
    let (mut totals, mut dearest) = (Vec::new(), Vec::new());
    let mut before = None;
    for (&customer, &price) in customers.iter().zip(prices) {
        if before != Some(customer) {
            totals.push(0);
            dearest.push(0);
        }
        let last = totals.len() - 1;
        totals[last] += price;
        dearest[last] = price.max(dearest[last]);
        before = Some(customer);
    }
    [totals, dearest].concat()
}

/// Orders of customers who order once or often.
fn orders(length: usize) -> Orders {
    let mut customer = 0;
    let customers = support::random(1).map(|bits| {
        customer += u32::from(bits % 16 < 1 + u64::from(customer % 9));
        customer
    });
    let prices = support::random(2).map(|bits| (bits % 1000) as u32);
    (
        customers.take(length).collect(),
        prices.take(length).collect(),
    )
}

fn main() -> Result<()> {
    let length = support::length(1 << 20);
    let orders = orders(length);
    let report = Report {
        example: "group_by",
        length,
    };
    let expected = sequentially(&orders);
    println!("{} customers", expected.len() / 2);
    report.sequential(|| sequentially(&orders));
    for device in support::devices() {
        assert_eq!(report.parallel(&device, &orders, in_parallel)?, expected);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_those_of_the_sequential_program() -> Result<()> {
        for length in [0, 1, 2, 1000, 70_000] {
            let orders = orders(length);
            for device in support::devices() {
                let groups = support::answer(&device, &orders, in_parallel)?;
                assert_eq!(groups, sequentially(&orders), "{length} on {device}");
            }
        }
        Ok(())
    }
}
