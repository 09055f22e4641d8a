/* Calls a library of kernels for CUDA with the stand-in of tests/device for the driver, whose only kernel doubles. Quits with 1 where a result is wrong. */
#include <stdio.h>
#include <string.h>

#include "double.h"

int main(void) {
  _Alignas(64) static float in[512], out[512];
  for (int i = 0; i < 512; ++i) { in[i] = (float)i; }
  int64_t shape[] = {512};
  DLTensor A = {in, {2, 0}, 1, {2, 32, 1}, shape, NULL, 0}, B = {out, {2, 0}, 1, {2, 32, 1}, shape, NULL, 0};
  if (scale(&A, &B) != 0) {
    printf("FAIL %s\n", loopsmith_last_error());
    return 1;
  }
  for (int i = 0; i < 512; ++i) {
    if (out[i] != 2 * in[i]) { return 1; }
  }
  printf("ok   CUDA: launched by the driver's interface\n");
  return 0;
}
