//! Calls that all ranks make together: what they exchange, and what is checked.

use super::bytes::{NAME_BYTES, Reader, are_zeros, cut, put_name, take_name};
use super::identity::{Hash, identity_of};
use super::{Shard, nodes::check_end};
use crate::{Device, Element, Error, Monoid, Result};
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

/// What carries packets between ranks: MPI, sockets, NCCL, [threads](super::Threads).
///
/// It moves bytes and does no arithmetic, so its order does not show in a result. Closures of its
/// operation are exchanges, too:
///
/// ```
/// use warpfold::{ops::Add, shards::Communicator};
///
/// // One rank alone. With MPI it is `world.all_gather_into(mine, all)`.
/// let exchange = |mine: &[u8], all: &mut [u8]| {
///     all.copy_from_slice(mine);
///     Ok::<_, std::io::Error>(())
/// };
/// let communicator = Communicator::new(0, 1, exchange)?;
/// let shard = communicator.shard(3)?;
/// assert_eq!(shard.reduce::<u32, Add>(&[1, 2, 3])?, 6);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub trait Exchange {
    /// All-gather: every rank gives `mine`, of one length on all of them, and gets the packets of
    /// all ranks in `all`, one behind the other, the first rank's first.
    ///
    /// # Errors
    ///
    /// What kept it from that: a rank that is gone, or did not answer in time. It should not wait
    /// for ever. A wrong packet need not be found out here: packets have a checksum.
    fn all_gather(
        &mut self,
        mine: &[u8],
        all: &mut [u8],
    ) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>>;
}

impl<F, E> Exchange for F
where
    F: FnMut(&[u8], &mut [u8]) -> std::result::Result<(), E>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    fn all_gather(
        &mut self,
        mine: &[u8],
        all: &mut [u8],
    ) -> std::result::Result<(), Box<dyn std::error::Error + Send + Sync>> {
        self(mine, all).map_err(Into::into)
    }
}

/// One rank of several that work on an array together, each on its [shard](Shard).
///
/// All ranks make the same calls in the same order: calls are *collective*. Each call of a rank
/// sends a packet of [`PACKET_BYTES`](Communicator::PACKET_BYTES) through the [`Exchange`]. It says
/// what the call is, of which type and operator, how long the shards are, and how many calls came
/// before. So ranks that do not do the same get [`Error::Ranks`], all of them. So they do if one of
/// them cannot do its part, such as read its source: it sends its error instead. After such an
/// error the communicator can be used as before.
///
/// A rank that is gone, or makes no call at all, shows only in the exchange, which waits as long as
/// it was told to. Then the ranks that wait get [`Error::Exchange`], and the communicator is of no
/// more use: later calls give the error again.
///
/// Memory: a packet for each rank, and what a call sends.
pub struct Communicator {
    rank: usize,
    ranks: usize,
    state: RefCell<State>,
}

struct State {
    exchange: Box<dyn Exchange>,
    calls: u64,
    broken: Option<Error>,
}

/// What a call is, as far as all ranks must have it alike.
pub(super) struct Call {
    operation: &'static str,
    name: String,
    hash: Hash,
}

impl Call {
    pub(super) fn new(operation: &'static str) -> Call {
        Call {
            operation,
            name: operation.to_owned(),
            hash: Hash::new().with(operation.as_bytes()),
        }
    }

    /// By an operator on a type.
    pub(super) fn by<T: Element, Op: Monoid<T>>(self) -> Call {
        let identity = identity_of::<T, Op>();
        self.named(&identity.name)
            .with(&identity.hash.to_ne_bytes())
    }

    /// Of what has a name.
    pub(super) fn named(self, name: &str) -> Call {
        Call {
            name: format!("{} of {name}", self.operation),
            hash: self.hash.with(name.as_bytes()),
            ..self
        }
    }

    /// With arguments.
    pub(super) fn with(self, bytes: &[u8]) -> Call {
        Call {
            hash: self.hash.with(bytes),
            ..self
        }
    }
}

/// As a number, so that another order of bytes shows.
const MAGIC: u64 = u64::from_le_bytes(*b"wfranks2");

/// What stands before a packet's payload: the magic, seven numbers, a name.
const HEADER_BYTES: usize = 8 + 7 * 8 + NAME_BYTES;

/// The bytes of a payload that the first packet has room for. A checksum follows, and zeros.
const ROOM: usize = Communicator::PACKET_BYTES - HEADER_BYTES - 8;

/// What a rank says of its part.
const DONE: u64 = 0;
const FAILED: u64 = 1;

/// A packet as it was read.
struct Packet<'a> {
    call: u64,
    ranks: u64,
    rank: u64,
    what: u64,
    status: u64,
    /// The bytes of the whole payload.
    len: u64,
    /// The hash of the whole payload.
    hash: u64,
    name: String,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the packet of a rank's call. An error if it is another one, or none.
    fn of(bytes: &'a [u8], rank: usize, call: u64) -> std::result::Result<Packet<'a>, String> {
        let packet = Packet::read(bytes)
            .ok_or_else(|| format!("what came of rank {rank} is no packet, or damaged"))?;
        match (packet.rank, packet.call) == (rank as u64, call) {
            true => Ok(packet),
            false => Err(format!(
                "in place of the packet of rank {rank} came that of rank {} in its call {} ({})",
                packet.rank, packet.call, packet.name
            )),
        }
    }

    fn read(bytes: &'a [u8]) -> Option<Packet<'a>> {
        let mut reader = Reader(bytes);
        let magic = reader.number()?;
        let mut packet = Packet {
            call: reader.number()?,
            ranks: reader.number()?,
            rank: reader.number()?,
            what: reader.number()?,
            status: reader.number()?,
            len: reader.number()?,
            hash: reader.number()?,
            name: take_name(&mut reader)?,
            payload: &[],
        };
        packet.payload = reader.take(in_packet(packet.len))?;
        let said = &bytes[..bytes.len() - reader.0.len()];
        let is_whole = magic == MAGIC
            && Hash::new().with(said).value() == reader.number()?
            && are_zeros(reader.0);
        is_whole.then_some(packet)
    }
}

/// The bytes of a payload of so many that the first packet has.
fn in_packet(len: u64) -> usize {
    match usize::try_from(len) {
        Ok(len) if len <= ROOM => len,
        _ => 0,
    }
}

impl Communicator {
    /// The bytes that a rank gives the [`Exchange`] first in each call. Results that do not fit,
    /// such as those of a histogram, follow in a second exchange.
    pub const PACKET_BYTES: usize = 8192;

    /// That of rank `rank`, counted from 0, of so many `ranks`.
    ///
    /// # Errors
    ///
    /// [`Error::Ranks`] if there is no such rank.
    pub fn new(rank: usize, ranks: usize, exchange: impl Exchange + 'static) -> Result<Self> {
        if rank >= ranks {
            return Err(fault(format!(
                "are {ranks}, so there is no rank {rank}\n  remedy: count ranks from 0"
            )));
        }
        Ok(Communicator {
            rank,
            ranks,
            state: RefCell::new(State {
                exchange: Box::new(exchange),
                calls: 0,
                broken: None,
            }),
        })
    }

    /// This rank's number, from 0 on.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// This rank's shard of an array: `len` elements that follow those of the ranks before it. The
    /// ranks exchange their lengths.
    ///
    /// # Errors
    ///
    /// [`Error::Ranks`] if ranks call something else, or there are 2^63 elements;
    /// [`Error::Exchange`].
    pub fn shard(&self, len: usize) -> Result<Shard<'_>> {
        let call = Call::new("shard");
        let own = || Ok((len as u64).to_ne_bytes().to_vec());
        let lengths = self.gather(call, own())?;
        let lengths = lengths.iter().map(|bytes| number(bytes));
        self.shard_with(&lengths.collect::<Result<Vec<_>>>()?)
    }

    /// This rank's shard of an array, where the lengths of all shards are known: `lengths[r]` is
    /// that of rank `r`. Exchanges nothing. Ranks that are given different lengths find out in
    /// their next call.
    ///
    /// # Errors
    ///
    /// [`Error::Ranks`] unless there is a length for each rank, and if there are 2^63 elements.
    pub fn shard_with(&self, lengths: &[u64]) -> Result<Shard<'_>> {
        if lengths.len() != self.ranks {
            return Err(fault(format!(
                "are {}, but there are {} lengths\n  remedy: give the length of each rank's shard",
                self.ranks,
                lengths.len()
            )));
        }
        let mut bounds = vec![0];
        for &len in lengths {
            let start = bounds[bounds.len() - 1];
            let len = usize::try_from(len).map_err(|_| fault(format!("hold {len} elements")))?;
            check_end(start, len).map_err(|_| fault("hold 2^63 elements or more".to_owned()))?;
            bounds.push(start + len as u64);
        }
        Ok(Shard {
            communicator: self,
            device: Device::cpu(),
            bounds,
            place: PhantomData,
        })
    }

    /// This rank's shard where `total` elements are shared evenly: rank `r` of `p` has those from
    /// `total * r / p` to `total * (r + 1) / p`, rounded down. Exchanges nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Ranks`] if there are 2^63 elements.
    pub fn even_shard(&self, total: u64) -> Result<Shard<'_>> {
        let ranks = self.ranks as u128;
        let bound = |rank: u128| (u128::from(total) * rank / ranks) as u64;
        let lengths = (0..ranks).map(|rank| bound(rank + 1) - bound(rank));
        self.shard_with(&lengths.collect::<Vec<_>>())
    }

    /// Gives every rank's payload to all ranks. The error of one is an error of all.
    pub(super) fn gather(&self, call: Call, own: Result<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        let state = &mut *self.state.borrow_mut();
        if let Some(error) = &state.broken {
            return Err(error.clone());
        }
        state.calls += 1;
        let number = state.calls;
        let (status, payload, own_error) = match own {
            Ok(payload) => (DONE, payload, None),
            Err(error) => {
                let text = cut(&error.to_string(), ROOM).to_owned();
                (FAILED, text.into_bytes(), Some(error))
            }
        };
        let packet = self.packet(number, &call, status, &payload);
        match self.exchange(&mut *state.exchange, number, &packet, payload) {
            Ok(verdict) => verdict.map_err(|error| own_error.unwrap_or(error)),
            Err(cause) => {
                let error = Error::Exchange {
                    call: number,
                    operation: call.name,
                    rank: self.rank,
                    cause,
                };
                state.broken = Some(error.clone());
                Err(error)
            }
        }
    }

    /// The payloads of all ranks, unless they disagree. The outer error is one of the exchange, and
    /// may be another one, or none, on other ranks.
    fn exchange(
        &self,
        exchange: &mut dyn Exchange,
        number: u64,
        packet: &[u8],
        mut payload: Vec<u8>,
    ) -> std::result::Result<Result<Vec<Vec<u8>>>, String> {
        let mut all_gather = |mine: &[u8]| {
            let mut all = zeros(self.ranks.saturating_mul(mine.len()))?;
            let done = exchange.all_gather(mine, &mut all);
            done.map(|()| all).map_err(|error| error.to_string())
        };
        let all = all_gather(packet)?;
        let packets = all.chunks(packet.len()).enumerate();
        let packets = packets.map(|(rank, bytes)| Packet::of(bytes, rank, number));
        let packets = packets.collect::<std::result::Result<Vec<_>, _>>()?;
        if let Err(disagreement) = check(&packets) {
            return Ok(Err(disagreement));
        }
        let most = packets.iter().map(|packet| packet.len as usize).max();
        let most = most.filter(|&most| most > ROOM);
        let rest = match most {
            None => Vec::new(),
            Some(most) => {
                payload.resize(most, 0);
                all_gather(&payload)?
            }
        };
        let payloads = packets.iter().enumerate().map(|(rank, packet)| {
            let payload = match most {
                None => packet.payload,
                Some(most) => &rest[rank * most..],
            };
            let payload = &payload[..packet.len as usize];
            match Hash::new().with(payload).value() == packet.hash {
                true => Ok(payload.to_vec()),
                false => Err(format!("what came of rank {rank} is damaged")),
            }
        });
        Ok(Ok(payloads.collect::<std::result::Result<_, _>>()?))
    }

    fn packet(&self, number: u64, call: &Call, status: u64, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::with_capacity(Self::PACKET_BYTES);
        for number in [
            MAGIC,
            number,
            self.ranks as u64,
            self.rank as u64,
            call.hash.value(),
            status,
            payload.len() as u64,
            Hash::new().with(payload).value(),
        ] {
            packet.extend(number.to_ne_bytes());
        }
        put_name(&mut packet, &call.name);
        packet.extend_from_slice(&payload[..in_packet(payload.len() as u64)]);
        let hash = Hash::new().with(&packet).value();
        packet.extend(hash.to_ne_bytes());
        packet.resize(Self::PACKET_BYTES, 0);
        packet
    }
}

/// An error if ranks do not do the same, or one of them could not. It is one for all ranks.
fn check(packets: &[Packet<'_>]) -> Result<()> {
    let first = &packets[0];
    if let Some(packet) = packets.iter().find(|packet| packet.status != DONE) {
        let message = &packet.payload[..(packet.len as usize).min(ROOM)];
        return Err(fault(format!(
            "cannot do {}: rank {} failed: {}",
            packet.name,
            packet.rank,
            String::from_utf8_lossy(message)
        )));
    }
    for packet in packets {
        if packet.ranks != packets.len() as u64 {
            return Err(fault(format!(
                "do not agree how many they are: rank {} says {}, and {} packets came\n  remedy: make the communicators of all ranks for the same number of ranks",
                packet.rank,
                packet.ranks,
                packets.len()
            )));
        }
        if packet.what != first.what {
            let what = match packet.name == first.name {
                true => "with other arguments, lengths or definitions than",
                false => "but",
            };
            return Err(fault(format!(
                "do not do the same in call {}: rank {} calls {}, {what} rank 0 {}\n  remedy: make the same calls in the same order on all ranks",
                first.call, packet.rank, packet.name, first.name
            )));
        }
    }
    Ok(())
}

/// So many zeros, if there is room for them.
fn zeros(len: usize) -> std::result::Result<Vec<u8>, String> {
    let mut zeros = Vec::new();
    let reserved = zeros.try_reserve_exact(len);
    reserved.map_err(|_| format!("there is no memory for {len} bytes of all ranks"))?;
    zeros.resize(len, 0);
    Ok(zeros)
}

pub(super) fn fault(fault: String) -> Error {
    Error::Ranks { fault }
}

/// The number that a payload is.
pub(super) fn number(payload: &[u8]) -> Result<u64> {
    let bytes = payload.try_into().map_err(|_| unreadable())?;
    Ok(u64::from_ne_bytes(bytes))
}

/// What a payload with a right checksum never is.
pub(super) fn unreadable() -> Error {
    fault("are different programs: a payload has another form".to_owned())
}

impl fmt::Debug for Communicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Communicator")
            .field("rank", &self.rank)
            .field("ranks", &self.ranks)
            .finish_non_exhaustive()
    }
}
