"""The audit of pytauargus on the same pattern: run it with a Python that has pytauargus.

python benchmarks/write_pattern.py 80x80 /tmp/pattern.jj
/path/to/python benchmarks/peer_audit.py /tmp/pattern.jj
"""

import sys
import time

from pytauargus.engine import audit_jj

started = time.perf_counter()
rows = audit_jj(sys.argv[1])
print(f"{len(rows)} cells audited in {time.perf_counter() - started:.2f} s")
