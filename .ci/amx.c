/* AMX in software: preloaded into a program on x86-64 Linux, it carries out the tile instructions that the
 * kernels use (tiles, and products of bf16 and of bytes) when the CPU stops at them. The engine searches some ten nodes a second by it.
 *
 *     cc -O2 -shared -fPIC amx.c -o amx.so; LD_PRELOAD=./amx.so PROGRAM
 *
 * Encodings and operations: Intel SDM volume 2, chapter 3 ("TDPBF16PS" and others). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

enum { TILES = 8, MOST_ROWS = 16, MOST_BYTES = 64 };

static __thread struct {
    int configured;
    uint16_t bytes[TILES];
    uint8_t rows[TILES];
    uint8_t data[TILES][MOST_ROWS][MOST_BYTES];
} amx;

static float widen(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* LDTILECFG: palette 1, bytes a row at 16, rows at 48; tiles begin as zeros. */
static int configure(const uint8_t *config) {
    memset(&amx, 0, sizeof amx);
    amx.configured = config[0] == 1;
    memcpy(amx.bytes, config + 16, sizeof amx.bytes);
    memcpy(amx.rows, config + 48, sizeof amx.rows);
    for (int tile = 0; tile < TILES; tile++)
        if (amx.bytes[tile] > MOST_BYTES || amx.rows[tile] > MOST_ROWS) return 0;
    return config[0] <= 1;
}

/* Whether a CPU would multiply these. */
static int fit(int out, int left, int right) {
    if (amx.rows[left] != amx.rows[out] || 4 * amx.rows[right] != amx.bytes[left]) return 0;
    return amx.bytes[right] == amx.bytes[out] && out != left && out != right && left != right;
}

/* What lies outside a destination's size becomes zero. */
static void clear_rest(int out) {
    for (int row = 0; row < MOST_ROWS; row++) {
        int bytes = row < amx.rows[out] ? amx.bytes[out] : 0;
        memset(amx.data[out][row] + bytes, 0, MOST_BYTES - bytes);
    }
}

/* TDPBF16PS: even and odd products are summed apart, then added to the destination. */
static int multiply(int out, int left, int right) {
    int depth = amx.bytes[left] / 4, cols = amx.bytes[out] / 4;
    if (!fit(out, left, right)) return 0;
    for (int row = 0; row < amx.rows[out]; row++) {
        const uint16_t *a = (const uint16_t *)amx.data[left][row];
        float *c = (float *)amx.data[out][row];
        for (int col = 0; col < cols; col++) {
            float even = 0, odd = 0;
            for (int lane = 0; lane < depth; lane++) {
                const uint16_t *b = (const uint16_t *)amx.data[right][lane] + 2 * col;
                even += widen(a[2 * lane]) * widen(b[0]);
                odd += widen(a[2 * lane + 1]) * widen(b[1]);
            }
            c[col] += even + odd;
        }
    }
    clear_rest(out);
    return 1;
}

/* TDPBSSD and TDPBUSD: four products of bytes, those of the left tile with or without a sign, are added to each sum. */
static int multiply_bytes(int out, int left, int right, int has_sign) {
    int depth = amx.bytes[left] / 4, cols = amx.bytes[out] / 4;
    if (!fit(out, left, right)) return 0;
    for (int row = 0; row < amx.rows[out]; row++) {
        const uint8_t *a = amx.data[left][row];
        int32_t *c = (int32_t *)amx.data[out][row];
        for (int col = 0; col < cols; col++)
            for (int lane = 0; lane < depth; lane++)
                for (int i = 4 * lane; i < 4 * lane + 4; i++)
                    c[col] += (has_sign ? (int8_t)a[i] : a[i]) * (int8_t)amx.data[right][lane][4 * col + i % 4];
    }
    clear_rest(out);
    return 1;
}

static int64_t read_register(const greg_t *all, int number) {
    static const int places[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                   REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return all[places[number]];
}

/* The instruction at the program counter; 0: none of ours, or one that a CPU would refuse. */
static int step(greg_t *all) {
    const uint8_t *code = (const uint8_t *)all[REG_RIP];
    /* VEX of three bytes, 128 bits, W0, map 0F38. */
    if (code[0] != 0xC4 || (code[1] & 0x1F) != 2 || code[2] & 0x84) return 0;
    int no_index_high = code[1] >> 6 & 1, no_base_high = code[1] >> 5 & 1;
    int third = ~code[2] >> 3 & 15, prefix = code[2] & 3;
    int opcode = code[3], mode = code[4] >> 6, reg = code[4] >> 3 & 7, low = code[4] & 7, length = 5;

    if (mode == 3) {
        all[REG_RIP] += length;
        if (opcode == 0x49 && prefix == 0 && code[4] == 0xC0) return memset(&amx, 0, sizeof amx), 1;
        if (!amx.configured) return 0;
        if (opcode == 0x49 && prefix == 3 && low == 0) return memset(amx.data[reg], 0, sizeof amx.data[reg]), 1;
        if (third >= TILES) return 0;
        if (opcode == 0x5E && prefix & 1) return multiply_bytes(reg, low, third, prefix == 3);
        return opcode == 0x5C && prefix == 2 && multiply(reg, low, third);
    }
    int64_t stride = 0;
    int base = low, has_index = low == 4;
    if (has_index) {
        int sib = code[length++], index = (sib >> 3 & 7) + (no_index_high ? 0 : 8);
        base = sib & 7;
        if (index != 4) stride = read_register(all, index) * (1 << (sib >> 6));
    }
    if (mode == 0 && base == 5) return 0; /* relative to the program counter, or without a base: not used */
    int64_t place = read_register(all, base + (no_base_high ? 0 : 8));
    if (mode == 1) place += (int8_t)code[length++];
    if (mode == 2) {
        int32_t offset;
        memcpy(&offset, code + length, sizeof offset);
        place += offset;
        length += 4;
    }
    all[REG_RIP] += length;
    if (opcode == 0x49 && prefix == 0 && reg == 0) return configure((const uint8_t *)(place + stride));
    if (opcode != 0x4B || prefix == 0 || !has_index || !amx.configured || amx.rows[reg] == 0) return 0;
    if (prefix != 2) memset(amx.data[reg], 0, sizeof amx.data[reg]);
    for (int row = 0; row < amx.rows[reg]; row++) {
        uint8_t *memory = (uint8_t *)(place + row * stride), *tile = amx.data[reg][row];
        if (prefix == 2) memcpy(memory, tile, amx.bytes[reg]);
        else memcpy(tile, memory, amx.bytes[reg]);
    }
    return 1;
}

static void illegal(int number, siginfo_t *info, void *context) {
    (void)info;
    if (!step(((ucontext_t *)context)->uc_mcontext.gregs)) signal(number, SIG_DFL), raise(number);
}

__attribute__((constructor)) static void begin(void) {
    struct sigaction action = {.sa_sigaction = illegal, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, 0);
}
