/* Calls two libraries as a C program would, with right arguments and with wrong ones. Prints what a person would want to see;
   quits with 1 where a result is wrong. */
#include "matmul.h"
#include "scale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static DLTensor tensor(float* data, int32_t ndim, int64_t* shape) {
  DLTensor t = {data, {1, 0}, ndim, {2, 32, 1}, shape, NULL, 0};
  return t;
}

static void expect(const char* what, int ok) {
  printf("%s %s\n", ok ? "ok  " : "FAIL", what);
  failures += !ok;
}

/* The call fails, and says why in these words. */
static void refused(const char* words, int32_t status) {
  int ok = status != 0 && strstr(loopsmith_last_error(), words) != NULL;
  printf("%s refused: %s\n", ok ? "ok  " : "FAIL", loopsmith_last_error());
  failures += !ok;
}

int main(void) {
  float* a = aligned_alloc(64, 64 * 96 * sizeof(float));
  float* b = aligned_alloc(64, 96 * 48 * sizeof(float));
  float* c = aligned_alloc(64, 64 * 48 * sizeof(float));
  for (int i = 0; i < 64 * 96; ++i) { a[i] = (float)(i % 7 - 3); }
  for (int i = 0; i < 96 * 48; ++i) { b[i] = (float)(i % 5 - 2); }
  int64_t sa[] = {64, 96}, sb[] = {96, 48}, sc[] = {64, 48};
  DLTensor A = tensor(a, 2, sa), B = tensor(b, 2, sb), C = tensor(c, 2, sc);
  expect("matmul is called", matmul(&A, &B, &C) == 0);
  int wrong = 0;
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 48; ++j) {
      float sum = 0;
      for (int k = 0; k < 96; ++k) { sum += a[i * 96 + k] * b[k * 48 + j]; }
      wrong += sum != c[i * 48 + j];
    }
  }
  expect("matmul is right, on the threads of its pool", wrong == 0);

  int64_t sx[] = {5, 8}, sy[] = {5, 8}, compact[] = {8, 1}, columns[] = {1, 5};
  float* x = aligned_alloc(64, 64 * 8 * sizeof(float));
  float* y = aligned_alloc(64, 64 * 8 * sizeof(float));
  for (int i = 0; i < 64 * 8; ++i) { x[i] = (float)i; }
  DLTensor X = tensor(x, 2, sx), Y = tensor(y, 2, sy);
  X.strides = compact;
  expect("a kernel of any length, with a number among its arguments", scale(&X, 2.5, &Y) == 0 && y[39] == 39 * 2.5f);

  /* What is wrong is told before any code of the kernel runs. */
  y[0] = -1;
  refused("there is no tensor", matmul(NULL, &B, &C));
  sa[0] = 63;
  refused("wrong shape: 64 is wanted, 63 was given", matmul(&A, &B, &C));
  sa[0] = 64;
  A.ndim = 1;
  refused("number of dimensions: 2 is wanted, 1 was given", matmul(&A, &B, &C));
  A.ndim = 2;
  A.dtype.bits = 64;
  refused("bits: 32 is wanted, 64 was given", matmul(&A, &B, &C));
  A.dtype.bits = 32;
  A.dtype.code = 0;
  refused("wrong type", matmul(&A, &B, &C));
  A.dtype.code = 2;
  A.device.device_type = 2;
  refused("not in this machine's memory", matmul(&A, &B, &C));
  A.device.device_type = 1;
  X.strides = columns;
  refused("not compact and row-major", scale(&X, 1, &Y));
  X.strides = NULL;
  sy[0] = 6;
  refused("argument B: n: 5 is wanted, 6 was given", scale(&X, 1, &Y));
  sy[0] = 5;
  DLTensor shifted = tensor(x, 2, sx);
  shifted.byte_offset = 32;
  refused("overlaps", scale(&X, 1, &shifted));
  refused("overlaps", scale(&X, 1, &X));
  expect("nothing was written by calls that were refused", y[0] == -1);
  return failures == 0 ? 0 : 1;
}
