// Control flow: early returns, switches, short circuits, breaks out of nests, small interpreters.

__global__ void early_returns(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (x[i] < -1.0f) {
        out[i] = -1.0f;
        return;
    }
    if (x[i] > 1.0f) {
        out[i] = 1.0f;
        return;
    }
    out[i] = x[i] * x[i];
}

__global__ void choose(const int *kind, const float *a, const float *b, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float result = 0.0f;
    switch (kind[i]) {
        case 0: result = a[i] + b[i]; break;
        case 1: result = a[i] - b[i]; break;
        case 2: result = a[i] * b[i]; break;
        case 5: result = -b[i];
        case 6: result += 10.0f; break;
        default: result = a[i] * 0.5f;
    }
    out[i] = result;
}

__global__ void guarded_neighbor(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i > 0 && x[i - 1] > 0.0f) out[i] = x[i - 1];
    else if (i == n - 1 || x[i + 1] < 0.0f) out[i] = -2.0f * x[i];
    else out[i] = x[i] + x[i + 1];
}

__global__ void sectors(const float *x, const float *y, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sector = x[i] > 0 ? (y[i] > 0 ? (x[i] > y[i] ? 0 : 1) : 7) : (y[i] > 0 ? (y[i] > -x[i] ? 2 : 3) : 4);
    if (sector == 7 && -y[i] > x[i]) sector = 6;
    out[i] = sector;
}

__global__ void is_prime(const int *x, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = x[i];
    if (value < 2) {
        out[i] = 0;
        return;
    }
    for (int d = 2; d * d <= value; d++)
        if (value % d == 0) {
            out[i] = 0;
            return;
        }
    out[i] = 1;
}

__global__ void find_pair(const int *table, const int *wanted, int *row, int *column, int n, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int found_row = -1, found_column = -1;
    for (int y = 0; y < rows && found_row < 0; y++)
        for (int x = 0; x < columns; x++)
            if (table[y * columns + x] == wanted[i]) {
                found_row = y;
                found_column = x;
                break;
            }
    row[i] = found_row;
    column[i] = found_column;
}

__global__ void run_code(const int *code, int length, const int *input, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int value = input[i];
    for (int k = 0; k < length; k++) {
        switch (code[k]) {
            case 0: value += 3; break;
            case 1: value *= 2; break;
            case 2: if (value > 50) value -= 40; break;
            case 3: if (value % 2) continue; value /= 2; break;
            case 4: if (value < 0) { out[i] = -1; return; } break;
        }
        value ^= 1;
    }
    out[i] = value;
}

__global__ void two_exits(const int *x, int *out, int n, int width, int wanted, int limit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int sum = 0, j = 0, why = 0;
    while (j < width) {
        if (x[i * width + j] == wanted) { why = 1; break; }
        sum += x[i * width + j];
        if (sum > limit) { why = 2; break; }
        j++;
    }
    out[2 * i] = why;
    out[2 * i + 1] = j;
}

__global__ void only_first_thread(const int *x, int *out, int blocks) {
    if (threadIdx.x == 0 && blockIdx.x < blocks) out[blockIdx.x] = x[blockIdx.x] * 10 + blockDim.x;
}

__global__ void nested_guards(const float *x, const int *mask, float *out, int rows, int columns, int flag) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows) {
        if (c < columns) {
            if (mask[r * columns + c]) {
                if (flag) out[r * columns + c] = x[r * columns + c] + 1.0f;
                else out[r * columns + c] = 0.0f;
            } else if (c > 2 || r < 1) {
                out[r * columns + c] -= 1.0f;
            }
        }
    }
}

__global__ void odd_and_even_lanes(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (threadIdx.x % 2 == 0) x[i] = x[i] * 2.0f;
    else x[i] = x[i] - 1.0f;
    if (blockIdx.x == 1) x[i] = -x[i];
}
