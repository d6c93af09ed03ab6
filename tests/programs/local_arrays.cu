// Arrays local to a thread, at fixed and at computed places.

__global__ void median_of_five(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 2 || i >= n - 2) return;
    float window[5];
    for (int k = 0; k < 5; k++) window[k] = x[i + k - 2];
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < 4 - a; b++)
            if (window[b] > window[b + 1]) {
                float kept = window[b];
                window[b] = window[b + 1];
                window[b + 1] = kept;
            }
    out[i] = window[2];
}

__global__ void most_frequent(const int *x, int *out, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int counts[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    for (int k = 0; k < width; k++) counts[x[i * width + k]]++;
    int best = 0;
    for (int b = 1; b < 8; b++)
        if (counts[b] > counts[best]) best = b;
    out[i] = best;
}

__global__ void invert_matrices(const double *matrices, double *inverses, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double m[3][3], r[3][3];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) m[a][b] = matrices[9 * i + 3 * a + b];
    double determinant = 0.0;
    for (int a = 0; a < 3; a++)
        determinant += m[0][a] * (m[1][(a + 1) % 3] * m[2][(a + 2) % 3] - m[1][(a + 2) % 3] * m[2][(a + 1) % 3]);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            r[b][a] = (m[(a + 1) % 3][(b + 1) % 3] * m[(a + 2) % 3][(b + 2) % 3] -
                       m[(a + 1) % 3][(b + 2) % 3] * m[(a + 2) % 3][(b + 1) % 3]) / determinant;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) inverses[9 * i + 3 * a + b] = r[a][b];
}

__global__ void stack_machine(const int *x, int *out, int n, int width) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int stack[16], top = 0;
    for (int k = 0; k < width; k++) {
        int value = x[i * width + k];
        if (value > 0) stack[top++] = value;
        else if (top > 1) {
            top--;
            stack[top - 1] -= stack[top];
        }
    }
    int sum = 0;
    for (int k = 0; k < top; k++) sum = 3 * sum + stack[k];
    out[i] = sum;
}

__global__ void lookup(const int *kind, float *out, int n) {
    const float table[6] = {1.5f, -2.0f, 0.25f, 8.0f, -0.5f, 3.0f};
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = table[kind[i]];
}

__global__ void runge_kutta(float *state, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float y[2] = {state[2 * i], state[2 * i + 1]}, slope[4][2], stage[2];
    const float share[4] = {0.0f, 0.5f, 0.5f, 1.0f};
    for (int s = 0; s < 4; s++) {
        for (int k = 0; k < 2; k++) stage[k] = y[k] + (s > 0 ? dt * share[s] * slope[s - 1][k] : 0.0f);
        slope[s][0] = stage[1];
        slope[s][1] = -stage[0];
    }
    for (int k = 0; k < 2; k++)
        state[2 * i + k] = y[k] + dt * (slope[0][k] + 2.0f * slope[1][k] + 2.0f * slope[2][k] + slope[3][k]) / 6.0f;
}
