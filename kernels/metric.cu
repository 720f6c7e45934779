// Cost metrics of tensors, and Selling's steps in them; see src/engine/solvers/metric/mod.rs and
// src/engine/solvers/eikonal/cuda/metrics.rs.
//
// In double precision, in the order of the CPU, so that both choose the same steps. One thread per voxel of the mask,
// whose data lie in the order of its places. Several copies of a mask lie side by side on one grid.

#include "common.cuh"

constexpr u32 NOWHERE = ~0u, CLOSED = ~0u;
constexpr int SIDE = 4, CELLS = SIDE * SIDE * SIDE;
// Words of a record, and of the terms of a voxel: six weights, two unused, the cells at both ends of each step.
constexpr int RECORD = 16, TERMS = 20, ENDS = 8;
// A step reads at most three bricks away along an axis: bricks around one that may read it.
constexpr int REACH = 3, AROUND = 2 * REACH + 1, READERS = AROUND * AROUND * AROUND;

// The powers of a tensor: `Cost` in Rust.
enum Cost { INVERSE, SHARPENED, ISOTROPIC, ADJUGATE };

struct Job {
    // Voxels of all copies, and their bricks.
    u32 places, bricks;
    u32 shape[3];
    u32 cost;
    // Longest step along an axis, voxels.
    u32 longest;
    u32 unused;
    double scale, alpha;
    // Largest ratio of eigenvalues; the least share of the largest eigenvalue that a repaired one has; the ratio from
    // which no step is used.
    double limit, least, steps_limit;
    // From world axes to voxels, by column.
    double turn[9];
};
static_assert(sizeof(Job) == 144, "as in Rust");

struct Reader {
    u32 brick, cells[2], unused;
};

// A symmetric matrix: xx xy xz yy yz zz.
struct Symmetric {
    double m[6];
};

// Eigenvalues, descending, and their unit eigenvectors by Jacobi rotations.
__device__ void eigen(const Symmetric& d, double values[3], double vectors[3][3]) {
    const int PAIRS[3][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}};
    double scale = 0.0;
    for (int i = 0; i < 6; ++i) scale = fmax(scale, fabs(d.m[i]));
    double v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double a[3][3] = {{d.m[0], d.m[1], d.m[2]}, {d.m[1], d.m[3], d.m[4]}, {d.m[2], d.m[4], d.m[5]}};
    if (scale > 0.0) {
        for (int i = 0; i < 9; ++i) a[i / 3][i % 3] /= scale;
        for (int sweep = 0; sweep < 16; ++sweep) {
            if (fmax(fmax(fabs(a[0][1]), fabs(a[0][2])), fabs(a[1][2])) < 2.220446049250313e-19) break;
            for (int k = 0; k < 3; ++k) {
                const int p = PAIRS[k][0], q = PAIRS[k][1], r = PAIRS[k][2];
                if (a[p][q] == 0.0) continue;
                const double half = 0.5 * (a[q][q] - a[p][p]);
                const double t = a[p][q] / (fabs(half) + hypot(half, a[p][q])) * copysign(1.0, half);
                const double c = 1.0 / sqrt(1.0 + t * t), s = t * c;
                a[p][p] -= t * a[p][q];
                a[q][q] += t * a[p][q];
                a[p][q] = a[q][p] = 0.0;
                const double rp = a[r][p], rq = a[r][q];
                a[r][p] = a[p][r] = c * rp - s * rq;
                a[r][q] = a[q][r] = s * rp + c * rq;
                for (int i = 0; i < 3; ++i) {
                    const double vp = v[p][i], vq = v[q][i];
                    v[p][i] = c * vp - s * vq;
                    v[q][i] = s * vp + c * vq;
                }
            }
        }
    }
    int order[3] = {0, 1, 2};
    for (int i = 1; i < 3; ++i)
        for (int j = i; j > 0 && a[order[j]][order[j]] > a[order[j - 1]][order[j - 1]]; --j) {
            const int swapped = order[j];
            order[j] = order[j - 1];
            order[j - 1] = swapped;
        }
    for (int i = 0; i < 3; ++i) {
        values[i] = a[order[i]][order[i]] * scale;
        for (int k = 0; k < 3; ++k) vectors[i][k] = v[order[i]][k];
    }
}

__device__ double determinant(const Symmetric& w) {
    const double *m = w.m;
    return m[0] * (m[3] * m[5] - m[4] * m[4]) - m[1] * (m[1] * m[5] - m[4] * m[2]) +
           m[2] * (m[1] * m[4] - m[3] * m[2]);
}

// W of a tensor in world axes.
__device__ Symmetric speed(const Job& job, const Symmetric& tensor) {
    double values[3], vectors[3][3];
    eigen(tensor, values, vectors);
    const double largest = values[0] > 0.0 ? values[0] : 1.0;
    const double least = values[2] > 0.0 ? 0.0 : job.least * largest;
    double root = 1.0, fastest = 0.0;
    for (int i = 0; i < 3; ++i) {
        values[i] = fmax(values[i], least);
        root *= values[i];
    }
    root = cbrt(root);
    for (int i = 0; i < 3; ++i) {
        if (job.cost == SHARPENED) values[i] = root * pow(values[i] / root, job.alpha);
        if (job.cost == ISOTROPIC) values[i] = root;
        if (job.cost == ADJUGATE) values[i] /= root * root * root;
        fastest = fmax(fastest, values[i]);
    }
    Symmetric w = {{0, 0, 0, 0, 0, 0}};
    for (int i = 0; i < 3; ++i) {
        const double s = fmax(values[i], fastest / job.limit), *v = vectors[i];
        w.m[0] += v[0] * v[0] * s;
        w.m[1] += v[0] * v[1] * s;
        w.m[2] += v[0] * v[2] * s;
        w.m[3] += v[1] * v[1] * s;
        w.m[4] += v[1] * v[2] * s;
        w.m[5] += v[2] * v[2] * s;
    }
    return w;
}

// A W Aᵀ, with A by column.
__device__ Symmetric turned(const double* a, const Symmetric& w) {
    const double *m = w.m;
    const double full[3][3] = {{m[0], m[1], m[2]}, {m[1], m[3], m[4]}, {m[2], m[4], m[5]}};
    double half[3][3], out[3][3];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) half[i][j] = a[i] * full[0][j] + a[3 + i] * full[1][j] + a[6 + i] * full[2][j];
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) out[i][j] = half[i][0] * a[j] + half[i][1] * a[3 + j] + half[i][2] * a[6 + j];
    return {{out[0][0], out[0][1], out[0][2], out[1][1], out[1][2], out[2][2]}};
}

// W, G, and the records of both, from tensors by place. `factors`: on the cost, by place.
extern "C" __global__ void metric_costs(
    Job job, const float* tensors, const float* factors, const u32* record_of, float* speeds, float* costs,
    float* records) {
    const u32 place = thread_index();
    if (!(place < job.places)) return;
    Symmetric tensor;
    for (int i = 0; i < 6; ++i) tensor.m[i] = job.scale * (double)tensors[(size_t)place * 6 + i];
    Symmetric w = speed(job, tensor);
    const double factor = factors[place];
    for (int i = 0; i < 6; ++i) w.m[i] *= 1.0 / (factor * factor);
    w = turned(job.turn, w);
    // From the rounded speeds, so that the matrices are inverses of each other.
    float rounded[6];
    for (int i = 0; i < 6; ++i) {
        rounded[i] = (float)w.m[i];
        w.m[i] = rounded[i];
    }
    const double det = determinant(w), *m = w.m;
    const double inverse[6] = {
        (m[3] * m[5] - m[4] * m[4]) / det, (m[2] * m[4] - m[1] * m[5]) / det, (m[1] * m[4] - m[2] * m[3]) / det,
        (m[0] * m[5] - m[2] * m[2]) / det, (m[1] * m[2] - m[0] * m[4]) / det, (m[0] * m[3] - m[1] * m[1]) / det};
    float* record = records + (size_t)record_of[place] * RECORD;
    for (int i = 0; i < 6; ++i) {
        speeds[(size_t)place * 6 + i] = record[i] = rounded[i];
        costs[(size_t)place * 6 + i] = record[6 + i] = (float)inverse[i];
    }
    record[12] = (float)det;
    record[13] = (float)(1.0 / det);
    record[14] = record[15] = 0.0f;
}

// The mask on its grid.
struct Mask {
    int shape[3];
    const u32* place;
};

__device__ u32 place_of(const Mask& mask, const int at[3]) {
    for (int a = 0; a < 3; ++a)
        if (at[a] < 0 || at[a] >= mask.shape[a]) return NOWHERE;
    return mask.place[at[0] + mask.shape[0] * (at[1] + (size_t)mask.shape[1] * at[2])];
}

// Whether a step of at most one voxel along each axis passes through voxels of the mask that share faces.
__device__ bool is_step_open(const Mask& mask, const int from[3], const int step[3]) {
    // By the axes of a part of the step, one bit each: whether that part stays in the mask.
    u32 open = 0;
    u32 all = 0;
    for (int a = 0; a < 3; ++a) all |= (u32)(step[a] != 0) << a;
    for (u32 axes = 0; axes < 8; ++axes) {
        if (axes & ~all) continue;
        const int to[3] = {from[0] + (axes & 1 ? step[0] : 0), from[1] + (axes & 2 ? step[1] : 0),
                           from[2] + (axes & 4 ? step[2] : 0)};
        bool reached = __popc(axes) < 2;
        for (u32 a = 0; a < 3; ++a) reached |= (axes >> a & 1) && (open >> (axes & ~(1u << a)) & 1);
        if (reached && place_of(mask, to) != NOWHERE) open |= 1u << axes;
    }
    return open >> all & 1;
}

__device__ bool is_line_inside(const Mask& mask, const int from[3], const int way[3], int longest) {
    int here[3] = {from[0], from[1], from[2]};
    for (int i = 1; i <= longest; ++i) {
        int step[3];
        for (int a = 0; a < 3; ++a)
            step[a] = from[a] + (int)round((double)way[a] * i / longest) - here[a];
        if (!is_step_open(mask, here, step)) return false;
        for (int a = 0; a < 3; ++a) here[a] += step[a];
    }
    return true;
}

// The length of a displacement in the metric G of a place.
__device__ double step_cost(const float* costs, u32 place, const int d[3]) {
    const float* g = costs + (size_t)place * 6;
    const double x = d[0], y = d[1], z = d[2];
    const double sum = x * (g[0] * x + g[1] * y + g[2] * z) + y * (g[1] * x + g[3] * y + g[4] * z) +
                       z * (g[2] * x + g[4] * y + g[5] * z);
    return sqrt(fmax(sum, 0.0));
}

// The ratio of a step's cost along its way to its cost in the metric of the voxel itself.
__device__ double ratio_along(
    const Mask& mask, const float* costs, u32 place, const int from[3], const int way[3], int longest) {
    const int pieces = 2 * longest;
    double sum = 0.0;
    for (int i = 0; i < pieces; ++i) {
        const double t = (i + 0.5) / pieces;
        int at[3];
        for (int a = 0; a < 3; ++a) at[a] = from[a] + (int)round(way[a] * t);
        const u32 known = place_of(mask, at);
        sum += step_cost(costs, known == NOWHERE ? place : known, way);
    }
    return sum / pieces / step_cost(costs, place, way);
}

__device__ double product(const Symmetric& w, const int a[3], const int b[3]) {
    const double x = b[0], y = b[1], z = b[2], *m = w.m;
    return a[0] * (m[0] * x + m[1] * y + m[2] * z) + a[1] * (m[1] * x + m[3] * y + m[4] * z) +
           a[2] * (m[2] * x + m[4] * y + m[5] * z);
}

// Selling's terms by record: weights, and the cells at the ends of the steps. Sets the bits of cells that are read, in the
// headers of their own brick and in `read`, which has a word of 64 bits for each brick and each of the bricks around it.
extern "C" __global__ void metric_terms(
    Job job, const u32* place_on_grid, const u32* voxels, const u32* cell_of, const u32* record_of,
    const float* speeds, const float* costs, u32* headers, u32* terms, u64* read) {
    const int PAIRS[6][4] = {{0, 1, 2, 3}, {0, 2, 1, 3}, {0, 3, 1, 2}, {1, 2, 0, 3}, {1, 3, 0, 2}, {2, 3, 0, 1}};
    const int HEADER = 64, OWN = 32;
    const u32 place = thread_index();
    if (!(place < job.places)) return;
    u32* out = terms + (size_t)record_of[place] * TERMS;
    for (int k = 0; k < TERMS; ++k) out[k] = k < ENDS ? 0 : CLOSED;
    Symmetric w;
    for (int i = 0; i < 6; ++i) w.m[i] = speeds[(size_t)place * 6 + i];
    double values[3], vectors[3][3];
    eigen(w, values, vectors);
    if (values[0] > job.steps_limit * values[2]) return;
    const double trace = w.m[0] + w.m[3] + w.m[5];
    int base[4][3] = {{-1, -1, -1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int step = 0, quiet = 0; step < 1000 && quiet < 6; ++step) {
        const int *pair = PAIRS[step % 6], i = pair[0], j = pair[1], k = pair[2], l = pair[3];
        if (product(w, base[i], base[j]) > 1e-12 * trace) {
            for (int a = 0; a < 3; ++a) {
                const int turned = base[i][a];
                base[i][a] = -turned;
                base[k][a] += turned;
                base[l][a] += turned;
            }
            quiet = 0;
        } else {
            ++quiet;
        }
    }
    const Mask mask = {{(int)job.shape[0], (int)job.shape[1], (int)job.shape[2]}, place_on_grid};
    const u32 voxel = voxels[place];
    const int from[3] = {(int)(voxel % job.shape[0]), (int)(voxel / job.shape[0] % job.shape[1]),
                         (int)(voxel / (job.shape[0] * job.shape[1]))};
    int used = 0;
    for (int p = 0; p < 6; ++p) {
        const int *pair = PAIRS[p], *a = base[pair[2]], *b = base[pair[3]];
        const double rho = fmax(-product(w, base[pair[0]], base[pair[1]]), 0.0);
        const int e[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
        const int longest = max(max(abs(e[0]), abs(e[1])), abs(e[2]));
        if (!(rho > 0.0) || longest == 0 || longest > (int)job.longest) continue;
        double dearer = 1.0;
        u32 ends[2] = {CLOSED, CLOSED};
        int to[2][3];
        for (int end = 0; end < 2; ++end) {
            const int sign = end == 0 ? 1 : -1, way[3] = {sign * e[0], sign * e[1], sign * e[2]};
            for (int i = 0; i < 3; ++i) to[end][i] = from[i] + way[i];
            if (!is_line_inside(mask, from, way, longest)) continue;
            ends[end] = cell_of[place_of(mask, to[end])];
            dearer = fmax(dearer, ratio_along(mask, costs, place, from, way, longest));
        }
        if (ends[0] == CLOSED && ends[1] == CLOSED) continue;
        out[used] = __float_as_uint((float)(rho / (dearer * dearer)));
        for (int end = 0; end < 2; ++end) {
            out[ENDS + 2 * used + end] = ends[end];
            if (ends[end] == CLOSED) continue;
            const u32 brick = ends[end] / CELLS, cell = ends[end] % CELLS, own = cell_of[place] / CELLS;
            if (brick == own) {
                atomicOr(headers + (size_t)own * HEADER + OWN + cell / 32, 1u << (cell % 32));
                continue;
            }
            // The reading brick as seen from the one that is read.
            int slot = 0;
            for (int i = 2; i >= 0; --i) slot = slot * AROUND + from[i] / SIDE - to[end][i] / SIDE + REACH;
            atomicOr(read + (size_t)brick * READERS + slot, 1ull << cell);
        }
        ++used;
    }
}

// One warp per brick counts the bricks that read it, and reserves their entries.
extern "C" __global__ void metric_count_readers(Job job, const u64* read, u32* headers, u32* total) {
    const int HEADER = 64, FIRST = 28, COUNT = 29;
    const u32 brick = thread_index() / 32, lane = threadIdx.x % 32;
    if (!(brick < job.bricks)) return;
    u32 count = 0;
    for (u32 i = lane; i < READERS; i += 32) count += read[(size_t)brick * READERS + i] != 0;
    for (int shift = 16; shift > 0; shift /= 2) count += __shfl_down_sync(~0u, count, shift);
    if (lane == 0) {
        headers[(size_t)brick * HEADER + FIRST] = count ? atomicAdd(total, count) : 0;
        headers[(size_t)brick * HEADER + COUNT] = count;
    }
}

// One warp per brick lists the bricks that read it. `names`: bricks by their position on the grid; `positions`: the
// position of each brick.
extern "C" __global__ void metric_list_readers(
    Job job, const u64* read, const u32* headers, const u32* names, const u32* positions, Reader* readers) {
    const int HEADER = 64, FIRST = 28;
    const u32 brick = thread_index() / 32, lane = threadIdx.x % 32;
    if (!(brick < job.bricks)) return;
    u32 next = headers[(size_t)brick * HEADER + FIRST];
    const u32 counts[3] = {(job.shape[0] + SIDE - 1) / SIDE, (job.shape[1] + SIDE - 1) / SIDE,
                           (job.shape[2] + SIDE - 1) / SIDE};
    const u32 position = positions[brick];
    for (u32 start = 0; start < READERS; start += 32) {
        const u32 slot = start + lane;
        const u64 cells = slot < READERS ? read[(size_t)brick * READERS + slot] : 0;
        const u32 listed = __ballot_sync(~0u, cells != 0);
        if (cells != 0) {
            const u32 x = position % counts[0] + slot % AROUND - REACH;
            const u32 y = position / counts[0] % counts[1] + slot / AROUND % AROUND - REACH;
            const u32 z = position / (counts[0] * counts[1]) + slot / (AROUND * AROUND) - REACH;
            readers[next + __popc(listed & ((1u << lane) - 1))] = {
                names[x + counts[0] * (y + counts[1] * z)], {(u32)cells, (u32)(cells >> 32)}, 0};
        }
        next += __popc(listed);
    }
}
