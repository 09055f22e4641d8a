/* Calls kernels with computed sizes, strides and offsets: right tensors are taken, wrong ones are refused before any code of the kernel runs. */
#include "sizes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static DLTensor tensor(void* data, int32_t ndim, int64_t* shape, int64_t* strides) {
  DLTensor t = {data, {1, 0}, ndim, {2, 32, 1}, shape, strides, 0};
  return t;
}

static void taken(const char* what, int32_t status) {
  if (status != 0) { printf("FAIL %s: %s\n", what, loopsmith_last_error()); }
  failures += status != 0;
}

static void refused(const char* words, int32_t status) {
  int ok = status != 0 && strstr(loopsmith_last_error(), words) != NULL;
  if (!ok) { printf("FAIL %s: status %d, %s\n", words, (int)status, loopsmith_last_error()); }
  failures += !ok;
}

static void expect(const char* what, int ok) {
  if (!ok) { printf("FAIL %s\n", what); }
  failures += !ok;
}

int main(void) {
  float* a = aligned_alloc(128, 4096);
  float* b = aligned_alloc(128, 4096);
  for (int i = 0; i < 1024; ++i) { a[i] = (float)i; b[i] = -1; }

  /* Only computed shapes name n. */
  int64_t ten[] = {10}, eight[] = {8}, nine[] = {9}, eleven[] = {11}, huge[] = {(int64_t)1 << 40}, four[] = {4}, none[] = {0}, wide[] = {(int64_t)1 << 62, 8};
  DLTensor A = tensor(a, 1, ten, NULL), B = tensor(b, 1, eight, NULL);
  taken("n is 5", pairs(&A, &B));
  expect("the sums", b[0] == 1 && b[4] == 17 && b[5] == -1);
  B.shape = nine;
  refused("argument B: wrong shape: 8 is wanted, 9 was given", pairs(&A, &B));
  A.shape = eleven;
  refused("argument A: no size of the program gives an extent", pairs(&A, &B));
  A.shape = NULL;
  refused("there is no shape (null)", pairs(&A, &B));
  A.shape = huge;
  B.shape = eight;
  refused("does not fit its type", pairs(&A, &B));

  /* A size that is a number of the call. */
  A = tensor(a, 1, four, NULL);
  B = tensor(b, 1, eight, NULL);
  taken("n is 2", longer(&A, &B, 2));
  refused("wrong shape: 12 is wanted, 8 was given", longer(&A, &B, 3));
  refused("does not fit the program's type; at most: 2147483647 is wanted", longer(&A, &B, ((int64_t)1 << 32) + 2));
  refused("does not fit the program's type; at least", longer(&A, &B, -((int64_t)1 << 40)));
  B.shape = none;
  B.data = NULL;
  taken("no elements", longer(&A, &B, 0));

  /* Strides. */
  int64_t square[] = {8, 8}, rows[] = {16, 1}, compact[] = {8, 1}, columns[] = {1, 8}, negative[] = {-8, 1};
  DLTensor S = tensor(a, 2, square, rows);
  for (int i = 0; i < 1024; ++i) { a[i] = 0; }
  taken("its strides", strided(&S));
  expect("rows of 16", a[7] == 1 && a[8] == 0 && a[16] == 1 && a[7 * 16 + 7] == 1 && a[8 * 16] == 0);
  S.strides = compact;
  refused("wrong stride: 16 is wanted, 8 was given", strided(&S));
  S.strides = NULL;
  refused("wrong stride: 16 is wanted, 8 was given", strided(&S));
  for (int i = 0; i < 1024; ++i) { a[i] = 0; }
  taken("compact", any_strides(&S));
  expect("row 1", a[9] == 9);
  S.strides = columns;
  taken("columns", any_strides(&S));
  expect("column 1", a[9] == 18);
  S.strides = negative;
  S.data = a + 56;
  taken("from the last row on", any_strides(&S));
  expect("the first element of row 7", a[0] == 56);
  S.shape = wide;
  refused("beyond all memory", any_strides(&S));

  /* An offset. */
  A = tensor(a, 1, eight, NULL);
  refused("wrong byte offset; elements: 4 is wanted, 0 was given", behind(&A));
  A.byte_offset = 16;
  for (int i = 0; i < 16; ++i) { a[i] = 0; }
  taken("behind four", behind(&A));
  expect("the place", a[3] == 0 && a[4] == 1 && a[11] == 1 && a[12] == 0);
  A.byte_offset = 18;
  refused("not a whole number of elements", behind(&A));

  /* Alignment: of an element, or as declared. */
  A = tensor(a + 1, 1, eight, NULL);
  refused("not aligned; bytes: 128 is wanted", aligned(&A));
  DLTensor odd = tensor((char*)a + 2, 1, four, NULL);
  refused("not aligned; bytes: 4 is wanted", longer(&odd, &B, 0));
  A.data = a;
  taken("aligned", aligned(&A));
  if (failures == 0) { printf("ok   computed sizes, strides, offsets, numbers: taken where they fit, refused where not\n"); }
  return failures != 0;
}
