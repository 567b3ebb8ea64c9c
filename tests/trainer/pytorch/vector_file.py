"""Writes safetensors files, for scripts that run where the package of that name is not to be had."""
import json
import struct

import numpy


def write_vectors(path, vectors):
    """`vectors`: arrays by name, stored in float64, sorted by their names."""
    header, data = {}, b""
    for name in sorted(vectors):
        values = numpy.array(vectors[name], dtype="<f8", order="C")
        bytes_of = values.tobytes()
        header[name] = {"dtype": "F64", "shape": list(values.shape), "data_offsets": [len(data), len(data) + len(bytes_of)]}
        data += bytes_of
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
