// Least costs over positions and directions: tiles of 8 × 4 voxels of one direction, each visited by one warp, so that
// the stencil is the same in all lanes. A tile waits with the least value that changed among those it reads. Tiles
// below the current level are near and are visited in rounds; all others are far. When no near tile is left, the level
// rises. One cooperative launch runs until nothing waits or its time is over, and the next one continues.
// solvers/lifted/cuda.rs documents the layout.
#include "common.cuh"

#define FAR 1e30f
#define IDLE 0x7f7fffffu
#define FULL 0xffffffffu
#define STEPS 6
#define TURNS 6
#define VERTICES 14

// Sizes and limits, which do not change during a job.
struct Job {
    u32 nx, ny, nz;
    u32 cells;
    u32 tiles_x, tiles_y;
    u32 tiles;
    u32 directions;
    u32 fields;
    float tolerance;
    float step;
    float cap;
    float max_excess;
    u32 targets;
    u64 clocks;
};

// A neighbour in space of one direction.
struct Step {
    int distance;
    u32 open;
    u32 between;
    u32 passed;
    float weight;
    float share;
};

// A neighbour on the sphere.
struct Turn {
    u32 from;
    float weight;
};

// A path of known shape; `open` is FULL for a turn on the spot.
struct Vertex {
    u32 from;
    int distance;
    u32 open;
    u32 between;
    u32 passed;
    float cost;
    float share;
    u32 unused;
};

// A direction that reads another one, this many voxels further.
struct Reader {
    u32 direction;
    int x, y, z;
};

// The state between launches.
struct State {
    u32 near_count[2];
    u32 far_count[2];
    u32 side;
    u32 far_side;
    float level;
    u32 lowest;
    u32 best[2];
    u32 finished;
};

struct Tables {
    const Step *steps;
    const Turn *turns;
    const Vertex *vertices;
    const Reader *readers;
    const u32 *first_reader;
    const int *between;
    const u32 *open;
    const float *costs;
};

struct Queues {
    u32 *keys;
    u32 *is_far;
    u32 *near_tiles;
    u32 *far_tiles;
    State *state;
    u32 near_size;
};

// The pointers of both structs as parameters of an entry.
#define TABLES                                                                                                  \
    const Step *steps, const Turn *turns, const Vertex *vertices, const Reader *readers, const u32 *first_reader, \
        const int *between, const u32 *open, const float *costs
#define QUEUES u32 *keys, u32 *is_far, u32 *near_tiles, u32 *far_tiles, State *state
#define GIVEN                                                                                     \
    Tables tables = {steps, turns, vertices, readers, first_reader, between, open, costs};        \
    Queues queues = {keys, is_far, near_tiles, far_tiles, state, job.tiles * job.directions * job.fields}

__device__ __forceinline__ bool is_open(const u32 *open, u32 set, u32 cell) {
    return __ldg(&open[set + (cell >> 5)]) >> (cell & 31) & 1;
}

// Waits for all blocks of the grid; `turn` counts the barriers of this launch.
__device__ void grid_barrier(u32 *arrived, u32 &turn) {
    __syncthreads();
    turn++;
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile u32 *)arrived < turn * gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
}

__device__ __forceinline__ void push_far(const Queues &queues, u32 far_side, u32 total, u32 tile) {
    if (atomicExch(&queues.is_far[tile], 1u) == 0u) {
        u32 at = atomicAdd(&queues.state->far_count[far_side], 1u);
        queues.far_tiles[far_side * total + at] = tile;
    }
}

// Lowers the key of a tile and lists it, unless it waits already.
__device__ void mark(const Queues &queues, u32 side, u32 far_side, u32 total, u32 tile, float value, float level) {
    u32 key = __float_as_uint(value);
    if (*(volatile u32 *)&queues.keys[tile] <= key) return;
    u32 old = atomicMin(&queues.keys[tile], key);
    if (old <= key) return;
    if (value <= level) {
        if (!(__uint_as_float(old) <= level)) {
            u32 at = atomicAdd(&queues.state->near_count[side], 1u);
            queues.near_tiles[side * queues.near_size + at] = tile;
        }
    } else if (old == IDLE) {
        push_far(queues, far_side, total, tile);
    }
}

// Newton's method from above for the sum of w (u - v)+^2 = 1.
__device__ __forceinline__ float root(const float *value, const float *weight) {
    float u = FAR;
#pragma unroll
    for (int k = 0; k < STEPS + TURNS; k++)
        if (weight[k] > 0.0f && value[k] < FAR) u = fminf(u, value[k] + rsqrtf(weight[k]) * 1.000001f);
    if (!(u < FAR)) return FAR;
    for (int i = 0; i < 12; i++) {
        float f = -1.0f, g = 0.0f;
#pragma unroll
        for (int k = 0; k < STEPS + TURNS; k++) {
            float d = fmaxf(u - value[k], 0.0f), w = d * weight[k];
            f = fmaf(w, d, f);
            g += w;
        }
        float step = 0.5f * f / fmaxf(g, 1e-30f);
        if (!(step > 1e-6f * u)) break;
        u -= step;
    }
    return u;
}

// One lane is one voxel in one direction.
struct Lane {
    u32 cell;
    bool is_inside;
    float cost;
    float old;
};

// The value that the neighbours give.
__device__ float solved(const Job &job, const Tables &tables, const float *u, u32 direction, const Lane &lane) {
    float value[STEPS + TURNS], weight[STEPS + TURNS];
    const float *own_costs = tables.costs + (u64)(direction >> 1) * job.cells;
    const float *own = u + (u64)direction * job.cells;
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        const Step step = tables.steps[direction * STEPS + k];
        value[k] = FAR;
        weight[k] = 0.0f;
        if (lane.is_inside && step.weight > 0.0f && is_open(tables.open, step.open, lane.cell)) {
            u32 from = lane.cell - step.distance;
            float v = __ldcg(&own[from]);
            if (v < lane.old) {
                float sum = 0.5f * (lane.cost + own_costs[from]);
                for (u32 i = 0; i < step.passed; i++) sum += own_costs[(int)lane.cell + tables.between[step.between + i]];
                float mean = sum * step.share;
                value[k] = v;
                weight[k] = step.weight / (mean * mean);
            }
        }
    }
#pragma unroll
    for (int k = 0; k < TURNS; k++) {
        const Turn turn = tables.turns[direction * TURNS + k];
        value[STEPS + k] = FAR;
        weight[STEPS + k] = 0.0f;
        if (lane.is_inside && turn.weight > 0.0f) {
            float mean = 0.5f * (lane.cost + tables.costs[(u64)(turn.from >> 1) * job.cells + lane.cell]);
            value[STEPS + k] = __ldcg(&u[(u64)turn.from * job.cells + lane.cell]);
            weight[STEPS + k] = turn.weight / (mean * mean);
        }
    }
    float least = lane.is_inside ? root(value, weight) : FAR;
    for (int k = 0; k < VERTICES; k++) {
        const Vertex vertex = tables.vertices[direction * VERTICES + k];
        if (!(vertex.cost < FAR)) continue;
        const float *costs = tables.costs + (u64)(vertex.from >> 1) * job.cells;
        bool on_spot = vertex.open == FULL;
        if (lane.is_inside && (on_spot || is_open(tables.open, vertex.open, lane.cell))) {
            u32 from = lane.cell - vertex.distance;
            float start = __ldcg(&u[(u64)vertex.from * job.cells + from]);
            if (start < lane.old && start < least) {
                float sum = 0.5f * (lane.cost + costs[from]);
                for (u32 i = 0; i < vertex.passed; i++) {
                    u32 at = (int)lane.cell + tables.between[vertex.between + i];
                    sum += 0.5f * (own_costs[at] + costs[at]);
                }
                least = fminf(least, start + sum * vertex.share * vertex.cost);
            }
        }
    }
    return least;
}

// Marks the tiles that read any voxel of a tile.
__device__ void mark_readers(const Job &job, const Tables &tables, const Queues &queues, u32 side, u32 far_side,
                             u32 tile, float value, float level) {
    u32 lane = threadIdx.x & 31, total = job.tiles * job.directions * job.fields;
    u32 of_direction = tile / job.tiles, t = tile - of_direction * job.tiles;
    u32 field = of_direction / job.directions, direction = of_direction - field * job.directions;
    int X = t % job.tiles_x * 8, Y = t / job.tiles_x % job.tiles_y * 4, Z = t / job.tiles_x / job.tiles_y;
    u32 first = tables.first_reader[direction], last = tables.first_reader[direction + 1];
    for (u32 i = lane; i < 4 * (last - first); i += 32) {
        const Reader reader = tables.readers[first + (i >> 2)];
        int x = X + reader.x + ((i & 1) ? 7 : 0), y = Y + reader.y + ((i & 2) ? 3 : 0), z = Z + reader.z;
        // Where the corners lie in one tile, it is marked once.
        bool repeats = ((i & 1) && (x >> 3) == ((X + reader.x) >> 3)) || ((i & 2) && (y >> 2) == ((Y + reader.y) >> 2));
        if (repeats || x < 0 || y < 0 || z < 0 || x >> 3 >= (int)job.tiles_x || y >> 2 >= (int)job.tiles_y ||
            z >= (int)job.nz)
            continue;
        u32 to = (x >> 3) + job.tiles_x * ((y >> 2) + job.tiles_y * z);
        u32 id = (field * job.directions + reader.direction) * job.tiles + to;
        mark(queues, side, far_side, total, id, value, level);
    }
}

__device__ void visit(const Job &job, const Tables &tables, const Queues &queues, float *u, const u32 *is_target,
                      u32 side, u32 far_side, u32 tile, float level) {
    u32 lane_number = threadIdx.x & 31, key = 0;
    if (lane_number == 0) key = atomicExch(&queues.keys[tile], IDLE);
    key = __shfl_sync(FULL, key, 0);
    if (key == IDLE) return;
    __threadfence();
    u32 of_direction = tile / job.tiles, t = tile - of_direction * job.tiles;
    u32 field = of_direction / job.directions, direction = of_direction - field * job.directions;
    u32 x = t % job.tiles_x * 8 + (lane_number & 7), y = t / job.tiles_x % job.tiles_y * 4 + (lane_number >> 3);
    u32 z = t / job.tiles_x / job.tiles_y;
    float *values = u + (u64)field * job.directions * job.cells;
    Lane lane;
    lane.cell = x + job.nx * (y + job.ny * z);
    lane.is_inside = x < job.nx && y < job.ny;
    lane.cost = lane.is_inside ? tables.costs[(u64)(direction >> 1) * job.cells + lane.cell] : 0.0f;
    lane.is_inside = lane.cost > 0.0f;
    float *at = &values[(u64)direction * job.cells + lane.cell];
    lane.old = lane.is_inside ? __ldcg(at) : 0.0f;
    float least = solved(job, tables, values, direction, lane);
    float cap = job.cap;
    if (job.targets) {
        u32 best = *(volatile u32 *)&queues.state->best[field];
        cap = fminf(cap, __uint_as_float(best) * (1.0f + job.max_excess));
    }
    bool is_changed = lane.is_inside && least < lane.old * (1.0f - job.tolerance) && least < cap;
    if (is_changed) {
        __stcg(at, least);
        if (job.targets && is_target[field * ((job.cells + 31) / 32) + (lane.cell >> 5)] >> (lane.cell & 31) & 1)
            atomicMin(&queues.state->best[field], __float_as_uint(least));
    }
    float low = is_changed ? least : FAR;
    for (int offset = 16; offset; offset >>= 1) low = fminf(low, __shfl_xor_sync(FULL, low, offset));
    if (low < FAR) {
        __threadfence();
        __syncwarp();
        mark_readers(job, tables, queues, side, far_side, tile, low, level);
    }
}

// C by pair of directions and cell from C by pair and place.
extern "C" __global__ void lifted_costs(u32 places, u32 cells, u32 pairs, const u32 *cell_of, const float *by_place,
                                        float *out) {
    u32 place = thread_index();
    if (place >= places) return;
    for (u32 pair = blockIdx.y; pair < pairs; pair += gridDim.y)
        out[(u64)pair * cells + cell_of[place]] = by_place[(u64)pair * places + place];
}

// Forgets all values and lists.
extern "C" __global__ void lifted_clear(Job job, float *u, u32 *keys, u32 *is_far, State *state) {
    u64 stride = (u64)gridDim.x * blockDim.x, first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u64 all = (u64)job.fields * job.directions * job.cells;
    for (u64 i = first; i < all; i += stride) u[i] = FAR;
    u64 tiles = (u64)job.fields * job.directions * job.tiles;
    for (u64 i = first; i < tiles; i += stride) {
        keys[i] = IDLE;
        is_far[i] = 0;
    }
    if (first == 0) {
        State fresh = {};
        fresh.level = job.step;
        fresh.best[0] = fresh.best[1] = __float_as_uint(FAR);
        *state = fresh;
    }
}

// A warp for each state with value 0: its field, direction and cell.
extern "C" __global__ void lifted_seed(Job job, u32 seeds, const u32 *states, TABLES, float *u, QUEUES) {
    GIVEN;
    u32 warp = thread_index() >> 5;
    if (warp >= seeds) return;
    u32 field = states[3 * warp], direction = states[3 * warp + 1], cell = states[3 * warp + 2];
    if ((threadIdx.x & 31) == 0) u[((u64)field * job.directions + direction) * job.cells + cell] = 0.0f;
    u32 x = cell % job.nx, y = cell / job.nx % job.ny, z = cell / job.nx / job.ny;
    u32 tile = (x >> 3) + job.tiles_x * ((y >> 2) + job.tiles_y * z);
    tile += (field * job.directions + direction) * job.tiles;
    mark_readers(job, tables, queues, 0, 0, tile, 0.0f, job.step);
}

// Visits tiles until none waits or the time is over. All blocks are resident.
extern "C" __global__ void __launch_bounds__(256, 2)
    lifted_spread(Job job, TABLES, float *u, const u32 *is_target, QUEUES, u32 *arrived) {
    GIVEN;
    u32 total = job.tiles * job.directions * job.fields, turn = 0;
    u32 warp = thread_index() >> 5, warps = gridDim.x * blockDim.x >> 5;
    u32 side = *(volatile u32 *)&state->side, far_side = *(volatile u32 *)&state->far_side;
    float level = *(volatile float *)&state->level;
    u64 start = clock64();
    while (true) {
        u32 count = *(volatile u32 *)&state->near_count[side];
        for (u32 i = warp; i < count; i += warps) {
            u32 tile = __ldcg(&queues.near_tiles[side * queues.near_size + i]);
            visit(job, tables, queues, u, is_target, side ^ 1, far_side, tile, level);
        }
        grid_barrier(arrived, turn);
        if (thread_index() == 0) {
            state->near_count[side] = 0;
            state->lowest = IDLE;
            // One thread decides by its clock whether this launch goes on.
            state->finished = (u64)clock64() - start > job.clocks ? 2 : 0;
        }
        side ^= 1;
        grid_barrier(arrived, turn);
        bool is_over = *(volatile u32 *)&state->finished == 2;
        u32 next = *(volatile u32 *)&state->near_count[side];
        if (next == 0) {
            // The level rises to the least key that waits.
            u32 far_count = *(volatile u32 *)&state->far_count[far_side], lowest = IDLE;
            for (u32 i = thread_index(); i < far_count; i += gridDim.x * blockDim.x)
                lowest = min(lowest, __ldcg(&queues.keys[__ldcg(&queues.far_tiles[far_side * total + i])]));
            lowest = min(lowest, __shfl_xor_sync(FULL, lowest, 16));
            for (int offset = 8; offset; offset >>= 1) lowest = min(lowest, __shfl_xor_sync(FULL, lowest, offset));
            if ((threadIdx.x & 31) == 0 && lowest != IDLE) atomicMin(&state->lowest, lowest);
            grid_barrier(arrived, turn);
            lowest = *(volatile u32 *)&state->lowest;
            float cap = job.cap;
            if (job.targets) {
                u32 best = max(*(volatile u32 *)&state->best[0], job.fields > 1 ? *(volatile u32 *)&state->best[1] : 0u);
                cap = fminf(cap, __uint_as_float(best) * (1.0f + job.max_excess));
            }
            if (lowest == IDLE || !(__uint_as_float(lowest) < cap)) {
                if (thread_index() == 0) state->finished = 1;
                return;
            }
            level = __uint_as_float(lowest) + job.step;
            for (u32 i = thread_index(); i < far_count; i += gridDim.x * blockDim.x) {
                u32 tile = __ldcg(&queues.far_tiles[far_side * total + i]);
                u32 key = __ldcg(&queues.keys[tile]);
                if (key != IDLE && __uint_as_float(key) > level) {
                    u32 at = atomicAdd(&state->far_count[far_side ^ 1], 1u);
                    queues.far_tiles[(far_side ^ 1) * total + at] = tile;
                    continue;
                }
                queues.is_far[tile] = 0;
                if (key != IDLE) {
                    u32 at = atomicAdd(&state->near_count[side], 1u);
                    queues.near_tiles[side * queues.near_size + at] = tile;
                }
            }
            grid_barrier(arrived, turn);
            if (thread_index() == 0) state->far_count[far_side] = 0;
            far_side ^= 1;
            grid_barrier(arrived, turn);
        }
        if (is_over) break;
    }
    if (thread_index() == 0) {
        state->side = side;
        state->far_side = far_side;
        state->level = level;
    }
}

// Values by field, direction and place; those beyond the cap are not final.
extern "C" __global__ void lifted_gather(Job job, u32 places, const u32 *cell_of, const float *u, const State *state,
                                         float *out) {
    u32 place = thread_index();
    if (place >= places) return;
    u32 cell = cell_of[place];
    for (u32 d = blockIdx.y; d < job.fields * job.directions; d += gridDim.y) {
        float cap = job.cap;
        if (job.targets)
            cap = fminf(cap, __uint_as_float(state->best[d / job.directions]) * (1.0f + job.max_excess));
        float value = u[(u64)d * job.cells + cell];
        out[(u64)d * places + place] = value < cap ? value : FAR;
    }
}
