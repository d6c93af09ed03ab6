// An ocean: the hydrostatic primitive equations with a free surface, on an Arakawa C grid of boxes.
//
// Every field has (layers, ny + 2 HALO, nx + 2 HALO) elements, west to east fastest, layer 0 on the floor; what is
// found once for a column has one layer. Element (k, j, i) of `u` lies on the western face of box (k, j, i), of `v` on
// its southern face, of `w` on its lower one (and has a layer more). The channel is periodic from west to east; walls
// close it in the north and south, and `floor` is the lowest wet layer of each column, the number of layers on land.
//
// The order of a step is in primitive.py. Methods: vector-invariant momentum (Sadourny 1975), tracers by WENO of fifth
// order (Jiang and Shu 1996), second-order Adams-Bashforth, the surface split off and averaged over twice the step
// (Killworth et al. 1991), mixing by the Richardson number (Pacanowski and Philander 1981), vertically implicit.

#ifndef REAL
#define REAL double
#endif

#define HALO 3

struct Grid {
    int nx, ny, layers;
    REAL dx, dy;            // metres
    REAL time_step;         // seconds
    REAL surface_step;      // seconds of a step of the surface
    REAL gravity;           // m/s²
    REAL coriolis, beta;    // 1/s at the southern wall, and its change per metre to the north
    REAL expansion;         // of warm water, 1/K
    REAL contraction;       // of salt water, 1/(g/kg)
    REAL viscosity;         // biharmonic, m⁴/s
    REAL drag;              // quadratic, of the floor
    REAL wind_stress;       // greatest, over water's density, m²/s²
    REAL piston;            // speed at which the surface is restored, m/s
    REAL warm, cold;        // what it is restored to in the south and in the north, °C
};

#define PITCH (grid.nx + 2 * HALO)
#define ROWS (grid.ny + 2 * HALO)
#define AT(k, j, i) (((k) * ROWS + (j)) * PITCH + (i))
#define COLUMN(j, i) ((j) * PITCH + (i))

// The box of a thread: a point of the grid, its halo included.
#define FIND_BOX \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    int j = blockIdx.y * blockDim.y + threadIdx.y; \
    int k = blockIdx.z

#define IS_INSIDE (i >= HALO && i < grid.nx + HALO && j >= HALO && j < grid.ny + HALO)
#define IS_WITHIN(width) (i >= (width) && i < PITCH - (width) && j >= (width) && j < ROWS - (width))

__device__ bool is_wet(const int *floor, Grid grid, int k, int j, int i) { return k >= floor[COLUMN(j, i)]; }

// Is the western face of a box open? Its southern one?
__device__ bool is_open_west(const int *floor, Grid grid, int k, int j, int i) {
    return is_wet(floor, grid, k, j, i) && is_wet(floor, grid, k, j, i - 1);
}
__device__ bool is_open_south(const int *floor, Grid grid, int k, int j, int i) {
    return is_wet(floor, grid, k, j, i) && is_wet(floor, grid, k, j - 1, i);
}

// Halos --------------------------------------------------------------------------------------------------------------

// West and east of the channel are one: three columns of each side's halo, a thread each.
__global__ void wrap_columns(REAL *field, Grid grid) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    int k = blockIdx.z;
    if (n >= HALO || j >= ROWS) return;
    field[AT(k, j, n)] = field[AT(k, j, grid.nx + n)];
    field[AT(k, j, grid.nx + HALO + n)] = field[AT(k, j, HALO + n)];
}

// No slope at the walls in the north and south.
__global__ void mirror_rows(REAL *field, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int n = blockIdx.y;
    int k = blockIdx.z;
    if (i >= PITCH) return;
    field[AT(k, HALO - 1 - n, i)] = field[AT(k, HALO + n, i)];
    field[AT(k, grid.ny + HALO + n, i)] = field[AT(k, grid.ny + HALO - 1 - n, i)];
}

// Nothing flows through the walls: `v` is 0 on them, and odd around them.
__global__ void reflect_rows(REAL *v, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = blockIdx.z;
    if (i >= PITCH) return;
    v[AT(k, HALO, i)] = 0;
    v[AT(k, grid.ny + HALO, i)] = 0;
    for (int n = 1; n < HALO; n++) {
        v[AT(k, HALO - n, i)] = -v[AT(k, HALO + n, i)];
        v[AT(k, grid.ny + HALO + n, i)] = -v[AT(k, grid.ny + HALO - n, i)];
    }
}

// Weight of water ----------------------------------------------------------------------------------------------------

// Buoyancy, m/s²: warm water is light, and the warmer it is the more each degree counts.
__global__ void find_buoyancy(REAL *buoyancy, const REAL *heat, const REAL *salt, Grid grid) {
    FIND_BOX;
    if (i >= PITCH || j >= ROWS) return;
    REAL warmth = heat[AT(k, j, i)] - REAL(10), saltiness = salt[AT(k, j, i)] - REAL(35);
    REAL density = -grid.expansion * warmth * (1 + REAL(0.02) * warmth) + grid.contraction * saltiness;
    buoyancy[AT(k, j, i)] = -grid.gravity * density;
}

// Pressure over density in the middle of each layer, summed from the surface down.
__global__ void find_pressure(REAL *pressure, const REAL *buoyancy, const REAL *thickness, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= PITCH || j >= ROWS) return;
    REAL sum = 0;
    for (int k = grid.layers - 1; k >= 0; k--) {
        REAL half = REAL(0.5) * thickness[k] * buoyancy[AT(k, j, i)];
        pressure[AT(k, j, i)] = sum - half;
        sum -= 2 * half;
    }
}

// Flow ---------------------------------------------------------------------------------------------------------------

// What flows into a box below must flow out above.
__global__ void find_vertical_velocity(REAL *w, const REAL *u, const REAL *v, const REAL *thickness, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= PITCH - 1 || j >= ROWS - 1) return;
    REAL speed = 0;
    w[AT(0, j, i)] = 0;
    for (int k = 0; k < grid.layers; k++) {
        REAL spread = (u[AT(k, j, i + 1)] - u[AT(k, j, i)]) / grid.dx + (v[AT(k, j + 1, i)] - v[AT(k, j, i)]) / grid.dy;
        speed -= thickness[k] * spread;
        w[AT(k + 1, j, i)] = speed;
    }
}

// At the south-western corners.
__global__ void find_vorticity(REAL *vorticity, const REAL *u, const REAL *v, Grid grid) {
    FIND_BOX;
    if (!IS_WITHIN(1)) return;
    vorticity[AT(k, j, i)] =
        (v[AT(k, j, i)] - v[AT(k, j, i - 1)]) / grid.dx - (u[AT(k, j, i)] - u[AT(k, j - 1, i)]) / grid.dy;
}

__global__ void find_kinetic_energy(REAL *energy, const REAL *u, const REAL *v, Grid grid) {
    FIND_BOX;
    if (!IS_WITHIN(1)) return;
    REAL west = u[AT(k, j, i)], east = u[AT(k, j, i + 1)], south = v[AT(k, j, i)], north = v[AT(k, j + 1, i)];
    energy[AT(k, j, i)] = REAL(0.25) * (west * west + east * east + south * south + north * north);
}

// Laplacian of a velocity, 1/(m s): half of the biharmonic friction. Faces on land, where it is 0, do not brake.
__global__ void find_curvature_u(REAL *curvature, const REAL *u, const int *floor, Grid grid) {
    FIND_BOX;
    if (!IS_WITHIN(2)) return;
    REAL here = u[AT(k, j, i)];
    REAL west = u[AT(k, j, i - 1)], east = u[AT(k, j, i + 1)];
    REAL south = is_open_west(floor, grid, k, j - 1, i) ? u[AT(k, j - 1, i)] : here;
    REAL north = is_open_west(floor, grid, k, j + 1, i) ? u[AT(k, j + 1, i)] : here;
    REAL found = (west - 2 * here + east) / (grid.dx * grid.dx) + (south - 2 * here + north) / (grid.dy * grid.dy);
    curvature[AT(k, j, i)] = is_open_west(floor, grid, k, j, i) ? found : REAL(0);
}

__global__ void find_curvature_v(REAL *curvature, const REAL *v, const int *floor, Grid grid) {
    FIND_BOX;
    if (!IS_WITHIN(2)) return;
    REAL here = v[AT(k, j, i)];
    REAL west = is_open_south(floor, grid, k, j, i - 1) ? v[AT(k, j, i - 1)] : here;
    REAL east = is_open_south(floor, grid, k, j, i + 1) ? v[AT(k, j, i + 1)] : here;
    REAL south = v[AT(k, j - 1, i)], north = v[AT(k, j + 1, i)];
    REAL found = (west - 2 * here + east) / (grid.dx * grid.dx) + (south - 2 * here + north) / (grid.dy * grid.dy);
    curvature[AT(k, j, i)] = is_open_south(floor, grid, k, j, i) ? found : REAL(0);
}

// Mixing -------------------------------------------------------------------------------------------------------------

// Viscosity and diffusivity of the lower face of each box, m²/s, by how stable the water is there.
__global__ void find_mixing(REAL *viscosity, REAL *diffusivity, const REAL *buoyancy, const REAL *u, const REAL *v,
                            const REAL *thickness, const int *floor, Grid grid) {
    FIND_BOX;
    if (!IS_WITHIN(1)) return;
    if (k == 0 || k <= floor[COLUMN(j, i)]) {
        viscosity[AT(k, j, i)] = 0;
        diffusivity[AT(k, j, i)] = 0;
        return;
    }
    REAL height = REAL(0.5) * (thickness[k] + thickness[k - 1]);
    REAL stability = (buoyancy[AT(k, j, i)] - buoyancy[AT(k - 1, j, i)]) / height;
    REAL du = REAL(0.5) * (u[AT(k, j, i)] + u[AT(k, j, i + 1)] - u[AT(k - 1, j, i)] - u[AT(k - 1, j, i + 1)]) / height;
    REAL dv = REAL(0.5) * (v[AT(k, j, i)] + v[AT(k, j + 1, i)] - v[AT(k - 1, j, i)] - v[AT(k - 1, j + 1, i)]) / height;
    REAL richardson = stability / (du * du + dv * dv + REAL(1e-10));
    REAL stirred = 1 / (1 + 5 * fmax(richardson, REAL(0)));
    REAL found = REAL(1e-2) * stirred * stirred + REAL(1e-4);
    viscosity[AT(k, j, i)] = found;
    diffusivity[AT(k, j, i)] = stability < 0 ? REAL(0.1) : found * stirred + REAL(1e-5);
}

// Solves (1 - time_step d/dz mixing d/dz) field = field in each column, in place (Thomas 1949). A column of
// faces lies between the boxes `west` to the west, or `south` to the south, and these; `ratio` is room for a field.
__global__ void mix_columns(REAL *field, REAL *ratio, const REAL *mixing, const REAL *thickness, const int *floor,
                            int west, int south, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (!IS_INSIDE) return;
    int lowest = max(floor[COLUMN(j, i)], floor[COLUMN(j - south, i - west)]);
    REAL before = 0, above = 0;
    for (int k = 0; k < grid.layers; k++) {
        bool is_water = k >= lowest;
        REAL lower = above;
        above = 0;
        if (k + 1 < grid.layers && is_water) {
            REAL found = REAL(0.5) * (mixing[AT(k + 1, j, i)] + mixing[AT(k + 1, j - south, i - west)]);
            above = grid.time_step * found / (REAL(0.5) * (thickness[k] + thickness[k + 1]));
        }
        REAL below = k > 0 ? ratio[AT(k - 1, j, i)] : REAL(0);
        REAL pivot = thickness[k] + lower * (1 - below) + above;
        REAL value = is_water ? (thickness[k] * field[AT(k, j, i)] + lower * before) / pivot : REAL(0);
        ratio[AT(k, j, i)] = above / pivot;
        field[AT(k, j, i)] = is_water ? value : field[AT(k, j, i)];
        before = value;
    }
    for (int k = grid.layers - 2; k >= 0; k--)
        if (k >= lowest) field[AT(k, j, i)] += ratio[AT(k, j, i)] * field[AT(k + 1, j, i)];
}

// Momentum -----------------------------------------------------------------------------------------------------------

// du/dt without the slope of the surface: turning, slopes of pressure and energy, lifting, friction.
__global__ void push_u(REAL *push, const REAL *u, const REAL *v, const REAL *w, const REAL *vorticity,
                       const REAL *energy, const REAL *pressure, const REAL *curvature, const REAL *thickness,
                       const int *floor, Grid grid) {
    FIND_BOX;
    if (!IS_INSIDE) return;
    if (!is_open_west(floor, grid, k, j, i)) {
        push[AT(k, j, i)] = 0;
        return;
    }
    REAL turning = grid.coriolis + grid.beta * (j - HALO + REAL(0.5)) * grid.dy +
                   REAL(0.5) * (vorticity[AT(k, j, i)] + vorticity[AT(k, j + 1, i)]);
    REAL across = REAL(0.25) * (v[AT(k, j, i)] + v[AT(k, j, i - 1)] + v[AT(k, j + 1, i)] + v[AT(k, j + 1, i - 1)]);
    REAL slope = (energy[AT(k, j, i)] + pressure[AT(k, j, i)] - energy[AT(k, j, i - 1)] - pressure[AT(k, j, i - 1)]) / grid.dx;
    REAL here = u[AT(k, j, i)];
    REAL below = k > 0 ? u[AT(k - 1, j, i)] : here;
    REAL above = k < grid.layers - 1 ? u[AT(k + 1, j, i)] : here;
    REAL up = REAL(0.5) * (w[AT(k + 1, j, i)] + w[AT(k + 1, j, i - 1)]);
    REAL from = REAL(0.5) * (w[AT(k, j, i)] + w[AT(k, j, i - 1)]);
    REAL lifted = REAL(0.5) * (up * (above - here) + from * (here - below)) / thickness[k];
    REAL bent = (curvature[AT(k, j, i - 1)] - 2 * curvature[AT(k, j, i)] + curvature[AT(k, j, i + 1)]) / (grid.dx * grid.dx) +
                (curvature[AT(k, j - 1, i)] - 2 * curvature[AT(k, j, i)] + curvature[AT(k, j + 1, i)]) / (grid.dy * grid.dy);
    push[AT(k, j, i)] = turning * across - slope - lifted - grid.viscosity * bent;
}

__global__ void push_v(REAL *push, const REAL *u, const REAL *v, const REAL *w, const REAL *vorticity,
                       const REAL *energy, const REAL *pressure, const REAL *curvature, const REAL *thickness,
                       const int *floor, Grid grid) {
    FIND_BOX;
    if (!IS_INSIDE) return;
    if (!is_open_south(floor, grid, k, j, i) || j == HALO) {
        push[AT(k, j, i)] = 0;
        return;
    }
    REAL turning = grid.coriolis + grid.beta * (j - HALO) * grid.dy +
                   REAL(0.5) * (vorticity[AT(k, j, i)] + vorticity[AT(k, j, i + 1)]);
    REAL across = REAL(0.25) * (u[AT(k, j, i)] + u[AT(k, j - 1, i)] + u[AT(k, j, i + 1)] + u[AT(k, j - 1, i + 1)]);
    REAL slope = (energy[AT(k, j, i)] + pressure[AT(k, j, i)] - energy[AT(k, j - 1, i)] - pressure[AT(k, j - 1, i)]) / grid.dy;
    REAL here = v[AT(k, j, i)];
    REAL below = k > 0 ? v[AT(k - 1, j, i)] : here;
    REAL above = k < grid.layers - 1 ? v[AT(k + 1, j, i)] : here;
    REAL up = REAL(0.5) * (w[AT(k + 1, j, i)] + w[AT(k + 1, j - 1, i)]);
    REAL from = REAL(0.5) * (w[AT(k, j, i)] + w[AT(k, j - 1, i)]);
    REAL lifted = REAL(0.5) * (up * (above - here) + from * (here - below)) / thickness[k];
    REAL bent = (curvature[AT(k, j, i - 1)] - 2 * curvature[AT(k, j, i)] + curvature[AT(k, j, i + 1)]) / (grid.dx * grid.dx) +
                (curvature[AT(k, j - 1, i)] - 2 * curvature[AT(k, j, i)] + curvature[AT(k, j + 1, i)]) / (grid.dy * grid.dy);
    push[AT(k, j, i)] = -turning * across - slope - lifted - grid.viscosity * bent;
}

// Wind on the uppermost layer, to the east, none at the walls.
__global__ void blow_wind(REAL *push_u, const REAL *thickness, const int *floor, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (!IS_INSIDE) return;
    int k = grid.layers - 1;
    REAL latitude = (j - HALO + REAL(0.5)) / grid.ny;
    REAL stress = REAL(0.5) * grid.wind_stress * (1 - cos(REAL(6.283185307179586) * latitude));
    if (is_open_west(floor, grid, k, j, i)) push_u[AT(k, j, i)] += stress / thickness[k];
}

// The floor brakes the layer on it.
__global__ void drag_floor(REAL *push_u, REAL *push_v, const REAL *u, const REAL *v, const REAL *energy,
                           const REAL *thickness, const int *floor, Grid grid) {
    FIND_BOX;
    if (!IS_INSIDE) return;
    int here = floor[COLUMN(j, i)];
    if (k == max(here, floor[COLUMN(j, i - 1)])) {
        REAL speed = sqrt(energy[AT(k, j, i)] + energy[AT(k, j, i - 1)] + REAL(1e-12));
        push_u[AT(k, j, i)] -= grid.drag * speed * u[AT(k, j, i)] / thickness[k];
    }
    if (k == max(here, floor[COLUMN(j - 1, i)])) {
        REAL speed = sqrt(energy[AT(k, j, i)] + energy[AT(k, j - 1, i)] + REAL(1e-12));
        push_v[AT(k, j, i)] -= grid.drag * speed * v[AT(k, j, i)] / thickness[k];
    }
}

// Heat and salt ------------------------------------------------------------------------------------------------------

// What a smooth function has on the face after `c`, of its means over five boxes.
__device__ REAL weno(REAL a, REAL b, REAL c, REAL d, REAL e) {
    REAL bent_left = a - 2 * b + c, bent_here = b - 2 * c + d, bent_right = c - 2 * d + e;
    REAL tilt_left = a - 4 * b + 3 * c, tilt_here = b - d, tilt_right = 3 * c - 4 * d + e;
    const REAL third = REAL(13) / 12, quarter = REAL(0.25), small = REAL(1e-6);
    REAL rough_left = small + third * bent_left * bent_left + quarter * tilt_left * tilt_left;
    REAL rough_here = small + third * bent_here * bent_here + quarter * tilt_here * tilt_here;
    REAL rough_right = small + third * bent_right * bent_right + quarter * tilt_right * tilt_right;
    REAL left = REAL(0.1) / (rough_left * rough_left), here = REAL(0.6) / (rough_here * rough_here);
    REAL right = REAL(0.3) / (rough_right * rough_right);
    REAL sixth = REAL(1) / 6;
    REAL sum = left * (2 * a - 7 * b + 11 * c) + here * (5 * c - b + 2 * d) + right * (2 * c + 5 * d - e);
    return sixth * sum / (left + here + right);
}

// What flows through western faces. Beside land, where five boxes are not wet, it is what the box upstream has.
__global__ void carry_west(REAL *flux, const REAL *tracer, const REAL *u, const int *floor, Grid grid) {
    FIND_BOX;
    if (!IS_WITHIN(HALO)) {
        if (!(i == PITCH - HALO && j >= HALO && j < ROWS - HALO)) return;
    }
    REAL a = tracer[AT(k, j, i - 3)], b = tracer[AT(k, j, i - 2)], c = tracer[AT(k, j, i - 1)];
    REAL d = tracer[AT(k, j, i)], e = tracer[AT(k, j, i + 1)], f = tracer[AT(k, j, i + 2)];
    bool is_smooth = true;
    for (int n = -3; n < 3; n++) is_smooth = is_smooth && is_wet(floor, grid, k, j, i + n);
    REAL speed = u[AT(k, j, i)];
    REAL from_west = is_smooth ? weno(a, b, c, d, e) : c;
    REAL from_east = is_smooth ? weno(f, e, d, c, b) : d;
    flux[AT(k, j, i)] = speed * (speed > 0 ? from_west : from_east);
}

__global__ void carry_south(REAL *flux, const REAL *tracer, const REAL *v, const int *floor, Grid grid) {
    FIND_BOX;
    if (!IS_WITHIN(HALO)) {
        if (!(j == ROWS - HALO && i >= HALO && i < PITCH - HALO)) return;
    }
    REAL a = tracer[AT(k, j - 3, i)], b = tracer[AT(k, j - 2, i)], c = tracer[AT(k, j - 1, i)];
    REAL d = tracer[AT(k, j, i)], e = tracer[AT(k, j + 1, i)], f = tracer[AT(k, j + 2, i)];
    bool is_smooth = true;
    for (int n = -3; n < 3; n++) is_smooth = is_smooth && is_wet(floor, grid, k, j + n, i);
    REAL speed = v[AT(k, j, i)];
    REAL from_south = is_smooth ? weno(a, b, c, d, e) : c;
    REAL from_north = is_smooth ? weno(f, e, d, c, b) : d;
    flux[AT(k, j, i)] = speed * (speed > 0 ? from_south : from_north);
}

// What is lifted through lower faces, upstream of third order inside and of first at floor and surface.
__global__ void carry_up(REAL *flux, const REAL *tracer, const REAL *w, const int *floor, Grid grid) {
    FIND_BOX;
    if (!IS_INSIDE) return;
    REAL speed = w[AT(k, j, i)];
    REAL below = tracer[AT(max(k - 1, 0), j, i)], above = tracer[AT(min(k, grid.layers - 1), j, i)];
    REAL value = speed > 0 ? below : above;
    REAL two_below = tracer[AT(max(k - 2, 0), j, i)], two_above = tracer[AT(min(k + 1, grid.layers - 1), j, i)];
    if (k >= floor[COLUMN(j, i)] + 2 && k <= grid.layers - 2)
        value = (2 * (speed > 0 ? above : below) + 5 * value - (speed > 0 ? two_below : two_above)) / 6;
    flux[AT(k, j, i)] = k <= floor[COLUMN(j, i)] ? REAL(0) : speed * (k == grid.layers ? below : value);
}

// The change of a tracer by what flows in and out.
__global__ void gather_fluxes(REAL *change, const REAL *flux_x, const REAL *flux_y, const REAL *flux_z,
                              const REAL *thickness, const int *floor, Grid grid) {
    FIND_BOX;
    if (!IS_INSIDE) return;
    REAL found = (flux_x[AT(k, j, i)] - flux_x[AT(k, j, i + 1)]) / grid.dx +
                 (flux_y[AT(k, j, i)] - flux_y[AT(k, j + 1, i)]) / grid.dy +
                 (flux_z[AT(k, j, i)] - flux_z[AT(k + 1, j, i)]) / thickness[k];
    change[AT(k, j, i)] = is_wet(floor, grid, k, j, i) ? found : REAL(0);
}

// The air warms the surface in the south and cools it in the north.
__global__ void restore_surface(REAL *change, const REAL *heat, const REAL *thickness, const int *floor, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (!IS_INSIDE) return;
    int k = grid.layers - 1;
    REAL latitude = (j - HALO + REAL(0.5)) / grid.ny;
    REAL wanted = grid.warm + (grid.cold - grid.warm) * latitude;
    if (is_wet(floor, grid, k, j, i)) change[AT(k, j, i)] += grid.piston * (wanted - heat[AT(k, j, i)]) / thickness[k];
}

// Stepping -----------------------------------------------------------------------------------------------------------

// Adams and Bashforth's second order, a little off centre for stability; `before` becomes what `change` is.
// At the first step there is no change before.
__global__ void advance(REAL *field, REAL *before, const REAL *change, int is_first, Grid grid) {
    FIND_BOX;
    if (!IS_INSIDE) return;
    REAL weight = is_first ? REAL(0) : REAL(0.6);
    REAL now = change[AT(k, j, i)];
    field[AT(k, j, i)] += grid.time_step * ((1 + weight) * now - weight * before[AT(k, j, i)]);
    before[AT(k, j, i)] = now;
}

// Sums of velocities over columns, m²/s.
__global__ void sum_columns(REAL *sum_u, REAL *sum_v, const REAL *u, const REAL *v, const REAL *thickness, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= PITCH || j >= ROWS) return;
    REAL east = 0, north = 0;
    for (int k = 0; k < grid.layers; k++) {
        east += thickness[k] * u[AT(k, j, i)];
        north += thickness[k] * v[AT(k, j, i)];
    }
    sum_u[COLUMN(j, i)] = east;
    sum_v[COLUMN(j, i)] = north;
}

// The surface rises where water flows together; `mean` is its mean over all steps of the surface.
__global__ void step_surface(REAL *surface, REAL *mean, const REAL *east, const REAL *north, const int *floor,
                             REAL weight, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (!IS_INSIDE) return;
    REAL spread = (east[COLUMN(j, i + 1)] - east[COLUMN(j, i)]) / grid.dx + (north[COLUMN(j + 1, i)] - north[COLUMN(j, i)]) / grid.dy;
    REAL now = surface[COLUMN(j, i)] - grid.surface_step * spread;
    if (!is_wet(floor, grid, grid.layers - 1, j, i)) now = 0;
    surface[COLUMN(j, i)] = now;
    mean[COLUMN(j, i)] += weight * now;
}

// Water runs down the slope of the surface, and is pushed by what pushes its layers together.
__global__ void step_transport(REAL *east, REAL *north, REAL *mean_east, REAL *mean_north, const REAL *surface,
                               const REAL *push_east, const REAL *push_north, const REAL *depth_west,
                               const REAL *depth_south, REAL weight, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (!IS_INSIDE) return;
    int at = COLUMN(j, i);
    REAL down_east = (surface[COLUMN(j, i - 1)] - surface[at]) / grid.dx;
    REAL down_north = j == HALO ? REAL(0) : (surface[COLUMN(j - 1, i)] - surface[at]) / grid.dy;
    REAL now_east = east[at] + grid.surface_step * (grid.gravity * depth_west[at] * down_east + push_east[at]);
    REAL now_north = north[at] + grid.surface_step * (grid.gravity * depth_south[at] * down_north + push_north[at]);
    east[at] = now_east;
    north[at] = now_north;
    mean_east[at] += weight * now_east;
    mean_north[at] += weight * now_north;
}

// How much the layers were pushed together, m²/s²: their sums after the step less those before, by its length.
__global__ void find_push(REAL *push_east, REAL *push_north, const REAL *after_east, const REAL *after_north,
                          const REAL *before_east, const REAL *before_north, Grid grid) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (!IS_INSIDE) return;
    int at = COLUMN(j, i);
    push_east[at] = (after_east[at] - before_east[at]) / grid.time_step;
    push_north[at] = (after_north[at] - before_north[at]) / grid.time_step;
}

// All layers get the same velocity added, so that together they carry what the surface's steps carried on average.
__global__ void correct_velocities(REAL *u, REAL *v, const REAL *after_east, const REAL *after_north,
                                   const REAL *mean_east, const REAL *mean_north, const REAL *depth_west,
                                   const REAL *depth_south, const int *floor, Grid grid) {
    FIND_BOX;
    if (!IS_INSIDE) return;
    int at = COLUMN(j, i);
    if (is_open_west(floor, grid, k, j, i)) u[AT(k, j, i)] += (mean_east[at] - after_east[at]) / depth_west[at];
    if (is_open_south(floor, grid, k, j, i) && j > HALO)
        v[AT(k, j, i)] += (mean_north[at] - after_north[at]) / depth_south[at];
}
