// OpenCL 1.2 through the ICD loader, libOpenCL.so.1: see device.h.
// https://registry.khronos.org/OpenCL/specs/opencl-1.2.pdf
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "runtime/devices/device.h"
#include "support/codes.h"
#include "support/output.h"
#include "support/process.h"
#include "support/reasons.h"

namespace loopsmith::runtime {
namespace {

/// The functions of the driver's library.
struct Library {
#define FUNCTIONS(F)                                                                                                                          \
  F(clGetPlatformIDs) F(clGetDeviceIDs) F(clGetDeviceInfo) F(clCreateContext) F(clCreateCommandQueue) F(clCreateBuffer) F(clReleaseMemObject) \
  F(clEnqueueWriteBuffer) F(clEnqueueReadBuffer) F(clCreateProgramWithSource) F(clBuildProgram) F(clGetProgramBuildInfo) F(clCreateKernel)   \
  F(clSetKernelArg) F(clEnqueueNDRangeKernel) F(clFinish) F(clReleaseKernel) F(clReleaseProgram) F(clGetEventProfilingInfo) F(clReleaseEvent) F(clGetPlatformInfo) F(clReleaseCommandQueue) F(clReleaseContext)
#define MEMBER(NAME) decltype(&::NAME) NAME = nullptr;
  FUNCTIONS(MEMBER)
#undef MEMBER
};

auto missing(std::string why) -> Diagnostic {
  return error(Code::CannotStart).arg("program", "the OpenCL driver").arg("reason", std::move(why))
      .remedy("install an OpenCL driver: that of the GPU, or PoCL (`pocl-opencl-icd` on Debian), which runs kernels on the processor");
}

auto load() -> Result<const Library*> {
  static Library library;
  static std::string problem;
  static const bool loaded = [] {
    limit_data_instead_of_addresses();
    void* handle = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) { problem = because(Why::LibraryMissing).arg("library", "libOpenCL.so.1").text(); return false; }
#define FIND(NAME)                                                                \
  library.NAME = reinterpret_cast<decltype(library.NAME)>(dlsym(handle, #NAME));  \
  if (library.NAME == nullptr) { problem = because(Why::LibraryLacks).arg("library", "libOpenCL.so.1").arg("symbol", #NAME).text(); return false; }
    FUNCTIONS(FIND)
#undef FIND
    return true;
  }();
  if (!loaded) { return missing(problem); }
  return &library;
}

/// The meaning of the error codes that occur in use.
auto meaning(cl_int code) -> std::string {
  switch (code) {
    case CL_DEVICE_NOT_FOUND: return "no device was found";
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: case CL_OUT_OF_RESOURCES: return "the device has not enough memory or registers";
    case CL_OUT_OF_HOST_MEMORY: return "the host has not enough memory";
    case CL_BUILD_PROGRAM_FAILURE: return "the kernels were not compiled";
    case CL_INVALID_BUFFER_SIZE: return "the device has no memory of this size";
    case CL_INVALID_WORK_GROUP_SIZE: return "a block has more threads than the device allows";
    case CL_INVALID_WORK_ITEM_SIZE: return "a dimension of the block is larger than the device allows";
    case CL_INVALID_KERNEL_NAME: return "there is no kernel of this name";
    case CL_INVALID_KERNEL_ARGS: return "an argument of the kernel is missing";
    default: return fmt::format("error {}", code);
  }
}

class OpenClDevice final : public Device {
 public:
  OpenClDevice(const Library& cl, cl_device_id device, cl_context context, cl_command_queue queue, DeviceFacts facts)
      : cl_(cl), device_(device), context_(context), queue_(queue), facts_(std::move(facts)) {}
  OpenClDevice(const OpenClDevice&) = delete;
  auto operator=(const OpenClDevice&) -> OpenClDevice& = delete;
  ~OpenClDevice() override {
    forget_events();
    for (const auto& [name, kernel] : kernels_) { cl_.clReleaseKernel(kernel); }
    for (cl_program program : programs_) { cl_.clReleaseProgram(program); }
    cl_.clReleaseCommandQueue(queue_);
    cl_.clReleaseContext(context_);
  }

  [[nodiscard]] auto facts() const -> const DeviceFacts& override { return facts_; }

  auto allocate(uint64_t bytes) -> Result<DeviceMemory> override {
    cl_int code = CL_SUCCESS;
    cl_mem memory = cl_.clCreateBuffer(context_, CL_MEM_READ_WRITE, std::max<uint64_t>(bytes, 1), nullptr, &code);
    if (code != CL_SUCCESS) { return failed(fmt::format("allocate {} bytes", bytes), code); }
    return DeviceMemory{reinterpret_cast<uint64_t>(memory), bytes};
  }
  void release(const DeviceMemory& memory) override { cl_.clReleaseMemObject(reinterpret_cast<cl_mem>(memory.handle)); }

  auto write(const DeviceMemory& to, const void* from, uint64_t bytes) -> Status override {
    if (bytes == 0) { return ok(); }
    return check("copy to the device", cl_.clEnqueueWriteBuffer(queue_, reinterpret_cast<cl_mem>(to.handle), CL_TRUE, 0, bytes, from, 0, nullptr, nullptr));
  }
  auto read(void* to, const DeviceMemory& from, uint64_t bytes) -> Status override {
    if (bytes == 0) { return ok(); }
    return check("copy from the device", cl_.clEnqueueReadBuffer(queue_, reinterpret_cast<cl_mem>(from.handle), CL_TRUE, 0, bytes, to, 0, nullptr, nullptr));
  }

  auto compile(const std::string& source) -> Status override {
    const char* text = source.c_str();
    const size_t length = source.size();
    cl_int code = CL_SUCCESS;
    cl_program program = cl_.clCreateProgramWithSource(context_, 1, &text, &length, &code);
    if (code != CL_SUCCESS) { return failed("read the kernels", code); }
    programs_.push_back(program);
    // Without this option OpenCL divides float32 approximately, and its results would differ from those of other machines.
    // With optimisation, PoCL 3.1 computes wrong values of private memory in loops around barriers.
    std::string options = "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt";
    if (facts_.is_processor) { options += " -cl-opt-disable"; }
    {
      // PoCL's compiler writes a count of errors there.
      const Muted errors(false);
      code = cl_.clBuildProgram(program, 1, &device_, options.c_str(), nullptr, nullptr);
    }
    if (code == CL_SUCCESS) { return ok(); }
    size_t size = 0;
    cl_.clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
    std::string log(size, '\0');
    cl_.clGetProgramBuildInfo(program, device_, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr);
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) { log.pop_back(); }
    return failed("compile the kernels", meaning(code) + (log.empty() ? "" : "\n" + log));
  }

  auto launch(std::string_view kernel, const LaunchSize& size, const std::vector<KernelArgument>& arguments) -> Status override {
    auto found = find(std::string(kernel));
    if (!found) { return found.diagnostics(); }
    for (size_t i = 0; i < arguments.size(); ++i) {
      const auto* memory = std::get_if<DeviceMemory>(&arguments[i]);
      const auto* number = std::get_if<KernelNumber>(&arguments[i]);
      cl_mem handle = memory != nullptr ? reinterpret_cast<cl_mem>(memory->handle) : nullptr;
      cl_int code = cl_.clSetKernelArg(*found, static_cast<cl_uint>(i), memory != nullptr ? sizeof handle : number->size, memory != nullptr ? static_cast<const void*>(&handle) : number->bytes.data());
      if (code != CL_SUCCESS) { return failed(fmt::format("pass argument {} of `{}`", i + 1, kernel), code); }
    }
    size_t global[3], local[3];
    for (size_t d = 0; d < 3; ++d) {
      local[d] = size.block[d];
      global[d] = size.grid[d] * size.block[d];
      if (global[d] == 0) { return ok(); }
    }
    if (size.shared_bytes > 0) { return failed(fmt::format("launch `{}`", kernel), "OpenCL has no shared memory whose size the launch gives"); }
    cl_event event = nullptr;
    const cl_int code = cl_.clEnqueueNDRangeKernel(queue_, *found, 3, nullptr, global, local, 0, nullptr, is_timing_ ? &event : nullptr);
    if (event != nullptr) {
      cl_event& place = first_ == nullptr ? first_ : last_;
      if (place != nullptr) { cl_.clReleaseEvent(place); }
      place = event;
    }
    return check(fmt::format("launch `{}`", kernel), code);
  }
  auto start_clock() -> Status override {
    forget_events();
    is_timing_ = true;
    return ok();
  }
  auto stop_clock() -> Result<double> override {
    is_timing_ = false;
    LOOPSMITH_CHECK(wait());
    if (first_ == nullptr) { return 0.0; }
    cl_ulong begin = 0, end = 0;
    LOOPSMITH_CHECK(check("read its clock", cl_.clGetEventProfilingInfo(first_, CL_PROFILING_COMMAND_START, sizeof begin, &begin, nullptr)));
    LOOPSMITH_CHECK(check("read its clock", cl_.clGetEventProfilingInfo(last_ != nullptr ? last_ : first_, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr)));
    forget_events();
    return static_cast<double>(end - begin) * 1e-9;
  }
  auto wait() -> Status override { return check("wait for the kernels", cl_.clFinish(queue_)); }

 private:
  [[nodiscard]] auto failed(const std::string& action, const std::string& why) const -> Diagnostic {
    return error(Code::DeviceFailed).arg("device", facts_.name).arg("action", action).arg("driver_message", why);
  }
  [[nodiscard]] auto failed(const std::string& action, cl_int code) const -> Diagnostic { return failed(action, meaning(code)); }
  [[nodiscard]] auto check(const std::string& action, cl_int code) const -> Status {
    if (code != CL_SUCCESS) { return failed(action, code); }
    return ok();
  }
  auto find(const std::string& name) -> Result<cl_kernel> {
    if (auto known = kernels_.find(name); known != kernels_.end()) { return known->second; }
    cl_int code = CL_INVALID_KERNEL_NAME;
    for (cl_program program : programs_) {
      cl_kernel kernel = cl_.clCreateKernel(program, name.c_str(), &code);
      if (code == CL_SUCCESS) { return kernels_[name] = kernel; }
    }
    return failed(fmt::format("find `{}`", name), code);
  }

  void forget_events() {
    for (cl_event* event : {&first_, &last_}) {
      if (*event != nullptr) { cl_.clReleaseEvent(std::exchange(*event, nullptr)); }
    }
  }

  const Library& cl_;
  cl_device_id device_;
  cl_context context_;
  cl_command_queue queue_;
  DeviceFacts facts_;
  std::vector<cl_program> programs_;
  std::unordered_map<std::string, cl_kernel> kernels_;
  bool is_timing_ = false;
  cl_event first_ = nullptr, last_ = nullptr;   // of the kernels that are timed
};

auto facts_of(const Library& cl, cl_device_id device) -> DeviceFacts {
  DeviceFacts facts;
  auto text = [&](cl_device_info what) {
    size_t size = 0;
    cl.clGetDeviceInfo(device, what, 0, nullptr, &size);
    std::string out(size, '\0');
    cl.clGetDeviceInfo(device, what, size, out.data(), nullptr);
    while (!out.empty() && out.back() == '\0') { out.pop_back(); }
    return out;
  };
  auto number = [&]<class T>(cl_device_info what, T value) -> uint64_t { return cl.clGetDeviceInfo(device, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : 0; };
  facts.name = text(CL_DEVICE_NAME);
  facts.driver = text(CL_DRIVER_VERSION);
  facts.target = "opencl";
  facts.memory_bytes = number(CL_DEVICE_GLOBAL_MEM_SIZE, cl_ulong());
  facts.cache_bytes = number(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, cl_ulong());
  facts.is_processor = (number(CL_DEVICE_TYPE, cl_device_type()) & CL_DEVICE_TYPE_CPU) != 0;
  facts.limits.name = facts.name;
  facts.limits.shared_static = facts.limits.shared_most = number(CL_DEVICE_LOCAL_MEM_SIZE, cl_ulong());
  facts.limits.block_threads = number(CL_DEVICE_MAX_WORK_GROUP_SIZE, size_t());
  facts.limits.units = number(CL_DEVICE_MAX_COMPUTE_UNITS, cl_uint());
  size_t sizes[3] = {};
  if (cl.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, nullptr) == CL_SUCCESS) { facts.limits.block_sizes = {sizes[0], sizes[1], sizes[2]}; }
  return facts;
}

auto platforms_of(const Library& cl) -> std::vector<cl_platform_id> {
  std::vector<cl_platform_id> platforms(16);
  cl_uint count = 0;
  if (cl.clGetPlatformIDs(16, platforms.data(), &count) != CL_SUCCESS) { count = 0; }
  platforms.resize(std::min<cl_uint>(count, 16));
  return platforms;
}

}  // namespace

auto list_opencl() -> Result<std::vector<DeviceFacts>> {
  LOOPSMITH_TRY(library, load());
  std::vector<DeviceFacts> out;
  for (cl_platform_id platform : platforms_of(*library)) {
    cl_device_id devices[16];
    cl_uint count = 0;
    if (library->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 16, devices, &count) != CL_SUCCESS) { continue; }
    for (cl_uint i = 0; i < std::min<cl_uint>(count, 16); ++i) { out.push_back(facts_of(*library, devices[i])); }
  }
  return out;
}

auto open_opencl() -> Result<std::unique_ptr<Device>> {
  LOOPSMITH_TRY(library, load());
  const Library& cl = *library;
  const std::vector<cl_platform_id> platforms = platforms_of(cl);
  if (platforms.empty()) { return missing("no driver is registered in /etc/OpenCL/vendors"); }
  cl_device_id device = nullptr;
  // Prefers a GPU to any other device.
  for (cl_device_type type : {cl_device_type(CL_DEVICE_TYPE_GPU), cl_device_type(CL_DEVICE_TYPE_ALL)}) {
    for (size_t i = 0; i < platforms.size() && device == nullptr; ++i) {
      cl_uint devices = 0;
      if (cl.clGetDeviceIDs(platforms[i], type, 1, &device, &devices) != CL_SUCCESS || devices == 0) { device = nullptr; }
    }
    if (device != nullptr) { break; }
  }
  if (device == nullptr) { return missing("no driver has a device"); }
  cl_int code = CL_SUCCESS;
  cl_context context = cl.clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) { return missing("the device was not opened: " + meaning(code)); }
  cl_command_queue queue = cl.clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &code);
  if (code != CL_SUCCESS) { return missing("the device has no queue: " + meaning(code)); }
  return std::unique_ptr<Device>(new OpenClDevice(cl, device, context, queue, facts_of(cl, device)));
}

}  // namespace loopsmith::runtime
