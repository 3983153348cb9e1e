// A stand-in for NVRTC: every source compiles to one byte, which the stand-in for the driver loads.

#include <cstddef>

#define API extern "C" __attribute__((visibility("default")))

API int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0; }
API const char* nvrtcGetErrorString(int) { return "said by the stand-in"; }
API int nvrtcGetNumSupportedArchs(int* count) { return *count = 1, 0; }
API int nvrtcGetSupportedArchs(int* architectures) { return *architectures = 90, 0; }

API int nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*,
                           const char* const*) {
    return *program = nullptr, 0;
}

API int nvrtcCompileProgram(void*, int, const char* const*) { return 0; }
API int nvrtcDestroyProgram(void**) { return 0; }
API int nvrtcGetProgramLogSize(void*, size_t* bytes) { return *bytes = 1, 0; }
API int nvrtcGetProgramLog(void*, char* text) { return *text = 0; }
API int nvrtcGetPTXSize(void*, size_t* bytes) { return *bytes = 1, 0; }
API int nvrtcGetPTX(void*, char* text) { return *text = 0; }
API int nvrtcGetCUBINSize(void*, size_t* bytes) { return *bytes = 1, 0; }
API int nvrtcGetCUBIN(void*, char* image) { return *image = 0; }
