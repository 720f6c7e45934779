// Cost fields by bricks of 4 x 4 x 4 voxels; see src/engine/solvers/eikonal/mod.rs and cuda.rs.
//
// A block of threads owns every n-th brick of each field, and no other block visits those. Teams of 64 threads take
// the waiting brick of their block with the smallest value: they load it with a margin of one voxel, evaluate the
// pairs of a voxel and an octant that can read a cell that decreased and can still lower the voxel, and wake the
// bricks that can read these changes, whichever block owns them. No barrier joins the blocks, so a front advances as
// fast as bricks are visited; but a block waits for bricks that others wake, so the launch must make all blocks
// resident together. It ends when no brick waits or is visited, or after a time limit.

#include "octants.cuh"

constexpr u32 QUIET = ~0u;
constexpr int CELLS = 64, SIDE = 6, TILE = SIDE * SIDE * SIDE, PAIRS = CELLS * 8;
// Threads per team, one per voxel of its brick; teams per block; threads per block.
constexpr u32 TEAM = 64, TEAMS = 8, THREADS = TEAM * TEAMS;
// Bits of what woke a brick: 27 neighbours, x fastest, and a cell that is read through a long offset.
constexpr u32 SELF = 1u << 13, FAR = 1u << 27;

// The local solver.
enum Local { GODUNOV, HOPF_LAX, SELLING, HYBRID };

// The constant data of a brick, 256 bytes.
struct Header {
    // The 27 bricks around it, x fastest; the last of all bricks, the outside, where there is none.
    u32 around[27];
    u32 first_record;
    u32 first_reader, readers;
    // One bit for each voxel of the mask, x fastest, and for each voxel that another voxel of this brick reads
    // through a long offset.
    u32 inside[2], own[2];
    u32 unused[30];
};
static_assert(sizeof(Header) == 256, "as [u32; 64] in Rust");

// A brick that reads cells of another one through long offsets, and these cells.
struct Reader {
    u32 brick, cells[2], unused;
};

// The state of a brick of a field, kept by its owner.
struct Turn {
    // Bits of the smallest value that woke it, which only determines the order of visits; and the directions from
    // which it was woken: it waits unless this is 0.
    u32 key, why;
    // Its own cells that decreased in the last visit after they had been read.
    u32 left[2];
};
static_assert(sizeof(Turn) == 16, "as [u32; 4] in Rust");

struct State {
    // Number of bricks that wait or are visited; an upper bound while some are being woken.
    u32 pending;
};
static_assert(sizeof(State) == 4, "as u32 in Rust");

struct Job {
    u32 bricks, fields, seeds, starts;
    // Number of blocks that own bricks, and the number of bricks of a field for which each has room.
    u32 owners, each;
    // Passes through a brick per visit.
    u32 inner;
    // A value that has fallen by less than this share of itself since it last woke others wakes no brick.
    float tolerance;
    // Clock cycles per launch at most.
    u64 clocks;
};
static_assert(sizeof(Job) == 40, "as in Rust");

// Owners store their turns together, field after field.
__device__ __forceinline__ size_t turn_of(const Job& job, u32 field, u32 brick) {
    return (size_t)(brick % job.owners * job.fields + field) * job.each + brick / job.owners;
}

// One thread per cell and per turn of all fields: resets everything.
extern "C" __global__ void eikonal_clear(
    Job job, const Header* headers, float* u_grid, float* sent, uint4* turns, State* state) {
    // Up to 2^32 cells: indices beyond the last must not wrap around.
    const u64 total = (u64)job.fields * (job.bricks + 1) * CELLS, all = (u64)gridDim.x * blockDim.x;
    for (u64 i = thread_index(); i < total; i += all) {
        u32 cell = (u32)i % CELLS, brick = (u32)i / CELLS % (job.bricks + 1);
        bool inside = headers[brick].inside[cell / 32] >> (cell % 32) & 1;
        u_grid[i] = inside ? UNREACHED : OUTSIDE;
        sent[i] = UNREACHED;
    }
    for (u64 i = thread_index(); i < (u64)job.owners * job.fields * job.each; i += all)
        turns[i] = {QUIET, 0, ~0u, ~0u};
    if (thread_index() == 0) *state = {job.starts};
}

// One thread per seed and per initially waiting brick, each given as a field and an index.
extern "C" __global__ void eikonal_seed(
    Job job, const u32* cells, const float* values, const uint2* starts, float* u_grid, Turn* turns) {
    u32 i = thread_index();
    if (i < job.seeds) u_grid[cells[i]] = values[i];
    if (i < job.starts) {
        Turn& turn = turns[turn_of(job, starts[i].x, starts[i].y)];
        turn.key = 0;
        turn.why = ~0u;
    }
}

// One thread per voxel of a field: values by place, infinity where nothing is reached.
extern "C" __global__ void eikonal_gather(
    u32 count, u32 fields, u32 stride, const u32* cell_of, const float* u_grid, float* out) {
    u32 i = thread_index();
    if (!(i < count * fields)) return;
    float value = u_grid[i / count * stride + cell_of[i % count]];
    out[i] = value < UNREACHED ? value : __int_as_float(0x7f800000);
}

// The smallest length of a step to an octant's faces: the result of the local solver for zeros, less the possible
// rounding error. One thread per record and octant; opposite octants have equal values.
template <int LOCAL>
__device__ __forceinline__ void floors(u32 records, const float4* voxels, float* out) {
    __shared__ float zeros[27];
    if (threadIdx.x < 27) zeros[threadIdx.x] = 0.0f;
    __syncthreads();
    u32 i = thread_index();
    if (!(i < 4 * records)) return;
    Voxel v = load_voxel(voxels + (size_t)(i / 4) * 4);
    int sx = i & 1 ? 1 : -1, sy = i & 2 ? 1 : -1, sz = -1;
    float s01 = sx * sy, s02 = sx * sz, s12 = sy * sz;
    float least = LOCAL == GODUNOV ? godunov(zeros, 13, sx, 3 * sy, 9 * sz, s01, s02, s12, v)
                                   : hopf_lax(zeros, 13, sx, 3 * sy, 9 * sz, s01, s02, s12, v);
    out[i] = least * (1.0f - 1e-4f);
}

extern "C" __global__ void eikonal_floors_godunov6(u32 records, const float4* voxels, float* out) {
    floors<GODUNOV>(records, voxels, out);
}
extern "C" __global__ void eikonal_floors_hopf_lax26(u32 records, const float4* voxels, float* out) {
    floors<HOPF_LAX>(records, voxels, out);
}

// Cells of a brick on the side shared with neighbour k: all of them along axes without displacement.
__device__ __forceinline__ u64 side_of(u32 k) {
    int x = k % 3, y = k / 3 % 3, z = k / 9;
    u64 row = x == 1 ? 0xF : x == 0 ? 0x1 : 0x8;
    u64 slice = y == 1 ? row * 0x1111 : y == 0 ? row : row << 12;
    return z == 1 ? slice * 0x0001000100010001ull : z == 0 ? slice : slice << 48;
}

// The arrays of a launch.
struct Arrays {
    const Header* headers;
    const float4 *records, *floors;
    const uint4* terms;
    const Reader* readers;
    float* u_grid;
    // For each cell the value with which it last woke others. Decreases below the tolerance thus accumulate until
    // they wake. Only the brick's owner reads and writes it.
    float* sent;
    Turn* turns;
    State* state;
};

// Shared memory of a team.
struct Shared {
    Header header;
    float tile[TILE];
    // Cells that decreased, by slice: before this round, and in it.
    u64 fallen[2][SIDE];
    unsigned short list[PAIRS];
    // Lower bound on the cost of a step to the faces of each octant, for each voxel.
    float4 floors[CELLS];
    // The value with which each voxel last woke others, within the brick or beyond.
    float sent[CELLS];
    // The voxels of the mask.
    unsigned char cells[CELLS];
    u32 turn, why, left[2];
    u32 listed, changed[2], least;
};

// Sets a bit, by half words, for which the hardware has an instruction.
__device__ __forceinline__ void mark(u64& word, u32 bit) {
    atomicOr(reinterpret_cast<u32*>(&word) + (bit >> 5), 1u << (bit & 31));
}

// A barrier for the threads of a team; barrier 0 is that of the block.
__device__ __forceinline__ void meet(u32 team) {
    __syncwarp();
    asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(TEAM) : "memory");
}

// A barrier that also returns whether any thread passes `yes`.
__device__ __forceinline__ bool meet_any(u32 team, bool yes) {
    u32 any;
    __syncwarp();
    asm volatile(
        "{ .reg .pred p, q; setp.ne.u32 p, %1, 0; bar.red.or.pred q, %2, %3, p; selp.u32 %0, 1, 0, q; }"
        : "=r"(any) : "r"((u32)yes), "r"(team + 1), "n"(TEAM) : "memory");
    return any;
}

// Sets bits once everything that the team wrote before is visible to all blocks; returns the old value.
__device__ __forceinline__ u32 publish(u32* word, u32 bits) {
    u32 old;
    asm volatile("atom.release.gpu.global.or.b32 %0, [%1], %2;" : "=r"(old) : "l"(word), "r"(bits) : "memory");
    return old;
}

// One bit for each of the four octants of a voxel on one side along z that can read a cell that decreased and can
// still lower the voxel. t is its cell in the tile, fallen its slice, dz 1 or -1, shift the bit of the corner of the
// 3 x 3 cells around it.
template <int LOCAL>
__device__ __forceinline__ u32 worth(const float* t, const u64* fallen, int dz, u32 shift, float4 floors) {
    const float floor[4] = {floors.x, floors.y, floors.z, floors.w};
    const u32 here = (u32)(fallen[0] >> shift), next = (u32)(fallen[dz] >> shift);
    float low[2][2];
    if (LOCAL != GODUNOV) {
        // Includes the voxel's own value, which changes nothing.
        float pairs[3][2];
#pragma unroll
        for (int y = 0; y < 3; ++y) {
            const float *row = t + (y - 1) * SIDE, *other = row + dz * 36;
            const float middle = fminf(row[0], other[0]);
            pairs[y][0] = fminf(fminf(row[-1], other[-1]), middle);
            pairs[y][1] = fminf(fminf(row[1], other[1]), middle);
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) low[k / 2][k % 2] = fminf(pairs[1][k % 2], pairs[k / 2 * 2][k % 2]);
    }
    u32 octants = 0;
#pragma unroll
    for (int o = 0; o < 4; ++o) {
        const int x = o & 1, y = o >> 1;
        const u32 along = 1u << (x ? 8 : 6), up = 1u << (y ? 13 : 1), both = 1u << ((x ? 8 : 6) + (y ? 6 : -6));
        const u32 middle = 1u << 7, plane = LOCAL == GODUNOV ? along | up : along | up | both;
        const u32 read = (here & plane) | (next & (LOCAL == GODUNOV ? middle : middle | plane));
        const float least = LOCAL == GODUNOV ? fminf(fminf(t[x ? 1 : -1], t[y ? SIDE : -SIDE]), t[dz * 36]) : low[y][x];
        // Opposite octants have the same floor.
        if (read && least + (dz > 0 ? floor[3 - o] : floor[o]) < t[0]) octants |= 1u << o;
    }
    return dz > 0 ? octants << 4 : octants;
}

// Cells of a slice of the tile that decreased: those of the neighbours that woke the brick, and its own ones that
// decreased in the last visit.
__device__ __forceinline__ u64 fallen_cells(u32 slice, u32 why, const u32* left) {
    const u64 rows[3] = {0x01, 0x1E, 0x20};
    u64 cells = 0;
#pragma unroll
    for (u32 k = 0; k < 9; ++k) {
        const u64 row = rows[k % 3];
        const u64 part = k / 3 == 0 ? row : k / 3 == 2 ? row << 30 : row << 6 | row << 12 | row << 18 | row << 24;
        const u32 neighbour = 9 * ((slice > 0) + (slice > 4)) + k;
        if (neighbour != 13 && why >> neighbour & 1) cells |= part;
    }
    if (slice > 0 && slice < 5) {
        const u32 own = left[(slice - 1) / 2] >> (16 * ((slice - 1) % 2)) & 0xFFFF;
#pragma unroll
        for (u32 y = 0; y < 4; ++y) cells |= (u64)(own >> 4 * y & 0xF) << (6 * y + 7);
    }
    return cells;
}

// Lists the pairs of a voxel and an octant that may lower the voxel: with one thread per voxel, or two, one per side,
// for a half-empty brick.
template <int LOCAL>
__device__ __forceinline__ void list_pairs(Shared& s, const u64* fallen, u32 voxels, u32 thread) {
    const u32 lane = thread & 31;
    const bool split = voxels <= TEAM / 2;
    const u32 voxel = split ? thread / 2 : thread;
    u32 octants = 0, at = 0;
    if (voxel < voxels) {
        const u32 cell = s.cells[voxel], z = (cell >> 4) + 1, b = ((cell >> 2 & 3) + 1) * SIDE + (cell & 3) + 1;
        const float4 least = s.floors[cell];
        at = z * 36 + b;
        if (!split || thread % 2 == 0) octants = worth<LOCAL>(s.tile + at, fallen + z, -1, b - 7, least);
        if (!split || thread % 2 == 1) octants |= worth<LOCAL>(s.tile + at, fallen + z, 1, b - 7, least);
    }
    // Counts of the preceding lanes, bit by bit.
    const u32 found = __popc(octants);
    u32 place = 0, count = 0;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        const u32 have = __ballot_sync(~0u, found >> k & 1);
        place += __popc(have & ((1u << lane) - 1)) << k;
        count += __popc(have) << k;
    }
    u32 base = 0;
    if (lane == 0 && count) base = atomicAdd(&s.listed, count);
    place += __shfl_sync(~0u, base, 0);
    for (; octants; octants &= octants - 1) s.list[place++] = (unsigned short)(at << 3 | (__ffs(octants) - 1));
}

// Evaluates a listed pair: returns whether the voxel fell so far that others must be woken.
template <int LOCAL>
__device__ __forceinline__ bool try_pair(
    const Job& job, const float4* records, Shared& s, u64* fallen, u64 inside, u32 pair) {
    const u32 octant = pair & 7;
    const int at = pair >> 3, z = at / 36, b = at - z * 36, y = b / SIDE, x = b - y * SIDE;
    const u32 cell = (x - 1) + 4 * (y - 1) + 16 * (z - 1);
    const u32 record = s.header.first_record + __popcll(inside & ((1ull << cell) - 1));
    const Voxel v = load_voxel(records + (size_t)record * 4);
    const int sx = octant & 1 ? 1 : -1, sy = octant & 2 ? 1 : -1, sz = octant & 4 ? 1 : -1;
    const float s01 = sx * sy, s02 = sx * sz, s12 = sy * sz;
    const float value = LOCAL == GODUNOV
        ? godunov(s.tile, at, sx, sy * SIDE, sz * 36, s01, s02, s12, v)
        : hopf_lax(s.tile, at, sx, sy * SIDE, sz * 36, s01, s02, s12, v);
    if (!(value < s.tile[at])) return false;
    atomicMin(reinterpret_cast<u32*>(s.tile) + at, __float_as_uint(value));
    const bool fell = s.sent[cell] - value > job.tolerance * value;
    if (fell) mark(fallen[z], b);
    return fell;
}

// Wakes the bricks that can read the changed cells of a brick: one thread per neighbour and per reader through long
// offsets. Returns how many of this thread's bricks already waited.
template <int LOCAL>
__device__ __forceinline__ u32 wake(
    const Job& job, const Arrays& all, const Shared& s, u32 field, u64 changed, bool more, u32 thread) {
    constexpr bool FAR_READS = LOCAL == SELLING || LOCAL == HYBRID;
    const u64 own = s.header.own[0] | (u64)s.header.own[1] << 32;
    const u32 count = 27 + (FAR_READS ? s.header.readers : 0);
    u32 known = 0;
    for (u32 first = 0; first < count; first += TEAM) {
        const u32 k = first + thread;
        u32 target = QUIET, bit = FAR;
        if (k < 27) {
            // The brick itself: voxels that read one another.
            const bool reads = k == 13 ? more || (FAR_READS && (changed & own)) : (changed & side_of(k)) != 0;
            if (reads && s.header.around[k] < job.bricks) {
                target = s.header.around[k];
                bit = 1u << (26 - k);
            }
        } else if (k < count) {
            const uint4 reader = __ldg(reinterpret_cast<const uint4*>(all.readers + s.header.first_reader) + (k - 27));
            if (changed & (reader.y | (u64)reader.z << 32)) target = reader.x;
        }
        // Counted before they can be visited, so that the count is never 0 prematurely.
        const u32 woken = __popc(__ballot_sync(~0u, target != QUIET));
        if (thread % 32 == 0 && woken) atomicAdd(&all.state->pending, woken);
        __syncwarp();
        if (target != QUIET) {
            Turn& turn = all.turns[turn_of(job, field, target)];
            atomicMin(&turn.key, s.least);
            known += publish(&turn.why, bit) != 0;
        }
    }
    return known;
}

// Visits a brick: one thread per voxel, then one per pair, then one per woken brick. Data that other blocks write is
// read past the first-level cache (ldcg), which holds data that never changes. False if the brick no longer waited;
// `known` is the number of bricks woken by this thread that already waited.
template <int LOCAL>
__device__ __forceinline__ bool visit(
    const Job& job, const Arrays& all, const unsigned short* sources, Shared& s, u32 team, u32& known) {
    constexpr bool FAR_READS = LOCAL == SELLING || LOCAL == HYBRID;
    const u32 thread = threadIdx.x % TEAM, lane = thread & 31;
    const u32 field = s.turn / job.each, brick = (s.turn - field * job.each) * job.owners + blockIdx.x;
    Turn& turn = all.turns[(size_t)blockIdx.x * job.fields * job.each + s.turn];
    float* u_field = all.u_grid + (size_t)field * (job.bricks + 1) * CELLS;
    float* sent_cell = all.sent + ((size_t)field * (job.bricks + 1) + brick) * CELLS + thread;
    // Threads that wake the brick from here on start a new wait.
    if (thread == 0) {
        *(volatile u32*)&turn.key = QUIET;
        // Relaxed, although the language's memory model requires an acquire: without one, a wake-up might be consumed
        // and an earlier value read, and the brick not be visited again. The machine code leaves no room for that.
        // The thread that woke the brick lowered its values by atomics in the second-level cache, and released them
        // before it set the bits. This exchange reads the bits there; the barrier below is reached once they have
        // arrived, because they are stored in shared memory; no load is issued ahead of the barrier before it; and
        // data that others write is loaded past the first-level cache (ldcg: LDG.STRONG.GPU on 7.0 to 9.0), hence
        // from where those atomics took place. An acquire would also empty the first-level cache of data that never
        // changes: on an H200, fields take 1 to 7 % longer.
        s.why = atomicExch(&turn.why, 0);
        s.listed = s.changed[0] = s.changed[1] = 0;
        s.least = QUIET;
    }
    if (thread == TEAM - 1) {
        const uint4 packed = __ldcg(reinterpret_cast<const uint4*>(&turn));
        s.left[0] = packed.z;
        s.left[1] = packed.w;
    }
    reinterpret_cast<u32*>(&s.header)[thread] = __ldg(reinterpret_cast<const u32*>(all.headers + brick) + thread);
    meet(team);
    if (!s.why) return false;
    // Issued early, while the rest is prepared.
    constexpr u32 LOADS = (TILE + TEAM - 1) / TEAM;
    float loaded[LOADS];
#pragma unroll
    for (u32 j = 0; j < LOADS; ++j)
        if (j * TEAM + thread < TILE) {
            const u32 from = sources[j * TEAM + thread];
            loaded[j] = __ldcg(u_field + (size_t)s.header.around[from >> 8] * CELLS + (from & 255));
        }
    // The voxel of this thread, and its record.
    const u64 inside = s.header.inside[0] | (u64)s.header.inside[1] << 32;
    const u32 voxels = __popcll(inside), number = __popcll(inside & ((1ull << thread) - 1));
    const bool mine = inside >> thread & 1;
    const int home = ((thread >> 4) + 1) * 36 + ((thread >> 2 & 3) + 1) * 6 + (thread & 3) + 1;
    const u32 record = s.header.first_record + number;
    float4 floors;
    float sent_before = UNREACHED;
    if (mine) {
        floors = __ldg(all.floors + record);
        // Another thread of this block may have written it: not through the first-level cache.
        sent_before = __ldcg(sent_cell);
    }
    if (thread < SIDE) {
        s.fallen[0][thread] = fallen_cells(thread, s.why, s.left);
        s.fallen[1][thread] = 0;
    }
    float far = UNREACHED;
    if (FAR_READS && mine && (s.why & (FAR | SELF))) far = selling(u_field, all.terms + (size_t)record * 5);
    if (mine) {
        s.floors[thread] = floors;
        s.sent[thread] = sent_before;
        s.cells[number] = thread;
    }
#pragma unroll
    for (u32 j = 0; j < LOADS; ++j)
        if (j * TEAM + thread < TILE) s.tile[j * TEAM + thread] = loaded[j];
    meet(team);
    const float before = mine ? s.tile[home] : 0.0f;
    if (FAR_READS && mine && far < before) {
        s.tile[home] = far;
        // Read by this brick's own octants in this visit.
        if (sent_before - far > job.tolerance * far) {
            mark(s.fallen[0][home / 36], home % 36);
            s.sent[thread] = far;
        }
    }
    bool more = false;
    u32 latest = 0;
    for (u32 round = 0; LOCAL != SELLING && round < job.inner; ++round) {
        if (LOCAL == HYBRID || round > 0) meet(team);
        list_pairs<LOCAL>(s, s.fallen[latest], voxels, thread);
        meet(team);
        const u32 listed = s.listed;
        if (thread < SIDE) s.fallen[latest][thread] = 0;
        latest ^= 1;
        bool fell = false;
        for (u32 i = thread; i < listed; i += TEAM)
            fell |= try_pair<LOCAL>(job, all.records, s, s.fallen[latest], inside, s.list[i]);
        more = meet_any(team, fell);
        if (mine && (s.fallen[latest][home / 36] >> (home % 36) & 1)) s.sent[thread] = s.tile[home];
        if (thread == 0) s.listed = 0;
        if (!more) break;
    }
    // Decreased values are published before any brick is woken.
    const float value = mine ? s.tile[home] : 0.0f;
    const bool lower = mine && value < before, wakes = mine && s.sent[thread] < sent_before;
    if (lower) atomicMin(reinterpret_cast<u32*>(u_field) + (size_t)brick * CELLS + thread, __float_as_uint(value));
    if (wakes) {
        __stcg(sent_cell, s.sent[thread]);
        atomicMin(&s.least, __float_as_uint(value));
    }
    const u32 changed = __ballot_sync(~0u, wakes);
    const u32 left = __ballot_sync(~0u, mine && more && (s.fallen[latest][home / 36] >> (home % 36) & 1));
    if (lane == 0) {
        s.changed[thread / 32] = changed;
        __stcg(turn.left + thread / 32, left);
    }
    meet(team);
    const u64 all_changed = s.changed[0] | (u64)s.changed[1] << 32;
    if (all_changed) known = wake<LOCAL>(job, all, s, field, all_changed, more, thread);
    return true;
}

// Returned instead of a turn.
constexpr u32 OVER = ~0u;

// One warp finds its team's next turn: of the waiting bricks of this block that no team visits, the one with the
// smallest value that woke it. Each lane examines every 32nd brick. OVER when no brick waits or is visited anywhere,
// or after the time limit.
__device__ __forceinline__ u32 next_turn(const Job& job, const Arrays& all, long long started, u32* given) {
    constexpr u32 ROWS = 8;
    const u32 lane = threadIdx.x & 31, count = job.fields * job.each;
    const uint2* own = reinterpret_cast<const uint2*>(all.turns + (size_t)blockIdx.x * count);
    for (;;) {
        // Read before the turns: a visit that ends meanwhile leaves a turn that seems to wait.
        const u32 away = *(volatile u32*)&given[lane];
        __syncwarp();
        const u32 pending = *(volatile const u32*)&all.state->pending;
        u32 best = QUIET, chosen = QUIET;
        for (u32 row = lane; row < count; row += 32 * ROWS) {
            uint2 turn[ROWS];
#pragma unroll
            for (u32 j = 0; j < ROWS; ++j) {
                const u32 i = row + 32 * j;
                turn[j].y = 0;
                if (i < count && !(away >> (i / 32 % 32) & 1)) turn[j] = __ldcg(own + 2 * i);
            }
#pragma unroll
            for (u32 j = 0; j < ROWS; ++j) {
                if (turn[j].y && (chosen == QUIET || turn[j].x < best)) {
                    best = turn[j].x;
                    chosen = row + 32 * j;
                }
            }
        }
        u32 waiting = __ballot_sync(~0u, chosen != QUIET);
        const bool late = clock64() - started > (long long)job.clocks;
        // Each lane has read the count itself: no lane leaves the loop alone.
        if (__any_sync(~0u, late || !(waiting | pending))) return OVER;
        while (waiting) {
            u32 least = waiting >> lane & 1 ? best : QUIET;
#pragma unroll
            for (u32 step = 16; step; step /= 2) least = min(least, __shfl_xor_sync(~0u, least, step));
            const u32 next = __ffs(__ballot_sync(~0u, (waiting >> lane & 1) && best == least)) - 1;
            const u32 bit = 1u << (chosen / 32 % 32);
            const u32 old = lane == next ? atomicOr(&given[lane], bit) : 0;
            // Another team may have been faster.
            if (!__shfl_sync(~0u, old & bit, next)) return __shfl_sync(~0u, chosen, next);
            waiting &= ~(1u << next);
        }
        // Leaves memory bandwidth to working teams.
        __nanosleep(200);
    }
}

// One block of threads per share of the bricks; all blocks must be resident together.
template <int LOCAL>
__device__ __forceinline__ void spread(const Job& job, const Arrays& all) {
    __shared__ Shared teams[TEAMS];
    // One bit for each turn being visited, shared by several if there are more than 1024.
    __shared__ u32 given[32];
    // For the cells of a tile: the neighbour, x fastest, and the cell in it.
    __shared__ unsigned short sources[TILE];
    for (u32 i = threadIdx.x; i < TILE; i += THREADS) {
        int x = i % SIDE, y = i / SIDE % SIDE, z = i / (SIDE * SIDE);
        u32 third = (x > 0) + (x > 4) + 3 * ((y > 0) + (y > 4)) + 9 * ((z > 0) + (z > 4));
        sources[i] = third << 8 | (((x + 3) & 3) + 4 * ((y + 3) & 3) + 16 * ((z + 3) & 3));
    }
    if (threadIdx.x < 32) given[threadIdx.x] = 0;
    __syncthreads();
    const u32 team = threadIdx.x / TEAM, thread = threadIdx.x % TEAM, lane = thread & 31;
    const long long started = clock64();
    Shared& s = teams[team];
    for (;;) {
        if (thread < 32) {
            const u32 turn = next_turn(job, all, started, given);
            if (lane == 0) s.turn = turn;
        }
        meet(team);
        const u32 turn = s.turn;
        if (turn == OVER) break;
        u32 known = 0;
        const bool visited = visit<LOCAL>(job, all, sources, s, team, known);
        __threadfence_block();
        meet(team);
        if (thread == 0) atomicAnd(&given[turn % 32], ~(1u << (turn / 32 % 32)));
        // This visit is over, and bricks that already waited were counted twice.
        if (visited) {
#pragma unroll
            for (u32 step = 16; step; step /= 2) known += __shfl_xor_sync(~0u, known, step);
            known += thread == 0;
            if (lane == 0 && known) atomicSub(&all.state->pending, known);
        }
    }
}

#define ENTRY(name, local)                                                                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, 1) name(                                                     \
        Job job, const Header* headers, const float4* records, const float4* floors, const uint4* terms,               \
        const Reader* readers, float* u_grid, float* sent, Turn* turns, State* state) {                                \
        spread<local>(job, {headers, records, floors, terms, readers, u_grid, sent, turns, state});                    \
    }

ENTRY(eikonal_spread_godunov6, GODUNOV)
ENTRY(eikonal_spread_hopf_lax26, HOPF_LAX)
ENTRY(eikonal_spread_selling, SELLING)
ENTRY(eikonal_spread_hybrid, HYBRID)
