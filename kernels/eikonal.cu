// Cost fields by bricks of 4 x 4 x 4 voxels; see src/solvers/eikonal/mod.rs.
//
// A block of threads visits one brick at a time: it loads the brick and a shell of one voxel, evaluates
// the pairs of a voxel and an octant that can read a cell that fell and can still lower the voxel, and
// wakes the bricks that can read what fell. Which bricks wait is kept twice, for this round and the next;
// rounds are separated by a barrier of all blocks, which the launch must make resident together.

#include "common.cuh"

// Local solvers on the corners of one octant; src/solvers/eikonal/row.rs does the same for eight voxels at
// a time.
// Inside the mask, not yet reached; outside the mask.
constexpr float UNREACHED = 1e30f, OUTSIDE = 3e30f;

// One voxel: W and G as xx xy xz yy yz zz, their determinants, and what no way to the stencil's faces
// undercuts. 64 bytes.
struct Voxel {
    float w[6], g[6], det_w, det_g, least, unused;
};
static_assert(sizeof(Voxel) == 64, "as [f32; 16] in Rust");

__device__ __forceinline__ Voxel load_voxel(const float4* record) {
    float4 a = __ldg(record), b = __ldg(record + 1), c = __ldg(record + 2), d = __ldg(record + 3);
    return {{a.x, a.y, a.z, a.w, b.x, b.y}, {b.z, b.w, c.x, c.y, c.z, c.w}, d.x, d.y, d.z, d.w};
}

// Over the edge from the corner with value u to the one with u + d: a = |e_j - e_i|^2, b = <e_i, e_j - e_i>,
// s the root of their Gram determinant, all with G. Negative radicands make NaN, which fails the guard.
__device__ __forceinline__ void edge(float& best, float u, float d, float a, float b, float s) {
    float q = sqrtf(fmaf(-d, d, a)), ds = d * s;
    float value = fmaf(fmaf(s, q, -d * b), 1.0f / a, u);
    bool inside = fmaf(b, q, ds) <= 0.0f & fmaf(a + b, q, ds) >= 0.0f;
    if (inside & value < best) best = value;
}

// The discriminant comes from the cofactors of W, so that single precision is enough at any anisotropy.
__device__ __forceinline__ void tetrahedron(
    float& best, float u, float q2, float q3, float waa, float wab, float wac, float wbb, float wbc, float wcc,
    float kcc, float kbc, float kbb) {
    float disc = waa - fmaf(fmaf(kcc, q2, -kbc * q3), q2, kbb * q3 * q3);
    float va = sqrtf(disc);
    float q1 = (va - fmaf(wab, q2, wac * q3)) * (1.0f / waa);
    float vb = fmaf(wab, q1, fmaf(wbb, q2, wbc * q3));
    float vc = fmaf(wac, q1, fmaf(wbc, q2, wcc * q3));
    float value = u + q1;
    if ((va >= vb) & (vb >= vc) & (vc >= 0.0f) & (value < best)) best = value;
}

// A neighbour that touches by an edge or a corner alone is reached through one that touches by faces, or
// not at all.
__device__ __forceinline__ float shut(float value, float through) {
    return through >= 2.0f * UNREACHED ? OUTSIDE : value;
}

// Hopf-Lax on the 7 neighbours of an octant; dx, dy, dz are the cells to those along the axes.
__device__ __forceinline__ float hopf_lax(
    const float* tile, int at, int dx, int dy, int dz, float s01, float s02, float s12, const Voxel& v) {
    float u0 = tile[at + dx], u1 = tile[at + dy], u2 = tile[at + dz];
    float d01 = shut(tile[at + dx + dy], fminf(u0, u1));
    float d02 = shut(tile[at + dx + dz], fminf(u0, u2));
    float d12 = shut(tile[at + dy + dz], fminf(u1, u2));
    float c = shut(tile[at + dx + dy + dz], fminf(d01, fminf(d02, d12)));
    float w00 = v.w[0], w11 = v.w[3], w22 = v.w[5], w01 = s01 * v.w[1], w02 = s02 * v.w[2], w12 = s12 * v.w[4];
    float g00 = v.g[0], g11 = v.g[3], g22 = v.g[5], g01 = s01 * v.g[1], g02 = s02 * v.g[2], g12 = s12 * v.g[4];
    float n01 = g00 + g11 + 2.0f * g01, n02 = g00 + g22 + 2.0f * g02, n12 = g11 + g22 + 2.0f * g12;
    float nc = n01 + g22 + 2.0f * (g02 + g12);
    float best = fminf(fminf(u0 + sqrtf(g00), u1 + sqrtf(g11)), u2 + sqrtf(g22));
    best = fminf(best, fminf(d01 + sqrtf(n01), d02 + sqrtf(n02)));
    best = fminf(best, fminf(d12 + sqrtf(n12), c + sqrtf(nc)));
    float p01 = sqrtf(v.det_g * w22), p02 = sqrtf(v.det_g * w11), p12 = sqrtf(v.det_g * w00);
    edge(best, u0, d01 - u0, g11, g01, p01);
    edge(best, u1, d01 - u1, g00, g01, p01);
    edge(best, u0, d02 - u0, g22, g02, p02);
    edge(best, u2, d02 - u2, g00, g02, p02);
    edge(best, u1, d12 - u1, g22, g12, p12);
    edge(best, u2, d12 - u2, g11, g12, p12);
    float c01 = sqrtf(v.det_g * (w00 + w11 - 2.0f * w01));
    float c02 = sqrtf(v.det_g * (w00 + w22 - 2.0f * w02));
    float c12 = sqrtf(v.det_g * (w11 + w22 - 2.0f * w12));
    edge(best, d01, c - d01, g22, g02 + g12, c01);
    edge(best, d02, c - d02, g11, g01 + g12, c02);
    edge(best, d12, c - d12, g00, g01 + g02, c12);
    edge(best, u2, c - u2, n01, g02 + g12, c01);
    edge(best, u1, c - u1, n02, g01 + g12, c02);
    edge(best, u0, c - u0, n12, g01 + g02, c12);
    float d = v.det_w;
    float k00 = d * g00, k11 = d * g11, k22 = d * g22;
    float k01 = 2.0f * d * g01, k02 = 2.0f * d * g02, k12 = 2.0f * d * g12;
    float q01 = d01 - c, q02 = d02 - c, q12 = d12 - c;
    tetrahedron(best, u0, u0 - d01, q01, w00, w01, w02, w11, w12, w22, k22, k12, k11);
    tetrahedron(best, u0, u0 - d02, q02, w00, w02, w01, w22, w12, w11, k11, k12, k22);
    tetrahedron(best, u1, u1 - d01, q01, w11, w01, w12, w00, w02, w22, k22, k02, k00);
    tetrahedron(best, u1, u1 - d12, q12, w11, w12, w01, w22, w02, w00, k00, k02, k22);
    tetrahedron(best, u2, u2 - d02, q02, w22, w02, w12, w00, w01, w11, k11, k01, k00);
    tetrahedron(best, u2, u2 - d12, q12, w22, w12, w02, w11, w01, w00, k00, k01, k11);
    return best;
}

// The upwind scheme on 3 of the 6 neighbours.
__device__ __forceinline__ float godunov(
    const float* tile, int at, int dx, int dy, int dz, float s01, float s02, float s12, const Voxel& v) {
    float u0 = tile[at + dx], u1 = tile[at + dy], u2 = tile[at + dz];
    float w00 = v.w[0], w11 = v.w[3], w22 = v.w[5], w01 = s01 * v.w[1], w02 = s02 * v.w[2], w12 = s12 * v.w[4];
    float g00 = v.g[0], g11 = v.g[3], g22 = v.g[5], g01 = s01 * v.g[1], g02 = s02 * v.g[2], g12 = s12 * v.g[4];
    float best = fminf(fminf(u0 + sqrtf(g00), u1 + sqrtf(g11)), u2 + sqrtf(g22));
    float n01 = g00 + g11 - 2.0f * g01, n02 = g00 + g22 - 2.0f * g02, n12 = g11 + g22 - 2.0f * g12;
    edge(best, u0, u1 - u0, n01, g01 - g00, sqrtf(v.det_g * w22));
    edge(best, u0, u2 - u0, n02, g02 - g00, sqrtf(v.det_g * w11));
    edge(best, u1, u2 - u1, n12, g12 - g11, sqrtf(v.det_g * w00));
    float d1 = u0 - u1, d2 = u0 - u2, d = v.det_w;
    float r0 = w00 + w01 + w02, r1 = w01 + w11 + w12, r2 = w02 + w12 + w22, a = r0 + r1 + r2;
    float mixed = d * n02 * d1 - 2.0f * d * (g00 + g12 - g01 - g02) * d2;
    float disc = a - fmaf(mixed, d1, d * n01 * d2 * d2);
    float q = (sqrtf(disc) - fmaf(r1, d1, r2 * d2)) * (1.0f / a);
    bool upwind = (fmaf(r0, q, fmaf(w01, d1, w02 * d2)) >= 0.0f) & (fmaf(r1, q, fmaf(w11, d1, w12 * d2)) >= 0.0f)
                & (fmaf(r2, q, fmaf(w12, d1, w22 * d2)) >= 0.0f);
    float value = u0 + q;
    if (upwind & (value < best)) best = value;
    return best;
}

// sum rho max(0, u - v)^2 = 1 by Newton's method from above.
__device__ __forceinline__ float selling(const float (&values)[6], const float (&rho)[6]) {
    float low = UNREACHED, t = UNREACHED;
#pragma unroll
    for (int k = 0; k < 6; ++k)
        if (rho[k] > 0.0f) low = fminf(low, values[k]);
    if (!(low < UNREACHED)) return UNREACHED;
#pragma unroll
    for (int k = 0; k < 6; ++k)
        if (rho[k] > 0.0f) t = fminf(t, values[k] - low + rsqrtf(rho[k]));
#pragma unroll 1
    for (int step = 0; step < 8; ++step) {
        float slope = 0.0f, sum = -1.0f;
#pragma unroll
        for (int k = 0; k < 6; ++k) {
            float d = fmaxf(t - (values[k] - low), 0.0f), part = rho[k] * d;
            slope += part;
            sum = fmaf(part, d, sum);
        }
        float next = t - 0.5f * sum / slope;
        if (!(next < t * (1.0f - 2e-7f))) break;
        t = next;
    }
    return low + t;
}

constexpr u32 QUIET = ~0u;
constexpr int CELLS = 64, SIDE = 6, TILE = SIDE * SIDE * SIDE, PAIRS = CELLS * 8;
// Threads of a block: one a voxel of its brick.
constexpr u32 THREADS = 64;
// Of what woke a brick: 27 neighbours, x fastest, and a cell that is read through a long offset.
constexpr u32 SELF = 1u << 13, FAR = 1u << 27;

// Which of the local solvers.
enum Local { GODUNOV, HOPF_LAX, SELLING, HYBRID };

// All that is known of a brick, 256 bytes.
struct Header {
    // Bricks around it, x fastest; the last of all, which is outside, where there is none.
    u32 around[27];
    u32 first_record;
    u32 first_reader, readers;
    // A bit for each voxel of the mask, x fastest.
    u32 inside[2];
    u32 unused[32];
};
static_assert(sizeof(Header) == 256, "as [u32; 64] in Rust");

// A brick that reads cells of another through long offsets, and which.
struct Reader {
    u32 brick, cells[2], unused;
};

// Counters of the rounds: what is used in round r lies at r % 3.
struct State {
    u32 least[3], count[3];
    u32 arrived, rounds, visits;
    // Bricks visited in the round, and how far above the least key others may be to take part.
    u32 busy[3];
    float window[2];
    u32 unused[2];
};
static_assert(sizeof(State) == 64, "as [u32; 16] in Rust");

struct Job {
    u32 bricks, fields, seeds, starts;
    // Rounds of this launch at most, and times that a visit goes through its brick.
    u32 rounds, inner;
    // The window of the first round.
    float tolerance, window;
};
static_assert(sizeof(Job) == 32, "as in Rust");

// One thread a cell and one a brick, of all fields: nothing is reached.
extern "C" __global__ void eikonal_clear(
    Job job, const Header* headers, float* u_grid, u32* keys, u32* woken, State* state) {
    u32 total = job.fields * (job.bricks + 1) * CELLS;
    for (u32 i = thread_index(); i < total; i += gridDim.x * blockDim.x) {
        u32 cell = i % CELLS, brick = i / CELLS % (job.bricks + 1);
        bool inside = headers[brick].inside[cell / 32] >> (cell % 32) & 1;
        u_grid[i] = inside ? UNREACHED : OUTSIDE;
    }
    u32 items = job.fields * job.bricks;
    for (u32 i = thread_index(); i < 2 * items; i += gridDim.x * blockDim.x) {
        keys[i] = QUIET;
        woken[i] = 0;
    }
    if (thread_index() == 0) {
        *state = {};
        state->least[1] = state->least[2] = QUIET;
        state->count[0] = job.starts;
        state->window[0] = job.window;
    }
}

// One thread a seed and one a brick that waits first.
extern "C" __global__ void eikonal_seed(
    Job job, const u32* cells, const float* values, const u32* starts, float* u_grid, u32* keys, u32* woken,
    u32* list) {
    u32 i = thread_index();
    if (i < job.seeds) u_grid[cells[i]] = values[i];
    if (i < job.starts) {
        keys[starts[i]] = 0;
        woken[starts[i]] = ~0u;
        list[i] = starts[i];
    }
}

// One thread a voxel of a field: values by place, infinity where nothing is reached.
extern "C" __global__ void eikonal_gather(
    u32 count, u32 fields, u32 stride, const u32* cell_of, const float* u_grid, float* out) {
    u32 i = thread_index();
    if (!(i < count * fields)) return;
    float value = u_grid[i / count * stride + cell_of[i % count]];
    out[i] = value < UNREACHED ? value : __int_as_float(0x7f800000);
}

// Cells on the side of a brick that neighbour k shares: all along an axis it is not moved along.
__device__ __forceinline__ u64 side_of(u32 k) {
    int x = k % 3, y = k / 3 % 3, z = k / 9;
    u64 row = x == 1 ? 0xF : x == 0 ? 0x1 : 0x8;
    u64 slice = y == 1 ? row * 0x1111 : y == 0 ? row : row << 12;
    return z == 1 ? slice * 0x0001000100010001ull : z == 0 ? slice : slice << 48;
}

struct Shared {
    Header header;
    float tile[TILE];
    // Cells that fell, by slice: before this turn, and in it.
    u64 fallen[2][SIDE];
    unsigned short list[PAIRS];
    // The voxels of the mask.
    unsigned char cells[CELLS];
    // Items of this block's part of the list whose turn it is, and what woke them.
    u32 turns[THREADS], reasons[THREADS], count;
    // No way to the stencil's faces costs a voxel less.
    float floor[CELLS];
    u32 listed, changed[2], least;
};

// Sets a bit; halves of a word, which the hardware has an instruction for.
__device__ __forceinline__ void mark(u64& word, u32 bit) {
    atomicOr(reinterpret_cast<u32*>(&word) + (bit >> 5), 1u << (bit & 31));
}

template <int LOCAL>
__device__ __forceinline__ void visit(
    const Job& job, u32 item, u32 woken, const Header* headers, const float4* records, const float* rho, const u32* ends,
    const Reader* readers, float* u_grid, u32* keys_next, u32* woken_next, u32* list_next, u32* count_next,
    u32* least_next, Shared& s) {
    const u32 thread = threadIdx.x, lane = thread & 31;
    const u32 field = item / job.bricks, brick = item - field * job.bricks;
    float* u_field = u_grid + (size_t)field * (job.bricks + 1) * CELLS;
    reinterpret_cast<u32*>(&s.header)[thread] = __ldg(reinterpret_cast<const u32*>(headers + brick) + thread);
    // Cells of the neighbours that woke the brick.
    if (thread < SIDE) {
        const u64 rows[3] = {0x01, 0x1E, 0x20};
        u64 cells = 0;
#pragma unroll
        for (u32 k = 0; k < 9; ++k) {
            const u64 row = rows[k % 3];
            const u64 part = k / 3 == 0 ? row : k / 3 == 2 ? row << 30 : row << 6 | row << 12 | row << 18 | row << 24;
            if (woken >> (9 * ((thread > 0) + (thread > 4)) + k) & 1) cells |= part;
        }
        s.fallen[0][thread] = cells;
        s.fallen[1][thread] = 0;
    }
    if (thread == 0) {
        s.listed = 0;
        s.changed[0] = s.changed[1] = 0;
        s.least = QUIET;
    }
    __syncthreads();
    for (u32 i = thread; i < TILE; i += THREADS) {
        int x = i % SIDE, y = i / SIDE % SIDE, z = i / (SIDE * SIDE);
        u32 third = (x > 0) + (x > 4) + 3 * ((y > 0) + (y > 4)) + 9 * ((z > 0) + (z > 4));
        u32 cell = ((x + 3) & 3) + 4 * ((y + 3) & 3) + 16 * ((z + 3) & 3);
        s.tile[i] = __ldcg(u_field + (size_t)s.header.around[third] * CELLS + cell);
    }
    // The voxel of this thread, and its record.
    const u64 inside = s.header.inside[0] | (u64)s.header.inside[1] << 32;
    const bool mine = thread < CELLS && (inside >> (thread & 63) & 1);
    const int home = ((thread >> 4 & 3) + 1) * 36 + ((thread >> 2 & 3) + 1) * 6 + (thread & 3) + 1;
    const u32 record = s.header.first_record + __popcll(inside & ((1ull << (thread & 63)) - 1));
    if (mine) {
        s.floor[thread] = __ldg(&records[(size_t)record * 4 + 3].z);
        s.cells[record - s.header.first_record] = thread;
    }
    const u32 pairs = 8 * __popcll(inside);
    const bool member = (LOCAL == SELLING || LOCAL == HYBRID) && mine && (woken & (FAR | SELF));
    float far_values[6], far_rho[6];
    if (member) {
#pragma unroll
        for (int k = 0; k < 6; ++k) {
            far_rho[k] = __ldg(rho + (size_t)record * 6 + k);
            u32 a = __ldg(ends + (size_t)record * 12 + 2 * k), b = __ldg(ends + (size_t)record * 12 + 2 * k + 1);
            far_values[k] = fminf(a == QUIET ? OUTSIDE : __ldcg(u_field + a), b == QUIET ? OUTSIDE : __ldcg(u_field + b));
        }
    }
    __syncthreads();
    const float before = mine ? s.tile[home] : 0.0f;
    if (member) {
        float value = selling(far_values, far_rho);
        if (value < before) {
            s.tile[home] = value;
            // Read by this brick's own octants in this very visit.
            if (before - value > job.tolerance * value)
                mark(s.fallen[0][home / 36], home % 36);
        }
    }
    if (LOCAL == SELLING) __syncthreads();
    bool more = false;
    for (u32 turn = 0; LOCAL != SELLING && turn < job.inner; ++turn) {
        __syncthreads();
        const u64* old = s.fallen[turn & 1];
        // The same number of turns for all lanes.
        for (u32 first = 0; first < pairs; first += THREADS) {
            const u32 p = first + thread, cell = s.cells[min(p, pairs - 1) >> 3], octant = p & 7;
            bool take = false;
            int at = 0;
            if (p < pairs) {
                int x = (cell & 3) + 1, y = (cell >> 2 & 3) + 1, z = (cell >> 4) + 1;
                int sx = octant & 1 ? 1 : -1, sy = octant & 2 ? SIDE : -SIDE, sz = octant & 4 ? 1 : -1;
                int b = y * SIDE + x;
                at = z * 36 + b;
                u64 here = 1ull << b, along = 1ull << (b + sx), up = 1ull << (b + sy), both = 1ull << (b + sx + sy);
                u64 read = LOCAL == GODUNOV ? (old[z] & (along | up)) | (old[z + sz] & here)
                                            : (old[z] & (along | up | both)) | (old[z + sz] & (here | along | up | both));
                if (read) {
                    const float* t = s.tile + at;
                    int dz = sz * 36;
                    float low = fminf(fminf(t[sx], t[sy]), t[dz]);
                    if (LOCAL != GODUNOV)
                        low = fminf(fminf(low, fminf(t[sx + sy], t[sx + dz])), fminf(t[sy + dz], t[sx + sy + dz]));
                    take = low + s.floor[cell] < t[0];
                }
            }
            u32 taken = __ballot_sync(~0u, take);
            u32 base = 0;
            if (lane == 0 && taken) base = atomicAdd(&s.listed, __popc(taken));
            base = __shfl_sync(~0u, base, 0);
            if (take) s.list[base + __popc(taken & ((1u << lane) - 1))] = (unsigned short)(at << 3 | octant);
        }
        __syncthreads();
        const u32 listed = s.listed;
        bool fell = false;
        if (thread < SIDE) s.fallen[turn & 1][thread] = 0;
        for (u32 i = thread; i < listed; i += THREADS) {
            u32 pair = s.list[i], octant = pair & 7;
            int at = pair >> 3, z = at / 36, b = at - z * 36, y = b / SIDE, x = b - y * SIDE;
            u32 cell = (x - 1) + 4 * (y - 1) + 16 * (z - 1);
            u32 record = s.header.first_record + __popcll(inside & ((1ull << cell) - 1));
            Voxel v = load_voxel(records + (size_t)record * 4);
            int sx = octant & 1 ? 1 : -1, sy = octant & 2 ? 1 : -1, sz = octant & 4 ? 1 : -1;
            float s01 = sx * sy, s02 = sx * sz, s12 = sy * sz;
            float value = LOCAL == GODUNOV
                ? godunov(s.tile, at, sx, sy * SIDE, sz * 36, s01, s02, s12, v)
                : hopf_lax(s.tile, at, sx, sy * SIDE, sz * 36, s01, s02, s12, v);
            float old_value = s.tile[at];
            if (value < old_value) {
                old_value = __uint_as_float(atomicMin(reinterpret_cast<u32*>(s.tile) + at, __float_as_uint(value)));
                if (old_value - value > job.tolerance * value) {
                    fell = true;
                    mark(s.fallen[turn + 1 & 1][z], b);
                }
            }
        }
        more = __syncthreads_or(fell);
        if (thread == 0) s.listed = 0;
        if (!more) break;
    }
    // What fell goes out, before anybody is woken.
    float value = mine ? s.tile[home] : 0.0f;
    bool lower = mine && value < before;
    if (lower) __stcg(u_field + (size_t)brick * CELLS + thread, value);
    bool tells = lower && before - value > job.tolerance * value;
    u32 bits = __ballot_sync(~0u, tells);
    if (lane == 0 && thread < CELLS) s.changed[thread / 32] = bits;
    if (tells) atomicMin(&s.least, __float_as_uint(value));
    __syncthreads();
    const u64 changed = s.changed[0] | (u64)s.changed[1] << 32;
    if (changed) {
        const u32 key = s.least;
        const u32 first = field * job.bricks;
        if (thread == 0) atomicMin(least_next, key);
        bool uses_far = LOCAL == SELLING || LOCAL == HYBRID;
        const u32 all = 27 + (uses_far ? s.header.readers : 0);
        for (u32 k = thread; k < all; k += THREADS) {
            u32 target = QUIET, bit = FAR;
            if (k < 27) {
                // The brick itself: what its voxels read of one another.
                bool reads = k == 13 ? more || uses_far : (changed & side_of(k)) != 0;
                if (reads && s.header.around[k] < job.bricks) {
                    target = s.header.around[k];
                    bit = 1u << (26 - k);
                }
            } else {
                const uint4 reader = __ldg(reinterpret_cast<const uint4*>(readers + s.header.first_reader) + (k - 27));
                if (changed & (reader.y | (u64)reader.z << 32)) target = reader.x;
            }
            if (target != QUIET) {
                target += first;
                atomicOr(woken_next + target, bit);
                if (atomicMin(keys_next + target, key) == QUIET) list_next[atomicAdd(count_next, 1u)] = target;
            }
        }
    }
    __syncthreads();
}

// A block of threads a brick; all blocks must be resident together.
template <int LOCAL>
__device__ __forceinline__ void spread(
    const Job& job, const Header* headers, const float4* records, const float* rho, const u32* ends,
    const Reader* readers, float* u_grid, u32* keys, u32* woken, u32* lists, State* state) {
    __shared__ Shared s;
    const u32 items = job.fields * job.bricks;
    const u32 start = *(volatile u32*)&state->rounds;
    u32 visits = 0, round = start;
    for (; round < start + job.rounds; ++round) {
        const u32 here = round & 1, now = round % 3, next = (round + 1) % 3, after = (round + 2) % 3;
        const u32 count = *(volatile u32*)&state->count[now];
        if (count == 0) break;
        const float limit = __uint_as_float(*(volatile u32*)&state->least[now]) + *(volatile float*)&state->window[here];
        if (blockIdx.x == 0 && threadIdx.x == 0) {
            *(volatile u32*)&state->busy[next] = 0;
            // As many bricks as there are blocks: fewer leave the card idle, more are visited too early.
            float window = *(volatile float*)&state->window[here];
            const u32 busy = round ? *(volatile u32*)&state->busy[after] : gridDim.x;
            if (busy > gridDim.x + gridDim.x / 2) window *= 0.8f;
            if (busy < gridDim.x / 2) window = fminf(1.25f * window, UNREACHED);
            *(volatile float*)&state->window[1 - here] = window;
            *(volatile u32*)&state->least[after] = QUIET;
            *(volatile u32*)&state->count[after] = 0;
        }
        u32 *keys_now = keys + here * items, *keys_next = keys + (1 - here) * items;
        u32 *woken_now = woken + here * items, *woken_next = woken + (1 - here) * items;
        u32 *list_now = lists + here * items, *list_next = lists + (1 - here) * items;
        u32 *count_next = &state->count[next], *least_next = &state->least[next];
        // Each thread looks at a brick; those whose turn it is are visited by all.
        for (u32 first = 0; first < count; first += gridDim.x * THREADS) {
            if (threadIdx.x == 0) s.count = 0;
            __syncthreads();
            const u32 q = first + threadIdx.x * gridDim.x + blockIdx.x;
            if (q < count) {
                const u32 item = __ldcg(list_now + q);
                const u32 key = __ldcg(keys_now + item), why = __ldcg(woken_now + item);
                keys_now[item] = QUIET;
                woken_now[item] = 0;
                if (__uint_as_float(key) <= limit) {
                    u32 place = atomicAdd(&s.count, 1u);
                    s.turns[place] = item;
                    s.reasons[place] = why;
                } else {
                    atomicOr(woken_next + item, why);
                    if (atomicMin(keys_next + item, key) == QUIET) list_next[atomicAdd(count_next, 1u)] = item;
                    atomicMin(least_next, key);
                }
            }
            __syncthreads();
            const u32 turns = s.count;
            if (threadIdx.x == 0 && turns) atomicAdd(&state->busy[now], turns);
            for (u32 i = 0; i < turns; ++i)
                visit<LOCAL>(
                    job, s.turns[i], s.reasons[i], headers, records, rho, ends, readers, u_grid, keys_next,
                    woken_next, list_next, count_next, least_next, s);
            visits += turns;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            u32 target = (round + 1) * gridDim.x;
            atomicAdd(&state->arrived, 1u);
            while (*(volatile u32*)&state->arrived < target) {}
            __threadfence();
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(&state->visits, visits);
        // The same in all blocks, and read by none of them any more.
        if (round > start) atomicMax(&state->rounds, round);
    }
}

#define ENTRY(name, local)                                                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS, 8) name(                                                      \
        Job job, const Header* headers, const float4* records, const float* rho, const u32* ends,                   \
        const Reader* readers, float* u_grid, u32* keys, u32* woken, u32* lists, State* state) {                    \
        spread<local>(job, headers, records, rho, ends, readers, u_grid, keys, woken, lists, state);                \
    }

ENTRY(eikonal_spread_godunov6, GODUNOV)
ENTRY(eikonal_spread_hopf_lax26, HOPF_LAX)
ENTRY(eikonal_spread_selling, SELLING)
ENTRY(eikonal_spread_hybrid, HYBRID)
