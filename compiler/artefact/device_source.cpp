// The C text that launches kernels, a part of every library for a device: see artefact.h.
#include "artefact/artefact.h"

namespace loopsmith::artefact {

auto device_support() -> std::string_view {
  return R"C(/* Launching kernels: the driver is loaded by the first call. C11; the functions are this file's own. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#if defined(__wasm__)
#define LS_THREAD
#else
#define LS_THREAD _Thread_local
#endif

typedef struct { const char* arch; const unsigned char* bytes; size_t size; } ls_code;
typedef struct { int is_memory; size_t size; union { void* memory; int64_t integer; int32_t small; int16_t short_; int8_t byte; double real; float single; } value; } ls_kernel_argument;
typedef struct { void* context; void* device; void* queue; void* program; } ls_device;

static LS_THREAD void* ls_stream;
#define LS_MOST_ARGUMENTS 256

static int32_t ls_fail(const char* function, const char* what, const char* detail, int64_t code) {
  char text[512];
  size_t at = 0;
  const char* parts[] = {function, ": ", what, detail[0] ? ": " : "", detail};
  for (int i = 0; i < 5; ++i) { for (const char* c = parts[i]; *c && at + 32 < sizeof text; ++c) { text[at++] = *c; } }
  if (code != 0) {
    char digits[24];
    int n = 0;
    uint64_t rest = code < 0 ? (uint64_t)0 - (uint64_t)code : (uint64_t)code;
    do { digits[n++] = (char)('0' + rest % 10); rest /= 10; } while (rest);
    const char* word = code < 0 ? " (error -" : " (error ";
    while (*word) { text[at++] = *word++; }
    while (n) { text[at++] = digits[--n]; }
    text[at++] = ')';
  }
  text[at] = 0;
  loopsmith_set_error(text);
  return 1;
}

static int64_t ls_floor_div(int64_t a, int64_t b) { return b == 0 ? 0 : a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }
static int64_t ls_floor_mod(int64_t a, int64_t b) { return a - ls_floor_div(a, b) * b; }
static int64_t ls_least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t ls_most(int64_t a, int64_t b) { return a > b ? a : b; }

#if defined(LS_OPENCL)
/* ---- OpenCL: the memory of a tensor belongs to a context, which has the device. */
typedef int32_t cl_int_;
#define LS_FUNCTIONS(F)                                                                                                                              \
  F(cl_int_, clGetMemObjectInfo, (void*, uint32_t, size_t, void*, size_t*))                                                                          \
  F(cl_int_, clGetContextInfo, (void*, uint32_t, size_t, void*, size_t*))                                                                            \
  F(void*, clCreateCommandQueue, (void*, void*, uint64_t, cl_int_*))                                                                                 \
  F(void*, clCreateProgramWithSource, (void*, uint32_t, const char**, const size_t*, cl_int_*))                                                      \
  F(cl_int_, clBuildProgram, (void*, uint32_t, void* const*, const char*, void*, void*))                                                             \
  F(void*, clCreateKernel, (void*, const char*, cl_int_*))                                                                                           \
  F(cl_int_, clReleaseKernel, (void*))                                                                                                               \
  F(cl_int_, clSetKernelArg, (void*, uint32_t, size_t, const void*))                                                                                 \
  F(cl_int_, clEnqueueNDRangeKernel, (void*, void*, uint32_t, const size_t*, const size_t*, const size_t*, uint32_t, void*, void*))                   \
  F(cl_int_, clFinish, (void*))                                                                                                                      \
  F(void*, clCreateBuffer, (void*, uint64_t, size_t, void*, cl_int_*))                                                                               \
  F(cl_int_, clReleaseMemObject, (void*))
#define LS_LIBRARY "libOpenCL.so.1"
#else
/* ---- CUDA: pointers of the current context. */
#define LS_FUNCTIONS(F)                                                                                                                              \
  F(int, cuInit, (unsigned))                                                                                                                         \
  F(int, cuCtxGetCurrent, (void**))                                                                                                                  \
  F(int, cuCtxSetCurrent, (void*))                                                                                                                   \
  F(int, cuDevicePrimaryCtxRetain, (void**, int))                                                                                                    \
  F(int, cuCtxGetDevice, (int*))                                                                                                                     \
  F(int, cuDeviceGetAttribute, (int*, int, int))                                                                                                     \
  F(int, cuModuleLoadData, (void**, const void*))                                                                                                    \
  F(int, cuModuleGetFunction, (void**, void*, const char*))                                                                                          \
  F(int, cuFuncSetAttribute, (void*, int, int))                                                                                                      \
  F(int, cuLaunchKernel, (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**))                       \
  F(int, cuStreamSynchronize, (void*))                                                                                                               \
  F(int, cuMemAlloc_v2, (unsigned long long*, size_t))                                                                                               \
  F(int, cuMemFree_v2, (unsigned long long))
#define LS_LIBRARY "libcuda.so.1"
#endif

#define LS_POINTER(R, N, P) static R(*N) P;
LS_FUNCTIONS(LS_POINTER)
static pthread_mutex_t ls_device_lock = PTHREAD_MUTEX_INITIALIZER;
static int ls_is_loaded;
/* A program for each context that calls came with. */
static ls_device ls_devices[16];
static int ls_device_count;

static int32_t ls_load(const char* function) {
  if (ls_is_loaded) { return 0; }
  void* library = dlopen(LS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) { return ls_fail(function, LS_LIBRARY " is not installed", "", 0); }
#define LS_FIND(R, N, P)                          \
  *(void**)(&N) = dlsym(library, #N);             \
  if (N == NULL) { return ls_fail(function, LS_LIBRARY " lacks " #N, "", 0); }
  LS_FUNCTIONS(LS_FIND)
  ls_is_loaded = 1;
  return 0;
}

#if defined(LS_OPENCL)
static int32_t ls_find_context(const char* function, void* memory, int32_t device_id, ls_device* out) {
  void* devices[64];
  size_t bytes = 0;
  int32_t code = clGetMemObjectInfo(memory, 0x1106, sizeof out->context, &out->context, NULL);
  if (code == 0) { code = clGetContextInfo(out->context, 0x1081, sizeof devices, devices, &bytes); }
  if (code != 0) { return ls_fail(function, "the data of a tensor is not a memory object of OpenCL", "", code); }
  if (device_id < 0 || (size_t)device_id >= bytes / sizeof(void*)) { return ls_fail(function, "the context has no device of this number", "", device_id); }
  out->device = devices[device_id];
  return 0;
}
static int32_t ls_make_program(const char* function, const ls_code* codes, ls_device* d) {
  const char* text = (const char*)codes[0].bytes;
  size_t size = codes[0].size;
  int32_t code = 0;
  d->queue = clCreateCommandQueue(d->context, d->device, 0, &code);
  if (code == 0) { d->program = clCreateProgramWithSource(d->context, 1, &text, &size, &code); }
  if (code == 0) { code = clBuildProgram(d->program, 1, &d->device, "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt", NULL, NULL); }
  return code != 0 ? ls_fail(function, "the device does not compile the kernels", "", code) : 0;
}
static int32_t ls_launch(const char* function, ls_device* d, const char* kernel, const int64_t* grid, const int64_t* block, int64_t shared, int count, ls_kernel_argument* arguments) {
  size_t global[3], local[3];
  for (int i = 0; i < 3; ++i) {
    if (grid[i] <= 0 || block[i] <= 0) { return 0; }
    local[i] = (size_t)block[i];
    global[i] = (size_t)(grid[i] * block[i]);
  }
  if (shared > 0) { return ls_fail(function, "OpenCL has no shared memory whose size the launch gives", "", 0); }
  int32_t code = 0;
  void* made = clCreateKernel(d->program, kernel, &code);
  for (int i = 0; i < count && code == 0; ++i) { code = clSetKernelArg(made, (uint32_t)i, arguments[i].size, &arguments[i].value); }
  if (code == 0) { code = clEnqueueNDRangeKernel(ls_stream ? ls_stream : d->queue, made, 3, NULL, global, local, 0, NULL, NULL); }
  if (made != NULL) { (void)clReleaseKernel(made); }
  return code != 0 ? ls_fail(function, "the device does not launch", kernel, code) : 0;
}
static int32_t ls_wait(const char* function, ls_device* d) {
  int32_t code = clFinish(ls_stream ? ls_stream : d->queue);
  return code != 0 ? ls_fail(function, "the device does not run the kernels", "", code) : 0;
}
static int32_t ls_workspace(const char* function, ls_device* d, int64_t bytes, void** out) {
  int32_t code = 0;
  *out = clCreateBuffer(d->context, 1, bytes > 0 ? (size_t)bytes : 1, NULL, &code);
  return code != 0 ? ls_fail(function, "the device has no memory for a workspace", "", code) : 0;
}
static void ls_give_back(void* memory) { (void)clReleaseMemObject(memory); }
#else
static int32_t ls_find_context(const char* function, void* memory, int32_t device_id, ls_device* out) {
  (void)memory;
  int code = cuInit(0);
  if (code == 0) { code = cuCtxGetCurrent(&out->context); }
  if (code == 0 && out->context == NULL) {
    code = cuDevicePrimaryCtxRetain(&out->context, device_id);
    if (code == 0) { code = cuCtxSetCurrent(out->context); }
  }
  out->device = NULL;
  return code != 0 ? ls_fail(function, "NVIDIA's driver has no context", "", code) : 0;
}
static int32_t ls_make_program(const char* function, const ls_code* codes, ls_device* d) {
  int device = 0, major = 0, minor = 0;
  int code = cuCtxGetDevice(&device);
  if (code == 0) { code = cuDeviceGetAttribute(&major, 75, device); }
  if (code == 0) { code = cuDeviceGetAttribute(&minor, 76, device); }
  if (code != 0) { return ls_fail(function, "the device does not report its architecture", "", code); }
  /* Code for this very architecture first, then PTX, which the driver compiles. */
  char arch[16] = "sm_";
  size_t at = 3;
  if (major >= 10) { arch[at++] = (char)('0' + major / 10); }
  arch[at++] = (char)('0' + major % 10);
  arch[at++] = (char)('0' + minor);
  for (int pass = 0; pass < 2; ++pass) {
    for (const ls_code* one = codes; one->bytes != NULL; ++one) {
      int is_ptx = one->arch[0] == 'c';
      size_t k = 0;
      while (k < at && one->arch[k] == arch[k]) { ++k; }
      int fits = pass == 1 ? is_ptx : !is_ptx && k == at && (one->arch[k] == 0 || one->arch[k] == 'a');
      if (fits && cuModuleLoadData(&d->program, one->bytes) == 0) { return 0; }
    }
  }
  return ls_fail(function, "the library has no code for this device", arch, 0);
}
static int32_t ls_launch(const char* function, ls_device* d, const char* kernel, const int64_t* grid, const int64_t* block, int64_t shared, int count, ls_kernel_argument* arguments) {
  void* places[LS_MOST_ARGUMENTS];
  for (int i = 0; i < 3; ++i) {
    if (grid[i] <= 0 || block[i] <= 0) { return 0; }
  }
  for (int i = 0; i < count; ++i) { places[i] = &arguments[i].value; }
  void* made = NULL;
  int code = cuModuleGetFunction(&made, d->program, kernel);
  if (code == 0 && shared > 0) { code = cuFuncSetAttribute(made, 8, (int)shared); }
  if (code == 0) {
    code = cuLaunchKernel(made, (unsigned)grid[0], (unsigned)grid[1], (unsigned)grid[2], (unsigned)block[0], (unsigned)block[1], (unsigned)block[2], (unsigned)shared, ls_stream, places, NULL);
  }
  return code != 0 ? ls_fail(function, "the device does not launch", kernel, code) : 0;
}
static int32_t ls_wait(const char* function, ls_device* d) {
  (void)d;
  int code = cuStreamSynchronize(ls_stream);
  return code != 0 ? ls_fail(function, "the device does not run the kernels", "", code) : 0;
}
static int32_t ls_workspace(const char* function, ls_device* d, int64_t bytes, void** out) {
  (void)d;
  unsigned long long pointer = 0;
  int code = cuMemAlloc_v2(&pointer, bytes > 0 ? (size_t)bytes : 1);
  *out = (void*)(uintptr_t)pointer;
  return code != 0 ? ls_fail(function, "the device has no memory for a workspace", "", code) : 0;
}
static void ls_give_back(void* memory) { (void)cuMemFree_v2((unsigned long long)(uintptr_t)memory); }
#endif

/* The device of a call, with its program; the first call with a context compiles or loads it. */
static int32_t ls_find_device(const char* function, const ls_code* codes, void* memory, int32_t device_id, ls_device** out) {
  ls_device wanted = {NULL, NULL, NULL, NULL};
  pthread_mutex_lock(&ls_device_lock);
  int32_t status = ls_load(function);
  if (status == 0) { status = ls_find_context(function, memory, device_id, &wanted); }
  *out = NULL;
  for (int i = 0; status == 0 && i < ls_device_count && *out == NULL; ++i) {
    if (ls_devices[i].context == wanted.context && ls_devices[i].device == wanted.device) { *out = &ls_devices[i]; }
  }
  if (status == 0 && *out == NULL) {
    if (ls_device_count == 16) { status = ls_fail(function, "a library serves at most 16 contexts", "", 0); }
    if (status == 0) { status = ls_make_program(function, codes, &wanted); }
    if (status == 0) {
      ls_devices[ls_device_count] = wanted;
      *out = &ls_devices[ls_device_count++];
    }
  }
  pthread_mutex_unlock(&ls_device_lock);
  return status;
}
)C";
}

}  // namespace loopsmith::artefact
