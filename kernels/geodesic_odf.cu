// Geodesic rays along the lobes of fibre orientation distributions; the mathematics is that of
// src/engine/solvers/geodesic/odf_field.rs, the rules are those of kernels/geodesic.cu.
#include "lobes.cuh"
#include "ray_steps.cuh"

// Eight threads follow one half ray. Runge-Kutta 4 takes two Newton steps for each slope.
#define TRACE(ORDER, STAGES, NEWTON, BLOCKS)                                                                            \
    extern "C" __global__ void __launch_bounds__(64, BLOCKS)                                                            \
        geodesic_odf_trace_##ORDER##_##STAGES(RAY_ARGUMENTS, LobeRules lobes) {                                         \
        trace<Lobe<ORDER, NEWTON>, STAGES>(rules, {cells, records}, RAYS, thread_index() / 8, Lobe<ORDER, NEWTON>(lobes)); \
    }

TRACE(8, 1, 1, 8)
TRACE(8, 2, 1, 8)
TRACE(8, 4, 2, 6)
TRACE(12, 1, 1, 4)
TRACE(12, 2, 1, 4)
TRACE(12, 4, 2, 4)
