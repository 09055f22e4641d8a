/* Calls a kernel by its packed entry, as TVM's runtime does: values, their type codes, how many. */
#include "scale.h"

#include <stdio.h>
#include <string.h>

typedef union { int64_t integer; double real; void* data; } Value;

static int failures = 0;
static void expect(const char* what, int ok) {
  printf("%s %s\n", ok ? "ok  " : "FAIL", what);
  failures += !ok;
}

int main(void) {
  _Alignas(64) float a[16];
  _Alignas(64) float b[16];
  for (int i = 0; i < 16; ++i) { a[i] = (float)i; }
  int64_t shape[] = {2, 8};
  DLTensor A = {a, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0};
  DLTensor B = {b, {1, 0}, 2, {2, 32, 1}, shape, NULL, 0};
  Value args[3];
  args[0].data = &A;
  args[1].integer = 3;
  args[2].data = &B;
  int32_t codes[] = {7, 0, 13};
  Value result;
  int32_t result_code = 0;
  expect("packed: tensors, an integer for a real", scale_packed(args, codes, 3, &result, &result_code, NULL) == 0 && b[15] == 45 && result_code == 4);
  args[1].real = 0.5;
  codes[1] = 2;
  expect("packed: a real", scale_packed(args, codes, 3, &result, &result_code, NULL) == 0 && b[15] == 7.5F);
  expect("packed: too few", scale_packed(args, codes, 2, &result, &result_code, NULL) == -1 && strstr(loopsmith_last_error(), "3 arguments are taken"));
  codes[2] = 0;
  expect("packed: an integer for a tensor", scale_packed(args, codes, 3, &result, &result_code, NULL) == -1 && strstr(loopsmith_last_error(), "B should be a tensor"));
  codes[2] = 7;
  B.dtype.bits = 64;
  expect("packed: another type of elements", scale_packed(args, codes, 3, &result, &result_code, NULL) == -1 && strstr(loopsmith_last_error(), "bits"));
  return failures != 0;
}
