// Streamlines as the renderer draws them: the points that are drawn, in blocks of 32 slots with their bounds. Every
// number equals that of src/engine/data/line_order.rs and src/engine/data/line_blocks.rs, so operations are rounded one
// by one.
#include "lines.cuh"

// Constants of src/engine/data/line_order.rs and src/engine/data/line_blocks.rs.
const float MAXIMUM_TURN_MM = 0.131f, MAXIMUM_TURN_SINE = 0.17f, LONGEST_CHORD_MM = 4.0f;
const float MAXIMUM_COORDINATE = 65534.0f, MIN_POSITIVE = 1.17549435e-38f;
const float MISSING = -3.4e38f;
const u32 GAP = 0xffff, BLOCK_LEN = 52;

__device__ __forceinline__ f32x3 minus(f32x3 a, f32x3 b) {
    return {__fsub_rn(a.x, b.x), __fsub_rn(a.y, b.y), __fsub_rn(a.z, b.z)};
}
__device__ __forceinline__ float product(f32x3 a, f32x3 b) {
    return __fadd_rn(__fadd_rn(__fmul_rn(a.x, b.x), __fmul_rn(a.y, b.y)), __fmul_rn(a.z, b.z));
}
__device__ __forceinline__ float difference(float a, float b, float c, float d) {
    return __fsub_rn(__fmul_rn(a, b), __fmul_rn(c, d));
}
__device__ __forceinline__ f32x3 cross(f32x3 a, f32x3 b) {
    return {difference(a.y, b.z, b.y, a.z), difference(a.z, b.x, b.z, a.x), difference(a.x, b.y, b.x, a.y)};
}

// Calls `keep` with the number and the position of each point of a streamline that is drawn, in order.
template <class Keep>
__device__ __forceinline__ void walk(const f32x3* points, u32 count, bool every_point, Keep keep) {
    if (count == 0) return;
    f32x3 from = points[0], here = from;
    keep(0u, from);
    if (count == 1) return;
    f32x3 next = points[1];
    for (u32 i = 1; i + 1 < count; i++) {
        here = next;
        next = points[i + 1];
        bool kept = every_point;
        if (!every_point) {
            f32x3 chord = minus(here, from), onward = minus(next, here), turn = cross(chord, onward), run = minus(from, next);
            float squares = __fmul_rn(product(chord, chord), product(onward, onward));
            float far = product(run, run);
            float limit = fminf(__fdiv_rn(__fmul_rn(MAXIMUM_TURN_MM, MAXIMUM_TURN_MM), far),
                                __fmul_rn(MAXIMUM_TURN_SINE, MAXIMUM_TURN_SINE));
            bool sharp = product(turn, turn) > __fmul_rn(limit, squares);
            bool straight = product(chord, onward) > 0.0f && !sharp;
            kept = !(straight && far < __fmul_rn(LONGEST_CHORD_MM, LONGEST_CHORD_MM));
        }
        if (kept) {
            keep(i, here);
            from = here;
        }
    }
    keep(count - 1, next);
}

// Bounds, length and drawn points of a streamline: `KernelFacts` in src/engine/solvers/drawn_lines/cuda.rs.
struct Facts {
    float low[3], high[3];
    float length_mm;
    u32 drawn;
};

// One thread for each streamline: its bounds, its length as `length_mm` in src/engine/data/tractogram.rs rounds it, and
// the number of points that are drawn. A point that is not finite makes the length NaN.
extern "C" __global__ void __launch_bounds__(128)
    drawn_lines_examine(const Line* lines, u32 count, u32 every_point, Facts* facts) {
    u32 i = thread_index();
    if (!(i < count)) return;
    Line line = lines[i];
    float low[3] = {LARGEST, LARGEST, LARGEST}, high[3] = {-LARGEST, -LARGEST, -LARGEST};
    double mm = 0.0;
    bool finite = true;
    f32x3 last = {0.0f, 0.0f, 0.0f};
    for (u32 k = 0; k < line.count; k++) {
        f32x3 at = line.points[k];
        float own[3] = {at.x, at.y, at.z};
        for (u32 axis = 0; axis < 3; axis++) {
            finite = finite && fabsf(own[axis]) <= LARGEST;
            low[axis] = fminf(low[axis], own[axis]);
            high[axis] = fmaxf(high[axis], own[axis]);
        }
        if (k > 0) {
            double x = (double)last.x - (double)at.x, y = (double)last.y - (double)at.y, z = (double)last.z - (double)at.z;
            double squared = __dadd_rn(__dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)), __dmul_rn(z, z));
            mm = __dadd_rn(mm, __dsqrt_rn(squared));
        }
        last = at;
    }
    u32 drawn = 0;
    walk(line.points, line.count, every_point != 0, [&](u32, f32x3) { drawn++; });
    Facts own;
    for (u32 axis = 0; axis < 3; axis++) own.low[axis] = low[axis], own.high[axis] = high[axis];
    own.length_mm = finite ? (float)mm : __int_as_float(0x7fc00000);
    own.drawn = drawn;
    facts[i] = own;
}

// `KernelPiece` in src/engine/solvers/drawn_lines/cuda.rs: some of the drawn points of a streamline, the slot of the
// first, and the value of all points, unless each has its own at `values`.
struct Piece {
    const f32x3* points;
    const float* values;
    u32 count, first, drawn, slot;
    float value;
    u32 unused;
};

__device__ __forceinline__ float safe(float value) { return fabsf(value) <= LARGEST ? value : MISSING; }

// One thread for each piece: its points and values into their slots, and a gap after them.
extern "C" __global__ void __launch_bounds__(128)
    drawn_lines_place(const Piece* pieces, u32 count, u32 every_point, u32 has_values, f32x3* slots, float* values) {
    u32 i = thread_index();
    if (!(i < count)) return;
    Piece piece = pieces[i];
    u32 drawn = 0;
    walk(piece.points, piece.count, every_point != 0, [&](u32 number, f32x3 at) {
        u32 place = drawn++ - piece.first;
        if (place >= piece.drawn) return;
        slots[piece.slot + place] = at;
        if (has_values) values[piece.slot + place] = safe(piece.values ? piece.values[number] : piece.value);
    });
    float none = __int_as_float(0x7fc00000);
    slots[piece.slot + piece.drawn] = {none, none, none};
    if (has_values) values[piece.slot + piece.drawn] = 0.0f;
}

__device__ __forceinline__ float least(float value) {
    for (u32 lanes = 16; lanes > 0; lanes /= 2) value = fminf(value, __shfl_xor_sync(0xffffffff, value, lanes));
    return value;
}
__device__ __forceinline__ float largest(float value) {
    for (u32 lanes = 16; lanes > 0; lanes /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, lanes));
    return value;
}

// The smallest power of two with this reach.
__device__ __forceinline__ float step_over(float mm) {
    float least_step = fmaxf(__fdiv_rn(mm, MAXIMUM_COORDINATE - 1.0f), MIN_POSITIVE);
    float below = __int_as_float(__float_as_int(least_step) & 0x7f800000);
    return below < least_step ? __fmul_rn(2.0f, below) : below;
}

// A coordinate in steps from the low corner of its block.
__device__ __forceinline__ u32 steps(float at, float low, float step) {
    float number = __fadd_rn(__fdiv_rn(__fsub_rn(at, low), step), 0.5f);
    return (u32)fmaxf(fminf(number, MAXIMUM_COORDINATE), 0.0f);
}

// 255ths of the bounds, within a byte.
__device__ __forceinline__ u32 byte_of(double number) { return (u32)fmax(fmin(number, 255.0), 0.0); }

// `KernelFrame` in src/engine/solvers/drawn_lines/cuda.rs: `Frame` in src/engine/data/line_blocks.rs.
struct Frame {
    double low[3], step[3];
    float step_mm;
    u32 unused;
};

// One warp for each block of a chunk, which has `ready` slots: the block, and the box around its points and the first
// point of the next block.
extern "C" __global__ void __launch_bounds__(128)
    drawn_lines_pack(Frame frame, const f32x3* slots, u32 ready, u32* blocks, unsigned char* boxes) {
    u32 block = thread_index() / 32, lane = threadIdx.x % 32;
    if (block * 32 >= ready) return;
    u32 slot = block * 32 + lane;
    float none = __int_as_float(0x7fc00000);
    f32x3 at = slot < ready ? slots[slot] : f32x3{none, none, none};
    bool is_point = at.x == at.x;
    float own[3] = {at.x, at.y, at.z}, low[3], high[3], half = -LARGEST;
    for (u32 axis = 0; axis < 3; axis++) {
        low[axis] = least(is_point ? own[axis] : LARGEST);
        high[axis] = largest(is_point ? own[axis] : -LARGEST);
        half = fmaxf(half, __fsub_rn(__fmul_rn(high[axis], 0.5f), __fmul_rn(low[axis], 0.5f)));
    }
    float step = fmaxf(frame.step_mm, __fmul_rn(2.0f, step_over(half)));
    float corner[3];
    bool finite = true;
    for (u32 axis = 0; axis < 3; axis++) {
        corner[axis] = __fmul_rn(floorf(__fdiv_rn(low[axis], step)), step);
        finite = finite && fabsf(corner[axis]) <= LARGEST;
    }
    if (!finite) for (u32 axis = 0; axis < 3; axis++) corner[axis] = low[axis];
    u32 number[3], other[3];
    for (u32 axis = 0; axis < 3; axis++) {
        number[axis] = is_point ? steps(own[axis], corner[axis], step) : GAP;
        other[axis] = __shfl_down_sync(0xffffffff, number[axis], 1);
    }
    u32* out = blocks + (size_t)block * BLOCK_LEN;
    for (u32 axis = 0; axis < 3; axis++) {
        if (lane == axis) out[axis] = __float_as_uint(corner[axis]);
    }
    if (lane == 3) out[3] = __float_as_uint(step);
    if (lane % 2 == 0) {
        u32* pair = out + 4 + lane / 2 * 3;
        pair[0] = number[0] | number[1] << 16;
        pair[1] = number[2] | other[0] << 16;
        pair[2] = other[1] | other[2] << 16;
    }
    // The first point of the next block ends the last segment of this one.
    f32x3 next = slot + 1 < ready && lane == 31 ? slots[slot + 1] : f32x3{none, none, none};
    float ahead[3] = {next.x, next.y, next.z};
    bool has_points = __any_sync(0xffffffff, is_point || next.x == next.x);
    for (u32 axis = 0; axis < 3; axis++) {
        float from = least(fminf(is_point ? own[axis] : LARGEST, next.x == next.x ? ahead[axis] : LARGEST));
        float to = largest(fmaxf(is_point ? own[axis] : -LARGEST, next.x == next.x ? ahead[axis] : -LARGEST));
        double within[2];
        within[0] = floor(__ddiv_rn(__dsub_rn((double)from, frame.low[axis]), frame.step[axis]));
        within[1] = ceil(__ddiv_rn(__dsub_rn((double)to, frame.low[axis]), frame.step[axis]));
        if (lane == axis) {
            boxes[(size_t)block * 6 + axis] = has_points ? byte_of(within[0]) : 255;
            boxes[(size_t)block * 6 + 3 + axis] = has_points ? byte_of(within[1]) : 0;
        }
    }
}
