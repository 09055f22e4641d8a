# Python around programs is none of TVMScript's: its mistakes and its unknown parts are not reported, and programs are read with the known values.
# run: golden_diagnostics tests/golden/frontend/around_programs.py
import pytest
import tvm
import tvm.testing
from tvm import script
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.tir import Schedule

import helpers


def make():
    builder = helpers.Builder()
    with builder.function("main", []):
        display(builder)
    return builder


made = make()


def sizes():
    for a in range(1, 4):
        if a != 2:
            yield (a, 2 * a)


shape = tvm.testing.parameter(*sizes())
listed = list(sizes())


def named(name):
    def inner():
        return name

    inner.__name__ = f"make_{name}"
    inner.calls = 0
    return inner


program = tvm.testing.parameter(named("a"), named("b"))
huge = 2**200 + 123456789012345678901234567890123456789012345678901234567890
wrong = {"a": [1, 2, 3]["x"], "b": (7).to_bytes(2, "big")}
absent = unknown_name + 1


@pytest.mark.parametrize("dtype, value", [["uint64", 36893488147419103232]])
def test_too_large(dtype, value):
    with pytest.raises(Exception):

        @T.prim_func
        def f(A: T.Buffer((1,), dtype)):
            A[0] = value


def test_power():
    def above(x):
        return 1 << (x - 1).bit_length()

    def elsewhere(x):
        return missing_helper(x)

    @T.prim_func
    def f(A: T.Buffer((13,), "int32")):
        B = T.alloc_buffer((above(13),), "int32")
        B[15] = A[0]
        B[16] = A[0]
    #     ^^ error[index-out-of-bounds]: index 16 is outside of dimension 0 of `B`, which has size 16; note at `B`: `B` is declared here
        A[0] = B[0]

    @T.prim_func
    def g(A: T.Buffer((elsewhere(4),), "int32")):
    #                  ^^^^^^^^^^^^ information[not-checked]: not checked: this uses Python that Loopsmith does not evaluate
        A[0] = 1


@I.ir_module
class Mod:
    @T.prim_func
    def inc(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] + T.float32(1)

    @R.function
    def main(x: R.Tensor((4,), "float32")):
    #   ^^^^ hint[other-language]: `main` is not a TIR function: it is not checked, and left out of the module
        return x


entry = Mod["main"]
other = Mod["nothing"]


@I.ir_module(check_well_formed=False)
class Loose:
    @T.prim_func
    def main(A: T.Buffer((12,), "int32")):
        m = T.Var("m", dtype="int32")
        for j in T.serial(m):
            A[j] = 1


@script.ir_module
class Plain:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        A[4] = 1
    #     ^ error[index-out-of-bounds]: index 4 is outside of dimension 0 of `A`, which has size 4; note at `A`: `A` is declared here


# Parts that are not read are reported, inside of functions too.
def test_unread(target):
    @helpers.prim_func
    #^^^^^^^^^^^^^^^^^ information[not-checked]: not checked: this uses Python that Loopsmith does not evaluate
    def one(A: T.Buffer((4,), "int32")):
        A[0] = 1

    @helpers.ir_module
    class Two:
    #     ^^^ information[not-checked]: not checked: this uses Python that Loopsmith does not evaluate
        pass

    @T.prim_func
    def three(A: T.Buffer((target,), "int32")):
    #                      ^^^^^^ information[not-checked]: not checked: this uses Python that Loopsmith does not evaluate
        A[0] = 1


# A name bound where Python decides is there below.
def branches(flag, pick, n):
    @T.prim_func(check_well_formed=False)
    def first(A: T.Buffer((8,), "int32")):
        if not flag:
    #          ^^^^ information[not-checked]: not checked: this uses Python that Loopsmith does not evaluate
            base = pick(3)
        if flag:
            A[0] = 1
        else:
            A[base] = 2

    @T.prim_func
    def second(A: T.Buffer((8,), "float32")):
        if n:
    #      ^ information[not-checked]: not checked: this uses Python that Loopsmith does not evaluate
            s = T.alloc_buffer((8,), "float32", scope="local")
        else:
            s = T.alloc_buffer((8,), "float32", scope="shared")
        for i in T.serial(8):
            s[i] = A[i]


# A function makes its programs from the values of a call, here or below.
def made(n, dtype):
    @T.prim_func
    def one(A: T.Buffer((n,), dtype)):
        A[n] = 1
    #     ^ error[index-out-of-bounds]: index 8 is outside of dimension 0 of `A`, which has size 8; note at `A`: `A` is declared here
    return one


def never_made(n):
    @T.prim_func
    def one(A: T.Buffer((n,), "int32")):
    #                    ^ information[not-checked]: not checked: this uses Python that Loopsmith does not evaluate
        A[n] = 1
    return one


def test_made():
    def inner(n):
        @T.prim_func
        def two(A: T.Buffer((n,), "int32")):
            A[n] = 1
    #         ^ error[index-out-of-bounds]: index 4 is outside of dimension 0 of `A`, which has size 4; note at `A`: `A` is declared here
        return two

    made(8, dtype="int8")
    with pytest.raises(ValueError):
        inner(-1)
    inner(4)


# Programs in statements that are not read are reported too. Text is not a program.
def test_tried(kind):
    try:
        @T.prim_func
        def one(A: T.Buffer((4,), "int32")):
    #       ^^^ information[not-checked]: not checked: this uses Python that Loopsmith does not evaluate
            A[4] = 1
        text = """
@T.prim_func
def none(A: T.Buffer((4,), "int32")):
    A[4] = 1
"""
    except ValueError:
        pass
    match kind:
        case 1:
            @tvm.script.ir_module
            class Two:
    #             ^^^ information[not-checked]: not checked: this uses Python that Loopsmith does not evaluate
                pass
    for i in range(3):
        pass
    else:
        @T.prim_func(extra_vars={})
        def three(A: T.Buffer((4,), "int32")):
            A[5] = 1
    #         ^ error[index-out-of-bounds]: index 5 is outside of dimension 0 of `A`, which has size 4; note at `A`: `A` is declared here


# Decorators under another name.
pf = T.prim_func
private = T.prim_func(private=True)


@pf
def by_other_name(A: T.Buffer((4,), "int32")):
    A[0, 1] = 1
#   ^^^^^^^ error[wrong-index-count]: `A` has 1 dimension, 2 indices given; note at `A`: `A` is declared here


@private
def by_called(A: T.Buffer((4,), "int32")):
    A[0, 1] = 1
#   ^^^^^^^ error[wrong-index-count]: `A` has 1 dimension, 2 indices given; note at `A`: `A` is declared here
