// The new value of a level set's voxel after a step or a pass of redistancing, and its page requests;
// src/engine/solvers/level_set/row.rs does the same for eight voxels at a time.
#pragma once

#include "common.cuh"

constexpr u32 ALL = ~0u;
constexpr float SNAP = 1e-3f, FLAT = 1e-6f, LOW_SLOPE = 0.9f, HIGH_SLOPE = 1.1f;
// The speed of a voxel that was cut away: KEPT_OUT in row.rs.
constexpr float KEPT_OUT = -1e30f;
constexpr int ISOTROPIC = 0, ORTHOGONAL = 1, SHEARED = 2;
enum Pass { STEP, REDISTANCE, PAPER };

// Constants of the coming steps, in the card's memory: graphs do not change when sliders move.
struct Rules {
    float dt, curvature, rescaling, clamp, pace, advection, low, high;
    float w[6], root[3];
    int offsets;
    int e[6][3];
    float rho[6];
    // Weight of the region term, voxels of the image, sum of their quanta.
    float region;
    u32 unused;
    long long voxels, total;
};
static_assert(sizeof(Rules) == 8 * 4 + 10 * 4 + 24 * 4 + 2 * 4 + 2 * 8, "as Rules in cuda.rs");

// Parts of 4 x 4 x 2 voxels without bank conflicts, from -1 to 8; rows of 8 in halves of 16 bytes.
constexpr int ROW = 12, PLANE = 144, TILE = 10 * PLANE + 4;
__device__ __forceinline__ int at(int x, int y, int z) { return (z + 1) * PLANE + (y + 1) * ROW + x + 4; }

__device__ __forceinline__ u32 bits(float v) { return __float_as_uint(v); }

__device__ __forceinline__ float clamped(float v, float clamp) {
    return fabsf(v) >= clamp - SNAP ? copysignf(clamp, v) : v;
}

// Squared one-sided gradients towards larger and smaller values, and extremes of the neighbours.
struct Upwind {
    float up, down, most, least;
    __device__ __forceinline__ explicit Upwind(float c) : up(0), down(0), most(c), least(c) {}
    __device__ __forceinline__ void pair(float c, float a, float b, float rho) {
        float high = fmaxf(a, b), low = fminf(a, b);
        float rise = fmaxf(high - c, 0.0f), fall = fmaxf(c - low, 0.0f);
        up = fmaf(rise * rho, rise, up);
        down = fmaf(fall * rho, fall, down);
        most = fmaxf(most, high);
        least = fminf(least, low);
    }
    __device__ __forceinline__ float inwards(float c) const { return c >= 0.0f ? down : up; }
    __device__ __forceinline__ float nearest(float c) const { return c >= 0.0f ? least : -most; }
};

struct Central {
    float gradient, curvature;
};

struct Around {
    float c, xm, xp, ym, yp, zm, zp;
};

template <int KIND>
__device__ __forceinline__ Central central(const Around& n, float xy, float xz, float yz, const Rules& r) {
    float c2 = n.c + n.c;
    float xx = n.xp + n.xm - c2, yy = n.yp + n.ym - c2, zz = n.zp + n.zm - c2;
    float x = n.xp - n.xm, y = n.yp - n.ym, z = n.zp - n.zm;
    constexpr float part = FLAT * 2.0f / 3.0f;
    if (KIND == SHEARED) {
        float px = r.w[0] * x + r.w[3] * y + r.w[4] * z;
        float py = r.w[3] * x + r.w[1] * y + r.w[5] * z;
        float pz = r.w[4] * x + r.w[5] * y + r.w[2] * z;
        float squared = px * x + py * y + pz * z;
        float hxy = 0.5f * xy, hxz = 0.5f * xz, hyz = 0.5f * yz;
        float trace = r.w[0] * xx + r.w[1] * yy + r.w[2] * zz + r.w[3] * hxy + r.w[4] * hxz + r.w[5] * hyz;
        float along = px * px * xx + py * py * yy + pz * pz * zz + px * py * hxy + px * pz * hxz + py * pz * hyz;
        float numerator = trace * squared - along + trace * part;
        return {0.5f * sqrtf(fmaxf(squared, 0.0f)), __fdividef(numerator, squared + FLAT)};
    }
    if (KIND == ORTHOGONAL) {
        float sx = r.root[0], sy = r.root[1], sz = r.root[2];
        xx *= r.w[0];
        yy *= r.w[1];
        zz *= r.w[2];
        xy *= sx * sy;
        xz *= sx * sz;
        yz *= sy * sz;
        x *= sx;
        y *= sy;
        z *= sz;
    }
    float x2 = x * x, y2 = y * y, z2 = z * z, squared = x2 + y2 + z2, trace = xx + yy + zz;
    float mixed = fmaf(x, fmaf(y, xy, z * xz), y * z * yz);
    float along = fmaf(0.5f, mixed, fmaf(xx, x2, fmaf(yy, y2, zz * z2)));
    float inverse = rsqrtf(squared + FLAT);
    return {0.5f * squared * inverse, fmaf(trace, squared + part, -along) * (inverse * inverse)};
}

// Neighbours of the sheared pairs are read from the tile, around `q`.
template <int KIND>
__device__ __forceinline__ Upwind upwind(const Around& n, const Rules& r, const Rules* sheared, const float* q) {
    Upwind u(n.c);
    if (KIND == SHEARED) {
        for (int k = 0; k < sheared->offsets; k++) {
            const int* e = sheared->e[k];
            int off = e[0] + e[1] * ROW + e[2] * PLANE;
            u.pair(n.c, q[-off], q[off], sheared->rho[k]);
        }
    } else {
        u.pair(n.c, n.xm, n.xp, KIND == ISOTROPIC ? 1.0f : r.w[0]);
        u.pair(n.c, n.ym, n.yp, KIND == ISOTROPIC ? 1.0f : r.w[1]);
        u.pair(n.c, n.zm, n.zp, KIND == ISOTROPIC ? 1.0f : r.w[2]);
    }
    return u;
}

template <int KIND, bool EXTRA>
__device__ __forceinline__ float step(
    const Around& n, const Central& m, const Upwind& u, const Rules& r, const float* region, float speed,
    const float* data) {
    float far = sqrtf(u.inwards(n.c)), most = 2.0f * fmaxf(m.gradient, far);
    float bend = fmaxf(fminf(m.curvature, most), -most);
    float weight = r.curvature, drift = 0.0f;
    if (EXTRA) {
        float stop = __ldg(data + 512), value = __ldg(data + 5 * 512);
        float own = fmaxf(fminf(fmaf(region[1], value, region[0]), 1.0f), -1.0f);
        speed = fmaf(own, region[2], speed) * stop;
        weight *= stop;
        float ax = __ldg(data + 2 * 512), ay = __ldg(data + 3 * 512), az = __ldg(data + 4 * 512);
        drift = fmaxf(ax, 0.0f) * (n.xp - n.c) + fminf(ax, 0.0f) * (n.c - n.xm) + fmaxf(ay, 0.0f) * (n.yp - n.c) +
                fminf(ay, 0.0f) * (n.c - n.ym) + fmaxf(az, 0.0f) * (n.zp - n.c) + fminf(az, 0.0f) * (n.c - n.zm);
    }
    float forwards = sqrtf(speed >= 0.0f ? u.up : u.down);
    float share = fmaxf(fminf(2.0f * u.nearest(n.c), 1.0f), 0.0f);
    float off = 1.0f - fmaf(share, far - m.gradient, m.gradient);
    float spared = (1.0f - LOW_SLOPE) * (1.0f - share);
    off -= fmaxf(fminf(off, spared), -spared);
    float change = fmaf(speed, forwards, fmaf(weight, bend, r.rescaling * n.c * off)) + drift;
    return clamped(fmaf(change, r.dt, n.c), r.clamp);
}

__device__ __forceinline__ float redistance(
    const Around& n, const Central& m, const Upwind& u, const Rules& r, bool first) {
    float far = sqrtf(u.inwards(n.c)), kept = n.c;
    if (!(-u.nearest(n.c) >= 0.0f)) {
        float pace = r.pace * (1.0f - far);
        return clamped(n.c + (n.c >= 0.0f ? pace : -pace), r.clamp);
    }
    if (first) {
        float slope = fmaxf(fmaxf(m.gradient, 0.5f * far), 1e-3f);
        kept = n.c * fminf(fmaxf(slope, LOW_SLOPE), HIGH_SLOPE) / slope;
    }
    return clamped(kept, r.clamp);
}

// Lefohn 2004, appendix A.
__device__ __forceinline__ float paper(const float* q, const Rules& r, float speed) {
    constexpr int along[3] = {1, ROW, PLANE};
    float c = q[0], mean = 0.0f, rise2 = 0.0f, fall2 = 0.0f, squared = 0.0f;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        float ahead = q[along[a]] - c, back = c - q[-along[a]], here = 0.5f * (q[along[a]] - q[-along[a]]);
        squared = fmaf(here, here, squared);
        float faces[2] = {ahead, back};
#pragma unroll
        for (int side = 0; side < 2; side++) {
            const float* next = q + (side ? -along[a] : along[a]);
            float length = faces[side] * faces[side];
#pragma unroll
            for (int o = 0; o < 3; o++)
                if (o != a) {
                    float across = 0.25f * ((q[along[o]] - q[-along[o]]) + (next[along[o]] - next[-along[o]]));
                    length = fmaf(across, across, length);
                }
            float normal = faces[side] * rsqrtf(length + 1e-12f);
            mean += side ? -normal : normal;
        }
        float x = fmaxf(ahead, 0.0f), y = fmaxf(-back, 0.0f);
        rise2 = fmaf(x, x, fmaf(y, y, rise2));
        x = fminf(ahead, 0.0f);
        y = fminf(-back, 0.0f);
        fall2 = fmaf(x, x, fmaf(y, y, fall2));
    }
    float keep = r.rescaling * c * (1.0f - sqrtf(squared));
    float force = fmaf(0.5f * mean, r.curvature, speed) + keep;
    float gradient = sqrtf(force >= 0.0f ? rise2 : fall2);
    return clamped(fmaf(force * gradient, r.dt, c), r.clamp);
}

// The new value of a voxel. `q`: its position in the tile; `first`: the first pass of a redistancing; `data`: of the
// voxel in the planes of speeds, the first of which is `speed`.
template <int KIND, bool EXTRA, int PASS>
__device__ __forceinline__ float become(
    const float* q, const Rules& r, const Rules* sheared, const float* region, float speed, const float* data,
    bool first) {
    const float *a = q + PLANE, *b = q - PLANE;
    // phi does not rise where the voxel was cut away.
    bool cut = PASS != REDISTANCE && speed < 0.5f * KEPT_OUT;
    if (cut) speed = 0.0f;
    if (PASS == PAPER) {
        float next = paper(q, r, speed);
        return cut ? fminf(next, q[0]) : next;
    }
    Around n = {q[0], q[-1], q[1], q[-ROW], q[ROW], b[0], a[0]};
    Upwind u = upwind<KIND>(n, r, sheared, q);
    Central m = {0.0f, 0.0f};
    if (PASS == STEP || first) {
        float xy = (q[ROW + 1] - q[ROW - 1]) - (q[1 - ROW] - q[-ROW - 1]);
        float xz = (a[1] - a[-1]) - (b[1] - b[-1]), yz = (a[ROW] - a[-ROW]) - (b[ROW] - b[-ROW]);
        m = central<KIND>(n, xy, xz, yz, r);
    }
    if (PASS == STEP) {
        float next = step<KIND, EXTRA>(n, m, u, r, region, speed, data);
        return cut ? fminf(next, n.c) : next;
    }
    return redistance(n, m, u, r, first);
}

// Offset of a thread's k-th voxel from its first.
__device__ __forceinline__ constexpr int place_of(int k) {
    return 4 * (k & 1) + 32 * (k >> 1 & 1) + 128 * (k >> 2);
}

// One bit for every x, y and z of the band's voxels, one byte each; `band`: one bit per part.
__device__ __forceinline__ u32 spread(u32 band, int x0, int y0, int z0) {
    u32 out = (band & 0x5555 ? 1u << x0 : 0u) | (band & 0xaaaa ? 16u << x0 : 0u);
    out |= (band & 0x3333 ? 256u << y0 : 0u) | (band & 0xcccc ? 4096u << y0 : 0u);
    for (int k = 0; k < 4; k++) out |= band >> 4 * k & 15 ? 65536u << (z0 + 2 * k) : 0u;
    return out;
}

// The 27 bits of the neighbours that a box of voxels requests. `seen`: one bit for every x, y and z of it, one byte
// each; `margin`: distance to a face below which the brick behind it is requested.
__device__ __forceinline__ u32 wishes(u32 seen, int margin) {
    if (!(seen & 255)) return 0;
    u32 low = (1u << margin) - 1, high = 255u & ~(255u >> margin);
    u32 x = seen, y = seen >> 8, z = seen >> 16;
    u32 row = 2u | (x & low ? 1u : 0u) | (x & high ? 4u : 0u);
    u32 plane = row << 3 | (y & low ? row : 0u) | (y & high ? row << 6 : 0u);
    return plane << 9 | (z & low ? plane : 0u) | (z & high ? plane << 18 : 0u);
}

// The neighbours touched by a thread's voxels of the band, as bits, exact to the voxel, with the brick itself in the
// middle. `band`: one bit for each of 16 parts.
__device__ __forceinline__ u32 touches(u32 band, int x0, int y0, int z0) {
    u32 x = x0 == 0 ? 0x5555u : x0 == 3 ? 0xaaaau : 0u, y = y0 == 0 ? 0x3333u : y0 == 3 ? 0xccccu : 0u;
    u32 z = z0 == 0 ? 0x000fu : 0xf000u;
    int to_x = x0 == 0 ? -1 : 1, to_y = y0 == 0 ? -3 : 3, to_z = z0 == 0 ? -9 : 9;
    u32 out = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        u32 facing = band & (k & 1 ? x : ALL) & (k & 2 ? y : ALL) & (k & 4 ? z : ALL);
        int neighbour = 13 + (k & 1 ? to_x : 0) + (k & 2 ? to_y : 0) + (k & 4 ? to_z : 0);
        if (facing) out |= 1u << neighbour;
    }
    return out;
}
