from chunks import chunks

assert chunks([1, 2, 3], 2) == [[1, 2], [3]]
