// What becomes of the items that an engine moves: its sink.
//
// An engine (rows.cuh, wave.cuh, shares.cuh) reads tiles, folds them, and learns what precedes each
// part of a tile: the part's prefix. A sink says what is folded, and stores what comes of it. All
// sinks have
//
//   Operator, A     the operator, and what it combines
//   Item            what the source gives
//   tiles, before   how many tiles there are, and what precedes the first
//   room_bytes      the shared memory that a warp needs for what it stores of some items
//   BESIDE          whether warps of the wave engine need more than the room of their items
//   Chunk           what a warp remembers of its part of a tile, from one step to the next
//
// and are one of two kinds. They differ in when they learn the prefix:
//
//   A PrefixSink (scan.cuh) has a result for each item, made of the item's prefix.
//     values        what is folded of items
//     Rows          the trees over rows of items: up, and down again with a prefix
//     begin_tile    a thread knows the tile's prefix
//     emit          stores the results of rows, whose prefixes are known
//
//   A PackingSink (select.cuh) keeps some items as they are. The prefix, a count, only says where
//   they go. So an engine packs them while the prefix is on its way.
//     Flags         which items are kept, of rows
//     Folded        what is counted of flags
//     begin_chunk, pack
//                   moves what is kept together, in the warp's room. No prefix is known yet
//     end_chunk     stores it, given the prefix
#pragma once

namespace warpfold {

template <class S>
concept AnySink = requires(const S& sink, u64 items) {
    typename S::Operator;
    typename S::A;
    typename S::Item;
    typename S::Chunk;
    sink.tiles(items, items);
    sink.before();
    S::room_bytes(1);
    S::BESIDE;
};

template <class S>
concept PrefixSink = AnySink<S> && requires { typename S::template Rows<1, 1>; };

template <class S>
concept PackingSink = AnySink<S> && requires {
    typename S::Folded;
    typename S::Stored;
    typename S::template Flags<1, 1>;
};

}  // namespace warpfold
