# A build script: loopsmith script examples/build.py 128 256
# For each size, the best of several tiles becomes a library.
kernels = load("gemm.tir")
best = {}
for size in [int(a) for a in args] or [128, 256]:
    fastest = None
    for rows, columns in [(4, 32), (8, 32), (8, 48)]:
        program = apply(kernels.gemm(size, size, size), kernels.tiled, rows, columns)
        measured = bench(program, name=f"gemm_{size}")[0]
        print(f"{size}, {rows} x {columns}: {measured.gflops:.1f} GFLOP/s")
        if fastest is None or measured.seconds < fastest[0]:
            fastest = (measured.seconds, program)
    best[f"gemm_{size}"] = fastest[1]
build(best, output="lib")
