/* Calls a library of kernels for OpenCL with tensors of a device, and with tensors that are none. Quits with 1 where a result is wrong. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <string.h>

#include "ramp.h"

static int failures = 0;
static void expect(const char* what, int ok) {
  printf("%s %s%s%s\n", ok ? "ok  " : "FAIL", what, ok ? "" : ": ", ok ? "" : loopsmith_last_error());
  failures += !ok;
}
static void refused(const char* words, int32_t status) { expect(words, status != 0 && strstr(loopsmith_last_error(), words) != NULL); }

int main(void) {
  enum { N = 1000 };
  float in[N], out[N];
  for (int i = 0; i < N; ++i) { in[i] = (float)i; }
  cl_platform_id platform;
  cl_device_id device;
  cl_int code = clGetPlatformIDs(1, &platform, NULL);
  if (code == CL_SUCCESS) { code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL); }
  if (code != CL_SUCCESS) { return 1; }
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  cl_mem a = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof in, in, &code);
  cl_mem b = clCreateBuffer(context, CL_MEM_READ_WRITE, sizeof out, NULL, &code);
  int64_t shape[] = {N}, other[] = {N - 1};
  DLTensor A = {a, {4, 0}, 1, {2, 32, 1}, shape, NULL, 0}, B = {b, {4, 0}, 1, {2, 32, 1}, shape, NULL, 0};
  for (int round = 0; round < 3; ++round) {
    if (round == 2) { ramp_set_stream(queue); }
    memset(out, 0, sizeof out);
    expect(round == 2 ? "called on a queue of the caller's" : "called", ramp(&A, 0.5, &B) == 0);
    clEnqueueReadBuffer(queue, b, CL_TRUE, 0, sizeof out, out, 0, NULL, NULL);
    int wrong = 0;
    for (int i = 0; i < N; ++i) { wrong += out[i] != (float)(N - 1 - i) * 0.5F + 1; }
    expect("the result is right", wrong == 0);
  }
  DLTensor host = A;
  host.device.device_type = 1;
  host.data = in;
  refused("the tensor is not in the memory of such a device", ramp(&host, 0.5, &B));
  refused("overlaps another argument", ramp(&A, 0.5, &A));
  B.shape = other;
  refused("1000 is wanted, 999 was given", ramp(&A, 0.5, &B));
  clReleaseMemObject(a);
  clReleaseMemObject(b);
  return failures != 0;
}
