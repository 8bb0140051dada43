"""Vector primitives for the Numba kernels, written as LLVM vector code.

Numba's own loops load and store their accumulators in memory and check for overlap at every short loop. With
accumulators in vector registers the same work runs about twice as fast. LLVM maps the 64-byte vectors to the registers
of the CPU (one AVX-512, two AVX2 or four NEON registers), so this file has no code for a particular machine.

All addresses and strides are in bytes, as ``int64``. The last argument is an example of the element type.
"""

import itertools
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.typing.templates import Signature
from numba.extending import intrinsic

from vectrick.backends.cpu.layout import EDGES_AT_ONCE

VECTOR_BYTES = 64  # one AVX-512 register, or several smaller ones

_I32, _I64 = ir.IntType(32), ir.IntType(64)


def _element(ty: types.Type) -> tuple[ir.Type, int]:
    """Return the LLVM type and the size of a Numba float type."""
    return (ir.DoubleType(), 8) if ty == types.float64 else (ir.FloatType(), 4)


def _load(builder: ir.IRBuilder, address: ir.Value, ty: ir.Type, align: int) -> ir.Value:
    value = builder.load(builder.inttoptr(address, ty.as_pointer()))
    value.align = align
    return value


def _store(builder: ir.IRBuilder, value: ir.Value, address: ir.Value, align: int) -> Any:
    store = builder.store(value, builder.inttoptr(address, value.type.as_pointer()))
    store.align = align
    return store


def _shuffle(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, lanes: Sequence[int]) -> ir.Value:
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(_I32, len(lanes)), list(lanes)))


def _broadcast(builder: ir.IRBuilder, scalar: ir.Value, n_lanes: int) -> ir.Value:
    nothing = ir.Constant(ir.VectorType(scalar.type, n_lanes), ir.Undefined)
    first = builder.insert_element(nothing, scalar, _I32(0))
    return _shuffle(builder, first, nothing, [0] * n_lanes)


def _fma(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
    ty = x.type
    suffix = "f64" if isinstance(ty.element, ir.DoubleType) else "f32"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ty, [ty] * 3), f"llvm.fma.v{ty.count}{suffix}"
    )
    return builder.call(function, [x, y, z])


def _row(builder: ir.IRBuilder, base: ir.Value, stride: ir.Value, indices: ir.Value, position: int) -> ir.Value:
    """Return the address of row ``indices[position]`` of a matrix; indices are int32."""
    index = _load(builder, builder.add(indices, _I64(4 * position)), _I32, 4)
    return builder.add(base, builder.mul(builder.zext(index, _I64), stride))


def _sum_each(builder: ir.IRBuilder, vectors: list[ir.Value]) -> ir.Value:
    """Return one vector whose lane i is the sum of ``vectors[i]``, for eight vectors, all added in the same order."""
    n_lanes = vectors[0].type.count
    while n_lanes > EDGES_AT_ONCE:
        half = n_lanes // 2
        low, high = range(half), range(half, n_lanes)
        vectors = [builder.fadd(_shuffle(builder, x, x, low), _shuffle(builder, x, x, high)) for x in vectors]
        n_lanes = half
    step = 1
    while len(vectors) > 1:
        # Lanes with the bit `step` clear come from x, the others from y; each is added to its partner `step` away.
        source = [(lane & ~step) + (n_lanes if lane & step else 0) for lane in range(n_lanes)]
        partner = [lane + step for lane in source]
        vectors = [
            builder.fadd(_shuffle(builder, x, y, source), _shuffle(builder, x, y, partner))
            for x, y in zip(vectors[0::2], vectors[1::2], strict=True)
        ]
        step *= 2
    return vectors[0]


def make_add_rows(n_vectors: int) -> Any:
    """Return ``add_rows(target, rows, indices, weights, count, like)``.

    It computes ``target += Σ_h weights[h] · rows[indices[h]]`` for rows of ``n_vectors`` aligned vectors, stored one
    after another, with the target held in registers.
    """

    @intrinsic
    def add_rows(
        _context: BaseContext,
        target: types.Type,
        rows: types.Type,
        indices: types.Type,
        weights: types.Type,
        count: types.Type,
        like: types.Type,
    ) -> Any:
        element, size = _element(like)
        n_lanes = VECTOR_BYTES // size
        vector = ir.VectorType(element, n_lanes)

        def codegen(
            context: BaseContext, builder: ir.IRBuilder, _signature: Signature, args: Sequence[ir.Value]
        ) -> Any:
            target, rows, indices, weights, count, _ = args
            sums = [cgutils.alloca_once(builder, vector) for _ in range(n_vectors)]
            for i, total in enumerate(sums):
                builder.store(_load(builder, builder.add(target, _I64(i * VECTOR_BYTES)), vector, VECTOR_BYTES), total)
            with cgutils.for_range(builder, count, intp=_I64) as loop:
                here = builder.add(indices, builder.mul(loop.index, _I64(4)))
                row = _row(builder, rows, _I64(n_vectors * VECTOR_BYTES), here, 0)
                weight = _load(builder, builder.add(weights, builder.mul(loop.index, _I64(size))), element, size)
                weight = _broadcast(builder, weight, n_lanes)
                for i, total in enumerate(sums):
                    x = _load(builder, builder.add(row, _I64(i * VECTOR_BYTES)), vector, VECTOR_BYTES)
                    builder.store(_fma(builder, weight, x, builder.load(total)), total)
            for i, total in enumerate(sums):
                _store(builder, builder.load(total), builder.add(target, _I64(i * VECTOR_BYTES)), VECTOR_BYTES)
            return context.get_dummy_value()

        return types.void(target, rows, indices, weights, count, like), codegen

    return add_rows


def make_add_dots(n_vectors: int, one_row: bool) -> Any:
    """Return ``add_dots(target, A, stride_A, i, B, stride_B, j, like)`` for eight edges.

    It computes ``target[h] += A[i[h]] · B[j[h]]`` for h = 0 … 7 over the first ``n_vectors`` vectors of the rows. Rows
    of ``B`` must be aligned, rows of ``A`` need not be. With ``one_row`` all eight ``i[h]`` must be equal.
    """

    @intrinsic
    def add_dots(
        _context: BaseContext,
        target: types.Type,
        A: types.Type,
        stride_A: types.Type,
        i: types.Type,
        B: types.Type,
        stride_B: types.Type,
        j: types.Type,
        like: types.Type,
    ) -> Any:
        element, size = _element(like)
        vector = ir.VectorType(element, VECTOR_BYTES // size)

        def codegen(
            context: BaseContext, builder: ir.IRBuilder, _signature: Signature, args: Sequence[ir.Value]
        ) -> Any:
            target, A, stride_A, i, B, stride_B, j, _ = args
            n_rows = 1 if one_row else EDGES_AT_ONCE
            rows_A = [_row(builder, A, stride_A, i, h) for h in range(n_rows)]
            rows_B = [_row(builder, B, stride_B, j, h) for h in range(EDGES_AT_ONCE)]
            sums: list[ir.Value] = [ir.Constant(vector, None)] * EDGES_AT_ONCE
            for k in range(n_vectors):
                skip = _I64(k * VECTOR_BYTES)
                parts = [_load(builder, builder.add(row, skip), vector, size) for row in rows_A]
                for h, row in enumerate(rows_B):
                    y = _load(builder, builder.add(row, skip), vector, VECTOR_BYTES)
                    sums[h] = _fma(builder, parts[h % n_rows], y, sums[h])
            dots = _sum_each(builder, sums)
            _store(builder, builder.fadd(_load(builder, target, dots.type, size), dots), target, size)
            return context.get_dummy_value()

        return types.void(target, A, stride_A, i, B, stride_B, j, like), codegen

    return add_dots


def make_add_block(n_rows: int, n_vectors: int) -> Any:
    """Return ``add_block(target, stride, packed, indices, values, count, like)`` for a block of right-hand sides.

    It computes ``target[o] = Σ_h packed[indices[h]][o] · values[h]`` for ``n_rows`` values of o: packed rows hold one
    element for each o, ``values[h]`` and ``target[o]`` are ``n_vectors`` aligned vectors with an element for each
    right-hand side, and the results are ``stride`` bytes apart.
    """

    @intrinsic
    def add_block(
        _context: BaseContext,
        target: types.Type,
        stride: types.Type,
        packed: types.Type,
        indices: types.Type,
        values: types.Type,
        count: types.Type,
        like: types.Type,
    ) -> Any:
        element, size = _element(like)
        n_lanes = VECTOR_BYTES // size
        vector = ir.VectorType(element, n_lanes)

        def codegen(
            context: BaseContext, builder: ir.IRBuilder, _signature: Signature, args: Sequence[ir.Value]
        ) -> Any:
            target, stride, packed, indices, values, count, _ = args
            sums = [[cgutils.alloca_once(builder, vector) for _ in range(n_vectors)] for _ in range(n_rows)]
            for total in itertools.chain(*sums):
                builder.store(ir.Constant(vector, None), total)
            with cgutils.for_range(builder, count, intp=_I64) as loop:
                here = builder.add(indices, builder.mul(loop.index, _I64(4)))
                row = _row(builder, packed, _I64(n_rows * size), here, 0)
                at = builder.add(values, builder.mul(loop.index, _I64(n_vectors * VECTOR_BYTES)))
                x = _load_vectors(builder, at, vector, n_vectors)
                for o, totals in enumerate(sums):
                    weight = _load(builder, builder.add(row, _I64(o * size)), element, size)
                    _add_times(builder, _broadcast(builder, weight, n_lanes), x, totals)
            for o, totals in enumerate(sums):
                _store_vectors(builder, totals, builder.add(target, builder.mul(stride, _I64(o))))
            return context.get_dummy_value()

        return types.void(target, stride, packed, indices, values, count, like), codegen

    return add_block


def make_dot_block(n_edges: int, n_vectors: int) -> Any:
    """Return ``dot_block(target, A, stride, held, tile, count, like)`` for a block of right-hand sides and edges.

    It computes ``target[h] += Σ_k A[held[h]][k] · tile[k]`` for ``n_edges`` edges of one tile row. ``tile[k]`` and
    ``target[h]`` are ``n_vectors`` aligned vectors with an element for each right-hand side.
    """

    @intrinsic
    def dot_block(
        _context: BaseContext,
        target: types.Type,
        A: types.Type,
        stride: types.Type,
        held: types.Type,
        tile: types.Type,
        count: types.Type,
        like: types.Type,
    ) -> Any:
        element, size = _element(like)
        n_lanes = VECTOR_BYTES // size
        vector = ir.VectorType(element, n_lanes)

        def codegen(
            context: BaseContext, builder: ir.IRBuilder, _signature: Signature, args: Sequence[ir.Value]
        ) -> Any:
            target, A, stride, held, tile, count, _ = args
            rows = [_row(builder, A, stride, held, h) for h in range(n_edges)]
            sums = [[cgutils.alloca_once(builder, vector) for _ in range(n_vectors)] for _ in range(n_edges)]
            places = [builder.add(target, _I64(h * n_vectors * VECTOR_BYTES)) for h in range(n_edges)]
            for place, totals in zip(places, sums, strict=True):
                for total, x in zip(totals, _load_vectors(builder, place, vector, n_vectors), strict=True):
                    builder.store(x, total)
            with cgutils.for_range(builder, count, intp=_I64) as loop:
                at = builder.add(tile, builder.mul(loop.index, _I64(n_vectors * VECTOR_BYTES)))
                x = _load_vectors(builder, at, vector, n_vectors)
                skip = builder.mul(loop.index, _I64(size))
                for row, totals in zip(rows, sums, strict=True):
                    weight = _load(builder, builder.add(row, skip), element, size)
                    _add_times(builder, _broadcast(builder, weight, n_lanes), x, totals)
            for place, totals in zip(places, sums, strict=True):
                _store_vectors(builder, totals, place)
            return context.get_dummy_value()

        return types.void(target, A, stride, held, tile, count, like), codegen

    return dot_block


def _load_vectors(builder: ir.IRBuilder, address: ir.Value, vector: ir.Type, n_vectors: int) -> list[ir.Value]:
    places = [builder.add(address, _I64(i * VECTOR_BYTES)) for i in range(n_vectors)]
    return [_load(builder, place, vector, VECTOR_BYTES) for place in places]


def _add_times(builder: ir.IRBuilder, weight: ir.Value, x: list[ir.Value], totals: list[ir.Value]) -> None:
    for part, total in zip(x, totals, strict=True):
        builder.store(_fma(builder, weight, part, builder.load(total)), total)


def _store_vectors(builder: ir.IRBuilder, totals: list[ir.Value], address: ir.Value) -> None:
    for i, total in enumerate(totals):
        _store(builder, builder.load(total), builder.add(address, _I64(i * VECTOR_BYTES)), VECTOR_BYTES)


def make_transpose(past_the_cache: bool) -> Any:
    """Return ``transpose(source, source_stride, target, target_stride, like)`` to copy an 8 × 8 block transposed.

    With ``past_the_cache`` the rows of the target must be aligned and are written directly to memory: a result that
    does not fit into the cache need not be read before it is written.
    """

    @intrinsic
    def transpose(
        _context: BaseContext,
        source: types.Type,
        source_stride: types.Type,
        target: types.Type,
        target_stride: types.Type,
        like: types.Type,
    ) -> Any:
        element, size = _element(like)
        vector = ir.VectorType(element, 8)

        def codegen(
            context: BaseContext, builder: ir.IRBuilder, _signature: Signature, args: Sequence[ir.Value]
        ) -> Any:
            source, source_stride, target, target_stride, _ = args
            places = [builder.add(source, builder.mul(source_stride, _I64(i))) for i in range(8)]
            rows = [_load(builder, place, vector, size) for place in places]
            for step in (1, 2, 4):  # exchange the off-diagonal blocks of size 1, 2, 4
                low = [8 + lane - step if lane & step else lane for lane in range(8)]
                high = [8 + lane if lane & step else lane + step for lane in range(8)]
                for i in range(8):
                    if not i & step:
                        x, y = rows[i], rows[i + step]
                        rows[i], rows[i + step] = _shuffle(builder, x, y, low), _shuffle(builder, x, y, high)
            for i, row in enumerate(rows):
                place = builder.add(target, builder.mul(target_stride, _I64(i)))
                store = _store(builder, row, place, 8 * size if past_the_cache else size)
                if past_the_cache:
                    store.set_metadata("nontemporal", builder.module.add_metadata([_I32(1)]))
            return context.get_dummy_value()

        return types.void(source, source_stride, target, target_stride, like), codegen

    return transpose


@intrinsic
def clear(_context: BaseContext, address: types.Type, n_bytes: types.Type) -> Any:
    """Fill memory with zeros."""

    def codegen(context: BaseContext, builder: ir.IRBuilder, _signature: Signature, args: Sequence[ir.Value]) -> Any:
        cgutils.memset(builder, builder.inttoptr(args[0], ir.IntType(8).as_pointer()), args[1], 0)
        return context.get_dummy_value()

    return types.void(address, n_bytes), codegen


@intrinsic
def copy_element(_context: BaseContext, source: types.Type, target: types.Type, like: types.Type) -> Any:
    """Copy one element."""
    element, size = _element(like)

    def codegen(context: BaseContext, builder: ir.IRBuilder, _signature: Signature, args: Sequence[ir.Value]) -> Any:
        _store(builder, _load(builder, args[0], element, size), args[1], size)
        return context.get_dummy_value()

    return types.void(source, target, like), codegen


def make_prefetch_row(n_vectors: int) -> Any:
    """Return ``prefetch_row(address)`` to load the ``n_vectors`` vectors from the address on into the caches."""

    @intrinsic
    def prefetch_row(_context: BaseContext, address: types.Type) -> Any:
        def codegen(
            context: BaseContext, builder: ir.IRBuilder, _signature: Signature, args: Sequence[ir.Value]
        ) -> Any:
            pointer = ir.IntType(8).as_pointer()
            signature = ir.FunctionType(ir.VoidType(), [pointer, _I32, _I32, _I32])
            function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")
            for i in range(n_vectors):
                line = builder.inttoptr(builder.add(args[0], _I64(i * VECTOR_BYTES)), pointer)
                builder.call(function, [line, _I32(0), _I32(3), _I32(1)])  # read access, all cache levels, data cache
            return context.get_dummy_value()

        return types.void(address), codegen

    return prefetch_row
