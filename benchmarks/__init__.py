"""Speed and quality, side by side in one run. `python -m benchmarks NAME [--json]`."""
