// Streamlines through fibre orientation distributions; the mathematics, the rules and their order are those of
// src/engine/solvers/odf_tracking (arcs.rs, model.rs, follow.rs, tissue_rules.rs). A warp follows a streamline: a lane
// is a candidate of an arc. Positions and lengths are in world mm.
//
// H200, arcs of order 8: 204 M steps/s, of order 12: 102 M; lobes: 290 M and 224 M. Lanes read the same coefficients, each
// 16 bytes a load, and the first cache returns them at 94 % of its rate where two lanes do not share the loads.
#include "odf_lobes.cuh"

// Arcs drawn by their shares: src/engine/solvers/odf_tracking/arcs.rs.
template <int ORDER> struct Arcs {
    using S = Series<ORDER>;
    // Shared by all lanes during a step: in registers it would leave too few for the coefficients.
    struct Frame {
        f32x3 ahead, at, ahead_in_voxels;
    };
    struct Shared {
        Frame frames[WARPS];
    };
    Frame& frame;
    float2 azimuth;

    __device__ __forceinline__ Arcs(Shared& shared, const Data& data, u32 lane) : frame(shared.frames[threadIdx.x / 32]), azimuth(data.azimuths[lane]) {}

    static __device__ __forceinline__ float angle(float height) {
        float half = 0.5f * height, quarter = half / (2.0f * (1.0f + sqrtf(1.0f - half)));
        float p = 0.017352764f;
        p = fmaf(p, quarter, 0.022372159f), p = fmaf(p, quarter, 0.030381944f), p = fmaf(p, quarter, 5.0f / 112.0f);
        p = fmaf(p, quarter, 0.075f), p = fmaf(p, quarter, 1.0f / 6.0f), p = fmaf(p, quarter, 1.0f);
        return 4.0f * sqrtf(quarter) * p;
    }

    // A direction of a half sphere, drawn by its amplitude.
    __device__ bool start(const Rules& rules, const Data& data, const Seed& seed, u64 numbers, u32 lane, f32x3& along) {
        u64 key = stream(numbers, 0);
        double turn = uniform_double(key, 0), offset = uniform_double(key, 1);
        float choice = (float)uniform_double(key, 2);
        f32x3 here = to_voxel(rules.fibres, seed.at);
        float total = 0.0f, end = 0.0f, share = 0.0f, earlier_end = 0.0f, earlier_share = 0.0f;
        f32x3 direction = seed.at, earlier = seed.at;
        // 64 candidates, half of them at a time.
#pragma unroll 1
        for (int set = 0; set < 64; set += 32) {
            int k = set + lane;
            earlier = direction, earlier_end = end, earlier_share = share;
            double z = (k + offset) / 64, turns = turn + 0.381966011250105 * k;
            float at = (float)(turns - floor(turns)), radius = sqrtf(fmaxf((float)(1 - z * z), 0.0f));
            direction = make(radius * sine(at + 0.25f), radius * sine(at), (float)z);
            float f = S::amplitude(data.records, data.record_of, rules.fibres, here, direction, lane);
            share = f >= rules.cut ? f : 0.0f;
            end = total + sum_to(share, lane);
            total = __shfl_sync(ALL_LANES, end, 31);
        }
        if (!all_lanes(total > 0.0f)) return false;
        u32 first = __ballot_sync(ALL_LANES, earlier_share > 0.0f && earlier_end > choice * total);
        u32 later = __ballot_sync(ALL_LANES, share > 0.0f && end > choice * total);
        // Rounding may place the number at the total: the last candidate with a share.
        u32 some = __ballot_sync(ALL_LANES, earlier_share > 0.0f), more = __ballot_sync(ALL_LANES, share > 0.0f);
        bool none = (first | later) == 0, second = none ? more != 0 : first == 0;
        u32 of = second ? later : first, last = second ? more : some;
        u32 chosen = none ? 31 - __clz(last) : __ffs(of) - 1;
        f32x3 d = of_lane(second ? direction : earlier, chosen);
        along = oriented(rsqrtf(dot(d, d)) * d, seed);
        return true;
    }

    __device__ __forceinline__ u32 advance(const Rules& rules, const Data& data, Half& half, u32 lane) {
        __syncwarp();
        if (lane < 3) half.shared.uniform[lane] = uniform(stream(half.shared.numbers, half.step), lane);
        __syncwarp();
        const Position& from = half.last;
        float turn = half.shared.uniform[0], offset = half.shared.uniform[1];
        // Two axes across the direction, turned.
        f32x3 d = from.along, out;
        {
            f32x3 e, g;
            across(d, e, g);
            float s = sine(turn), c = sine(turn + 0.25f);
            // The candidate of this lane.
            float by_e = azimuth.x * c - azimuth.y * s, by_g = azimuth.x * s + azimuth.y * c;
            out = by_e * e + by_g * g;
        }
        __syncwarp();
        if (lane == 0) frame = {d, to_voxel(rules.fibres, from.at), turned(rules.fibres, d)};
        __syncwarp();
        f32x3 aside = turned(rules.fibres, out);
        float height = ((float)lane * (1.0f / 32) + offset * (1.0f / 32)) * rules.cap_height;
        float theta = angle(fmaxf(height, 1e-8f)), radius = rules.step_mm / theta, part = theta / (float)rules.samples, square = part * part;
        float sine = part * fmaf(square, fmaf(square, fmaf(square, fmaf(square, fmaf(square, -1.0f / 39916800.0f, 1.0f / 362880.0f), -1.0f / 5040.0f), 1.0f / 120.0f), -1.0f / 6.0f), 1.0f);
        float cosine = fmaf(square, fmaf(square, fmaf(square, fmaf(square, fmaf(square, -1.0f / 3628800.0f, 1.0f / 40320.0f), -1.0f / 720.0f), 1.0f / 24.0f), -0.5f), 1.0f);
        float s = sine, c = cosine, product = 1.0f;
        bool alive = true;
#pragma unroll 1
        for (u32 sample = 1; sample <= rules.samples; sample++) {
            // Reads the frame again.
            asm volatile("" ::: "memory");
            float forward = radius * s, sideways = radius * s * s / (1.0f + c);
            f32x3 tangent = c * frame.ahead + s * out;
            f32x3 here = frame.at + forward * frame.ahead_in_voxels + sideways * aside;
            float f = S::amplitude(data.records, data.record_of, rules.fibres, here, tangent, lane);
            alive = alive && f > rules.cut;
            f = fmaxf(f, MIN_AMPLITUDE);
            if (sample < rules.samples) {
                product *= f;
                float next_s = s * cosine + c * sine;
                c = c * cosine - s * sine, s = next_s;
            } else {
                product *= sqrtf(f);
            }
        }
        float share = alive ? __powf(product, 1.0f / (float)rules.samples) : 0.0f, sum = sum_to(share, lane);
        float total = __shfl_sync(ALL_LANES, sum, 31);
        if (!all_lanes(total > 0.0f)) return LOW_AMPLITUDE;
        float at = half.shared.uniform[2] * total;
        u32 above = __ballot_sync(ALL_LANES, sum > at), some = __ballot_sync(ALL_LANES, share > 0.0f);
        // Rounding may place the number at the total: the last candidate with a share.
        if (lane == (above ? __ffs(above) - 1 : 31 - __clz(some))) {
            f32x3 end = c * frame.ahead + s * out;
            float forward = radius * s, sideways = radius * s * s / (1.0f + c);
            half.shared.next = {half.last.at + (forward * frame.ahead + sideways * out), rsqrtf(dot(end, end)) * end};
        }
        __syncwarp();
        return GO;
    }
};

// The tissue with the largest fraction at a world point: lanes of eight read the eight voxels around it.
__device__ u32 tissue(const Rules& rules, const float4* fractions, f32x3 at, u32 lane) {
    f32x3 v = to_voxel(rules.tissues, at);
    if (!all_lanes(contains(rules.tissues, v))) return OUTSIDE;
    Axis x = axis(v.x, rules.tissues.shape[0]), y = axis(v.y, rules.tissues.shape[1]), z = axis(v.z, rules.tissues.shape[2]);
    u32 voxel = (lane & 1 ? x.high : x.low) + rules.tissues.shape[0] * ((lane & 2 ? y.high : y.low) + rules.tissues.shape[1] * (lane & 4 ? z.high : z.low));
    float share = (lane & 1 ? x.t : 1.0f - x.t) * (lane & 2 ? y.t : 1.0f - y.t) * (lane & 4 ? z.t : 1.0f - z.t);
    float4 a = __ldg(fractions + 2 * (size_t)voxel);
    float all[5] = {share * a.x, share * a.y, share * a.z, share * a.w, share * __ldg(&fractions[2 * (size_t)voxel + 1].x)};
    float sum = 0.0f;
    u32 best = 0;
#pragma unroll
    for (int i = 0; i < 5; i++) {
#pragma unroll
        for (int distance = 1; distance < 8; distance *= 2) all[i] += __shfl_xor_sync(ALL_LANES, all[i], distance);
        sum += all[i];
    }
    float most = all[0];
#pragma unroll
    for (int i = 1; i < 5; i++)
        if (all[i] > most) most = all[i], best = i;
    return sum < MIN_FRACTIONS ? OUTSIDE : best;
}

// For each region, the number of points at which a half first met it; NONE if never. All lanes write the same.
struct Steps {
    u32* met;
    u32 step;
};
__device__ __forceinline__ bool has_met(const Steps& steps, u32 gate) { return steps.met[gate] != NONE; }
__device__ __forceinline__ void mark_met(const Steps& steps, u32 gate) { steps.met[gate] = steps.step; }

// How a half ended.
struct End {
    u32 reason, target;
    bool is_kept;
};
__device__ __forceinline__ End stopped(const Rules& rules, const Data& data, const Position& at, u32 reason, u32 passed, u32 lane) {
    if (!rules.has_tissues) return {reason, NONE, true};
    if (all_lanes(passed & IN_DEEP_GREY)) return {DEEP_GREY, NONE, true};
    bool left = reason == LEFT_VOLUME || reason == LOW_AMPLITUDE;
    if (all_lanes(left && at.along.z < 0.0f && at.at.z <= rules.stem_below)) return {BRAIN_STEM, NONE, true};
    return {reason, NONE, tissue(rules, data.fractions, at.at, lane) == OF_OTHER};
}

// The rules at the new point of a step; `with_point`: the point is the last one.
__device__ __forceinline__ End entered(const Rules& rules, const Data& data, f32x3 at, bool downwards, u32& passed, bool& with_point, u32 lane) {
    u32 of = tissue(rules, data.fractions, at, lane);
    bool deep = passed & IN_DEEP_GREY;
    with_point = false;
    if (of == OUTSIDE) {
        if (deep) return {DEEP_GREY, NONE, true};
        if (downwards && at.z <= rules.stem_below) return {BRAIN_STEM, NONE, true};
        return {LEFT_MASK, NONE, false};
    }
    if (of == OF_CORTEX) {
        if (passed & IN_CORTEX) {
            passed -= ONE_STEP_IN_CORTEX;
            return {GO, NONE, true};
        }
        with_point = true;
        return {CORTICAL_GREY, NONE, true};
    }
    if (of == OF_CSF) return {deep ? DEEP_GREY : ENTERED_CSF, NONE, deep};
    if (of == OF_WHITE && deep && !(passed & MAY_LEAVE)) return {DEEP_GREY, NONE, true};
    passed &= ~IN_CORTEX;
    if (of == OF_DEEP_GREY) passed |= IN_DEEP_GREY;
    if (of == OF_WHITE) passed &= ~(IN_DEEP_GREY | MAY_LEAVE);
    return {GO, NONE, true};
}

// Forgets regions met after a number of points.
__device__ __forceinline__ void forget(const Rules& rules, u32* met, u32 points, u32 lane) {
    __syncwarp();
    for (u32 gate = lane; gate < rules.gates; gate += 32)
        if (met[gate] > points) met[gate] = NONE;
    __syncwarp();
}

// One step of a half, or its end.
template <class Model>
__device__ __forceinline__ End step(Model& model, const Rules& rules, const Data& data, Half& half, u32 lane) {
    if (all_lanes(half.step >= rules.max_steps)) return stopped(rules, data, half.last, MAX_LENGTH, half.passed, lane);
    u32 reason = model.advance(rules, data, half, lane);
    Position& next = half.shared.next;
    // Where amplitudes end before grey matter, a last step leads straight into it.
    if (all_lanes(reason == LOW_AMPLITUDE && rules.has_tissues && !(half.passed & (IN_DEEP_GREY | IN_CORTEX)))) {
        f32x3 ahead = half.last.at + rules.step_mm * half.last.along;
        u32 of = tissue(rules, data.fractions, ahead, lane);
        if (all_lanes(of == OF_CORTEX || of == OF_DEEP_GREY)) {
            __syncwarp();
            if (lane == 0) next = {ahead, half.last.along};
            __syncwarp();
            reason = GO;
        }
    }
    if (reason == GO && !contains(rules.fibres, to_voxel(rules.fibres, next.at))) reason = LEFT_VOLUME;
    // Low amplitudes beyond the last voxel with fibres are those of a border.
    if (reason == LOW_AMPLITUDE && !has_fibres(rules.fibres, data.record_of, half.last.at)) reason = LEFT_MASK;
    if (reason == GO && rules.masks && !allowed(rules, data.gates, data.bytes, next.at)) reason = LEFT_MASK;
    if (all_lanes(reason != GO)) return stopped(rules, data, half.last, reason, half.passed, lane);
    u32 slot = half.shared.slot, row = slot * 2 + half.shared.number;
    u32* met = data.met + (size_t)row * rules.gates;
    End end = {GO, NONE, true};
    if (rules.gates) {
        Steps noted = {met, half.step + 1};
        float cut;
        u32 cut_by = meet(rules, data.gates, data.bytes, half.last.at, next.at, noted, cut);
        __syncwarp();
        if (cut_by != NONE) {
            const Gate& gate = data.gates[cut_by];
            f32x3 at = half.last.at + cut * (next.at - half.last.at);
            __syncwarp();
            if (lane == 0) next.at = at;
            __syncwarp();
            end.reason = gate.effect == 0 ? REACHED : TERMINATED;
            end.target = gate.effect == 0 ? gate.target : NONE;
        }
    }
    if (all_lanes(end.reason == GO && rules.has_tissues)) {
        bool with_point;
        end = entered(rules, data, next.at, next.at.z < half.last.at.z, half.passed, with_point, lane);
        if (all_lanes(end.reason != GO && !with_point)) {
            if (rules.gates) forget(rules, met, half.step, lane);
            return end;
        }
    }
    if (lane == 0) {
        data.points[(size_t)row * rules.capacity + half.step] = make_float4(next.at.x, next.at.y, next.at.z, __uint_as_float(half.passed));
        if (rules.goes_back) data.directions[(size_t)slot * rules.capacity + half.step] = next.along;
    }
    half.step++;
    half.last = next;
    return end;
}

__device__ __forceinline__ u64 numbers_of(const Rules& rules, u32 id) { return stream((u64)rules.key_high << 32 | rules.key_low, id); }

// Sets what all lanes share.
__device__ __forceinline__ void share(Half& half, u64 numbers, u32 slot, u32 number, u32 lane) {
    __syncwarp();
    if (lane == 0) half.shared.numbers = numbers, half.shared.slot = slot, half.shared.number = number;
    __syncwarp();
}

// At the seed, for the first attempt.
__device__ __forceinline__ void begin(const Rules& rules, const Data& data, u32 slot, u32 number, Half& half, u32 lane) {
    const Seed& seed = data.seeds[slot];
    Progress& progress = data.progress[slot];
    share(half, stream(numbers_of(rules, seed.id), 1 + number), slot, number, lane);
    half.last = {seed.at, number ? -progress.start : progress.start};
    half.passed = seed.flags & 0xff, half.step = 0;
    if (lane == 0) progress.attempt = 0, progress.longest = 0, progress.back = 1, progress.tries = 0;
    __syncwarp();
}

// Goes back from an end that the tissue rejects, to try again; false if the half ends.
__device__ __forceinline__ bool go_back(const Rules& rules, const Data& data, const End& end, Half& half, u32 lane) {
    bool too_long = end.reason == MAX_LENGTH || end.reason == MAX_STEPS;
    if (all_lanes(end.is_kept || !rules.goes_back || too_long)) return false;
    u32 slot = half.shared.slot, number = half.shared.number, row = slot * 2 + number;
    const Seed& seed = data.seeds[slot];
    Progress& progress = data.progress[slot];
    __syncwarp();
    u32 attempt = progress.attempt + 1, longest = progress.longest, back = progress.back, tries = progress.tries;
    f32x3 start = progress.start;
    if (all_lanes(attempt >= MAX_ATTEMPTS)) return false;
    if (half.step > longest)
        longest = half.step, back = 1, tries = 0;
    else if (tries == TRIES_PER_LENGTH)
        back++, tries = 0;
    tries++;
    if (all_lanes(back > longest)) return false;
    __syncwarp();
    if (lane == 0) progress.attempt = attempt, progress.longest = longest, progress.back = back, progress.tries = tries;
    half.step = min(half.step, longest - back);
    share(half, stream(numbers_of(rules, seed.id), 1 + 2 * (u64)attempt + number), slot, number, lane);
    half.last = {seed.at, number ? -start : start};
    half.passed = seed.flags & 0xff;
    if (half.step > 0) {
        float4 p = data.points[(size_t)row * rules.capacity + half.step - 1];
        half.last = {make(p.x, p.y, p.z), data.directions[(size_t)slot * rules.capacity + half.step - 1]};
        half.passed = __float_as_uint(p.w);
    }
    if (rules.gates) forget(rules, data.met + (size_t)row * rules.gates, half.step, lane);
    return true;
}

// Applies the limit of both halves: the longer one is shortened first.
__device__ __forceinline__ void shorten(const Rules& rules, const Data& data, u32 slot, u32 lane) {
    __syncwarp();
    Summary& summary = data.summaries[slot];
    u32 forward = summary.steps[0], backward = summary.steps[1], total = rules.max_steps, half = total / 2;
    if (all_lanes(forward + backward <= total)) return;
    u32 most[2] = {half, half};
    if (forward <= half)
        most[0] = forward, most[1] = total - forward;
    else if (backward <= half)
        most[0] = total - backward, most[1] = backward;
    for (u32 h = 0; h < 2; h++) {
        u32 steps = h ? backward : forward, keep = h ? most[1] : most[0];
        if (all_lanes(steps <= keep || keep == 0)) continue;
        if (rules.gates) forget(rules, data.met + ((size_t)slot * 2 + h) * rules.gates, keep, lane);
        float4 p = data.points[((size_t)slot * 2 + h) * rules.capacity + keep - 1];
        Position at = {make(p.x, p.y, p.z), make(0.0f, 0.0f, 0.0f)};
        End end = stopped(rules, data, at, MAX_LENGTH, __float_as_uint(p.w), lane);
        __syncwarp();
        if (lane == 0) summary.steps[h] = keep, summary.ends[h] = end.reason | (end.is_kept ? KEPT : 0), summary.targets[h] = NONE;
    }
}

// Begins the next streamline of the queue, or continues it where the previous launch left it; false if none is left.
template <class Model> __device__ __forceinline__ bool begin_next(Model& model, const Rules& rules, const Data& data, bool is_first, Half& half, u32 lane) {
    for (;; is_first = false) {
        u32 turn = thread_index() / 32;
        if (!is_first) {
            if (lane == 0) turn = atomicAdd(data.queue, 1u);
            turn = __shfl_sync(ALL_LANES, turn, 0);
        }
        if (!all_lanes(turn < rules.running)) return false;
        u32 slot = data.running[turn];
        Progress& progress = data.progress[slot];
        Seed seed = data.seeds[slot];
        u64 numbers = numbers_of(rules, seed.id);
        if (all_lanes(data.summaries[slot].status == RUNNING)) {
            half.last = progress.position;
            half.passed = progress.passed, half.step = progress.step;
            share(half, stream(numbers, 1 + 2 * (u64)progress.attempt + progress.half), slot, progress.half, lane);
            return true;
        }
        f32x3 along;
        bool starts = model.start(rules, data, seed, numbers, lane, along);
        if (lane == 0) progress.start = along;
        if (all_lanes(starts && !(seed.flags & CUT))) {
            begin(rules, data, slot, 0, half, lane);
            return true;
        }
        if (lane == 0) data.summaries[slot].status = starts ? DONE : NO_START;
    }
}

// Notes the end of a half, and begins the other one; false if the streamline ends.
__device__ __forceinline__ bool begin_other_half(const Rules& rules, const Data& data, const End& end, Half& half, u32 lane) {
    u32 slot = half.shared.slot, number = half.shared.number;
    Summary& summary = data.summaries[slot];
    if (lane == 0) {
        summary.steps[number] = half.step;
        summary.ends[number] = end.reason | (end.is_kept ? KEPT : 0);
        summary.targets[number] = end.target;
        summary.taken += half.step;
    }
    if (all_lanes(number == 0 && end.is_kept && rules.both_ways && !(data.seeds[slot].flags & ONE_WAY))) {
        begin(rules, data, slot, 1, half, lane);
        return true;
    }
    if (all_lanes(number == 1)) shorten(rules, data, slot, lane);
    if (lane == 0) summary.status = DONE;
    return false;
}

// A warp follows one streamline after the other, taken from a queue, for `window` steps in total.
template <class Model> __device__ __forceinline__ void follow(const Rules& rules, const Data& data) {
    __shared__ typename Model::Shared shared;
    __shared__ Half::Shared halves[WARPS];
    u32 lane = threadIdx.x % 32;
    Model model(shared, data, lane);
    Half half = {{}, 0, 0, halves[threadIdx.x / 32]};
    if (lane == 0) half.shared.left = rules.window;
    __syncwarp();
    bool has_one = false;
    for (bool is_first = true;; is_first = false) {
        if (all_lanes(!has_one)) {
            has_one = begin_next(model, rules, data, is_first, half, lane);
            if (all_lanes(!has_one)) break;
        }
        u32 left = half.shared.left;
        __syncwarp();
        if (all_lanes(left == 0)) break;
        if (lane == 0) half.shared.left = left - 1;
        End end = step(model, rules, data, half, lane);
        if (all_lanes(end.reason == GO)) continue;
        bool retried = go_back(rules, data, end, half, lane);
        if (all_lanes(retried)) continue;
        has_one = begin_other_half(rules, data, end, half, lane);
    }
    if (!has_one || lane != 0) return;
    u32 slot = half.shared.slot;
    data.summaries[slot].status = RUNNING;
    Progress& progress = data.progress[slot];
    progress.position = half.last;
    progress.passed = half.passed, progress.half = half.shared.number, progress.step = half.step;
}

extern "C" __global__ void __launch_bounds__(64, 8) odf_tracking_arcs_8(Rules rules, Data data) { follow<Arcs<8>>(rules, data); }
extern "C" __global__ void __launch_bounds__(64, 8) odf_tracking_arcs_12(Rules rules, Data data) { follow<Arcs<12>>(rules, data); }
extern "C" __global__ void __launch_bounds__(64, 8) odf_tracking_lobes_8(Rules rules, Data data) { follow<Lobes<8>>(rules, data); }
extern "C" __global__ void __launch_bounds__(64, 8) odf_tracking_lobes_12(Rules rules, Data data) { follow<Lobes<12>>(rules, data); }

// `Streamline` in cuda.rs: a half from its end to the seed, the seed, the other half; and the place of the first point.
struct Streamline {
    u32 slot, first_half, first_count, last_count;
    u64 place;
};

// A warp copies the points of one streamline.
extern "C" __global__ void __launch_bounds__(256) odf_tracking_gather(const Streamline* streamlines, u32 count, u32 capacity, const Seed* seeds,
                                                                      const float4* points, f32x3* out) {
    u32 i = thread_index() / 32;
    if (!(i < count)) return;
    Streamline line = streamlines[i];
    const float4* first = points + ((size_t)line.slot * 2 + line.first_half) * capacity;
    const float4* last = points + ((size_t)line.slot * 2 + 1 - line.first_half) * capacity;
    for (u32 k = threadIdx.x % 32; k <= line.first_count + line.last_count; k += 32) {
        f32x3 point = seeds[line.slot].at;
        if (k != line.first_count) {
            float4 p = k < line.first_count ? first[line.first_count - 1 - k] : last[k - line.first_count - 1];
            point = make(p.x, p.y, p.z);
        }
        out[line.place + k] = point;
    }
}
