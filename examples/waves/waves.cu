// A shallow-water ocean on an Arakawa C grid, stepped forward and backward in time.
//
// Every field has rows + 2 by columns + 2 elements, a halo of one cell around the ocean. Element (j, i) of `u` lies on
// the eastern face of cell (j, i), of `v` on its northern face. The ocean is periodic from west to east and has walls
// in the north and south. `depth` is the water depth at rest, 0 on land.

struct Ocean {
    int rows, columns;
    float spacing;      // metres between cells, both ways
    float time_step;    // seconds
    float gravity;
    float coriolis;     // at the middle row, 1/s
    float beta;         // its change per metre to the north
    float drag;         // quadratic bottom friction
    float wind_stress;  // greatest stress of the storm over water's density, m²/s²
    float storm_radius; // metres
};

// Squared speed of water at rest, (m/s)²: the root of zero has no derivative.
#define STILL 1e-12f

// Halos --------------------------------------------------------------------------------------------------------------

__global__ void wrap_columns(float *field, Ocean ocean) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= ocean.rows + 2) return;
    float *row = field + j * (ocean.columns + 2);
    row[0] = row[ocean.columns];
    row[ocean.columns + 1] = row[1];
}

__global__ void mirror_rows(float *field, Ocean ocean) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int pitch = ocean.columns + 2;
    if (i >= pitch) return;
    field[i] = field[pitch + i];
    field[(ocean.rows + 1) * pitch + i] = field[ocean.rows * pitch + i];
}

// Forcing ------------------------------------------------------------------------------------------------------------

__device__ float distance_around(float a, float b, float length) {
    float d = a - b;
    return d - length * rintf(d / length);
}

// A storm that crosses the ocean: the stress circles its centre and is strongest at one radius.
__global__ void blow_wind(float *stress_x, float *stress_y, Ocean ocean, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= ocean.columns + 2 || j >= ocean.rows + 2) return;
    float length = ocean.columns * ocean.spacing;
    float time = step * ocean.time_step;
    float centre_x = 0.62f * length - 55.0f * time;
    float centre_y = 0.36f * ocean.rows * ocean.spacing + 12.0f * time;
    float x = distance_around(i * ocean.spacing, centre_x, length) / ocean.storm_radius;
    float y = (j * ocean.spacing - centre_y) / ocean.storm_radius;
    float strength = ocean.wind_stress * expf(0.5f - 0.5f * (x * x + y * y));
    stress_x[j * (ocean.columns + 2) + i] = -strength * y;
    stress_y[j * (ocean.columns + 2) + i] = strength * x;
}

// Motion -------------------------------------------------------------------------------------------------------------

__global__ void push_u(float *u, const float *v, const float *height, const float *depth, const float *stress_x,
                       Ocean ocean) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i > ocean.columns || j > ocean.rows) return;
    int pitch = ocean.columns + 2, at = j * pitch + i;
    if (depth[at] <= 0.0f || depth[at + 1] <= 0.0f) {
        u[at] = 0.0f;
        return;
    }
    float water = 0.5f * (depth[at] + depth[at + 1] + height[at] + height[at + 1]);
    float v_here = 0.25f * (v[at] + v[at + 1] + v[at - pitch] + v[at - pitch + 1]);
    float f = ocean.coriolis + ocean.beta * ocean.spacing * (j - 0.5f * ocean.rows);
    float slope = (height[at + 1] - height[at]) / ocean.spacing;
    float friction = ocean.drag * sqrtf(u[at] * u[at] + v_here * v_here + STILL) / water;
    float push = f * v_here - ocean.gravity * slope + 0.5f * (stress_x[at] + stress_x[at + 1]) / water;
    u[at] = (u[at] + ocean.time_step * push) / (1.0f + ocean.time_step * friction);
}

__global__ void push_v(const float *u, float *v, const float *height, const float *depth, const float *stress_y,
                       Ocean ocean) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i > ocean.columns || j > ocean.rows) return;
    int pitch = ocean.columns + 2, at = j * pitch + i;
    if (j == ocean.rows || depth[at] <= 0.0f || depth[at + pitch] <= 0.0f) {
        v[at] = 0.0f;
        return;
    }
    float water = 0.5f * (depth[at] + depth[at + pitch] + height[at] + height[at + pitch]);
    float u_here = 0.25f * (u[at] + u[at - 1] + u[at + pitch] + u[at + pitch - 1]);
    float f = ocean.coriolis + ocean.beta * ocean.spacing * (j + 0.5f - 0.5f * ocean.rows);
    float slope = (height[at + pitch] - height[at]) / ocean.spacing;
    float friction = ocean.drag * sqrtf(u_here * u_here + v[at] * v[at] + STILL) / water;
    float push = -f * u_here - ocean.gravity * slope + 0.5f * (stress_y[at] + stress_y[at + pitch]) / water;
    v[at] = (v[at] + ocean.time_step * push) / (1.0f + ocean.time_step * friction);
}

// Continuity ---------------------------------------------------------------------------------------------------------

// `flux_x` is rows by columns + 1, `flux_y` is rows + 1 by columns: one value for each face, no halo.
__global__ void find_fluxes(const float *u, const float *v, const float *height, const float *depth, float *flux_x,
                            float *flux_y, Ocean ocean) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i > ocean.columns || j > ocean.rows) return;
    int pitch = ocean.columns + 2, at = j * pitch + i;
    if (j > 0)
        flux_x[(j - 1) * (ocean.columns + 1) + i] =
            0.5f * u[at] * (depth[at] + depth[at + 1] + height[at] + height[at + 1]);
    if (i > 0)
        flux_y[j * ocean.columns + i - 1] =
            0.5f * v[at] * (depth[at] + depth[at + pitch] + height[at] + height[at + pitch]);
}

__global__ void raise_water(float *height, const float *flux_x, const float *flux_y, const float *depth, Ocean ocean) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= ocean.columns || j >= ocean.rows) return;
    int at = (j + 1) * (ocean.columns + 2) + i + 1;
    int east = j * (ocean.columns + 1) + i + 1, north = (j + 1) * ocean.columns + i;
    if (depth[at] > 0.0f)
        height[at] -= ocean.time_step / ocean.spacing *
                      (flux_x[east] - flux_x[east - 1] + flux_y[north] - flux_y[north - ocean.columns]);
}

// Diagnostics --------------------------------------------------------------------------------------------------------

// Energy (per density and cell area), volume above rest and wet cells of each row, by a serial loop.
__global__ void measure_rows(const float *u, const float *v, const float *height, const float *depth, float *rows,
                             Ocean ocean) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= ocean.rows) return;
    int pitch = ocean.columns + 2;
    float kinetic = 0.0f, potential = 0.0f, volume = 0.0f;
    for (int i = 1; i <= ocean.columns; i++) {
        int at = (j + 1) * pitch + i;
        if (depth[at] <= 0.0f) continue;
        float uu = 0.5f * (u[at] * u[at] + u[at - 1] * u[at - 1]);
        float vv = 0.5f * (v[at] * v[at] + v[at - pitch] * v[at - pitch]);
        kinetic += 0.5f * (depth[at] + height[at]) * (uu + vv);
        potential += 0.5f * ocean.gravity * height[at] * height[at];
        volume += height[at];
    }
    rows[3 * j] = kinetic;
    rows[3 * j + 1] = potential;
    rows[3 * j + 2] = volume;
}

// Sums of the three columns, and the highest water, by atomics.
__global__ void add_rows(const float *rows, float *totals, int count) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= count) return;
    for (int k = 0; k < 3; k++) atomicAdd(&totals[k], rows[3 * j + k]);
}

// Tide gauges --------------------------------------------------------------------------------------------------------

// What each gauge reads at a step; `gauges` holds the places of their cells in `height`.
__global__ void read_gauges(const float *height, const int *gauges, float *levels, int count, int step) {
    int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count) levels[step * count + k] = height[gauges[k]];
}

// Each wet cell takes an eighth of its difference to each wet neighbour, columns wrapped around.
__global__ void spread(const float *field, float *wider, const float *depth, Ocean ocean) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (i > ocean.columns || j > ocean.rows) return;
    int pitch = ocean.columns + 2, at = j * pitch + i;
    float sum = 0.0f;
    if (depth[at + 1] > 0.0f) sum += field[at + 1] - field[at];
    if (depth[at - 1] > 0.0f) sum += field[at - 1] - field[at];
    if (depth[at + pitch] > 0.0f) sum += field[at + pitch] - field[at];
    if (depth[at - pitch] > 0.0f) sum += field[at - pitch] - field[at];
    wider[at] = depth[at] > 0.0f ? field[at] + 0.125f * sum : 0.0f;
}
