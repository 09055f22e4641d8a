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
/* A size as a formula over the slots, in postfix order. op 0: `value`; 1: the slot of that number; 2 to 8: + - * // % min max of the two before. */
typedef struct { int op; int64_t value; } ls_step;
typedef struct { const ls_step* steps; int count; } ls_formula;
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
  const ls_formula* shape;
  const ls_formula* strides;   /* in elements; NULL: compact, row-major */
  const ls_formula* offset;    /* in elements; NULL: none, the buffer begins at data + byte_offset */
  int64_t least, most;         /* of an integer scalar */
  int device;                  /* DLPack's type of the device that a tensor is on */
} ls_parameter;
/* A size that only the tensors give; its slot is behind the parameters'. */
typedef struct { const char* name; int64_t least, most; } ls_variable;

typedef int32_t (*loopsmith_share)(void* captured, int64_t begin, int64_t end);

LS_API const char* loopsmith_last_error(void);
LS_API void loopsmith_set_error(const char* text);
LS_API int32_t loopsmith_bind_sizes(const char* function, const ls_parameter* parameters, int count, const ls_variable* variables, int slots,
                                    const ls_argument* given, ls_argument* out, char* is_known);
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

/* Sums and products that fit 64 bits; else 0. */
static int ls_add(int64_t a, int64_t b, int64_t* out) {
  if ((b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b)) { return 0; }
  *out = a + b;
  return 1;
}
static int ls_multiply(int64_t a, int64_t b, int64_t* out) {
  if ((a == -1 && b == INT64_MIN) || (b == -1 && a == INT64_MIN)) { return 0; }
  int64_t product = (int64_t)((uint64_t)a * (uint64_t)b);
  if (b != 0 && product / b != a) { return 0; }
  *out = product;
  return 1;
}
static int64_t ls_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }

/* A value a x + b of the unknown slot x. */
typedef struct { int64_t a, b; } ls_line;
enum { LS_DEPTH = 20 };

static int ls_combine(int op, ls_line x, ls_line y, ls_line* out) {
  int64_t left, right;
  int is_plain = x.a == 0 && y.a == 0;
  out->a = 0;
  switch (op) {
    case 2: return ls_add(x.a, y.a, &out->a) && ls_add(x.b, y.b, &out->b);
    case 3: return y.a != INT64_MIN && y.b != INT64_MIN && ls_add(x.a, -y.a, &out->a) && ls_add(x.b, -y.b, &out->b);
    case 4:
      return (x.a == 0 || y.a == 0) && ls_multiply(x.a, y.b, &left) && ls_multiply(x.b, y.a, &right) && ls_add(left, right, &out->a) && ls_multiply(x.b, y.b, &out->b);
    case 5: if (is_plain && y.b > 0) { out->b = ls_divide(x.b, y.b); return 1; } return 0;
    case 6: if (is_plain && y.b > 0) { out->b = x.b - ls_divide(x.b, y.b) * y.b; return 1; } return 0;
    case 7: out->b = x.b < y.b ? x.b : y.b; return is_plain;
    case 8: out->b = x.b > y.b ? x.b : y.b; return is_plain;
    default: return 0;
  }
}
/* The formula as a line in slot `unknown` (-1: none). 0: it has other unknown slots, is no line, or has numbers that are too large. */
static int ls_evaluate(const ls_formula* f, const ls_argument* slots, const char* is_known, int64_t unknown, ls_line* out) {
  ls_line stack[LS_DEPTH];
  int size = 0;
  for (int i = 0; i < f->count; ++i) {
    ls_step step = f->steps[i];
    if (step.op < 2) {
      if (size == LS_DEPTH) { return 0; }
      ls_line one = {0, step.value};
      if (step.op == 1 && step.value == unknown) { one.a = 1; one.b = 0; }
      else if (step.op == 1) {
        if (!is_known[step.value]) { return 0; }
        one.b = slots[step.value].integer;
      }
      stack[size++] = one;
      continue;
    }
    ls_line made;
    if (!ls_combine(step.op, stack[size - 2], stack[size - 1], &made)) { return 0; }
    stack[--size - 1] = made;
  }
  *out = stack[0];
  return size == 1;
}
/* The only unknown slot of a formula; -1: none, -2: several. */
static int64_t ls_unknown(const ls_formula* f, const char* is_known) {
  int64_t found = -1;
  for (int i = 0; i < f->count; ++i) {
    if (f->steps[i].op != 1 || is_known[f->steps[i].value]) { continue; }
    if (found >= 0 && found != f->steps[i].value) { return -2; }
    found = f->steps[i].value;
  }
  return found;
}

/* The number `k` of a tensor that a formula of its buffer describes: extents, then strides, then the offset. NULL: there is no formula, or nothing to
   check. */
static const ls_formula* ls_number(const ls_parameter* p, const DLTensor* t, int k, int64_t* value) {
  if (k < p->ndim) { *value = t->shape[k]; return &p->shape[k]; }
  k -= p->ndim;
  if (k == p->ndim) {
    if (p->offset != NULL) { *value = (int64_t)(t->byte_offset / (uint64_t)p->element_bytes); }
    return p->offset;
  }
  if (p->strides == NULL) { return NULL; }
  const ls_formula* f = &p->strides[k];
  /* No element is a stride away from another one. */
  if (t->shape[k] <= 1 && !(f->count == 1 && f->steps[0].op == 1)) { return NULL; }
  if (t->strides != NULL) { *value = t->strides[k]; return f; }
  *value = 1;
  for (int d = k + 1; d < p->ndim; ++d) { if (t->shape[d] > 0) { *value *= t->shape[d]; } }
  return f;
}

/* The memory of a tensor, in bytes from its first element on: [low, high). 0: it is beyond all memory. */
static int ls_extent_of_memory(const ls_parameter* p, const DLTensor* t, int64_t* low, int64_t* high) {
  int64_t compact = 1, step, span;
  *low = 0;
  *high = 1;
  for (int d = p->ndim - 1; d >= 0; --d) {
    if (t->shape[d] == 0) { *low = *high = 0; return 1; }
  }
  for (int d = p->ndim - 1; d >= 0; --d) {
    step = t->strides != NULL ? t->strides[d] : compact;
    if (!ls_multiply(compact, t->shape[d], &compact) || !ls_multiply(step, t->shape[d] - 1, &span) || !ls_add(span < 0 ? *low : *high, span, span < 0 ? low : high)) { return 0; }
  }
  return ls_multiply(compact, p->element_bytes, &span) && ls_multiply(*low, p->element_bytes, low) && ls_multiply(*high, p->element_bytes, high);
}

/* The checks of a tensor that no other argument changes. */
static int32_t ls_check_tensor(const char* function, const ls_parameter* p, const DLTensor* t) {
  int64_t low, high;
  if (t == NULL) { return ls_refuse(function, p->name, "there is no tensor (null)", 0, 0, 0); }
  if (t->device.device_type != p->device) {
    const char* what = p->device == 1 ? "the tensor is not in this machine's memory; DLPack device type" : "the tensor is not in the memory of such a device; DLPack device type";
    return ls_refuse(function, p->name, what, p->device, t->device.device_type, 1);
  }
  /* OpenCL's memory is a handle, not an address. */
  if (p->device == 4 && t->byte_offset != 0) { return ls_refuse(function, p->name, "memory of OpenCL begins at its handle; byte offset", 0, (int64_t)t->byte_offset, 1); }
  if (t->ndim != p->ndim) { return ls_refuse(function, p->name, "wrong number of dimensions", p->ndim, t->ndim, 1); }
  int is_bool = p->code == 6 && t->dtype.code == 1 && (t->dtype.bits == 8 || t->dtype.bits == 1);
  if (p->code >= 0 && !is_bool) {
    if (t->dtype.code != p->code) { return ls_refuse(function, p->name, "wrong type; DLPack code", p->code, t->dtype.code, 1); }
    if (t->dtype.bits != p->bits) { return ls_refuse(function, p->name, "wrong type; bits", p->bits, t->dtype.bits, 1); }
    if (t->dtype.lanes != p->lanes) { return ls_refuse(function, p->name, "wrong type; lanes", p->lanes, t->dtype.lanes, 1); }
  }
  if (t->shape == NULL && t->ndim > 0) { return ls_refuse(function, p->name, "there is no shape (null)", 0, 0, 0); }
  for (int d = 0; d < p->ndim; ++d) {
    if (t->shape[d] < 0) { return ls_refuse(function, p->name, "a dimension is negative", 0, t->shape[d], 1); }
  }
  if (!ls_extent_of_memory(p, t, &low, &high)) { return ls_refuse(function, p->name, "its size is beyond all memory", 0, 0, 0); }
  if (p->offset != NULL && t->byte_offset % (uint64_t)p->element_bytes != 0) { return ls_refuse(function, p->name, "the byte offset is not a whole number of elements", 0, 0, 0); }
  return 0;
}

static int32_t ls_misfit(const char* function, const ls_parameter* p, const ls_variable* variables, int count, int k, const ls_formula* f, int64_t wanted, int64_t got, int is_solved) {
  if (!is_solved) { return ls_refuse(function, p->name, k < p->ndim ? "no size of the program gives an extent" : "no size of the program gives a stride or offset", 0, got, 0); }
  if (k == 2 * p->ndim) { return ls_refuse(function, p->name, "wrong byte offset; elements", wanted, got, 1); }
  if (k >= p->ndim) { return ls_refuse(function, p->name, "wrong stride", wanted, got, 1); }
  int is_slot = f->count == 1 && f->steps[0].op == 1;
  const char* what = !is_slot ? "wrong shape" : f->steps[0].value < count ? "the shape differs from the size argument" : variables[f->steps[0].value - count].name;
  return ls_refuse(function, p->name, what, wanted, got, 1);
}

/* Gives the sizes their values, a formula with one unknown at a time, and then checks all formulas. */
static int32_t ls_solve(const char* function, const ls_parameter* parameters, int count, const ls_variable* variables, int slots, const ls_argument* given, ls_argument* out,
                        char* is_known) {
  ls_line line;
  int64_t value;
  for (int goes_on = 1; goes_on;) {
    goes_on = 0;
    /* Formulas that are a size by themselves come first: a message speaks of the plainest place. */
    for (int is_plain = 1; is_plain >= 0 && !goes_on; --is_plain) {
      for (int i = 0; i < count; ++i) {
        const ls_parameter* p = &parameters[i];
        for (int k = 0; !p->is_scalar && k <= 2 * p->ndim; ++k) {
          const ls_formula* f = ls_number(p, (const DLTensor*)given[i].data, k, &value);
          if (f == NULL || (f->count == 1) != is_plain) { continue; }
          int64_t unknown = ls_unknown(f, is_known);
          if (unknown < 0 || !ls_evaluate(f, out, is_known, unknown, &line) || line.a == 0 || line.b == INT64_MIN || !ls_add(value, -line.b, &value)) { continue; }
          if (value % line.a != 0 || (line.a == -1 && value == INT64_MIN)) { return ls_misfit(function, p, variables, count, k, f, 0, 0, 0); }
          value /= line.a;
          const ls_variable* v = &variables[unknown - count];
          if (value < v->least || value > v->most) { return ls_refuse(function, p->name, "a size does not fit its type in the program; at most", v->most, value, 1); }
          out[unknown].integer = value;
          is_known[unknown] = 1;
          goes_on = 1;
        }
      }
    }
  }
  for (int i = count; i < slots; ++i) {
    if (!is_known[i]) { return ls_refuse(function, variables[i - count].name, "no shape gives this size", 0, 0, 0); }
  }
  for (int i = 0; i < count; ++i) {
    const ls_parameter* p = &parameters[i];
    for (int k = 0; !p->is_scalar && k <= 2 * p->ndim; ++k) {
      const ls_formula* f = ls_number(p, (const DLTensor*)given[i].data, k, &value);
      if (f == NULL) { continue; }
      int is_solved = ls_evaluate(f, out, is_known, -1, &line);
      if (!is_solved || line.b != value) { return ls_misfit(function, p, variables, count, k, f, line.b, value, is_solved); }
    }
  }
  return 0;
}

LS_WEAK int32_t loopsmith_bind_sizes(const char* function, const ls_parameter* parameters, int count, const ls_variable* variables, int slots, const ls_argument* given,
                                     ls_argument* out, char* is_known) {
  int i;
  for (i = 0; i < slots; ++i) { is_known[i] = 0; }
  for (i = count; i < slots; ++i) { out[i].integer = 0; }
  for (i = 0; i < count; ++i) {
    const ls_parameter* p = &parameters[i];
    if (!p->is_scalar) {
      int32_t status = ls_check_tensor(function, p, (const DLTensor*)given[i].data);
      if (status != 0) { return status; }
      continue;
    }
    if (given[i].integer < p->least) { return ls_refuse(function, p->name, "the number does not fit the program's type; at least", p->least, given[i].integer, 1); }
    if (given[i].integer > p->most) { return ls_refuse(function, p->name, "the number does not fit the program's type; at most", p->most, given[i].integer, 1); }
    out[i] = given[i];
    is_known[i] = 1;
  }
  int32_t status = ls_solve(function, parameters, count, variables, slots, given, out, is_known);
  if (status != 0) { return status; }
  for (i = 0; i < count; ++i) {
    const ls_parameter* p = &parameters[i];
    if (p->is_scalar) { continue; }
    const DLTensor* t = (const DLTensor*)given[i].data;
    int64_t low, high;
    (void)ls_extent_of_memory(p, t, &low, &high);
    int64_t compact = 1;
    for (int d = p->ndim - 1; d >= 0 && p->strides == NULL && t->strides != NULL && high != 0; --d) {
      if (t->shape[d] != 1 && t->strides[d] != compact) { return ls_refuse(function, p->name, "the tensor is not compact and row-major; stride", compact, t->strides[d], 1); }
      compact *= t->shape[d];
    }
    /* The code adds the offset of the program itself. */
    char* data = (char*)t->data + (p->offset != NULL ? 0 : t->byte_offset);
    if (t->data == NULL && high != 0) { return ls_refuse(function, p->name, "the tensor has no memory (null)", 0, 0, 0); }
    if (p->device != 4 && (uintptr_t)data % (uintptr_t)p->alignment != 0) { return ls_refuse(function, p->name, "the memory is not aligned; bytes", p->alignment, (int64_t)((uintptr_t)data % (uintptr_t)p->alignment), 1); }
    out[i].data = data;
  }
  /* A written tensor overlaps no other. */
  for (i = 0; i < count; ++i) {
    if (parameters[i].is_scalar || !parameters[i].is_written) { continue; }
    for (int k = 0; k < count; ++k) {
      if (k == i || parameters[k].is_scalar) { continue; }
      int64_t low_a, high_a, low_b, high_b;
      const DLTensor* a = (const DLTensor*)given[i].data;
      const DLTensor* b = (const DLTensor*)given[k].data;
      (void)ls_extent_of_memory(&parameters[i], a, &low_a, &high_a);
      (void)ls_extent_of_memory(&parameters[k], b, &low_b, &high_b);
      const char* at_a = (const char*)a->data + a->byte_offset;
      const char* at_b = (const char*)b->data + b->byte_offset;
      int overlaps = parameters[i].device == 4 ? at_a == at_b : at_a + low_a < at_b + high_b && at_b + low_b < at_a + high_a;
      if (overlaps) { return ls_refuse(function, parameters[i].name, "it is written and overlaps another argument", 0, 0, 0); }
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
  int next, left;               /* the next part of the loop that is free, and the number of parts that are not done */
  loopsmith_share share;
  void* captured;
  int64_t begin, end;
  int32_t status;
  char error[512];              /* of a share that failed in another thread than the caller's */
} ls_pool;
static ls_pool ls_the_pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, 0, 0, 0, 0, NULL, NULL, 0, 0, 0, {0}};
static LS_THREAD int ls_inside;

/* Does parts of the loop until none is free. The first thread to come takes the next part: the caller of a short loop does all of it before a sleeping
   thread is awake. The lock is held, but not during the work. */
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
