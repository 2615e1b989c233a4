"""Writes parquet_types.parquet, a row of every type, for parquet.rs: `python3 parquet_types.py`.

The test expects the values that pyarrow 26 reads back, with times in UTC and without trailing zeros.
"""

import uuid
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet

NS = 1_700_000_000_123_456_789
ID = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff").bytes
COLUMNS = {
    "id": pa.array([ID], pa.binary(16)).cast(pa.uuid()),
    "text": pa.array(["words"], pa.large_string()),
    "dictionary": pa.array(["d"]).dictionary_encode(),
    "fixed": pa.array([b"\xff\x00a\t"], pa.binary(4)),
    "bytes": pa.array([b"\xff\xfe"], pa.binary()),
    "integer": pa.array([Decimal(7)], pa.decimal128(9, 0)),
    "cents": pa.array([Decimal("-0.05")], pa.decimal128(18, 2)),
    "wide": pa.array([Decimal(f"-{'1234567890' * 5}.123")], pa.decimal256(76, 3)),
    "ns": pa.array([NS], pa.timestamp("ns", "UTC")),
    "us": pa.array([NS // 10**3], pa.timestamp("us")),
    "ms": pa.array([NS // 10**6], pa.timestamp("ms", "UTC")),
    "date": pa.array([-1], pa.int32()).cast(pa.date32()),
    "time_ms": pa.array([3_661_001], pa.time32("ms")),
    "time_us": pa.array([1], pa.time64("us")),
    "time_ns": pa.array([86_399_000_000_001], pa.time64("ns")),
    "unsigned": pa.array([2**64 - 1], pa.uint64()),
    "times": pa.array([[0]], pa.list_(pa.timestamp("ns", "UTC"))),
    "large_list": pa.array([[Decimal("1.5")]], pa.large_list(pa.decimal128(9, 1))),
    "struct": pa.array([{"id": b"\xff" * 2}], pa.struct([("id", pa.binary(2))])),
    "map": pa.array([[("k", Decimal("1.50"))]], pa.map_(pa.string(), pa.decimal128(5, 2))),
    "nested": pa.array([[[1, 2], [3]]], pa.list_(pa.list_(pa.int32()))),
    "structs": pa.array(
        [[{"t": 0, "n": 1}]],
        pa.list_(pa.struct([("t", pa.timestamp("us")), ("n", pa.int8())])),
    ),
}

pyarrow.parquet.write_table(pa.table(COLUMNS), "parquet_types.parquet", store_schema=False)
