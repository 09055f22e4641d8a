// The C text of `support()`, a part of every library: see artefact.h.
#include "artefact/artefact.h"

namespace loopsmith::artefact {

auto support() -> std::string_view {
  return R"C(/* Support of kernels made by Loopsmith: error text, argument checks, threads. C11. */
#ifndef LOOPSMITH_SUPPORT_H
#define LOOPSMITH_SUPPORT_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define LS_API __declspec(dllexport)
#else
#define LS_API __attribute__((visibility("default")))
#endif

typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

typedef union { void* data; int64_t integer; double real; } ls_argument;
/* kind 0: `value`; 1: the variable of `slot`; 2: anything. */
typedef struct { int kind; int64_t value; int slot; } ls_dimension;
typedef struct {
  const char* name;
  int is_scalar;
  int code;                 /* DLPack's; -1: not checked */
  int bits;
  int lanes;
  int ndim;
  int alignment;            /* bytes */
  int is_written;
  int element_bytes;
  const ls_dimension* shape;
} ls_parameter;

typedef int32_t (*loopsmith_share)(void* captured, int64_t begin, int64_t end);

LS_API const char* loopsmith_last_error(void);
LS_API void loopsmith_set_error(const char* text);
LS_API int32_t loopsmith_bind(const char* function, const ls_parameter* parameters, int count, const char* const* variables, int slots,
                              const ls_argument* given, ls_argument* out);
LS_API int32_t loopsmith_parallel(loopsmith_share share, void* captured, int64_t begin, int64_t end);

#endif  /* LOOPSMITH_SUPPORT_H */

/* The same code for all kernels of a target. */
#if defined(LOOPSMITH_SUPPORT_CODE)

#if defined(_WIN32)
#define LS_WEAK
#else
#define LS_WEAK __attribute__((weak, visibility("default")))
#endif
#if defined(__wasm__)
#define LS_THREAD
#else
#define LS_THREAD _Thread_local
#endif

static LS_THREAD char ls_error_text[512];

LS_WEAK const char* loopsmith_last_error(void) { return ls_error_text; }

static void ls_put(size_t* at, const char* text) {
  while (*text != 0 && *at + 1 < sizeof ls_error_text) { ls_error_text[(*at)++] = *text++; }
  ls_error_text[*at] = 0;
}
static void ls_put_number(size_t* at, int64_t number) {
  char digits[24];
  int n = 0;
  uint64_t rest = number < 0 ? (uint64_t)0 - (uint64_t)number : (uint64_t)number;
  do { digits[n++] = (char)('0' + rest % 10); rest /= 10; } while (rest != 0);
  if (number < 0) { digits[n++] = '-'; }
  char text[24];
  for (int i = 0; i < n; ++i) { text[i] = digits[n - 1 - i]; }
  text[n] = 0;
  ls_put(at, text);
}

LS_WEAK void loopsmith_set_error(const char* text) {
  size_t at = 0;
  ls_put(&at, text);
}

/* "matmul: argument B: WHAT", and two numbers where they belong. */
static int32_t ls_refuse(const char* function, const char* name, const char* what, int64_t wanted, int64_t got, int with_numbers) {
  size_t at = 0;
  ls_put(&at, function);
  ls_put(&at, ": argument ");
  ls_put(&at, name);
  ls_put(&at, ": ");
  ls_put(&at, what);
  if (with_numbers) {
    ls_put(&at, ": ");
    ls_put_number(&at, wanted);
    ls_put(&at, " is wanted, ");
    ls_put_number(&at, got);
    ls_put(&at, " was given");
  }
  return 1;
}

LS_WEAK int32_t loopsmith_bind(const char* function, const ls_parameter* parameters, int count, const char* const* variables, int slots,
                               const ls_argument* given, ls_argument* out) {
  uint64_t is_known = 0;
  int i;
  for (i = count; i < slots; ++i) { out[i].integer = 0; }
  for (i = 0; i < count; ++i) {
    const ls_parameter* p = &parameters[i];
    if (p->is_scalar) { out[i] = given[i]; continue; }
    const DLTensor* t = (const DLTensor*)given[i].data;
    if (t == NULL) { return ls_refuse(function, p->name, "there is no tensor (null)", 0, 0, 0); }
    if (t->device.device_type != 1) { return ls_refuse(function, p->name, "the tensor is not in this machine's memory; DLPack device type", 1, t->device.device_type, 1); }
    if (t->ndim != p->ndim) { return ls_refuse(function, p->name, "wrong number of dimensions", p->ndim, t->ndim, 1); }
    int is_bool = p->code == 6 && t->dtype.code == 1 && (t->dtype.bits == 8 || t->dtype.bits == 1);
    if (p->code >= 0 && !is_bool) {
      if (t->dtype.code != p->code) { return ls_refuse(function, p->name, "wrong type; DLPack code", p->code, t->dtype.code, 1); }
      if (t->dtype.bits != p->bits) { return ls_refuse(function, p->name, "wrong type; bits", p->bits, t->dtype.bits, 1); }
      if (t->dtype.lanes != p->lanes) { return ls_refuse(function, p->name, "wrong type; lanes", p->lanes, t->dtype.lanes, 1); }
    }
    for (int d = 0; d < p->ndim; ++d) {
      const ls_dimension* wanted = &p->shape[d];
      if (wanted->kind == 0 && t->shape[d] != wanted->value) { return ls_refuse(function, p->name, "wrong shape", wanted->value, t->shape[d], 1); }
      if (wanted->kind != 1) { continue; }
      if (wanted->slot < count) {
        if (given[wanted->slot].integer != t->shape[d]) { return ls_refuse(function, p->name, "the shape differs from the size argument", given[wanted->slot].integer, t->shape[d], 1); }
        continue;
      }
      int variable = wanted->slot - count;
      if (variable < 64 && (is_known & ((uint64_t)1 << variable)) == 0) {
        is_known |= (uint64_t)1 << variable;
        out[wanted->slot].integer = t->shape[d];
      } else if (out[wanted->slot].integer != t->shape[d]) {
        return ls_refuse(function, p->name, variables[variable], out[wanted->slot].integer, t->shape[d], 1);
      }
    }
    int64_t compact = 1;
    for (int d = p->ndim - 1; d >= 0; --d) {
      int64_t extent = t->shape[d];
      if (extent < 0) { return ls_refuse(function, p->name, "a dimension is negative", 0, extent, 1); }
      if (t->strides != NULL && extent != 1 && t->strides[d] != compact) { return ls_refuse(function, p->name, "the tensor is not compact and row-major; stride", compact, t->strides[d], 1); }
      compact *= extent;
    }
    char* data = (char*)t->data + t->byte_offset;
    if (t->data == NULL && compact != 0) { return ls_refuse(function, p->name, "the tensor has no memory (null)", 0, 0, 0); }
    if ((uintptr_t)data % (uintptr_t)p->alignment != 0) { return ls_refuse(function, p->name, "the memory is not aligned; bytes", p->alignment, (int64_t)((uintptr_t)data % (uintptr_t)p->alignment), 1); }
    out[i].data = data;
  }
  /* What is written overlaps nothing else. */
  for (i = 0; i < count; ++i) {
    if (parameters[i].is_scalar || !parameters[i].is_written) { continue; }
    for (int k = 0; k < count; ++k) {
      if (k == i || parameters[k].is_scalar) { continue; }
      const DLTensor* a = (const DLTensor*)given[i].data;
      const DLTensor* b = (const DLTensor*)given[k].data;
      int64_t size_a = parameters[i].element_bytes, size_b = parameters[k].element_bytes;
      for (int d = 0; d < a->ndim; ++d) { size_a *= a->shape[d]; }
      for (int d = 0; d < b->ndim; ++d) { size_b *= b->shape[d]; }
      const char* at_a = (const char*)out[i].data;
      const char* at_b = (const char*)out[k].data;
      if (at_a < at_b + size_b && at_b < at_a + size_a) { return ls_refuse(function, parameters[i].name, "it is written and overlaps another argument", 0, 0, 0); }
    }
  }
  return 0;
}

/* ---- threads ---------------------------------------------------------------------------------------------------- */
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  pthread_mutex_t caller;       /* one parallel loop at a time; others run alone */
  int threads, started;
  int next, left;               /* the next part of the loop that nobody has taken, and how many are not done */
  loopsmith_share share;
  void* captured;
  int64_t begin, end;
  int32_t status;
  char error[512];              /* of a share that failed in another thread than the caller's */
} ls_pool;
static ls_pool ls_the_pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, {0}};
static LS_THREAD int ls_inside;

/* Does parts of the loop while there are any. Whoever comes first takes the next one: the caller of a short loop has done all of it
   before a sleeping thread is awake. With the lock held, but not during the work. */
static void ls_work(ls_pool* pool) {
  while (pool->next < pool->threads) {
    int64_t size = pool->end - pool->begin;
    int64_t from = pool->begin + size * pool->next / pool->threads;
    int64_t to = pool->begin + size * (pool->next + 1) / pool->threads;
    ++pool->next;
    pthread_mutex_unlock(&pool->lock);
    int32_t status = from < to ? pool->share(pool->captured, from, to) : 0;
    pthread_mutex_lock(&pool->lock);
    if (status != 0) {
      pool->status = status;
      for (size_t i = 0; i < sizeof ls_error_text; ++i) { pool->error[i] = ls_error_text[i]; }
    }
    if (--pool->left == 0) { pthread_cond_signal(&pool->done); }
  }
}

static void* ls_thread(void* argument) {
  ls_pool* pool = (ls_pool*)argument;
  ls_inside = 1;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    while (pool->next >= pool->threads) { pthread_cond_wait(&pool->work, &pool->lock); }
    ls_work(pool);
  }
  return NULL;
}

static void ls_start_threads(ls_pool* pool) {
  const char* asked = getenv("LOOPSMITH_NUM_THREADS");
  long n = asked != NULL ? atol(asked) : sysconf(_SC_NPROCESSORS_ONLN);
  int threads = n < 1 ? 1 : n > 256 ? 256 : (int)n;
  pthread_mutex_lock(&pool->lock);
  pool->started = 1;
  pool->threads = 1;
  pool->next = threads;         /* no work yet */
  for (pthread_t thread; pool->threads < threads && pthread_create(&thread, NULL, ls_thread, pool) == 0; ++pool->threads) { pthread_detach(thread); }
  pthread_mutex_unlock(&pool->lock);
}

LS_WEAK int32_t loopsmith_parallel(loopsmith_share share, void* captured, int64_t begin, int64_t end) {
  ls_pool* pool = &ls_the_pool;
  if (ls_inside || end - begin < 2 || pthread_mutex_trylock(&pool->caller) != 0) { return share(captured, begin, end); }
  if (!pool->started) { ls_start_threads(pool); }
  if (pool->threads == 1) {
    pthread_mutex_unlock(&pool->caller);
    return share(captured, begin, end);
  }
  pthread_mutex_lock(&pool->lock);
  pool->share = share;
  pool->captured = captured;
  pool->begin = begin;
  pool->end = end;
  pool->status = 0;
  pool->next = 0;
  pool->left = pool->threads;
  pthread_cond_broadcast(&pool->work);
  ls_inside = 1;
  ls_work(pool);
  ls_inside = 0;
  while (pool->left != 0) { pthread_cond_wait(&pool->done, &pool->lock); }
  int32_t status = pool->status;
  if (status != 0) {
    for (size_t i = 0; i < sizeof ls_error_text; ++i) { ls_error_text[i] = pool->error[i]; }
  }
  pthread_mutex_unlock(&pool->lock);
  pthread_mutex_unlock(&pool->caller);
  return status;
}
#else
LS_WEAK int32_t loopsmith_parallel(loopsmith_share share, void* captured, int64_t begin, int64_t end) { return share(captured, begin, end); }
#endif

#endif  /* LOOPSMITH_SUPPORT_CODE */
)C";
}

}  // namespace loopsmith::artefact
