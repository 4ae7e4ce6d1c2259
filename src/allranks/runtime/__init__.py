"""The runtime: schedules executed by real processes on real buffers, placed and kept by Ray."""
