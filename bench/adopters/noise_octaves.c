// Sums of octaves of noise 1.2.2, for noise_octaves.py. noise exports its functions for one octave,
// and the script stores their addresses here.
#include <float.h>

float (*perlin1)(float x, int repeat, int base);
float (*perlin2)(float x, float y, float repeat_x, float repeat_y, int base);
float (*perlin3)(float x, float y, float z, int repeat_x, int repeat_y, int repeat_z, int base);
float (*simplex2)(float x, float y);
float (*simplex3)(float x, float y, float z);
float (*simplex4)(float x, float y, float z, float w);

// The functions below return 0 and store the result, or return 1 if Python must be called.
enum { DONE, CALL_PYTHON };

typedef struct {
  float total, greatest;  // of the octaves so far
  float frequency, amplitude;
} Sum;

static inline Sum first(float value) {
  const Sum sum = {value, 1.0f, 1.0f, 1.0f};
  return sum;
}

// Goes on to the next octave.
static inline void next(Sum *sum, float persistence, float lacunarity) {
  sum->frequency *= lacunarity;
  sum->amplitude *= persistence;
}

static inline void add(Sum *sum, float value) {
  sum->total += value * sum->amplitude;
  sum->greatest += sum->amplitude;
}

static inline int done(const Sum *sum, float *result) {
  *result = sum->total / sum->greatest;
  return DONE;
}

static inline int scaled(int repeat, float frequency) { return (int)((float)repeat * frequency); }

// Calls with only the coordinates, where noise's own functions take more.
float pnoise1_once(float x) { return perlin1(x, 1024, 0); }
float pnoise2_once(float x, float y) { return perlin2(x, y, 1024.0f, 1024.0f, 0); }
float pnoise3_once(float x, float y, float z) { return perlin3(x, y, z, 1024, 1024, 1024, 0); }

int pnoise1_sum(float x, int octaves, float persistence, float lacunarity, int repeat, int base,
                float *result) {
  if (octaves < 1) return CALL_PYTHON;
  Sum sum = first(perlin1(x, repeat, base));
  while (--octaves != 0) {
    next(&sum, persistence, lacunarity);
    const float f = sum.frequency;
    add(&sum, perlin1(x * f, scaled(repeat, f), base));
  }
  return done(&sum, result);
}

int pnoise2_sum(float x, float y, int octaves, float persistence, float lacunarity, float repeat_x,
                float repeat_y, int base, float *result) {
  if (octaves < 1) return CALL_PYTHON;
  Sum sum = first(perlin2(x, y, repeat_x, repeat_y, base));
  while (--octaves != 0) {
    next(&sum, persistence, lacunarity);
    const float f = sum.frequency;
    add(&sum, perlin2(x * f, y * f, repeat_x * f, repeat_y * f, base));
  }
  return done(&sum, result);
}

int pnoise3_sum(float x, float y, float z, int octaves, float persistence, float lacunarity,
                int repeat_x, int repeat_y, int repeat_z, int base, float *result) {
  if (octaves < 1) return CALL_PYTHON;
  Sum sum = first(perlin3(x, y, z, repeat_x, repeat_y, repeat_z, base));
  while (--octaves != 0) {
    next(&sum, persistence, lacunarity);
    const float f = sum.frequency;
    add(&sum, perlin3(x * f, y * f, z * f, scaled(repeat_x, f), scaled(repeat_y, f),
                      scaled(repeat_z, f), base));
  }
  return done(&sum, result);
}

// Leaves tiled noise, with a repeat, to Python.
int snoise2_sum(float x, float y, int octaves, float persistence, float lacunarity, float repeat_x,
                float repeat_y, float base, float *result) {
  if (octaves < 1 || repeat_x != FLT_MAX || repeat_y != FLT_MAX) return CALL_PYTHON;
  Sum sum = first(simplex2(x + base, y + base));
  while (--octaves != 0) {
    next(&sum, persistence, lacunarity);
    const float f = sum.frequency;
    add(&sum, simplex2(x * f + base, y * f + base));
  }
  return done(&sum, result);
}

int snoise3_sum(float x, float y, float z, int octaves, float persistence, float lacunarity,
                float *result) {
  if (octaves < 1) return CALL_PYTHON;
  Sum sum = first(simplex3(x, y, z));
  while (--octaves != 0) {
    next(&sum, persistence, lacunarity);
    const float f = sum.frequency;
    add(&sum, simplex3(x * f, y * f, z * f));
  }
  return done(&sum, result);
}

int snoise4_sum(float x, float y, float z, float w, int octaves, float persistence,
                float lacunarity, float *result) {
  if (octaves < 1) return CALL_PYTHON;
  Sum sum = first(simplex4(x, y, z, w));
  while (--octaves != 0) {
    next(&sum, persistence, lacunarity);
    const float f = sum.frequency;
    add(&sum, simplex4(x * f, y * f, z * f, w * f));
  }
  return done(&sum, result);
}
